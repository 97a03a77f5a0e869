import fsspec
import numpy as np
import pyarrow.compute as pc
import pytest

from arrow_jax import (
    ArrowJaxError,
    DatasetDict,
    Features,
    Image,
    ShapeError,
    read_parquet,
    write_parquet,
)


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "data"
    (inside / "deep").mkdir(parents=True)
    (inside / ".hidden").mkdir()
    write_parquet(inside / "a.parquet", {"x": [1, 2], "y": ["p", "q"]})
    write_parquet(inside / "deep" / "b.parquet", {"x": [3], "y": ["r"]})
    write_parquet(inside / ".hidden" / "c.parquet", {"x": [4], "y": ["s"]})
    return inside


def test_files_folders_globs_and_lists(folder):
    a, b = folder / "a.parquet", folder / "deep" / "b.parquet"
    assert read_parquet(a)["x"] == [1, 2]
    assert read_parquet(str(a))["x"] == [1, 2]
    assert read_parquet(folder)["x"] == [1, 2, 3]
    assert read_parquet([b, a])["x"] == [3, 1, 2]
    assert read_parquet(f"{folder}/**/*.parquet")["x"] == [1, 2, 3]
    assert read_parquet(f"{folder}/*.parquet")["x"] == [1, 2]


def test_a_mapping_gives_splits_that_share_what_is_known(folder):
    write_parquet(folder / "t.parquet", {"r": [[1], [2]]})
    write_parquet(folder / "u.parquet", {"r": [[3, 4]]})
    splits = read_parquet({"train": folder / "t.parquet", "test": folder / "u.parquet"})
    assert isinstance(splits, DatasetDict)
    assert [len(s) for s in splits.values()] == [2, 1]
    assert isinstance(splits.with_format("jax")["train"][:]["r"], list)
    assert isinstance(
        read_parquet(folder / "t.parquet").with_format("jax")["r"], object
    )


def test_columns_and_filters(folder):
    assert read_parquet(folder, columns=["y"]).column_names == ["y"]
    assert read_parquet(folder, filters=pc.field("x") >= 2)["x"] == [2, 3]
    with pytest.raises(ArrowJaxError, match=r"no column 'z'; there are \['x', 'y'\]"):
        read_parquet(folder, columns=["z"])


def test_addresses_go_through_fsspec(folder):
    memory = fsspec.filesystem("memory")
    memory.put(str(folder / "a.parquet"), "/d/a.parquet")
    memory.put(str(folder / "deep" / "b.parquet"), "/d/b.parquet")
    assert read_parquet("memory://d/a.parquet")["x"] == [1, 2]
    assert read_parquet("memory://d/a.parquet", columns=["y"])["y"] == ["p", "q"]
    assert read_parquet("memory://d")["x"] == [1, 2, 3]
    assert read_parquet("memory://d/*.parquet")["x"] == [1, 2, 3]
    with pytest.raises(FileNotFoundError, match=r"nothing at memory://d/z.parquet"):
        read_parquet("memory://d/z.parquet")
    with pytest.raises(ArrowJaxError, match=r"holds no .parquet file"):
        read_parquet("memory://d/*.csv")
    with pytest.raises(ArrowJaxError, match="abacus://x can't be opened"):
        read_parquet("abacus://x")


def test_a_missing_file_says_what_is_beside_it(folder):
    with pytest.raises(
        FileNotFoundError, match=r"no file .*z\.parquet. Beside it: \.hid"
    ):
        read_parquet(folder / "z.parquet")
    with pytest.raises(FileNotFoundError, match="nor a folder"):
        read_parquet(folder / "no" / "z.parquet")
    with pytest.raises(FileNotFoundError, match=r"no file .*\*\.csv"):
        read_parquet(f"{folder}/*.csv")


def test_what_is_no_parquet_says_so(folder, tmp_path):
    (folder / "text.parquet").write_text("hello, this is text")
    with pytest.raises(ArrowJaxError, match=r"text\.parquet can't be read as Parquet"):
        read_parquet(folder / "text.parquet")
    whole = (folder / "a.parquet").read_bytes()
    for end in (0, 3, len(whole) // 2, len(whole) - 1):
        (folder / "cut.parquet").write_bytes(whole[:end])
        with pytest.raises(ArrowJaxError, match="or was cut short") as caught:
            read_parquet(folder / "cut.parquet")
        assert "\n" not in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArrowJaxError, match=r"holds no \.parquet file \(it is empty\)"):
        read_parquet(tmp_path / "empty")
    with pytest.raises(ArrowJaxError, match="empty list"):
        read_parquet([])


def test_damage_inside_a_file_is_an_error(folder):
    whole = bytearray((folder / "a.parquet").read_bytes())
    whole[4:40] = bytes(36)
    (folder / "a.parquet").write_bytes(whole)
    with pytest.raises(ArrowJaxError, match=r"a\.parquet can't be read"):
        read_parquet(folder / "a.parquet")


def test_files_of_other_columns_are_not_mixed(folder):
    write_parquet(folder / "o.parquet", {"x": [1.5], "y": ["p"]})
    with pytest.raises(
        ShapeError, match=r"(?s)o\.parquet has other columns.*x: double"
    ):
        read_parquet([folder / "a.parquet", folder / "o.parquet"])


def test_errors_name_the_file_of_a_row(folder):
    features = Features({"im": Image()})
    good = np.zeros((2, 2), np.uint8)
    write_parquet(folder / "1.parquet", {"im": [good, good]}, features)
    write_parquet(folder / "2.parquet", {"im": [good, b"bad"]}, features)
    ds = read_parquet([folder / "1.parquet", folder / "2.parquet"]).with_format("jax")
    with pytest.raises(ValueError, match=r"column 'im', row 1 of 2\.parquet: "):
        ds[:]
    splits = read_parquet({"a": folder / "1.parquet", "b": folder / "2.parquet"})
    with pytest.raises(ValueError, match="column 'im', row 1 of split 'b': "):
        splits.with_format("jax")["b"][:]


def test_filters_that_can_not_be_are_said(tmp_path):
    file = tmp_path / "a.parquet"
    write_parquet(file, {"x": [1, 2]})
    for filters in (pc.field("zz") > 1, [("zz", ">", 1)]):
        with pytest.raises(ArrowJaxError, match=r"column 'zz'; there are \['x'\]"):
            read_parquet(file, filters=filters)
    with pytest.raises(ArrowJaxError, match=r"filters=3.: wanted an Arrow expression"):
        read_parquet(file, filters=3)
