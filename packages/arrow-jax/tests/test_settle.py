import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ShapeError
from arrow_jax._decode import decode
from arrow_jax._nodes import Lists, Tensor
from arrow_jax._settle import settle


def settled(*chunks, type_, declared=()):
    nodes = [decode(pa.array(c, type_)) for c in chunks]
    where = "chunk {} row {}".format
    return settle(nodes, name="c", declared=declared, where=where)


def test_lists_of_one_length_in_every_chunk_are_an_axis():
    chunks = settled([[1, 2]], [], [[3, 4], [5, 6]], type_=pa.list_(pa.int8()))
    assert [c.values.shape for c in chunks] == [(1, 2), (0, 2), (2, 2)]


def test_one_other_length_makes_every_chunk_ragged():
    chunks = settled([[1, 2]], [[3]], type_=pa.list_(pa.int8()))
    assert all(isinstance(c, Lists) for c in chunks)


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        ([[[]]], (1, 1, 0)),
        ([[], []], (2, 0, 0)),
        ([], (0, 0, 0)),
        ([None], (1, 0, 0)),
        ([None, [[], []]], (2, 2, 0)),
    ],
)
def test_lists_of_nothing_still_have_a_shape(values, shape):
    (chunk,) = settled(values, type_=pa.list_(pa.list_(pa.int8())))
    assert isinstance(chunk, Tensor)
    assert chunk.values.shape == shape


def test_a_null_in_one_chunk_gives_all_a_mask():
    first, second = settled([[1]], [None, [2]], type_=pa.list_(pa.int8()))
    assert first.valid.tolist() == [True]
    assert second.valid.tolist() == [False, True]
    assert second.values.tolist() == [[0], [2]]
    first, second = settled([[1]], [[None]], type_=pa.list_(pa.int8(), 1))
    assert first.inner.tolist() == [[True]]
    assert second.inner.tolist() == [[False]]


def test_what_lies_under_a_null_row_counts_for_nothing():
    values = pa.array([1, 2, 3, 4, 5], pa.int8())
    array = pa.ListArray.from_arrays(
        pa.array([0, 2, 3, 5], pa.int32()), values, mask=pa.array([False, True, False])
    )
    (chunk,) = settle([decode(array)], name="c", where="{} {}".format)
    assert chunk.values.tolist() == [[1, 2], [0, 0], [4, 5]]


def test_a_wrong_length_names_the_row_of_the_column_at_any_depth():
    type_ = pa.list_(pa.list_(pa.int8()))
    with pytest.raises(ShapeError, match=r"'c', chunk 1 row 1: found a list of 3.*s 2"):
        settled(
            [[[1, 2]]], [[[1, 2]], [[1, 2], [3, 4, 5]]], type_=type_, declared=(None, 2)
        )
    with pytest.raises(
        ShapeError, match=r"chunk 0 row 1: found a list of 2.*declares 1"
    ):
        settled([[[1, 2]], [[1, 2], [3, 4]]], type_=type_, declared=(1, 2))


def test_values_are_views_of_arrow_memory():
    array = pa.array(
        np.arange(6, dtype=np.int32).reshape(3, 2).tolist(), pa.list_(pa.int32(), 2)
    )
    (chunk,) = settle([decode(array)], name="c", where="{} {}".format)
    assert (
        chunk.values.__array_interface__["data"][0] == array.values.buffers()[1].address
    )


def test_a_null_that_no_element_could_hide_keeps_lists():
    (chunk,) = settled([[None]], type_=pa.list_(pa.list_(pa.int8())))
    assert isinstance(chunk, Lists)
    assert chunk.child.valid.tolist() == [False]
