"""Against Pillow, with every filter in every place."""

import io
import zlib

import numpy as np
import pytest
from PIL import Image as PilImage

from arrow_jax import Dataset, DecodeError, Image
from arrow_jax._small_png import decode_small

RNG = np.random.default_rng(0)
COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}


def chunk(kind, data):
    check = zlib.crc32(kind + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + check


def png(pixels, filters, *, parts=1, extra=b""):
    """Writes a PNG of uint8[h, w, channels] whose rows have the filters named."""
    height, width, channels = pixels.shape
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    header += bytes([8, COLOURS[channels], 0, 0, 0])
    zero = np.zeros((height + 1, width + 1, channels), int)
    zero[1:, 1:] = pixels
    left, above, corner = zero[1:, :-1], zero[:-1, 1:], zero[:-1, :-1]
    options = np.stack([left, above, corner])
    far = np.abs(left + above - corner - options)
    paeth = np.take_along_axis(options, far.argmin(axis=0)[None], axis=0)[0]
    guesses = [np.zeros_like(left), left, above, (left + above) // 2, paeth]
    rows = b"".join(
        bytes([kind])
        + ((pixels[r] - guesses[kind][r]) % 256).astype(np.uint8).tobytes()
        for r, kind in enumerate(filters)
    )
    packed = zlib.compress(rows)
    step = -(-len(packed) // parts)
    cut = [packed[i : i + step] for i in range(0, len(packed), step)]
    body = b"".join(chunk(b"IDAT", part) for part in cut)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
    return start + body + chunk(b"IEND", b"")


def opened(content):
    with PilImage.open(io.BytesIO(content)) as image:
        return np.asarray(image)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (5, 3), (3, 7), (28, 28)])
@pytest.mark.parametrize("kinds", [[0], [1], [2], [3], [4], [0, 1, 2, 3, 4]])
def test_every_filter_against_pillow(channels, size, kinds):
    files = [
        png(
            RNG.integers(0, 256, (*size, channels)),
            RNG.choice(kinds, size[0]),
            parts=1 + i % 3,
            extra=chunk(b"tEXt", b"a\0b") if i % 2 else b"",
        )
        for i in range(20)
    ]
    out = np.zeros((20, *size, channels)[: 4 if channels > 1 else 3], np.uint8)
    assert decode_small(files, out).all()
    np.testing.assert_array_equal(out, [opened(file) for file in files])


def test_more_images_than_fit_one_block():
    files = [png(RNG.integers(0, 256, (3, 4, 1)), [4, 3, 1]) for _ in range(1100)]
    out = np.zeros((1100, 3, 4), np.uint8)
    assert decode_small(files, out).all()
    np.testing.assert_array_equal(out, [opened(file) for file in files])


def test_what_is_not_as_expected_is_left_alone():
    pixels = RNG.integers(0, 256, (5, 3, 1))
    good = png(pixels, [0, 1, 2, 3, 4])
    odd = {
        "null": None,
        "empty": b"",
        "another size": png(pixels[:4], [0] * 4),
        "another colour": png(np.repeat(pixels, 3, axis=2), [0] * 5),
        "cut short": good[:-20],
        "no end": good[:-12],
        "a bad sum": good[:40] + bytes([good[40] ^ 1]) + good[41:],
        "a bad header": good[:20] + b"\1" + good[21:],
        "a palette": png(pixels, [0] * 5, extra=chunk(b"PLTE", b"abc")),
        "too much": png(RNG.integers(0, 256, (6, 3, 1)), [0] * 6)[:8]
        + good[8:33]
        + png(RNG.integers(0, 256, (6, 3, 1)), [0] * 6)[33:],
        "an unknown filter": good[:33]
        + chunk(b"IDAT", zlib.compress(bytes([9, 0, 0, 0] * 5)))
        + chunk(b"IEND", b""),
    }
    files = [good] * 16 + list(odd.values())
    out = np.full((len(files), 5, 3), 7, np.uint8)
    done = decode_small(files, out)
    assert done[:16].all()
    assert not done[16:].any()
    assert (out[16:] == 7).all()
    assert not decode_small([good] * 3, out[:3]).any()


def test_a_column_is_what_pillow_makes_of_it():
    files = [png(RNG.integers(0, 256, (6, 4, 1)), [*range(5), 2]) for _ in range(40)]
    files[3] = None
    ds = Dataset.from_dict({"im": files}, {"im": Image()})
    ds = ds.with_format("numpy", nulls="mask")
    got = ds[:]["im"]
    assert got.valid.tolist() == [file is not None for file in files]
    for made, file in zip(got.values, files, strict=True):
        wanted = np.zeros((6, 4)) if file is None else opened(file)
        np.testing.assert_array_equal(made, wanted)
    colour = ds.cast_column("im", Image(mode="RGB"))[:]["im"]
    assert colour.values.shape == (40, 6, 4, 3)
    files[7] = files[7][:45]
    ds = Dataset.from_dict({"im": files}, {"im": Image()})
    with pytest.raises(DecodeError, match="column 'im', row 7: "):
        ds.with_format("numpy", nulls="mask")[:]
