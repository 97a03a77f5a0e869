import json

import jax
import jax.numpy as jnp
import pytest

from mnist_gan import _agreement
from mnist_gan._errors import HostsError


class Three:
    """Three processes, whose facts are given."""

    count, names = 3, ("process 0 (a)", "process 1 (b)", "process 2 (c)")

    def __init__(self, *said):
        self.said = said

    def gather(self, what, value, *, seconds):
        del what, value, seconds
        return [json.dumps(facts) for facts in self.said]


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_the_one_that_differs_from_most_is_named(odd):
    facts = [{"seed": 7 if i == odd else 0} for i in range(3)]
    with pytest.raises(HostsError, match=rf"seed differs .*: process {odd} \(") as e:
        _agreement.check_same(Three(*facts), facts[0], seconds=1)
    assert "has 7, most have 0" in str(e.value)


def test_of_a_table_only_what_two_share_is_compared():
    """Processes hold different parts of a split state."""
    facts = [{"state": {"a": 1}}, {"state": {"a": 1, "b": 2}}, {"state": {"b": 2}}]
    _agreement.check_same(Three(*facts), facts[0], seconds=1)
    facts[2]["state"]["b"] = 3
    with pytest.raises(HostsError, match="state of b differs"):
        _agreement.check_same(Three(*facts), facts[0], seconds=1)


@pytest.mark.devices(8)
def test_parts_are_the_same_where_the_values_are(mesh):
    whole = jax.sharding.NamedSharding(mesh, jax.P())
    split = jax.sharding.NamedSharding(mesh, jax.P("data"))
    tree = {"w": jnp.arange(8.0), "key": jax.random.key(0)}
    copies = _agreement.parts(jax.device_put(tree, whole))
    assert len(copies) == 1
    other = tree | {"w": tree["w"].at[3].add(1e-6)}
    assert _agreement.parts(jax.device_put(other, whole)) != copies
    assert len(_agreement.parts(jax.device_put(tree["w"], split))) == 8


@pytest.mark.devices(8)
def test_copies_that_differ_within_a_process_are_found(mesh):
    whole = jax.sharding.NamedSharding(mesh, jax.P())
    values = iter(range(8))
    lie = jax.make_array_from_single_device_arrays(
        (),
        whole,
        [jax.device_put(float(next(values)), d) for d in mesh.devices.flat],
    )
    with pytest.raises(HostsError, match="holds other values than another device"):
        _agreement.parts(lie)
