import gzip
import hashlib

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrow_jax
from mnist_gan import _digits
from mnist_gan._errors import UserError

# The first digit is a five; these are the sums of the first three digits' pixels.
SUMS = [27525, 31095, 19443]


def sums(digits):
    images = digits.dataset.with_format("numpy")[:3]["image"]
    return images.reshape(3, -1).sum(1, dtype=int).tolist()


@pytest.fixture
def idx(tmp_path):
    """Writes images in the layout of the original files."""

    def write(name, images, *, compress=False, cut=0):
        head = bytes([0, 0, 8, images.ndim])
        head += b"".join(int(n).to_bytes(4, "big") for n in images.shape)
        data = (head + images.tobytes())[: len(head) + images.size - cut]
        (tmp_path / name).write_bytes(gzip.compress(data) if compress else data)
        return tmp_path

    return write


@pytest.fixture(scope="module")
def images():
    return _digits.load(None).dataset.with_format("numpy")[:20]["image"]


def test_the_shipped_digits():
    digits = _digits.load(None)
    assert digits.address == "(shipped)"
    assert len(digits.dataset) == 10_000
    assert sums(digits) == SUMS
    pixels = digits.dataset.with_format("numpy")[:]["image"]
    assert digits.sha256 == hashlib.sha256(pixels.tobytes()).hexdigest()


def test_the_shipped_test_digits_have_labels():
    from importlib import resources

    file = resources.files("mnist_gan") / "digits/test.parquet"
    with resources.as_file(file) as path:
        test = arrow_jax.read_parquet(str(path)).with_format("numpy")
    assert len(test) == 2_000
    assert test[:5]["label"].tolist() == [7, 2, 1, 0, 4]


def test_a_file_a_folder_and_a_glob(small, shipped):
    pq.write_table(shipped.slice(40, 10), small.with_name("small-2.parquet"))
    assert len(_digits.load(str(small)).dataset) == 40
    assert len(_digits.load(str(small.parent)).dataset) == 50
    assert len(_digits.load(str(small.parent / "small-*.parquet")).dataset) == 10


def test_of_a_folder_with_splits_only_the_training_split(tmp_path, shipped):
    (tmp_path / "data").mkdir()
    for name, rows in (("train-00000-of-00001", 7), ("test-00000-of-00001", 5)):
        pq.write_table(shipped.slice(0, rows), tmp_path / f"data/{name}.parquet")
    assert len(_digits.load(str(tmp_path)).dataset) == 7


def test_an_address_that_fsspec_knows(small):
    files = fsspec.filesystem("memory")
    files.pipe("/digits/train.parquet", small.read_bytes())
    digits = _digits.load("memory://digits/train.parquet")
    assert sums(digits) == SUMS
    assert digits.address == "memory://digits/train.parquet"


@pytest.mark.parametrize("stem", ["train-images-idx3-ubyte", "train-images.idx3-ubyte"])
@pytest.mark.parametrize("compress", [False, True])
def test_the_original_files(idx, images, stem, compress):
    folder = idx(stem + ".gz" * compress, images, compress=compress)
    idx("t10k-images-idx3-ubyte", images[:2])
    digits = _digits.load(str(folder))
    assert len(digits.dataset) == 20
    assert sums(digits) == SUMS


def test_the_original_files_and_parquet_have_the_same_pixels(idx, images, small):
    folder = idx("train-images-idx3-ubyte", images)
    table = pq.read_table(small).slice(0, 20)
    pq.write_table(table, small)
    assert _digits.load(str(folder)).sha256 == _digits.load(str(small)).sha256


def test_a_tensor_column_needs_no_decoding(images, tmp_path):
    file = tmp_path / "tensors.parquet"
    arrow_jax.write_parquet(file, {"image": images})
    assert sums(_digits.load(str(file))) == SUMS


@pytest.mark.parametrize("cut", [1, 700, 15_000])
@pytest.mark.parametrize("compress", [False, True])
def test_an_idx_file_that_is_cut_short(idx, images, cut, compress):
    name = "train-images-idx3-ubyte" + ".gz" * compress
    folder = idx(name, images, cut=cut, compress=compress)
    with pytest.raises(UserError, match=r"states 20 x 28 x 28 bytes and holds \d+:"):
        _digits.load(str(folder))


def test_a_gzip_file_that_is_cut_short(idx, images):
    folder = idx("train-images-idx3-ubyte.gz", images, compress=True)
    file = folder / "train-images-idx3-ubyte.gz"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(UserError, match="not a whole gzip file"):
        _digits.load(str(folder))


@pytest.mark.parametrize("content", [b"", b"\0\0", b"<html>not found</html>"])
def test_an_idx_file_that_is_none(tmp_path, content):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(UserError, match="not an IDX file"):
        _digits.load(str(tmp_path))


def test_an_idx_file_of_other_images(idx, images):
    folder = idx("train-images-idx3-ubyte", images[:, :14])
    with pytest.raises(UserError, match=r"uint8 \[14, 28\], wanted uint8 \[28, 28\]"):
        _digits.load(str(folder))


def test_a_folder_with_nothing_in_it(tmp_path):
    with pytest.raises(UserError, match=r"holds no \.parquet file and no train-images"):
        _digits.load(str(tmp_path))


def test_colour_images_are_refused(tmp_path):
    file = tmp_path / "colour.parquet"
    column = {"image": np.zeros((2, 28, 28, 3), np.uint8)}
    features = arrow_jax.Features({"image": arrow_jax.Image()})
    arrow_jax.write_parquet(file, column, features=features)
    with pytest.raises(
        UserError, match=r"uint8 \[28, 28, 3\], wanted uint8 \[28, 28\]"
    ):
        _digits.load(str(file))


def test_an_image_column_of_another_name(tmp_path, shipped):
    file = tmp_path / "renamed.parquet"
    meta = {b"huggingface": b'{"info": {"features": {"digit": {"_type": "Image"}}}}'}
    column = shipped["image"].slice(0, 3)
    pq.write_table(pa.table({"digit": column}).replace_schema_metadata(meta), file)
    assert sums(_digits.load(str(file))) == SUMS


@pytest.mark.parametrize("metadata", [None, {}, {b"huggingface": b"{"}])
def test_an_image_column_that_lost_its_metadata(tmp_path, shipped, metadata):
    file = tmp_path / "bare.parquet"
    pq.write_table(shipped.slice(0, 3).replace_schema_metadata(metadata), file)
    if metadata and b"huggingface" in metadata:
        with pytest.warns(UserWarning, match="huggingface"):
            assert sums(_digits.load(str(file))) == SUMS
    else:
        assert sums(_digits.load(str(file))) == SUMS


def test_an_image_column_of_plain_bytes(tmp_path, shipped):
    file = tmp_path / "bytes.parquet"
    rows = [row["bytes"] for row in shipped["image"].slice(0, 3).to_pylist()]
    pq.write_table(pa.table({"image": pa.array(rows, pa.binary())}), file)
    assert sums(_digits.load(str(file))) == SUMS


def test_an_image_column_of_text_is_refused(tmp_path):
    file = tmp_path / "text.parquet"
    pq.write_table(pa.table({"image": ["a.png", "b.png"]}), file)
    with pytest.raises((UserError, arrow_jax.ArrowJaxError), match="image"):
        _digits.load(str(file))


@pytest.mark.parametrize(
    "head",
    [
        bytes([0, 0, 8, 255]) + bytes(20),
        bytes([0, 0, 8, 3, 0]),
        bytes([0, 0, 8, 3]) + b"\x80\0\0\0" * 2 + b"\0\0\0\x04",
    ],
)
def test_an_idx_head_that_states_nonsense(tmp_path, head):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(head)
    with pytest.raises(UserError, match="states"):
        _digits.load(str(tmp_path))
