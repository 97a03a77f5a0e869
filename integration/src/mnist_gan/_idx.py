"""The original MNIST files: IDX, gzipped or not."""

import gzip
import math
import zlib
from pathlib import Path
from typing import Literal

import numpy as np

from mnist_gan._errors import UserError

_UNSIGNED_BYTES = 0x08
_MOST_AXES = 4
_PARTS = {"train": "train", "test": "t10k"}
_KINDS = {"images": "idx3", "labels": "idx1"}


def find(
    folder: Path, split: str = "train", kind: Literal["images", "labels"] = "images"
) -> Path | None:
    """Finds one of the original four files.

    Args:
      folder: where to look.
      split: `train` or `test`.
      kind: what the file holds.

    Returns:
      The file, or None if the folder holds no such file.
    """
    stem = f"{_PARTS[split]}-{kind}"
    names = [
        f"{stem}{dash}{_KINDS[kind]}-ubyte{end}" for dash in "-." for end in ("", ".gz")
    ]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read(path: Path) -> np.ndarray:
    """Reads an IDX file of unsigned bytes.

    Args:
      path: the file; gunzipped when its name ends in `.gz`.

    Returns:
      uint8, of the shape that the file states.

    Raises:
      UserError: if the file is not IDX, or shorter or longer than it states.

    References:
      The format is described at <http://yann.lecun.com/exdb/mnist/>.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not a whole gzip file ({error}); get it anew") from (
            error
        )
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != _UNSIGNED_BYTES:
        raise UserError(
            f"{path}: starts with {data[:4].hex(' ') or 'nothing'}, wanted "
            "00 00 08 03: this is not an IDX file of unsigned bytes"
        )
    rank = data[3]
    if rank > _MOST_AXES:
        raise UserError(f"{path}: states {rank} axes, wanted 3: images, rows, columns")
    head, pixels = data[4 : 4 + 4 * rank], data[4 + 4 * rank :]
    # Python's integers, which do not wrap however large a size is stated.
    shape = [int.from_bytes(head[i : i + 4], "big") for i in range(0, len(head), 4)]
    if len(head) != 4 * rank or len(pixels) != math.prod(shape):
        raise UserError(
            f"{path}: states {' x '.join(map(str, shape))} bytes and holds "
            f"{len(pixels)}: the file was cut or changed; get it anew"
        )
    return np.frombuffer(pixels, np.uint8).reshape(shape)
