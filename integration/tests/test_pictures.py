import numpy as np

from mnist_gan import _pictures
from optax_chains import Players


def test_the_grid_keeps_order_and_leaves_gaps():
    images = np.arange(1, 6, dtype=np.uint8)[:, None, None] * np.ones(
        (5, 3, 4), np.uint8
    )
    sheet = _pictures.grid(images)
    assert sheet.shape == (2 * 5 + 2, 3 * 6 + 2)
    for i in range(5):
        row, column = divmod(i, 3)
        top, left = 2 + row * 5, 2 + column * 6
        assert (sheet[top : top + 3, left : left + 4] == i + 1).all()
    assert sheet.sum() == images.sum()  # the rest is black


def test_one_image_is_a_grid():
    assert _pictures.grid(np.ones((1, 2, 2), np.uint8)).shape == (6, 6)


def test_smoothing_is_a_mean_at_its_middle():
    step = np.arange(1, 201)
    at, values = _pictures._smooth(step, step.astype(float))
    np.testing.assert_allclose(values - at, 0.5)  # windows of four
    assert len(values) == 197


def test_a_plot_of_one_step(pixels, tmp_path):
    one = np.ones(1)
    file = tmp_path / "losses.png"
    _pictures.save_losses(file, one, Players(one, one), Players(0.7, 1.4))
    assert pixels(file).any()
    assert [p.name for p in tmp_path.iterdir()] == ["losses.png"]
