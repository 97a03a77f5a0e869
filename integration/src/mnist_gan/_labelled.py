"""Digits with their labels, by split: for the classifier, which judges samples."""

import hashlib
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

import arrow_jax
from mnist_gan import _digits, _idx
from mnist_gan._errors import UserError

CLASSES = 10
Split = Literal["train", "test"]


class Labelled(NamedTuple):
    """Digits and what they are.

    Attributes:
      images: uint8[n, 28, 28].
      labels: int32[n], 0 to 9.
    """

    images: np.ndarray
    labels: np.ndarray

    @property
    def sha256(self) -> str:
        """Of all pixels and labels, to know them again."""
        digest = hashlib.sha256(np.ascontiguousarray(self.images))
        digest.update(np.ascontiguousarray(self.labels))
        return digest.hexdigest()


def load(folder: Path | None, split: Split) -> Labelled:
    """Reads one split of MNIST.

    Args:
      folder: with Parquet files whose names tell the split, and columns `image` and
        `label`; or with the original IDX files. None for those that ship with the
        package, 10,000 of training and 2,000 of test.
      split: which.

    Returns:
      The digits.

    Raises:
      UserError: if the split, its images or its labels are not there, or are something
        else.
      arrow_jax.ArrowJaxError: if a file cannot be read or an image not decoded.
    """
    if folder is None:
        shipped = resources.files("mnist_gan") / "digits" / f"{split}.parquet"
        with resources.as_file(shipped) as path:
            return _of_parquet([str(path)], f"the shipped {split} digits")
    if not folder.is_dir():
        raise UserError(
            f"{folder}: is no folder, wanted one with MNIST's train and test splits"
        )
    images, labels = (_idx.find(folder, split, kind) for kind in ("images", "labels"))
    if images and labels:
        found = Labelled(
            _digits.check(_idx.read(images), str(images)),
            _idx.read(labels).astype(np.int32),
        )
        return _checked(found, f"{images} and {labels}")
    files = [f for f in _digits.of_split(folder, split) if split in Path(f).name]
    if not files:
        raise UserError(
            f"{folder}: no file's name tells the split {split!r}; name the files "
            "train....parquet and test....parquet"
        )
    return _of_parquet(files, f"{folder}, {split}")


def _of_parquet(files: list[str], where: str) -> Labelled:
    dataset = arrow_jax.read_parquet(files)
    if "label" not in dataset.column_names:
        raise UserError(
            f"{where}: has no column 'label'; its columns are: "
            f"{', '.join(dataset.column_names)}"
        )
    images = _digits.decode(dataset, where)
    labels = dataset.with_format("numpy", columns=["label"])[:]["label"]
    if not np.issubdtype(labels.dtype, np.integer):
        raise UserError(f"{where}: labels are {labels.dtype}, wanted integers")
    return _checked(Labelled(images, labels), where)


def _checked(digits: Labelled, where: str) -> Labelled:
    images, labels = digits
    if not len(images) or labels.shape != (len(images),):
        raise UserError(
            f"{where}: {len(images)} images and labels of shape {labels.shape}, wanted "
            "one label an image, and one image at least"
        )
    wrong = np.flatnonzero((labels < 0) | (labels >= CLASSES))
    if len(wrong):
        raise UserError(
            f"{where}: row {wrong[0]} has label {labels[wrong[0]]}, wanted 0 to 9"
        )
    return Labelled(images, labels.astype(np.int32))
