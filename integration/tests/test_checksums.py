import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mnist_gan._checksums import checksums

RANDOM = np.random.default_rng(0)
VALUES = RANDOM.normal(size=(8, 3, 5)).astype(np.float32)


def total(x):
    """The sum as a NumPy loop has it."""
    bits = x.view(np.uint32).ravel().tolist()
    return sum(b * (2 * i + 1) for i, b in enumerate(bits)) % 2**32


def test_the_sum_is_that_of_a_loop():
    assert int(checksums({"w": jnp.asarray(VALUES)})["w"]) == total(VALUES)


@pytest.mark.parametrize("bit", [0, 13, 31])
@pytest.mark.parametrize("at", [0, 7, 119])
def test_every_bit_counts(at, bit):
    bits = VALUES.view(np.uint32).ravel().copy()
    bits[at] ^= np.uint32(1 << bit)
    other = bits.view(np.float32).reshape(VALUES.shape)
    assert checksums(other)[""] != checksums(VALUES)[""]


def test_the_place_counts():
    assert checksums(jnp.array([1.0, 2.0]))[""] != checksums(jnp.array([2.0, 1.0]))[""]


@pytest.mark.devices(8)
def test_devices_do_not_count(mesh):
    spread = jax.device_put(VALUES, jax.NamedSharding(mesh, jax.P("data")))
    assert int(jax.jit(checksums)(spread)[""]) == total(VALUES)


def test_all_that_a_state_holds_has_a_sum():
    tree = {
        "key": jax.random.key(0),
        "step": jnp.int32(3),
        "half": jnp.ones(2, jnp.bfloat16),
        "on": jnp.array([True, False]),
        "byte": jnp.arange(3, dtype=jnp.uint8),
    }
    found = checksums(tree)
    assert found.keys() == tree.keys()
    assert int(found["step"]) == 3
    assert int(found["byte"]) == 0 * 1 + 1 * 3 + 2 * 5
    assert found["key"] != checksums(tree | {"key": jax.random.key(1)})["key"]
