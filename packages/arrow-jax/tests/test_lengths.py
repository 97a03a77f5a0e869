import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, Dataset

VALUES = pa.array([1, 2, 3, 4, 5, 6], pa.int8())
PAIRS = pa.list_(pa.int8(), 2)


def slice_of(offset, n):
    return pa.Array.from_buffers(PAIRS, n, [None], offset=offset, children=[VALUES])


def within(array, kind):
    if kind == "struct":
        return pa.StructArray.from_arrays([array], ["x"])
    if kind == "list":
        return pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), array)
    if kind == "tensor":
        return pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int8(), (2,)), array
        )
    return array


@pytest.mark.parametrize("kind", ["alone", "struct", "list", "tensor"])
def test_lists_that_end_before_their_rows_are_refused(kind):
    table = pa.table({"ok": [within(slice_of(0, 3), kind).to_pylist()]})
    assert len(Dataset.from_arrow(table)) == 1
    short = pa.chunked_array(
        [within(slice_of(0, 3), kind), within(slice_of(1, 3), kind)]
    )
    with pytest.raises(
        ArrowJaxError, match=r"column 'c' of type .*end before its rows"
    ):
        Dataset.from_arrow(pa.table({"c": short}))


@pytest.mark.parametrize("kind", ["alone", "struct", "list", "tensor"])
def test_a_right_slice_is_not(kind):
    column = within(slice_of(1, 2), kind)
    assert Dataset.from_arrow(pa.table({"c": column})).num_rows == len(column)
