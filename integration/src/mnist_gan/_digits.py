"""The digits to learn from, whole in memory: 47 MB for all of MNIST.

They are decoded before training starts, so a bad image is found at once, and named,
and no step waits for a decoder.
"""

import glob
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import arrow_jax
from mnist_gan import _idx
from mnist_gan._errors import UserError
from mnist_gan._game import IMAGE_SHAPE
from mnist_gan._run import SHIPPED


class Digits(NamedTuple):
    """What `--data` led to.

    Attributes:
      address: as the user typed it, or `(shipped)`.
      dataset: one tensor column, `image`: uint8[28, 28].
      sha256: of all pixels, to know them again on resume.
    """

    address: str
    dataset: arrow_jax.Dataset
    sha256: str


def load(address: str | None) -> Digits:
    """Reads and decodes the training digits.

    Args:
      address: a Parquet file, a folder of them, a glob, a folder with the original IDX
        files, or an address that fsspec knows (`hf://`, `gs://`, `s3://`, ...); None
        for the 10,000 that ship with the package.

    Returns:
      The digits.

    Raises:
      UserError: if there is nothing there, no image column, no row, or an image of
        another size.
      arrow_jax.ArrowJaxError: if a file cannot be read or an image not decoded.
    """
    if address is None:
        shipped = resources.files("mnist_gan") / "digits" / "train.parquet"
        with resources.as_file(shipped) as path:
            images = decode(arrow_jax.read_parquet(str(path)), "the shipped digits")
    elif not address.strip():
        raise UserError(
            "--data '': is empty; leave --data out to train on the digits that ship "
            "with this package"
        )
    elif "://" in address:
        images = decode(arrow_jax.read_parquet(address), address)
    else:
        images = _local(address)
    if not len(images):
        raise UserError(f"{address}: has no rows, wanted digits")
    pixels = hashlib.sha256(np.ascontiguousarray(images)).hexdigest()
    dataset = arrow_jax.Dataset.from_dict({"image": images})
    return Digits(address or SHIPPED, dataset, pixels)


def _local(address: str) -> np.ndarray:
    try:
        path = Path(address).expanduser()
        found = path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(f"{address!r}: is no path ({error})") from error
    if path.is_dir():
        idx = _idx.find(path)
        if idx:
            return check(_idx.read(idx), str(idx))
        return decode(arrow_jax.read_parquet(of_split(path, "train")), address)
    if path.is_file():
        return decode(arrow_jax.read_parquet(str(path)), address)
    if found:
        raise UserError(f"{address}: is neither a file nor a folder")
    # Path.glob takes no absolute pattern.
    matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
    matches = [match for match in matches if Path(match).is_file()]
    if not matches:
        raise UserError(
            f"{address}: there is no such file or folder, and no file matches it; "
            "leave --data out to train on the digits that ship with this package"
        )
    return decode(arrow_jax.read_parquet(matches), address)


def of_split(folder: Path, split: str) -> list[str]:
    """Finds a folder's Parquet files.

    Args:
      folder: where to look, and below.
      split: `train` or `test`; where file names tell, only its files are taken.

    Returns:
      Paths, sorted.

    Raises:
      UserError: if there is none.
    """
    files = sorted(file for file in folder.rglob("*.parquet") if file.is_file())
    if not files:
        raise UserError(
            f"{folder}: holds no .parquet file and no train-images-idx3-ubyte; give a "
            "folder that does"
        )
    below = [str(file.relative_to(folder)) for file in files]
    named = [f for f, name in zip(files, below, strict=True) if split in name]
    return [str(file) for file in named or files]


def decode(dataset: arrow_jax.Dataset, where: str) -> np.ndarray:
    """Decodes the image column of a dataset.

    Args:
      dataset: with one column of images.
      where: what the user calls it, for messages.

    Returns:
      uint8[n, 28, 28].

    Raises:
      UserError: if there is no image column, or an image of another size.
    """
    name = _image_column(dataset, where)
    if not len(dataset):
        return np.zeros((0, *IMAGE_SHAPE), np.uint8)
    if _is_encoded(dataset.with_format("arrow")[:0].schema.field(name).type):
        # Other writers drop the metadata that says what the bytes are.
        dataset = dataset.cast_column(name, arrow_jax.Image())
    images = dataset.with_format("numpy", columns=[name])[:][name]
    return check(images, f"{where}, column {name!r}")


def _is_encoded(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return kind.get_field_index("bytes") >= 0
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _image_column(dataset: arrow_jax.Dataset, where: str) -> str:
    features = dataset.features
    for name, feature in features.items():
        if isinstance(feature, arrow_jax.Image):
            return name
    if "image" in features:
        return "image"
    columns = ", ".join(f"{name} ({of})" for name, of in features.items()) or "none"
    raise UserError(f"{where}: has no image column; its columns are: {columns}")


def check(images: Any, where: str) -> np.ndarray:
    """Checks that images are digits of MNIST's size.

    Args:
      images: what was read.
      where: what the user calls it, for messages.

    Returns:
      The images, uint8[n, 28, 28].

    Raises:
      UserError: if they are something else.
    """
    wanted = f"wanted uint8 {list(IMAGE_SHAPE)}, grey"
    if isinstance(images, list) and all(isinstance(i, np.ndarray) for i in images):
        shapes = sorted({image.shape for image in images})
        raise UserError(f"{where}: images of sizes {shapes[:3]}, {wanted}")
    if not isinstance(images, np.ndarray):
        raise UserError(f"{where}: holds no images, {wanted}")
    if images.shape[1:] != IMAGE_SHAPE or images.dtype != np.uint8:
        found = f"{images.dtype} {list(images.shape[1:])}"
        raise UserError(f"{where}: images are {found}, {wanted}")
    return images
