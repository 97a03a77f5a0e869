import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._checks import has_nulls, null_rows, outside_rows, outside_value
from arrow_jax._decode import decode
from arrow_jax._nodes import Tensor

elements = st.one_of(st.none(), st.integers(-9, 9))
nested = st.lists(st.one_of(st.none(), st.lists(elements, max_size=3)), max_size=6)


@given(nested)
def test_rows_with_a_null_against_a_loop(rows):
    node = decode(pa.array(rows, pa.list_(pa.int8())))
    wanted = [row is None or None in row for row in rows]
    assert null_rows(node).tolist() == wanted
    assert has_nulls(node) == any(wanted)


@given(nested, st.integers(-9, 0), st.integers(0, 9))
def test_rows_outside_a_range_against_a_loop(rows, low, high):
    node = decode(pa.array(rows, pa.list_(pa.int8())))
    outside = [
        [x for x in row or [] if x is not None and not low <= x <= high] for row in rows
    ]
    assert outside_rows(node, low, high).tolist() == [bool(x) for x in outside]
    if any(outside):
        assert outside_value(node, low, high) == next(x for o in outside for x in o)


def test_inf_and_nan_are_inside():
    node = Tensor(np.array([[np.inf, 1.0], [np.nan, -np.inf], [5.0, 0.0]]))
    assert outside_rows(node, -2, 2).tolist() == [False, False, True]
