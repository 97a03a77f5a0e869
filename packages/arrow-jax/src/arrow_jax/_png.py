"""Images on their way into a column: each becomes a struct of PNG bytes and a path."""

import io
import os
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
import pyarrow as pa

from arrow_jax._containers import Masked
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._images import pillow
from arrow_jax._unread import read_typed, unread

_TYPE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def encode_images(name: str, values: Any) -> pa.Array:
    """Makes the Arrow column of some images.

    Args:
      name: the column's, for errors.
      values: `Masked`, or one item a row: pixels (see `Image` for shapes and dtypes),
        the bytes of a file, a path, a PIL image, {"bytes": ..., "path": ...}, or None.

    Returns:
      struct{bytes, path}. Files are read now and their names kept; those that
      an Arrow array names are not, see `unread`.

    Raises:
      ShapeError: if pixels have a shape that is no image's.
      ArrowJaxError: if an item is none of these.
      FileNotFoundError: if a path leads nowhere.
    """
    if isinstance(values, Masked):
        pixels, valid = np.asarray(values.values), np.asarray(values.valid)
        values = [p if ok else None for p, ok in zip(pixels, valid, strict=True)]
    if isinstance(values, pa.Array | pa.ChunkedArray):
        values = unread(values)
    return pa.array(_items(name, values), _TYPE)


def _items(name: str, values: Iterable[Any]) -> list[dict[str, Any] | None]:
    return [_item(f"column {name!r}, row {i}", value) for i, value in enumerate(values)]


def _item(where: str, value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, dict) and value.keys() <= {"bytes", "path"}:
        return {"bytes": value.get("bytes"), "path": value.get("path")}
    if isinstance(value, bytes):
        return {"bytes": value, "path": None}
    if isinstance(value, str | os.PathLike):
        return read_typed(where, value)
    if isinstance(value, np.ndarray | jax.Array):
        return {"bytes": encode_png(where, np.asarray(value)), "path": None}
    if hasattr(value, "save") and hasattr(value, "mode"):
        return {"bytes": _save(value), "path": None}
    raise ArrowJaxError(
        f"{where}: {type(value).__name__} is no image: give pixels as uint8, the bytes "
        "of a file, a path, or a PIL image"
    )


def encode_png(where: str, pixels: np.ndarray) -> bytes:
    """Compresses pixels without loss.

    Args:
      where: column and row, for errors.
      pixels: uint8[h, w], [h, w, 2], [h, w, 3] or [h, w, 4]; bool or uint16[h, w].

    Returns:
      The bytes of a PNG file.

    Raises:
      ShapeError: for another shape or dtype.
    """
    deep = pixels.dtype == np.uint8
    flat = deep or pixels.dtype in (np.bool_, np.uint16)
    if not (pixels.ndim == 2 and flat) and not (
        pixels.ndim == 3 and deep and pixels.shape[2] in (1, 2, 3, 4)
    ):
        raise ShapeError(
            f"{where}: {pixels.dtype}{list(pixels.shape)} is no image. Wanted "
            "uint8[h, w] or uint8[h, w, channels] with 1 to 4 channels, or bool or "
            "uint16[h, w]; floats have to be scaled first"
        )
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    return _save(pillow().fromarray(pixels))


def _save(image: Any) -> bytes:
    buffer = io.BytesIO()
    # What PNG has no colours for goes into TIFF, which loses nothing either.
    plain = image.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16")
    exif = image.getexif()
    kept = {"exif": exif.tobytes()} if exif and plain else {}
    image.save(buffer, "PNG" if plain else "TIFF", **kept)
    return buffer.getvalue()
