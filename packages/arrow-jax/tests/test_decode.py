import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import Dataset
from arrow_jax._decode import decode, number_dtype, validity


def test_list_offsets_of_a_slice():
    array = pa.array([[0], [1, 2], [3, 4, 5], [6]]).slice(1, 2)
    ds = Dataset.from_arrow(pa.table({"c": array})).with_format("numpy")
    assert [x.tolist() for x in ds["c"]] == [[1, 2], [3, 4, 5]]


def test_a_slice_is_not_judged_by_the_rest():
    array = pa.array([[1], [2, 3], [4, 5], [None]]).slice(1, 2)
    ds = Dataset.from_arrow(pa.table({"c": array})).with_format("numpy")
    assert ds["c"].tolist() == [[2, 3], [4, 5]]


@pytest.mark.parametrize("start", range(18))
def test_validity_at_every_bit(start):
    values = [None if i % 3 == 0 else i for i in range(20)]
    array = pa.array(values).slice(start)
    wanted = [v is not None for v in values[start:]]
    found = validity(array)
    assert (found.tolist() if found is not None else [True] * len(array)) == wanted


def test_permuted_tensors_are_in_their_logical_order():
    type_ = pa.fixed_shape_tensor(pa.int8(), (2, 3), permutation=[1, 0])
    storage = pa.array([list(range(6)), list(range(6, 12))], pa.list_(pa.int8(), 6))
    array = pa.ExtensionArray.from_storage(type_, storage).slice(1)
    node = decode(array)
    np.testing.assert_array_equal(node.values, array.to_numpy_ndarray())
    assert node.values.shape == (1, 3, 2)


def test_tensors_with_nulls_and_an_offset():
    type_ = pa.fixed_shape_tensor(pa.int8(), (2,))
    storage = pa.array([[0, 0], [1, None], None, [3, 4]], pa.list_(pa.int8(), 2))
    table = pa.table({"t": pa.ExtensionArray.from_storage(type_, storage).slice(1)})
    ds = Dataset.from_arrow(table)
    got = ds.with_format("numpy", nulls="mask")[:]["t"]
    assert got.valid.tolist() == [True, False, True]
    assert got.values.valid.tolist() == [[True, False], [True, True], [True, True]]
    assert ds["t"] == [[1, None], None, [3, 4]]


def test_a_null_in_the_dictionary_is_a_null():
    codes = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None], pa.int8()), pa.array(["a", None])
    )
    assert decode(codes).valid.tolist() == [True, False, False]


def test_types_without_numbers():
    for type_ in (pa.null(), pa.decimal128(3), pa.string(), pa.list_(pa.null())):
        assert number_dtype(type_) is None
    assert number_dtype(pa.list_(pa.list_(pa.float16()))) == np.float16


def test_read_only_memory_maps(tmp_path):
    table = pa.table({"c": np.arange(1000), "t": [[1.0, 2.0]] * 1000})
    with (
        pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    with pa.memory_map(str(tmp_path / "a.arrow")) as source:
        mapped = pa.ipc.open_file(source).read_all()
        ds = Dataset.from_arrow(mapped).with_format("jax")
        assert ds["c"].tolist() == list(range(1000))
        assert ds[[3, 1]]["t"].shape == (2, 2)
