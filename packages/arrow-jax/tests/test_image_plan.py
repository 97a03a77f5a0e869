import io

import jax
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image as PilImage

from arrow_jax import (
    ArrowJaxError,
    Dataset,
    DecodeError,
    Features,
    Image,
    NullsError,
    ShapeError,
    read_parquet,
    write_parquet,
)

RNG = np.random.default_rng(0)


def image(mode, size=(6, 4), form="PNG"):
    made = PilImage.fromarray(RNG.integers(0, 256, (size[1], size[0], 3), np.uint8))
    made = made.convert(mode)
    buffer = io.BytesIO()
    made.save(buffer, form)
    return buffer.getvalue()


def dataset(items, **options):
    return Dataset.from_dict({"im": items}, Features({"im": Image(**options)}))


@pytest.mark.parametrize(
    ("mode", "form", "shape", "dtype"),
    [
        ("L", "PNG", (4, 6), np.uint8),
        ("RGB", "PNG", (4, 6, 3), np.uint8),
        ("RGBA", "PNG", (4, 6, 4), np.uint8),
        ("LA", "PNG", (4, 6, 2), np.uint8),
        ("P", "PNG", (4, 6, 3), np.uint8),
        ("1", "PNG", (4, 6), np.bool_),
        ("RGB", "JPEG", (4, 6, 3), np.uint8),
        ("L", "JPEG", (4, 6), np.uint8),
        ("CMYK", "JPEG", (4, 6, 4), np.uint8),
        ("RGB", "BMP", (4, 6, 3), np.uint8),
        ("P", "GIF", (4, 6, 3), np.uint8),
    ],
)
def test_the_header_scan_knows_what_decoding_gives(mode, form, shape, dtype):
    content = image(mode, form=form)
    ds = dataset([content, content]).with_format("jax")
    assert ds.spec["im"].shape == shape
    assert ds.spec["im"].dtype == dtype
    got = ds[:]["im"]
    assert (got.shape, got.dtype) == ((2, *shape), dtype)
    with PilImage.open(io.BytesIO(content)) as opened:
        wanted = opened.convert("RGB") if mode == "P" else opened
        np.testing.assert_array_equal(got[0], np.asarray(wanted))


def test_sixteen_bits_stay():
    pixels = RNG.integers(0, 2**16, (4, 6), np.uint16)
    ds = dataset([pixels]).with_format("jax")
    assert ds.spec["im"].dtype == np.uint16
    np.testing.assert_array_equal(ds[0]["im"], pixels)


def test_sizes_that_differ_give_lists_always():
    ds = dataset([image("L"), image("L", (3, 3)), image("L")]).with_format("jax")
    assert isinstance(ds[:]["im"], list)
    assert [x.shape for x in ds[0:1]["im"]] == [(4, 6)]
    assert ds[1]["im"].shape == (3, 3)


def test_modes_that_differ_are_made_one_by_mode():
    items = [image("L"), image("RGBA"), image("P"), image("1")]
    assert isinstance(dataset(items).with_format("jax")[:]["im"], list)
    got = dataset(items, mode="RGB").with_format("jax")[:]["im"]
    assert got.shape == (4, 4, 6, 3)


def test_a_declared_shape_needs_no_scan_and_is_checked():
    ds = dataset([image("L"), image("L", (3, 3))], shape=(4, 6)).with_format("jax")
    assert ds.spec["im"].shape == (4, 6)
    assert ds[0]["im"].shape == (4, 6)
    with pytest.raises(ShapeError, match=r"column 'im', row 1: .*\[3, 3\].*\[4, 6\]"):
        ds[:]


def test_an_unknown_mode_is_refused_when_the_format_is_set():
    with pytest.raises(ArrowJaxError, match=r"mode='XYZ'.*\"RGB\""):
        dataset([image("L")], mode="XYZ").with_format("jax")


@pytest.mark.parametrize("cut", [0, 8, 30, 60])
def test_corrupt_bytes_name_column_and_row(cut):
    content = image("L")
    items = [content] * 7 + [content[:cut] or b"?"] + [content]
    ds = dataset(items).with_format("jax")
    assert ds[:7]["im"].shape == (7, 4, 6)
    with pytest.raises(DecodeError, match=r"column 'im', row 7: .*ds\.select"):
        ds[:]
    with pytest.raises(DecodeError, match="row 7"):
        ds.select([8, 7]).with_format("numpy")[1]


def test_a_decompression_bomb_is_not_decoded():
    header = bytearray(image("L"))
    header[16:24] = (100_000).to_bytes(4, "big") * 2
    crc = __import__("zlib").crc32(bytes(header[12:29])).to_bytes(4, "big")
    header[29:33] = crc
    with pytest.raises(DecodeError, match=r"row 0: .*(bomb|pixels)"):
        dataset([bytes(header)]).with_format("jax")[0]


def test_nulls_follow_the_policy():
    ds = dataset([None, image("L")])
    with pytest.raises(
        NullsError, match=r"column 'im', row 0: found no image \(1 of 2"
    ):
        ds.with_format("jax")[:]
    got = ds.with_format("jax", nulls="mask")[:]["im"]
    assert got.valid.tolist() == [False, True]
    assert not got.values[0].any()
    assert (ds.with_format("jax", nulls=7)[:]["im"][0] == 7).all()
    assert ds.with_format("jax", nulls="mask").spec["im"].valid.shape == ()


def test_images_go_to_the_device_named():
    device = jax.devices()[5]
    ds = dataset([image("RGB")] * 2).with_format("jax", device=device)
    assert ds[:]["im"].devices() == {device}
    assert ds[0]["im"].devices() == {device}


def test_plain_binary_columns_are_images_too():
    said = b'{"info": {"features": {"im": {"_type": "Image"}}}}'
    for type_ in (pa.binary(), pa.large_binary()):
        column = pa.array([b"skipped", image("L"), image("L")], type_).slice(1)
        table = pa.table({"im": column}).replace_schema_metadata({"huggingface": said})
        ds = Dataset.from_arrow(table).with_format("jax")
        assert ds[:]["im"].shape == (2, 4, 6)


def test_no_rows_of_an_image_column_keep_rank():
    ds = dataset([image("RGB")]).with_format("jax")
    assert ds[0:0]["im"].shape == (0, 4, 6, 3)


def test_big_images_decode_in_threads_to_the_same_pixels():
    pixels = RNG.integers(0, 256, (8, 300, 200, 3), np.uint8)
    ds = dataset(list(pixels)).with_format("numpy")
    np.testing.assert_array_equal(ds[:]["im"], pixels)


def test_without_a_format_images_are_pil_images():
    got = dataset([image("L"), None])[:]["im"]
    assert got[0].size == (6, 4)
    assert got[1] is None
    with pytest.raises(DecodeError, match="column 'im', row 0"):
        dataset([b"?"])[0]


def striped(width, height):
    """A grey image whose left half is white."""
    pixels = np.zeros((height, width), np.uint8)
    pixels[:, : width // 2] = 255
    return pixels


@pytest.mark.parametrize(
    ("fit", "wanted"),
    [
        ("stretch", [[255, 255, 0, 0]] * 4),
        ("pad", [[0] * 4, [255, 255, 0, 0], [255, 255, 0, 0], [0] * 4]),
        ("crop", [[255, 255, 0, 0]] * 4),
    ],
)
def test_a_size_makes_all_images_one(fit, wanted):
    items = [striped(16, 8), striped(32, 16)]
    ds = dataset(items, size=(4, 4), fit=fit).with_format("jax")
    assert ds.spec["im"].shape == (4, 4)
    got = np.asarray(ds[:]["im"]).astype(int)
    # Where white meets black the colours are mixed.
    inner = got[:, :, [0, 3]]
    np.testing.assert_array_equal(inner, np.array([wanted] * 2)[:, :, [0, 3]])
    assert ds.with_format(None)[0]["im"].size == (4, 4)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
@pytest.mark.parametrize("fit", ["pad", "crop", "stretch"])
def test_every_mode_can_be_resized(mode, fit):
    form = "TIFF" if mode == "CMYK" else "PNG"
    items = [image(mode, form=form), image(mode, (3, 9), form)]
    ds = dataset(items, size=(5, 7), fit=fit).with_format("jax")
    got = ds[:]["im"]
    spec = ds.spec["im"]
    assert (got.shape, got.dtype) == ((2, *spec.shape), spec.dtype)
    assert spec.shape[:2] == (5, 7)
    one = dataset([*items, image("L")], size=(5, 7), mode="RGB").with_format("jax")
    assert one[:]["im"].shape == (3, 5, 7, 3)


def test_sixteen_bits_can_be_resized():
    pixels = [RNG.integers(0, 2**16, shape, np.uint16) for shape in ((4, 6), (2, 2))]
    got = dataset(pixels, size=(4, 6), fit="stretch").with_format("jax")[:]["im"]
    assert got.dtype == np.uint16
    np.testing.assert_array_equal(got[0], pixels[0])


def test_images_are_turned_upright_on_request():
    pixels = RNG.integers(0, 256, (4, 6), np.uint8)
    turned = PilImage.fromarray(pixels)
    turned.getexif()[0x0112] = 6  # to be turned clockwise
    buffer = io.BytesIO()
    turned.save(buffer, "PNG", exif=turned.getexif())
    content = buffer.getvalue()
    as_is = dataset([content] * 2).with_format("jax")
    assert as_is[:]["im"].shape == (2, 4, 6)
    ds = dataset([content] * 2, upright=True).with_format("jax")
    assert ds.spec["im"].shape == (6, 4)
    np.testing.assert_array_equal(ds[0]["im"], np.rot90(pixels, -1))
    # A PIL image keeps its orientation on its way into a column.
    with PilImage.open(io.BytesIO(content)) as opened:
        again = dataset([opened], upright=True).with_format("jax")[0]["im"]
    np.testing.assert_array_equal(again, np.rot90(pixels, -1))
    jpeg = io.BytesIO()
    turned.save(jpeg, "JPEG", exif=turned.getexif())
    ds = dataset([jpeg.getvalue()], upright=True).with_format("jax")
    assert ds[:]["im"].shape == (1, 6, 4)


def test_options_of_an_image_go_through_a_file(tmp_path):
    feature = Image(mode="RGB", size=(5, 7), fit="crop", upright=True)
    features = Features({"im": feature})
    write_parquet(tmp_path / "x.parquet", {"im": [image("L")]}, features)
    assert read_parquet(tmp_path / "x.parquet").features == features


def test_options_that_are_none_say_what_is_wanted():
    with pytest.raises(ArrowJaxError, match=r"size=\(5,\)\): wanted \(height, width\)"):
        Image(size=(5,))
    with pytest.raises(ArrowJaxError, match="and at most 134,217,728 pixels"):
        Image(size=(1 << 20, 1 << 20))
    with pytest.raises(
        ArrowJaxError, match=r"shape=.*: wanted at most 134,217,728 pix"
    ):
        Image(shape=(1 << 20, 1 << 20))
    with pytest.raises(ArrowJaxError, match=r"mode=\['L'\]\): wanted one such as"):
        Image(mode=["L"])
    with pytest.raises(ArrowJaxError, match=r"fit='cut'\): wanted \"pad\""):
        Image(fit="cut")


def test_what_png_has_no_colours_for_is_kept_without_loss():
    pixels = RNG.integers(0, 256, (4, 6, 4), np.uint8)
    parts = [PilImage.fromarray(pixels[..., i]) for i in range(4)]
    cmyk = PilImage.merge("CMYK", parts)
    deep = PilImage.fromarray(RNG.standard_normal((4, 6)).astype(np.float32))
    for made in (cmyk, deep):
        got = dataset([made]).with_format("numpy")[0]["im"]
        np.testing.assert_array_equal(got, np.asarray(made))


def test_paths_and_pil_images_go_in(tmp_path):
    (tmp_path / "a.png").write_bytes(image("RGB"))
    with PilImage.open(tmp_path / "a.png") as opened:
        items = [tmp_path / "a.png", str(tmp_path / "a.png"), opened]
        ds = dataset(items).with_format("jax")
        wanted = np.asarray(opened)
    got = ds[:]["im"]
    assert got.shape == (3, 4, 6, 3)
    for one in got:
        np.testing.assert_array_equal(one, wanted)
