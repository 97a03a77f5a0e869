"""Rows as Python objects: what a dataset gives before a format is set."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from arrow_jax._audio import decode_sound
from arrow_jax._chunks import Index
from arrow_jax._decode import decode_tensor
from arrow_jax._errors import DecodeError
from arrow_jax._features import Audio, Image
from arrow_jax._images import changed, decode_all, image_contents, open_image, reason
from arrow_jax._source import Source


def python_column(source: Source, name: str, rows: Index) -> list[Any]:
    """Makes Python objects of some rows of a column.

    Args:
      source: of the rows.
      name: the column's.
      rows: of the source.

    Returns:
      Python objects: numbers, strings, lists, dicts, PIL images, nested lists for
      tensors; None where null.

    Raises:
      DecodeError: if an image is none.
    """
    array = source.stored(name).gather(rows)
    feature = source.features[name]
    if isinstance(feature, Audio):
        return _sounds(source, feature, name, array, rows)
    if isinstance(feature, Image):
        return _images(source, feature, name, array, rows)
    if isinstance(array.type, pa.FixedShapeTensorType):
        node = decode_tensor(array)
        values = node.values.astype(object)
        if node.inner is not None:
            values[~node.inner] = None
        valid = np.ones(len(node), bool) if node.valid is None else node.valid
        return [v if ok else None for v, ok in zip(values.tolist(), valid, strict=True)]
    return array.to_pylist()


def _sounds(
    source: Source, feature: Audio, name: str, array: pa.Array, rows: Index
) -> list[Any]:
    def say(position: int, what: str) -> DecodeError:
        return DecodeError(
            f"column {name!r}, {source.words(int(rows[position]))}: {what}. Replace "
            "the sound, or leave the row out with ds.select"
        )

    contents = image_contents(array, folder=source.folder, say=say)
    sounds: list[Any] = [None] * len(contents)

    def use(position: int, decoded: tuple[Any, int]) -> None:
        samples, rate = decoded
        sounds[position] = {"array": samples, "sampling_rate": rate}

    decode_all(contents, lambda c: decode_sound(c, feature), use=use, say=say)
    return sounds


def _images(
    source: Source, feature: Image, name: str, array: pa.Array, rows: Index
) -> list[Any]:
    def say(position: int, what: str) -> DecodeError:
        return DecodeError(
            f"column {name!r}, {source.words(int(rows[position]))}: {what}. Replace "
            "the image, or leave the row out with ds.select"
        )

    images = []
    contents = image_contents(array, folder=source.folder, say=say)
    for position, content in enumerate(contents):
        image = None if content is None else open_image(content)
        if content is not None and image is None:
            raise say(position, "the bytes are no image that Pillow knows")
        images.append(image and _changed(image, feature, position, say))
    return images


def _changed(
    image: Any, feature: Image, position: int, say: Callable[[int, str], DecodeError]
) -> Any:
    try:
        return changed(image, feature)
    except Exception as error:  # Pillow raises anything on corrupt files
        raise say(position, reason(error)) from error
