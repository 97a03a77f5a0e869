import jax
import jax.numpy as jnp

from optax_chains import decay_mask


def test_weights_decay_and_biases_and_norms_do_not():
    params = {
        "linear": {"w": jnp.ones((3, 1)), "b": jnp.ones(1)},
        "conv/batch_norm": {"scale": jnp.ones((1, 1, 1, 4)), "offset": jnp.ones(4)},
        "embed": {"embeddings": jnp.ones((5, 2))},
        "temperature": jnp.ones(()),
    }
    mask = {
        "linear": {"w": True, "b": False},
        "conv/batch_norm": {"scale": False, "offset": False},
        "embed": {"embeddings": True},
        "temperature": False,
    }
    assert decay_mask(params) == mask
    assert decay_mask(jax.eval_shape(lambda: params)) == mask
