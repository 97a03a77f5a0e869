import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mnist_gan import _labelled
from mnist_gan._errors import UserError


@pytest.fixture
def folder(shipped, tmp_path):
    """A folder of 20 training and 10 test digits."""
    pq.write_table(shipped.slice(0, 20), tmp_path / "train-00000.parquet")
    pq.write_table(shipped.slice(20, 10), tmp_path / "test-00000.parquet")
    return tmp_path


def test_the_shipped_splits():
    train, test = (_labelled.load(None, split) for split in ("train", "test"))
    assert train.images.shape == (10_000, 28, 28)
    assert (train.labels.dtype, test.labels.dtype) == (np.int32, np.int32)
    assert train.labels[:3].tolist() == [5, 0, 4]
    assert test.labels[:3].tolist() == [7, 2, 1]


def test_splits_of_parquet_are_told_by_name(folder):
    wanted = _labelled.load(None, "train")
    train, test = (_labelled.load(folder, split) for split in ("train", "test"))
    np.testing.assert_array_equal(train.images, wanted.images[:20])
    np.testing.assert_array_equal(test.labels, wanted.labels[20:30])
    assert train.sha256 != test.sha256


def test_the_original_files(folder, tmp_path):
    digits = _labelled.load(folder, "test")
    idx = tmp_path / "idx"
    idx.mkdir()
    for kind, array in (("images-idx3", digits.images), ("labels-idx1", digits.labels)):
        bytes_ = array.astype(np.uint8)
        head = bytes([0, 0, 8, bytes_.ndim])
        head += b"".join(n.to_bytes(4, "big") for n in bytes_.shape)
        (idx / f"t10k-{kind}-ubyte").write_bytes(head + bytes_.tobytes())
    found = _labelled.load(idx, "test")
    np.testing.assert_array_equal(found.images, digits.images)
    np.testing.assert_array_equal(found.labels, digits.labels)


def test_a_missing_split_is_named(folder):
    (folder / "test-00000.parquet").unlink()
    with pytest.raises(UserError, match="no file's name tells the split 'test'"):
        _labelled.load(folder, "test")


def test_no_folder(tmp_path):
    with pytest.raises(UserError, match="is no folder, wanted one with MNIST"):
        _labelled.load(tmp_path / "none", "train")


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        (None, "has no column 'label'; its columns are: image"),
        (pa.array([0.5] * 20), "labels are float64, wanted integers"),
        (pa.array([3] * 19 + [10]), "row 19 has label 10, wanted 0 to 9"),
        (pa.array([-1] + [3] * 19), "row 0 has label -1, wanted 0 to 9"),
    ],
)
def test_wrong_labels_are_refused(folder, shipped, labels, complaint):
    table = shipped.slice(0, 20).drop_columns(["label"]).replace_schema_metadata()
    if labels is not None:
        table = table.append_column("label", labels)
    pq.write_table(table, folder / "train-00000.parquet")
    with pytest.raises(UserError, match=complaint):
        _labelled.load(folder, "train")
