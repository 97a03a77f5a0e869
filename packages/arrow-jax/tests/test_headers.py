import io
import zlib

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image as PilImage

from arrow_jax import Dataset, DecodeError, Image
from arrow_jax._headers import header_of, scan
from arrow_jax._images import Header


def encoded(mode, size, form, **options):
    buffer = io.BytesIO()
    PilImage.new(mode, size).save(buffer, form, **options)
    return buffer.getvalue()


def test_a_column_of_several_kinds():
    column = pa.array(
        [
            encoded("L", (3, 2), "PNG"),
            None,
            encoded("RGB", (3, 2), "JPEG"),
            encoded("RGB", (3, 2), "PNG"),
            b"",
            b"not an image, though long enough to be one",
            encoded("RGB", (5, 4), "GIF"),
        ]
    )
    assert scan(column) == {
        Header((2, 3), "uint8"),
        Header((2, 3, 3), "uint8"),
        Header((4, 5, 3), "uint8"),
    }
    assert scan(column.slice(1, 2)) == {Header((2, 3, 3), "uint8")}
    assert scan(column.slice(0, 0)) == set()


def test_png_is_read_without_a_look_at_single_rows(monkeypatch):
    monkeypatch.setattr("arrow_jax._headers.header_of", None)
    column = pa.array([encoded("RGBA", (3, 2), "PNG")] * 50, pa.large_binary())
    assert scan(column) == {Header((2, 3, 4), "uint8")}


def test_jpeg_markers_in_any_order():
    exif = PilImage.Exif()
    exif[0x010E] = "x" * 3000
    noise = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    for options in ({"exif": exif}, {"progressive": True}, {"comment": b"hello"}):
        buffer = io.BytesIO()
        PilImage.fromarray(noise).save(buffer, "JPEG", **options)
        assert header_of(buffer.getvalue()) == Header((40, 50, 3), "uint8")


def test_jpeg_cut_short_has_no_header():
    whole = encoded("L", (3, 2), "JPEG")
    assert header_of(whole[:30]) is None
    assert header_of(b"\xff\xd8\x00" + bytes(40)) is None


def stating(width, height):
    """A PNG of 2 x 2 pixels that states another size."""
    png = bytearray(encoded("L", (2, 2), "PNG"))
    png[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    png[29:33] = zlib.crc32(png[12:29]).to_bytes(4, "big")
    return bytes(png)


@pytest.mark.parametrize("size", [(60_000, 60_000), (2**31 - 1, 2**31 - 1), (0, 0)])
def test_a_size_that_is_absurd_reserves_no_memory(size):
    assert scan(pa.array([stating(*size)] * 3)) == set()
    bombs = Dataset.from_dict({"im": [stating(*size)] * 100}, {"im": Image()})
    with pytest.raises(DecodeError, match="column 'im', row 0"):
        bombs.with_format("numpy")[:]
