"""Laws that every return obeys, over a table of them all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from return_cases import CASES, arrays_of, total

from chex_harness import Laws, Specimen, assert_trees_close

law = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def close(found, want, atol=1e-5):
    assert_trees_close(found, want, atol=atol)


# The harness's second set of arguments is the first times 3/4.
NO_POLICY = {"vmap_equals_a_loop": "a policy times 3/4 is refused"}


def specimen(name, case):
    return Specimen(
        fn=lambda arrays, flags: case.function(*arrays, **flags),
        args=lambda dtype: arrays_of(case, dtype=dtype),
        dtypes=("float32", "bfloat16", "float16"),
        atol=1e-5,
        without=NO_POLICY if name == "retrace" else {},
    )


test_laws = Laws({name: specimen(name, case) for name, case in CASES.items()}).test()


@law
def test_vmap_equals_the_batch(case):
    arrays, flags = arrays_of(case)
    by_sequence = jax.vmap(
        lambda xs, flags: case.function(*xs, **flags), in_axes=1, out_axes=1
    )
    close(by_sequence(arrays, flags), case.function(*arrays, **flags))


@law
def test_batch_major_is_time_major_turned(case):
    arrays, flags = arrays_of(case)
    turned = [jnp.swapaxes(x, 0, 1) for x in arrays]
    found = case.function(
        *turned, time_axis=1, **{k: jnp.swapaxes(x, 0, 1) for k, x in flags.items()}
    )
    want = case.function(*arrays, **flags)
    close(jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), found), want)


@law
def test_permuting_the_batch_permutes_the_result(case):
    arrays, flags = arrays_of(case)
    order = np.asarray([3, 0, 4, 1, 2])
    found = case.function(
        *(x[:, order] for x in arrays), **{k: x[:, order] for k, x in flags.items()}
    )
    want = jax.tree.map(lambda x: x[:, order], case.function(*arrays, **flags))
    close(found, want)


@law
def test_masked_steps_never_matter(case):
    arrays, flags = arrays_of(case)
    masked = ~flags["mask_t"]

    def spoil(x):
        where = masked.reshape(masked.shape + (1,) * (x.ndim - masked.ndim))
        bad = jnp.asarray(jnp.nan if x.dtype == jnp.float32 else 99, x.dtype)
        return jnp.where(where, bad, x)

    spoilt = [spoil(x) for x in arrays]
    want = case.function(*arrays, **flags)
    close(case.function(*spoilt, **flags), want, atol=0)
    close(jax.jit(case.function)(*spoilt, **flags), want)
    for leaf in jax.tree.leaves(want):
        assert not np.asarray(leaf)[np.asarray(masked)].any()

    def loss(floats):
        merged = [floats.get(n, x) for n, x in zip(case.names, spoilt, strict=True)]
        return total(case.function(*merged, **flags))

    floats = dict(zip(case.names, spoilt, strict=True))
    floats = {n: x for n, x in floats.items() if x.dtype == jnp.float32}
    for gradient in jax.tree.leaves(jax.grad(loss)(floats)):
        assert not np.asarray(gradient)[np.asarray(masked)].any()
        assert np.isfinite(gradient).all()


@law
def test_gradients_flow_through_the_learned_values_alone(case):
    arrays, flags = arrays_of(case)
    floats = {
        n: x for n, x in zip(case.names, arrays, strict=True) if x.dtype == jnp.float32
    }

    def loss(floats):
        merged = [floats.get(n, x) for n, x in zip(case.names, arrays, strict=True)]
        return total(case.function(*merged, **flags))

    gradients = jax.grad(loss)(floats)
    moved = {n for n, g in gradients.items() if np.asarray(g).any()}
    assert moved == set(case.learns)


def can_be_told_not_to_stop(case):
    function = getattr(case.function, "func", case.function)
    function = getattr(function, "__wrapped__", function)
    return "stop_target_gradients" in function.__kwdefaults__


FLOWING = {name: case for name, case in CASES.items() if can_be_told_not_to_stop(case)}


@pytest.mark.parametrize("case", FLOWING.values(), ids=FLOWING)
def test_without_stopped_gradients_they_are_finite_differences(case):
    arrays, flags = arrays_of(case, dtype=jnp.float32)

    def loss(scale):
        moved = [x * (1 - 0.1 * scale) for x in arrays]
        out = case.function(*moved, stop_target_gradients=False, **flags)
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(out))

    step = 1e-2
    loss = jax.jit(loss)
    slope = (loss(1 + step) - loss(1 - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(loss)(1.0), slope, rtol=2e-2)


@law
def test_ranks_beyond_two(case):
    arrays, flags = arrays_of(case)
    twice = [jnp.stack([x, x], 1) for x in arrays]
    found = case.function(*twice, **{k: jnp.stack([x, x], 1) for k, x in flags.items()})
    want = case.function(*arrays, **flags)
    close(jax.tree.map(lambda x: x[:, 1], found), want)


@law
@pytest.mark.devices(8)
def test_the_sharding_of_the_batch_is_kept(case, mesh):
    arrays, flags = arrays_of(case)
    sharding = NamedSharding(mesh, P(None, "data"))
    wide = jax.tree.map(lambda x: jnp.tile(x, (1, 8, *[1] * (x.ndim - 2))), arrays)
    flags = {k: jnp.tile(x, (1, 8)) for k, x in flags.items()}
    want = case.function(*wide, **flags)
    wide, flags = jax.device_put((wide, flags), sharding)
    out = jax.jit(case.function)(*wide, **flags)
    for leaf in jax.tree.leaves(out):
        assert leaf.sharding.is_equivalent_to(sharding, leaf.ndim)
    close(jax.device_get(out), jax.device_get(want))
