import numpy as np
import pytest

from mnist_gan._frechet import Moments, frechet_distance, moments


def gaussian(seed, d=5):
    random = np.random.default_rng(seed)
    root = random.normal(size=(d, d))
    return Moments(random.normal(size=d), root @ root.T)


def test_equal_gaussians_are_not_apart():
    a = gaussian(0)
    assert frechet_distance(a, a) == pytest.approx(0, abs=1e-10)


def test_in_one_dimension_it_is_the_difference_of_means_and_deviations():
    a = Moments(np.array([1.0]), np.array([[4.0]]))
    b = Moments(np.array([3.0]), np.array([[9.0]]))
    assert frechet_distance(a, b) == pytest.approx((1 - 3) ** 2 + (2 - 3) ** 2)


def test_commuting_covariances_have_a_closed_form():
    random = np.random.default_rng(1)
    axes = np.linalg.qr(random.normal(size=(4, 4)))[0]
    p, q = random.uniform(0.1, 3, (2, 4))
    mean = np.zeros(4)
    a, b = (Moments(mean, (axes * values) @ axes.T) for values in (p, q))
    wanted = np.square(np.sqrt(p) - np.sqrt(q)).sum()
    assert frechet_distance(a, b) == pytest.approx(wanted)


def test_it_is_symmetric_and_moves_with_nothing():
    a, b = gaussian(2), gaussian(3)
    axes = np.linalg.qr(np.random.default_rng(4).normal(size=(5, 5)))[0]

    def turned(m):
        return Moments(axes @ m.mean + 1, axes @ m.covariance @ axes.T)

    wanted = frechet_distance(a, b)
    assert frechet_distance(b, a) == pytest.approx(wanted)
    assert frechet_distance(turned(a), turned(b)) == pytest.approx(wanted)


def test_singular_covariances_stay_real():
    flat = Moments(np.zeros(3), np.diag([1.0, 0.0, 0.0]))
    other = Moments(np.zeros(3), np.diag([0.0, 4.0, 0.0]))
    assert frechet_distance(flat, other) == pytest.approx(5)


def test_moments_are_those_of_a_loop():
    x = np.random.default_rng(5).normal(size=(20, 3))
    mean = sum(x) / 20
    covariance = sum(np.outer(row - mean, row - mean) for row in x) / 19
    found = moments(x)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.covariance, covariance)
