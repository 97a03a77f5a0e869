"""The size of every image in a column, from its header, without decoding one.

PNG, which is most of what sits in Parquet files, is read for the whole column at once
from Arrow's buffers; JPEG by its markers; the rest by Pillow.
"""

import math

import numpy as np
import pyarrow as pa

from arrow_jax._images import MAX_PIXELS, Header, open_image, result_of

_PNG = np.frombuffer(b"\x89PNG\r\n\x1a\n", np.uint8)
_PNG_CHANNELS = {0: 0, 2: 3, 3: 3, 4: 2, 6: 4}  # colour type -> channels, 0 for no axis
_JPEG_CHANNELS = {1: 0, 3: 3, 4: 4}
# Start-of-frame markers hold the size; c4, c8 and cc in their range mean other things.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def scan(array: pa.Array, *, upright: bool = False) -> set[Header]:
    """Reads the headers of a column of compressed images.

    Args:
      array: binary or large_binary.
      upright: whether images are to be turned as their EXIF orientation says, for
        which each has to be opened.

    Returns:
      The different headers found. Rows that are null, or no image, add nothing: the
      former have no size, the latter raise when they are decoded. So do those of a
      size that no decoder is let near; believing one would reserve its memory.
    """
    wide = pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return set()
    offsets = np.frombuffer(offsets, np.int64 if wide else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
    raw = np.frombuffer(data, np.uint8)
    long_enough = np.flatnonzero(np.diff(offsets) >= 26)
    heads = raw[offsets[:-1][long_enough, None] + np.arange(26)]
    is_png = (heads[:, :8] == _PNG).all(axis=1) & (not upright)
    found = _png_headers(heads[is_png])
    others = np.ones(len(array), bool)
    others[long_enough[is_png]] = False
    for row in np.flatnonzero(others):
        content = array[int(row)].as_py()
        header = header_of(content, upright=upright) if content else None
        if header is not None:
            found.add(header)
    return {header for header in found if 0 < math.prod(header.shape[:2]) <= MAX_PIXELS}


def _png_headers(heads: np.ndarray) -> set[Header]:
    fields = np.unique(heads[:, 16:26], axis=0)
    found = set()
    for row in fields:
        width, height = (int(x) for x in row[:8].view(">u4"))
        depth, colour = int(row[8]), int(row[9])
        channels = _PNG_CHANNELS.get(colour, 3)
        dtype = "uint8"
        if colour == 0 and depth in (1, 16):
            dtype = "bool" if depth == 1 else "uint16"
        found.add(
            Header((height, width, channels) if channels else (height, width), dtype)
        )
    return found


def header_of(content: bytes, *, upright: bool = False) -> Header | None:
    """Reads the header of one image that is not PNG.

    Args:
      content: the compressed image.
      upright: see `scan`.

    Returns:
      Its header, or None if it is no image that can be read.
    """
    if content[:2] == b"\xff\xd8" and not upright:
        return _jpeg_header(content)
    image = open_image(content)
    return None if image is None else result_of(image, upright=upright)


def _jpeg_header(content: bytes) -> Header | None:
    at = 2
    while at + 9 < len(content):
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker in _FRAMES:
            height = int.from_bytes(content[at + 5 : at + 7], "big")
            width = int.from_bytes(content[at + 7 : at + 9], "big")
            channels = _JPEG_CHANNELS.get(content[at + 9], 3)
            shape = (height, width, channels) if channels else (height, width)
            return Header(shape, "uint8")
        if marker == 0xFF or 0xD0 <= marker <= 0xD9:
            at += 1 if marker == 0xFF else 2
        else:
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return None
