import jax
import jax.numpy as jnp

from optax_chains._wide import wide, wide_zeros


def test_float32_is_the_least():
    with jax.enable_x64(True):  # noqa: FBT003
        narrow = {d: jnp.ones(2, d) for d in ("bfloat16", "float16", "float32")}
        tree = narrow | {"float64": jnp.ones(2, "float64")}
        found = {name: str(leaf.dtype) for name, leaf in wide(tree).items()}
        assert found == dict.fromkeys(narrow, "float32") | {"float64": "float64"}
        zeros = wide_zeros(tree)
        assert {n: str(z.dtype) for n, z in zeros.items()} == found
        assert float(sum(z.sum() for z in zeros.values())) == 0.0
