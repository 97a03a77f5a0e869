import pathlib

import numpy as np
import pytest
from PIL import Image as PilImage

from arrow_jax import ArrowJaxError, Dataset, Features, Image, Masked, ShapeError

FEATURES = Features({"im": Image()})


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((4, 5), "uint8"),
        ((4, 5, 2), "uint8"),
        ((4, 5, 3), "uint8"),
        ((4, 5, 4), "uint8"),
        ((4, 5), "bool"),
        ((4, 5), "uint16"),
    ],
)
def test_pixels_survive(shape, dtype):
    pixels = np.random.default_rng(0).integers(0, 2**16, (3, *shape)).astype(dtype)
    got = Dataset.from_dict({"im": pixels}, FEATURES).with_format("numpy")[:]["im"]
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, pixels)


def test_one_channel_becomes_grey():
    got = Dataset.from_dict({"im": np.ones((2, 4, 5, 1), np.uint8)}, FEATURES)
    assert got.with_format("numpy")[:]["im"].shape == (2, 4, 5)


def test_every_way_to_give_an_image(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5), np.uint8)
    file = tmp_path / "a.png"
    PilImage.fromarray(pixels).save(file)
    items = [
        pixels,
        PilImage.fromarray(pixels),
        file,
        str(file),
        file.read_bytes(),
        {"bytes": file.read_bytes(), "path": None},
    ]
    ds = Dataset.from_dict({"im": items}, FEATURES)
    assert (ds.with_format("numpy")[:]["im"] == pixels).all()
    assert ds.source.table["im"][2].as_py()["path"] == "a.png"
    masked = Masked(np.stack([pixels, pixels]), np.array([True, False]))
    assert Dataset.from_dict({"im": masked}, FEATURES)[1]["im"] is None


def test_what_is_no_image_says_its_row():
    with pytest.raises(
        ShapeError, match=r"column 'im', row 1: float64\[4, 5\].*scaled"
    ):
        Dataset.from_dict(
            {"im": [np.ones((4, 5), np.uint8), np.ones((4, 5))]}, FEATURES
        )
    with pytest.raises(ShapeError, match=r"uint8\[4, 5, 7\] is no image"):
        Dataset.from_dict({"im": np.ones((1, 4, 5, 7), np.uint8)}, FEATURES)
    with pytest.raises(ArrowJaxError, match="row 0: int is no image"):
        Dataset.from_dict({"im": [3]}, FEATURES)
    with pytest.raises(FileNotFoundError):
        Dataset.from_dict({"im": [pathlib.Path("absent.png")]}, FEATURES)
