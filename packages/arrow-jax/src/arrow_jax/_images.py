"""Decoding compressed images with Pillow, which loads at the first image."""

import importlib
import io
import os
import re
import stat
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from arrow_jax._errors import ArrowJaxError, DecodeError
from arrow_jax._features import Image

_MODES = {  # PIL mode -> channels (0 for no axis), dtype
    "1": (0, "bool"),
    "L": (0, "uint8"),
    "LA": (2, "uint8"),
    "RGB": (3, "uint8"),
    "RGBA": (4, "uint8"),
    "CMYK": (4, "uint8"),
    "YCbCr": (3, "uint8"),
    "HSV": (3, "uint8"),
    "LAB": (3, "uint8"),
    "I;16": (0, "uint16"),
    "I": (0, "int32"),
    "F": (0, "float32"),
}
_PALETTES = {"P": "RGB", "PA": "RGBA", "RGBX": "RGB", "RGBa": "RGBA", "La": "LA"}
_ORIENTATION = 0x0112  # the EXIF tag; 5 to 8 exchange height and width
_LYING = (5, 6, 7, 8)
MAX_PIXELS = 1 << 27  # a photo of 134 megapixels; more is taken for an attack
# Small images decode faster than a thread starts; above this, two threads pay.
_POOL_BYTES = 1 << 19


class Header(NamedTuple):
    """What an image will be.

    Attributes:
      shape: (h, w) or (h, w, channels).
      dtype: name of the dtype.
    """

    shape: tuple[int, ...]
    dtype: str


def pillow(module: str = "PIL.Image") -> Any:
    """Imports Pillow.

    Args:
      module: the part wanted.

    Returns:
      The module.

    Raises:
      ArrowJaxError: if it is not installed; says what to type.
    """
    try:
        return importlib.import_module(module)  # only image columns need it
    except ImportError as error:
        raise ArrowJaxError(
            'image columns need Pillow: pip install "arrow-jax[vision]"'
        ) from error


def open_image(content: bytes) -> Any:
    """Opens an image without decoding it.

    Args:
      content: the compressed image.

    Returns:
      A PIL image, or None if it is none.
    """
    image = pillow()
    try:
        return image.open(io.BytesIO(content))
    except Exception:  # noqa: BLE001  (Pillow raises anything on corrupt headers)
        return None


def mode_result(mode: str, height: int = 0, width: int = 0) -> Header | None:
    """Finds what an image of a mode becomes.

    Args:
      mode: PIL's name.
      height: in pixels.
      width: in pixels.

    Returns:
      Shape and dtype; None for an unknown mode.
    """
    mode = "I;16" if mode.startswith("I;16") else _PALETTES.get(mode, mode)
    if mode not in _MODES:
        return None
    channels, dtype = _MODES[mode]
    return Header((height, width, channels) if channels else (height, width), dtype)


def result_of(image: Any, *, upright: bool = False) -> Header | None:
    """Finds what an opened image becomes.

    Args:
      image: a PIL image.
      upright: whether it is to be turned as its EXIF orientation says.

    Returns:
      Shape and dtype; None for an unknown mode.
    """
    height, width = image.height, image.width
    if upright and image.getexif().get(_ORIENTATION, 1) in _LYING:
        height, width = width, height
    return mode_result(image.mode, height, width)


def changed(image: Any, feature: Image) -> Any:
    """Makes of an image what its feature asks for; opening it is not enough then.

    Args:
      image: a PIL image.
      feature: the column's.

    Returns:
      A PIL image, the same if nothing is asked for.
    """
    if feature.upright:
        image = pillow("PIL.ImageOps").exif_transpose(image)
    if feature.mode and feature.mode != image.mode:
        image = image.convert(feature.mode)
    if feature.size is None:
        return image
    if image.mode in _PALETTES:  # colours can be mixed, numbers of colours can't
        image = image.convert(_PALETTES[image.mode])
    height, width = feature.size
    # Bits and 16-bit numbers are picked, the rest is interpolated.
    sampling = 0 if image.mode == "1" or image.mode.startswith("I;16") else 2
    match feature.fit:
        case "pad":
            return pillow("PIL.ImageOps").pad(image, (width, height), sampling)
        case "crop":
            return pillow("PIL.ImageOps").fit(image, (width, height), sampling)
    return image.resize((width, height), sampling)


def decode_image(content: bytes, feature: Image) -> np.ndarray:
    """Decodes one image.

    Args:
      content: the compressed image.
      feature: what is asked for; palettes become RGB.

    Returns:
      An array, see `Image`.

    Raises:
      ValueError: if the bytes are no image, are cut short, or hold a huge one. Pillow
        raises other types too.
    """
    with pillow().open(io.BytesIO(content)) as image:
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(f"{image.width} x {image.height} pixels are too many")
        deep_png = image.mode == "I" and image.format == "PNG"
        made = changed(image, feature)
        if made.mode in _PALETTES:
            made = made.convert(_PALETTES[made.mode])
        pixels = np.asarray(made)
    # Before version 11, Pillow widened 16-bit PNG files to 32 bits.
    return pixels.astype(np.uint16) if deep_png and not feature.mode else pixels


def decode_all(
    contents: Sequence[bytes | None],
    decode: Callable[[bytes], Any],
    *,
    use: Callable[[int, Any], None],
    say: Callable[[int, str], DecodeError],
) -> None:
    """Decodes a batch of images or sounds, in threads where that pays.

    Args:
      contents: the bytes of files; None is passed over.
      decode: decodes one.
      use: takes the position of each and what it was decoded to.
      say: makes the error for a position, given what is wrong.

    Raises:
      DecodeError: for the first that can't be decoded.
    """

    def work(position: int) -> None:
        content = contents[position]
        if content is None:
            return
        try:
            decoded = decode(content)
        except ArrowJaxError:
            raise
        except Exception as error:  # Pillow raises anything on corrupt files
            raise say(position, reason(error)) from error
        use(position, decoded)

    positions = range(len(contents))
    n_threads = min(os.cpu_count() or 1, 8)
    size = sum(len(c) for c in contents if c)
    if (
        n_threads == 1
        or len(contents) < 2
        or size < max(_POOL_BYTES, 8192 * len(contents))
    ):
        for position in positions:
            work(position)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(work, positions):
            pass


def reason(error: Exception) -> str:
    """Says what a decoder found wrong, without the objects it was given.

    Args:
      error: that it raised.

    Returns:
      The kind of error and its words.
    """
    words = re.sub(r"\s*<[\w.]+ object at 0x\w+>", "", str(error))
    return f"{type(error).__name__}: {words}"


def image_contents(
    array: pa.Array, *, folder: Path | None, say: Callable[[int, str], DecodeError]
) -> list[bytes | None]:
    """Finds the bytes of images or sounds, in the column or in the files it names.

    Args:
      array: binary, or struct of bytes and path.
      folder: where paths start; nothing outside is read. None if no path may be.
      say: makes the error for a position.

    Returns:
      The bytes of each; None where both bytes and path are null.

    Raises:
      DecodeError: if a path leads out of the folder, or to no file.
    """
    if not pa.types.is_struct(array.type):
        return array.to_pylist()
    fields = dict(zip([f.name for f in array.type], array.flatten(), strict=True))
    contents = fields["bytes"].to_pylist()
    if fields["bytes"].null_count:
        paths = fields["path"].to_pylist()
        for position, content in enumerate(contents):
            if content is None and paths[position] is not None:
                contents[position] = _read(paths[position], position, folder, say)
    return contents


def without_content(array: pa.Array) -> np.ndarray:
    """Finds the rows that have neither bytes nor a path.

    Args:
      array: binary, or struct of bytes and path.

    Returns:
      bool[n].
    """
    if not pa.types.is_struct(array.type):
        return np.array(array.is_null())
    fields = dict(zip([f.name for f in array.type], array.flatten(), strict=True))
    return np.array(fields["bytes"].is_null()) & np.array(fields["path"].is_null())


def _read(
    path: str,
    position: int,
    folder: Path | None,
    say: Callable[[int, str], DecodeError],
) -> bytes:
    parts = (*PurePosixPath(path).parts, *PureWindowsPath(path).parts)
    rooted = PurePosixPath(path).is_absolute() or PureWindowsPath(path).anchor
    if rooted and folder == Path(folder.anchor if folder else "."):
        rooted = False  # the caller has allowed all that there is
    if folder is None:
        raise say(
            position,
            f"the path {path!r} is not opened: these rows have no folder that paths "
            'may start from. Give one, such as from_arrow(..., folder="images"), or '
            'read_parquet(..., folder="/") if you trust every path in it',
        )
    if rooted or ".." in parts or "://" in path:
        raise say(
            position,
            f"the path {path!r} is not one below the dataset's folder; a file may only "
            "name what lies beside it. Put the bytes into the column, or, if "
            'you trust the file, allow more: read_parquet(..., folder="/")',
        )
    try:
        file = (folder / path).resolve()
        is_below = file.is_relative_to(folder.resolve())
        # Opening a pipe would wait for ever for someone to write.
        is_regular = is_below and stat.S_ISREG(file.stat().st_mode)
        content = file.read_bytes() if is_regular else b""
    except OSError as error:
        raise say(position, f"the path {path!r}: {error.strerror}") from error
    except (RuntimeError, ValueError) as error:  # a loop of links, before Python 3.13
        raise say(position, f"the path {path!r} can't be opened: {error}") from error
    if not is_below:
        raise say(position, f"the path {path!r} is a link out of the dataset's folder")
    if not is_regular:
        raise say(position, f"the path {path!r} is a folder, pipe or device, no file")
    return content
