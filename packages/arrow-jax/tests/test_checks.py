import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax._checks import has_nulls, misfit, null_rows, rows_where, value_where
from arrow_jax._decode import decode

elements = st.one_of(st.none(), st.integers(-9, 9))
nested = st.lists(st.one_of(st.none(), st.lists(elements, max_size=3)), max_size=6)


@given(nested)
def test_rows_with_a_null_against_a_loop(rows):
    node = decode(pa.array(rows, pa.list_(pa.int8())))
    wanted = [row is None or None in row for row in rows]
    assert null_rows(node).tolist() == wanted
    assert has_nulls(node) == any(wanted)


@given(nested, st.integers(-9, 0), st.integers(0, 9))
def test_rows_that_fail_a_test_against_a_loop(rows, low, high):
    node = decode(pa.array(rows, pa.list_(pa.int8())))
    outside = [
        [x for x in row or [] if x is not None and not low <= x <= high] for row in rows
    ]

    def test(values):
        return (values < low) | (values > high)

    assert rows_where(node, test).tolist() == [bool(x) for x in outside]
    if any(outside):
        assert value_where(node, test) == next(x for o in outside for x in o)


@pytest.mark.parametrize(
    ("stored", "dtype", "fits", "not_"),
    [
        ("f8", "f4", [0.1, np.inf, np.nan, 3.4028235e38], [3.5e38, -1e300]),
        ("f8", "i4", [0.0, -(2.0**31), 2.0**31 - 1], [0.5, np.nan, np.inf, 2.0**31]),
        ("f4", "i4", [-1.0, 2.0**30], [2.0**31, 1.5]),
        ("f8", "u1", [0.0, 255.0], [-1.0, 256.0]),
        ("f8", "?", [0.0, 1.0], [2.0, 0.5]),
        ("i8", "f2", [65504, -5], [65520]),
        ("i8", jnp.bfloat16, [2**40], []),
        ("i8", "u4", [0, 2**32 - 1], [-1, 2**32]),
        ("u8", "i4", [2**31 - 1], [2**63, 2**31]),
        ("i8", "?", [0, 1], [2, -1]),
    ],
)
def test_what_fits_a_dtype(stored, dtype, fits, not_):
    test = misfit(np.dtype(stored), np.dtype(dtype))
    assert not test(np.array(fits, stored)).any()
    assert test(np.array(not_, stored)).all()
