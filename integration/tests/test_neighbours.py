import numpy as np

from mnist_gan._neighbours import nearest, share_of_copies


def random_digits(seed, n):
    return np.random.default_rng(seed).integers(0, 256, (n, 28, 28), np.uint8)


def test_the_nearest_are_those_of_a_loop():
    samples, digits = random_digits(0, 300), random_digits(1, 40)
    found = nearest(samples, digits)
    wide = samples.astype(float)
    for i in range(0, 300, 37):
        apart = [np.sqrt(((wide[i] - d) ** 2).mean()) for d in digits.astype(float)]
        assert found.index[i] == np.argmin(apart)
        np.testing.assert_allclose(found.distance[i], min(apart))


def test_copies_are_at_no_distance():
    digits = random_digits(2, 50)
    found = nearest(digits[::-1], digits)
    assert found.index.tolist() == list(range(49, -1, -1))
    assert not found.distance.any()


def test_the_share_of_copies():
    real = np.arange(1.0, 1001.0)
    assert share_of_copies(real, real) == 0.01
    assert share_of_copies(np.zeros(5), real) == 1
    assert share_of_copies(np.full(5, 11.0), real) == 0
