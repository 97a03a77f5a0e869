import numpy as np
import pytest

from optax_chains import rmsprop


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("momentum", [None, 0.9])
def test_it_is_rmsprop_with_eps_outside_the_root(centered, momentum):
    """Against the loop of Graves, 2013, in NumPy."""
    rng = np.random.default_rng(0)
    chain = rmsprop(0.01, decay=0.9, eps=0.1, centered=centered, momentum=momentum)
    state = chain.init(np.zeros(3, np.float32))
    mean = square = velocity = np.zeros(3)
    for _ in range(15):
        g = rng.normal(size=3).astype(np.float32)
        update, state = chain.update(g, state)
        square = 0.9 * square + 0.1 * g**2
        mean = 0.9 * mean + 0.1 * g
        scale = square - mean**2 if centered else square
        velocity = g / (np.sqrt(scale) + 0.1) + (momentum or 0.0) * velocity
        np.testing.assert_allclose(update, -0.01 * velocity, rtol=1e-4)
