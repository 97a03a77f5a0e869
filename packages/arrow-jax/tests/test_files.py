"""What holds for every kind of file."""

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from PIL import Image as PilImage

from arrow_jax import (
    ArrowJaxError,
    DatasetDict,
    Features,
    Image,
    ShapeError,
    read_csv,
    read_ipc,
    read_json,
    read_parquet,
    write_parquet,
)


def write_jsonl(table, path):
    lines = (str(row).replace("'", '"') for row in table.to_pylist())
    path.write_text("\n".join(lines))


KINDS = {
    ".parquet": (read_parquet, pq.write_table),
    ".arrow": (
        read_ipc,
        lambda table, path: pa.feather.write_feather(table, str(path)),
    ),
    ".csv": (read_csv, pa.csv.write_csv),
    ".jsonl": (read_json, write_jsonl),
}


@pytest.fixture(params=KINDS)
def files(request, tmp_path):
    """The reader, and two files in a folder."""
    read, write = KINDS[request.param]
    (tmp_path / "deep").mkdir()
    write(pa.table({"x": [1, 2], "s": ["p", "q"]}), tmp_path / f"a{request.param}")
    write(pa.table({"x": [3], "s": ["r"]}), tmp_path / "deep" / f"b{request.param}")
    return read, tmp_path / f"a{request.param}", tmp_path / "deep" / f"b{request.param}"


def test_a_file_a_folder_a_glob_and_a_list(files, tmp_path):
    read, a, b = files
    assert read(a)[:] == {"x": [1, 2], "s": ["p", "q"]}
    assert read(tmp_path)["x"] == [1, 2, 3]
    assert read(f"{tmp_path}/**/*{a.suffix}")["x"] == [1, 2, 3]
    assert read([b, str(a)])["x"] == [3, 1, 2]
    assert read(a, columns=["s"]).column_names == ["s"]


def test_a_mapping_gives_splits(files):
    read, a, b = files
    splits = read({"train": a, "test": [b]})
    assert isinstance(splits, DatasetDict)
    assert {n: d["x"] for n, d in splits.items()} == {"train": [1, 2], "test": [3]}
    assert splits["train"].source is splits["test"].source


def test_an_address(files):
    read, a, b = files
    memory = fsspec.filesystem("memory")
    memory.put(str(a), f"/files/{a.name}")
    memory.put(str(b), f"/files/deep/{b.name}")
    assert read(f"memory://files/{a.name}")["s"] == ["p", "q"]
    assert read({"all": "memory://files"})["all"]["x"] == [1, 2, 3]
    memory.rm("/files", recursive=True)


def test_what_is_not_there_or_another_kind(files, tmp_path):
    read, a, _ = files
    with pytest.raises(FileNotFoundError, match=f"Beside it: {a.name}"):
        read(tmp_path / f"z{a.suffix}")
    with pytest.raises(ArrowJaxError, match="empty list: name at least one"):
        read([])
    with pytest.raises(ArrowJaxError, match="no column 'z'; there are"):
        read(a, columns=["z"])
    (tmp_path / f"bad{a.suffix}").write_bytes(b"\x00\xff{[\nx,y,z\n1")
    with pytest.raises(
        ArrowJaxError, match=rf"bad\{a.suffix} can't be read as .*"
    ) as bad:
        read(tmp_path / f"bad{a.suffix}")
    assert "\n" not in str(bad.value)


def test_files_that_differ_in_their_columns_are_not_mixed(files, tmp_path):
    read, a, _ = files
    write = KINDS[a.suffix][1]
    write(pa.table({"x": [1], "other": ["r"]}), tmp_path / f"o{a.suffix}")
    with pytest.raises(ShapeError, match=r"(?s)/o\..* has other columns than .*/a\."):
        read([a, tmp_path / f"o{a.suffix}"])


def test_types_that_were_guessed_are_made_one(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n")
    (tmp_path / "b.csv").write_text("x,y\n2.5,b\n")
    assert read_csv(tmp_path)["x"] == [1.0, 2.5]
    (tmp_path / "c.csv").write_text("x,y\nword,b\n")
    with pytest.raises(ShapeError, match=r"(?s)c\.csv has other.*x: string.*x: double"):
        read_csv(tmp_path)


def test_splits_of_images_share_what_is_known_whatever_their_folders(tmp_path):
    features = Features({"im": Image()})
    for split, size in (("train", 2), ("test", 3)):
        (tmp_path / split).mkdir()
        pixels = np.zeros((2, size, size), np.uint8)
        write_parquet(tmp_path / split / "x.parquet", {"im": pixels}, features)
    splits = read_parquet({s: tmp_path / s for s in ("train", "test")})
    assert splits["train"].source is splits["test"].source
    assert isinstance(splits["train"].with_format("numpy")["im"], list)
    # Where rows name files, each split keeps to its own folder.
    type_ = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    table = pa.table({"im": pa.array([{"bytes": None, "path": "a.png"}], type_)})
    said = read_parquet(tmp_path / "test").to_arrow().schema.metadata
    pq.write_table(table.replace_schema_metadata(said), tmp_path / "test" / "x.parquet")
    PilImage.new("L", (5, 4)).save(tmp_path / "test" / "a.png")
    splits = read_parquet({s: tmp_path / s for s in ("train", "test")})
    assert splits["test"][0]["im"].size == (5, 4)
