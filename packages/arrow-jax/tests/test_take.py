import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from type_cases import CASES

from arrow_jax import Dataset
from arrow_jax._take import take_rows

# Arrow 18 takes wrong rows of a sliced union by itself.
TAKEN = [name for name in CASES if "union" not in name]


@pytest.mark.parametrize("name", TAKEN)
def test_rows_of_every_type_in_any_order(name):
    case = CASES[name]
    array = case.array([case.values[0], None, *case.values])[1:]
    rows = np.array([2, 0, 1, 1, 4])
    got = take_rows(array, rows)
    got.validate(full=True)
    assert got.type == array.type
    listed = array.to_pylist()
    assert got.to_pylist() == [listed[row] for row in rows]


@given(st.lists(st.none() | st.text(max_size=20), min_size=1), st.data())
def test_views_against_plain_lists(values, data):
    rows = data.draw(st.lists(st.integers(0, len(values) - 1)))
    array = pa.array(values, pa.string_view())
    got = take_rows(array, np.array(rows, np.int64))
    assert got.to_pylist() == [values[row] for row in rows]


@pytest.mark.parametrize("name", CASES)
def test_the_arrow_format_keeps_the_type_and_python_the_values(name):
    array = CASES[name].array()
    ds = Dataset.from_arrow(pa.table({"c": array}))
    picked = ds.with_format("arrow")[[3, 0]]["c"]
    assert picked.type == array.type
    assert picked.to_pylist() == [array[3].as_py(), array[0].as_py()]
    if "tensor" not in name:
        assert ds[[3, 0]]["c"] == picked.to_pylist()
        assert ds[1]["c"] == array[1].as_py()
