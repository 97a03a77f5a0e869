import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ArrowJaxError, Dataset, Masked
from arrow_jax._batches import as_given, batches, check_batched, is_as_given


def test_batches_are_of_the_rows_and_the_columns_asked_for():
    ds = Dataset.from_dict({"x": [1, 2, 3], "s": ["a", "b", None]}).select([2, 0, 1])
    seen = [(start, batch["x"].tolist(), [*g]) for start, batch, g in batches(ds, 2)]
    assert seen == [(0, [3, 1], ["x"]), (2, [2], ["x"])]
    ((start, batch, _),) = batches(ds.take(0), 2)
    assert (start, batch["x"].shape) == (0, (0,))
    with pytest.raises(ArrowJaxError, match="batch_size=0"):
        next(batches(ds, 0))


def test_what_was_given_is_kept_apart():
    ds = Dataset.from_dict({"x": [1, 2, 3], "r": [[1], [2, 3], []]})
    _, batch, given = next(batches(ds, 3))
    batch["x"][:] = 0
    batch["r"][1][:] = 0
    assert given["x"].tolist() == [1, 2, 3]
    assert [row.tolist() for row in given["r"]] == [[1], [2, 3], []]
    assert as_given(ds, "x")[:]["x"].tolist() == [1, 2, 3]


def test_in_the_arrow_format_they_are_tables():
    ds = Dataset.from_dict({"x": [1, 2], "y": [3, 4]})
    ds = ds.with_format("arrow", columns=["y"])
    ((_, table, given),) = batches(ds, 5)
    assert table.column_names == ["y"]
    assert given == {"y": table["y"]}


X = np.array([0.0, np.nan], np.float32)


@pytest.mark.parametrize(
    ("column", "given", "same"),
    [
        (X.copy(), X, True),
        (np.array([-0.0, np.nan], np.float32), X, False),
        (X.astype(np.float64), X, False),
        (X[None], X, False),
        (jnp.asarray(X), X, False),
        ([1.0, 2.0], np.array([1.0, 2.0]), False),
        ([X.copy(), X[:0]], [X, X[:0]], True),
        ([X.copy()], [X, X[:0]], False),
        (["a", None], ["a", None], True),
        (["a", "b"], ["a", None], False),
        ([b"a"], ["a"], False),
        (Masked(X.copy(), X > 0), Masked(X, X > 0), True),
        (Masked(X.copy(), X == 0), Masked(X, X > 0), False),
        ({"a": X.copy()}, {"a": X}, True),
        ({"b": X.copy()}, {"a": X}, False),
        (pa.chunked_array([[1], [2]]), pa.chunked_array([[1, 2]]), True),
        (pa.chunked_array([[1, 3]]), pa.chunked_array([[1, 2]]), False),
        (np.array([1, 2]), pa.chunked_array([[1, 2]]), False),
        (5, X, False),
    ],
)
def test_a_column_is_as_given_if_nothing_was_changed(column, given, same):
    assert is_as_given(column, given) is same


def test_of_jax_arrays_only_the_very_same_is_as_given():
    array = jnp.arange(3)
    assert is_as_given({"a": array}, {"a": array})
    assert not is_as_given(array + 0, array)
    assert is_as_given(jax.tree.map(lambda leaf: leaf, [array]), [array])


def test_a_function_of_one_row_is_refused():
    check_batched("map", batched=True)
    with pytest.raises(ArrowJaxError, match=r"filter\(batched=0\): the function is"):
        check_batched("filter", batched=0)
