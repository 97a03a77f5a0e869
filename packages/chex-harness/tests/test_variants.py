import jax
import jax.numpy as jnp
import pytest

from chex_harness import Variant, assert_trees_close
from chex_harness._markers import VARIANTS
from chex_harness._variants import NAMES


def test_the_names_are_those_of_the_plugin():
    assert NAMES == VARIANTS
    with pytest.raises(ValueError, match="no variant 'pmap'; there are eager, jit"):
        Variant("pmap")


@pytest.mark.devices(4)
@pytest.mark.parametrize("n", [1, 3])
def test_all_variants_agree_and_parametrize_works(variant, n):
    params = {"w": jnp.arange(3.0) * n}
    x = jnp.arange(12.0).reshape(4, 3)

    def apply(params, x):
        return x @ params["w"], x.sum(1)

    assert_trees_close(variant(apply)(params, x), apply(params, x))
    assert_trees_close(variant(apply, rows=1)(params, x), apply(params, x))


@pytest.mark.devices(4)
@pytest.mark.variants("devices", "shard_map")
def test_rows_are_shared_out(variant):
    seen = []

    def double(x):
        seen.append(x.shape)
        return x * 2

    found = variant(double, rows=0)(jnp.ones((8, 3)))
    assert not found.sharding.is_fully_replicated
    assert seen[-1] == ((2, 3) if variant.name == "shard_map" else (8, 3))


@pytest.mark.variants("devices", "shard_map")
@pytest.mark.parametrize("rows", [1, -1])
def test_rows_are_positions_of_arguments(variant, rows):
    with pytest.raises(ValueError, match=f"has the position {rows}, and there are 1"):
        variant(jnp.square, rows=rows)(jnp.ones(8))


@pytest.mark.variants("vmap")
def test_keys_and_results_that_differ(variant):
    key = jax.random.key(1)
    assert variant(lambda k: jax.random.split(k)[0])(key) == jax.random.split(key)[0]
    with pytest.raises(AssertionError, match=r"the result\['a'\] differs between two"):
        variant(lambda x: {"a": pick(x)})(jnp.float32(0))


@jax.custom_batching.custom_vmap
def pick(x):
    return x


@pick.def_vmap
def _(size, batched, x):
    return x + jnp.arange(size), True
