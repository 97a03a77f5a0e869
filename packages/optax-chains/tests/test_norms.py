import jax.numpy as jnp
import numpy as np

from optax_chains._norms import global_norm


def test_bfloat16_leaves_are_added_up_in_float32():
    leaves = [jnp.full(10_000, 0.1, jnp.bfloat16) for _ in range(100)]
    wanted = float(jnp.bfloat16(0.1)) * np.sqrt(1_000_000)
    np.testing.assert_allclose(global_norm(leaves), wanted, rtol=1e-5)
    assert float(global_norm([jnp.full(4, 300.0, jnp.float16)])) == 600.0
    assert float(global_norm({})) == 0.0
