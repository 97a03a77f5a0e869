import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrow_jax import (
    Array2D,
    ArrowJaxError,
    ClassLabel,
    Dataset,
    Features,
    Image,
    ShapeError,
    Value,
    read_parquet,
    write_parquet,
)


def test_images_and_labels_in_the_public_layout(tmp_path):
    file = tmp_path / "a.parquet"
    pixels = np.random.default_rng(0).integers(0, 256, (5, 28, 28), np.uint8)
    features = Features({"image": Image(), "label": ClassLabel(["a", "b"])})
    write_parquet(file, {"image": pixels, "label": [0, 1, 0, 1, 1]}, features)
    schema = pq.read_schema(file)
    assert schema.field("image").type == pa.struct(
        {"bytes": pa.binary(), "path": pa.string()}
    )
    assert schema.field("label").type == pa.int64()
    ds = read_parquet(file)
    assert ds.features == features
    got = ds.with_format("jax")[:]
    np.testing.assert_array_equal(got["image"], pixels)
    assert got["label"].dtype == np.int32


def test_tensors_and_declared_arrays(tmp_path):
    file = tmp_path / "a.parquet"
    tree = {"t": np.ones((3, 2, 4), np.float32), "m": np.ones((3, 2, 2), np.int8)}
    write_parquet(file, tree, {"m": Array2D((2, 2), "int8")})
    schema = pq.read_schema(file)
    assert schema.field("t").type == pa.fixed_shape_tensor(pa.float32(), (2, 4))
    assert schema.field("m").type == pa.list_(pa.list_(pa.int8()))
    ds = read_parquet(file)
    assert ds.features["m"] == Array2D((2, 2), "int8")
    got = ds.with_format("numpy")[:]
    np.testing.assert_array_equal(got["t"], tree["t"])
    np.testing.assert_array_equal(got["m"], tree["m"])


def test_a_dataset_with_its_features_and_selection(tmp_path):
    file = tmp_path / "a.parquet"
    ds = Dataset.from_dict({"p": ["y", "x"]}, {"p": ClassLabel(["x", "y"])})
    write_parquet(file, ds.select([1]).with_format("jax"))
    again = read_parquet(file)
    assert again["p"] == [0]
    assert again.features == ds.features


def test_batches_become_row_groups(tmp_path):
    file = tmp_path / "a.parquet"
    write_parquet(file, ({"x": np.arange(i, i + 3)} for i in (0, 3)))
    assert pq.ParquetFile(file).num_row_groups == 2
    assert read_parquet(file)["x"] == [0, 1, 2, 3, 4, 5]


def test_a_failure_leaves_what_was_there(tmp_path):
    file = tmp_path / "a.parquet"
    write_parquet(file, {"x": [1]})
    before = file.read_bytes()

    def failing():
        yield {"x": [2]}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parquet(file, failing())
    with pytest.raises(
        ShapeError, match=r"(?s)other columns than the first.*x: double"
    ):
        write_parquet(file, [{"x": [2]}, {"x": [2.5]}])
    with pytest.raises(ShapeError, match="'y' has 2 rows"):
        write_parquet(file, {"x": [2], "y": [1, 2]})
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["a.parquet"]


def test_what_can_not_be_written_says_so(tmp_path):
    with pytest.raises(ArrowJaxError, match="no folder"):
        write_parquet(tmp_path / "no" / "a.parquet", {"x": [1]})
    with pytest.raises(ArrowJaxError, match="no batch"):
        write_parquet(tmp_path / "a.parquet", [])
    assert not list(tmp_path.iterdir())


def test_an_arrow_table_is_written_with_its_features(tmp_path):
    file = tmp_path / "a.parquet"
    label = ClassLabel(["no", "yes"])
    table = Dataset.from_dict({"x": [0, 1]}, {"x": label}).to_arrow()
    for data in (table, table.to_batches()[0], table.to_reader()):
        write_parquet(file, data)
        assert read_parquet(file).features["x"] == label
    write_parquet(file, pa.table({"x": [0.5]}), {"x": Value("float32")})
    assert read_parquet(file).features["x"] == Value("float32")


@pytest.mark.parametrize("data", [3, None, "x", [3], [[1]]])
def test_what_has_no_columns_is_not_written(data, tmp_path):
    with pytest.raises(ArrowJaxError, match=r"got a .*, wanted a"):
        write_parquet(tmp_path / "a.parquet", data)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_not_written_over(tmp_path):
    with pytest.raises(
        ArrowJaxError, match=r"is a folder. Name a file in it: .*data.p"
    ):
        write_parquet(tmp_path, {"x": [1]})
