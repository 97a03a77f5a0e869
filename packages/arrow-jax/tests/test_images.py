"""Paths in a file may only name what lies beside it."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as PilImage

from arrow_jax import Dataset, DecodeError, Image, read_parquet

META = {"huggingface": b'{"info": {"features": {"im": {"_type": "Image"}}}}'}


def png():
    buffer = io.BytesIO()
    PilImage.new("L", (3, 2), 9).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "data"
    (inside / "images").mkdir(parents=True)
    (inside / "images" / "a.png").write_bytes(png())
    (tmp_path / "secret.png").write_bytes(png())
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    return inside


def read(folder, path):
    type_ = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    rows = [{"bytes": png(), "path": "ignored"}, {"bytes": None, "path": path}]
    table = pa.table({"im": pa.array(rows, type_)}).replace_schema_metadata(META)
    pq.write_table(table, folder / "x.parquet")
    return read_parquet(folder / "x.parquet")


def test_a_path_below_the_folder_is_read(folder):
    got = read(folder, "images/a.png").with_format("jax")[:]["im"]
    assert got.shape == (2, 2, 3)
    assert (got == 9).all()


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "images/../../secret.png",
        "/etc/hostname",
        "C:\\secret.png",
        "..\\secret.png",
        "file:///etc/hostname",
        "https://host/a.png",
        "link.png",
        "images/absent.png",
    ],
)
def test_a_path_that_leads_out_is_refused(folder, path):
    with pytest.raises(DecodeError, match=r"column 'im', row 1: the path"):
        read(folder, path).with_format("jax")[:]
    with pytest.raises(DecodeError, match=r"column 'im', row 1: the path"):
        read(folder, path)[:]


def test_the_caller_may_allow_more(folder):
    secret = str(folder.parent / "secret.png")
    type_ = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    table = pa.table({"im": pa.array([{"bytes": None, "path": secret}], type_)})
    table = table.replace_schema_metadata(META)
    pq.write_table(table, folder / "x.parquet")
    ds = read_parquet(folder / "x.parquet", folder="/")
    assert ds.with_format("jax")[0]["im"].shape == (2, 3)
    assert Dataset.from_arrow(table, folder="/")[0]["im"].size == (3, 2)
    for allowed in (None, folder, folder.parent):
        with pytest.raises(DecodeError, match=r'read_parquet\(\.\.\., folder="/"\)'):
            Dataset.from_arrow(table, folder=allowed)[0]
    beside = [{"bytes": None, "path": "secret.png"}]
    table = pa.table({"im": pa.array(beside, type_)}).replace_schema_metadata(META)
    ds = Dataset.from_arrow(table, folder=folder.parent).with_format("jax")
    assert ds[0]["im"].shape == (2, 3)


@pytest.mark.parametrize("kind", [None, "numpy"])
@pytest.mark.parametrize("content", [b"nope", b"GIF89a" + b"\x01" * 30])
def test_what_is_wrong_is_said_without_objects(kind, content):
    ds = Dataset.from_dict({"x": [content]}, {"x": Image()}).with_format(kind)
    with pytest.raises(DecodeError, match="column 'x', row 0: ") as caught:
        ds[0]
    assert "object at" not in str(caught.value)
