import numpy as np

from mnist_gan import _evaluation_page as page
from mnist_gan._neighbours import Nearest


def images_of(values):
    return np.asarray(values, np.uint8)[:, None, None] * np.ones((1, 28, 28), np.uint8)


def test_arcs_end_at_latents_and_keep_to_their_lengths():
    arcs = page.interpolation(20, seed=0).reshape(10, 10, 20)
    start, end = np.random.default_rng(0).normal(size=(2, 10, 1, 20))
    np.testing.assert_allclose(arcs[:, :1], start, rtol=1e-5)
    np.testing.assert_allclose(arcs[:, -1:], end, rtol=1e-5)
    length = np.linalg.norm(arcs, axis=-1)
    low = np.minimum(length[:, 0], length[:, -1]) * 0.9
    assert (length > low[:, None]).all()


def test_rows_of_classes_hold_the_first_of_each_and_black():
    samples, classes = images_of(range(1, 31)), np.arange(30) % 3
    rows = page.by_class(samples, classes)[:, 0, 0].reshape(10, 10)
    assert rows[0].tolist() == list(range(1, 31, 3))
    assert rows[2].tolist() == list(range(3, 31, 3))
    assert not rows[3:].any()


def test_the_nearest_come_first_above_their_digits():
    samples, learned = images_of(range(1, 13)), images_of(range(101, 113))
    near = Nearest(np.arange(11, -1, -1), np.arange(12.0)[::-1])
    rows = page.beside_nearest(samples, near, learned)[:, 0, 0].reshape(10, 10)
    assert rows[0].tolist() == list(range(12, 2, -1))
    assert rows[1].tolist() == list(range(101, 111))
    assert rows[2].tolist() == [2, 1, *[0] * 8]
    assert rows[3].tolist() == [111, 112, *[0] * 8]
