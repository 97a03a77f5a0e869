"""Many small PNG files of one kind, decoded together.

Opening a small image costs Pillow ten times what unpacking its bytes does. Here each
file is unpacked by zlib, and the filters of PNG are undone for all of them at once. A
pixel needs its neighbours to the left, above, and above left, so the pixels of one
anti-diagonal, of every image, are made in one step from the two before it.

What is not exactly as expected is left to Pillow, which also says what is wrong.
"""

import zlib
from collections.abc import Sequence

import numpy as np

_COLOURS = {0: 0, 2: 4, 3: 2, 4: 6}  # channels (0 for no axis) -> PNG's colour type
_MOST_PIXELS = 1 << 12  # of larger images Pillow's overhead is small
_FEWEST = 16  # images; for less the steps cost more than they save
_BLOCK = 1 << 9  # columns of samples that are worked on together


def decode_small(contents: Sequence[bytes | None], out: np.ndarray) -> np.ndarray:
    """Decodes those files that are small PNGs of 8 bits, of the size wanted.

    Args:
      contents: the files.
      out: uint8[n, h, w] or [n, h, w, channels]; gets the pixels.

    Returns:
      bool[n], true for those that were decoded.
    """
    done = np.zeros(len(contents), bool)
    height, width, *channels = out.shape[1:]
    n_channels = channels[0] if channels else 1
    colour = _COLOURS.get(channels[0] if channels else 0)
    small = 0 < height * width <= _MOST_PIXELS
    if len(contents) < _FEWEST or colour is None or not small or out.dtype != np.uint8:
        return done
    start = _start(height, width, colour)
    n_bytes = height * (1 + width * n_channels)
    size = max(_BLOCK // n_channels, 1)
    for first in range(0, len(contents), size):
        block = contents[first : first + size]
        unpacked = [_unpack(content, start, n_bytes) for content in block]
        at = [i for i, data in enumerate(unpacked) if data is not None]
        if not at:
            continue
        joined = b"".join(data for data in unpacked if data is not None)
        rows = np.frombuffer(joined, np.uint8).reshape(len(at), height, -1)
        filters = rows[:, :, 0]
        known = (filters <= 4).all(axis=1)
        samples = rows[known, :, 1:].reshape(-1, height, width, n_channels)
        at = first + np.array(at)[known]
        pixels = _unfilter(samples, filters[known])
        out[at] = pixels if channels else pixels[..., 0]
        done[at] = True
    return done


def _start(height: int, width: int, colour: int) -> bytes:
    """The first bytes of all such files: the signature, and the header with its sum."""
    sizes = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    header = b"IHDR" + sizes + bytes([8, colour, 0, 0, 0])
    check = zlib.crc32(header).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + header + check


def _unpack(content: bytes | None, start: bytes, n_bytes: int) -> bytes | None:
    """Unpacks the samples of a file, or returns None if it is not as expected."""
    if content is None or not content.startswith(start):
        return None
    at, packed = len(start), b""
    while content[at + 4 : at + 8] != b"IEND":
        length = int.from_bytes(content[at : at + 4], "big")
        kind, end = content[at + 4 : at + 8], at + 12 + length
        if kind == b"IDAT":
            packed += content[at + 8 : end - 4]
        elif not kind[:1].islower():  # a critical chunk, or the end of the file
            return None
        at = end
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, n_bytes + 1)
    except zlib.error:
        return None
    return data if len(data) == n_bytes and unpacker.eof else None


def _unfilter(samples: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Undoes the filters of the rows of n images.

    Args:
      samples: uint8[n, h, w, channels], as stored.
      filters: uint8[n, h], the number of each row's filter.

    Returns:
      uint8[n, h, w, channels].
    """
    n, height, width, n_channels = samples.shape
    if not filters.any():
        return samples
    lanes = n * n_channels
    stored = samples.transpose(1, 2, 0, 3).reshape(height, width, lanes)
    kinds = np.repeat(filters.T, n_channels, axis=1)
    # made[d + 2, r + 1] is row r of anti-diagonal d; what is outside the image is 0.
    made = np.zeros((height + width + 1, height + 1, lanes), np.int16)
    masks = [(kinds == kind).astype(np.int16) for kind in range(5)]
    used = [bool(mask.any()) for mask in masks]
    for d in range(height + width - 1):
        low, high = max(0, d - width + 1), min(height, d + 1)
        rows = np.arange(low, high)
        left = made[d + 1, low + 1 : high + 1]
        above = made[d + 1, low:high]
        guess = np.zeros_like(left)
        if used[1]:
            guess += left * masks[1][low:high]
        if used[2]:
            guess += above * masks[2][low:high]
        if used[3]:
            guess += ((left + above) >> 1) * masks[3][low:high]
        if used[4]:
            guess += _paeth(left, above, made[d, low:high]) * masks[4][low:high]
        guess += stored[rows, d - rows]
        np.bitwise_and(guess, 255, out=made[d + 2, low + 1 : high + 1])
    pixels = np.empty((height, width, lanes), np.uint8)
    for row in range(height):
        pixels[row] = made[row + 2 : row + 2 + width, row + 1]
    return pixels.reshape(height, width, n, n_channels).transpose(2, 0, 1, 3)


def _paeth(left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Picks of three neighbours the one nearest to left + above - corner."""
    to_left, to_above = above - corner, left - corner
    to_corner = np.abs(to_left + to_above)
    to_left, to_above = np.abs(to_left), np.abs(to_above)
    second = np.where(to_above <= to_corner, above, corner)
    nearest = np.minimum(to_above, to_corner)
    return np.where(to_left <= nearest, left, second)
