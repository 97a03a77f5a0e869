import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from optax_chains._stand_still import stand_still


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_no_bit_changes(dtype):
    x = jnp.asarray([-0.0, 0.0, 1.5, -3e9, 1e-30]).astype(dtype)
    after = jax.jit(lambda x: optax.apply_updates(x, stand_still(x)))(x)
    assert np.asarray(after).tobytes() == np.asarray(x).tobytes()
