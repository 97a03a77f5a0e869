import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, ClassLabel, Dataset, read_ipc

TABLE = pa.table({"x": np.arange(1000, dtype=np.float32)})


@pytest.fixture(params=["file", "stream"])
def path(request, tmp_path):
    made = pa.ipc.new_file if request.param == "file" else pa.ipc.new_stream
    with made(str(tmp_path / "a.arrow"), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=100)
    return tmp_path / "a.arrow"


def test_both_layouts(path):
    assert read_ipc(path)["x"] == TABLE["x"].to_pylist()


def test_a_file_stays_on_disk(path):
    before = pa.total_allocated_bytes()
    ds = read_ipc(path)
    assert pa.total_allocated_bytes() - before < TABLE.nbytes / 2
    assert ds.with_format("jax")[990:]["x"].tolist() == [*range(990, 1000)]


def test_features_come_along(tmp_path):
    label = ClassLabel(["no", "yes"])
    table = Dataset.from_dict({"y": [1, 0]}, {"y": label}).to_arrow()
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    assert read_ipc(tmp_path / "a.arrow").features["y"] == label


def damaged(tmp_path, at):
    """A file of strings one of whose offsets points far outside."""
    table = pa.table({"x": pa.array(["a" * 64] * 64)})
    file = tmp_path / f"{at}.arrow"
    with pa.ipc.new_file(str(file), table.schema) as writer:
        writer.write_table(table)
    content = bytearray(file.read_bytes())
    offsets = np.arange(0, 64 * 65, 64, dtype=np.int32).tobytes()
    where = content.index(offsets) + 4 * at
    content[where : where + 4] = np.int32(2**30).tobytes()
    file.write_bytes(content)
    return file


def test_a_damaged_file_is_refused_by_its_sizes_or_by_all_of_it(tmp_path):
    with pytest.raises(ArrowJaxError, match=r"can't be read as Arrow IPC: .*offset"):
        read_ipc(damaged(tmp_path, at=64))
    inside = damaged(tmp_path, at=7)
    assert len(read_ipc(inside)) == 64  # nothing is read yet
    with pytest.raises(ArrowJaxError, match=r"can't be read as Arrow IPC: .*ffset"):
        read_ipc(inside, validate=True)
