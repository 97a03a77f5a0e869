import numpy as np

from optax_chains import gan_adam


def test_it_is_adam_with_the_published_constants():
    """Against Adam written out in NumPy, Kingma and Ba, 2015, algorithm 1."""
    rng = np.random.default_rng(0)
    chain = gan_adam()
    state = chain.init(np.zeros(3, np.float32))
    m = v = np.zeros(3)
    for t in range(1, 20):
        g = rng.normal(size=3).astype(np.float32)
        update, state = chain.update(g, state)
        m, v = 0.5 * m + 0.5 * g, 0.9 * v + 0.1 * g**2
        wanted = -1e-4 * (m / (1 - 0.5**t)) / (np.sqrt(v / (1 - 0.9**t)) + 1e-8)
        np.testing.assert_allclose(update, wanted, rtol=1e-5)


def test_the_learning_rate_may_be_a_schedule():
    chain = gan_adam(lambda step: 1.0 / (step + 1))
    state = chain.init(np.zeros(1, np.float32))
    one = np.ones(1, np.float32)
    first, state = chain.update(one, state)
    second, state = chain.update(one, state)
    np.testing.assert_allclose([first, second], [[-1.0], [-0.5]], rtol=1e-5)
