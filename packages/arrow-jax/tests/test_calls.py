"""The work of a batch is done by the batch: calls do not grow with its rows."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import Dataset

N = 512


def calls_of(function):
    """How many functions, Python's and those of C, are called meanwhile."""
    seen = []
    sys.setprofile(lambda _frame, event, _arg: seen.append(event))
    try:
        function()
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in seen)


def columns():
    """Columns that become one array each."""
    rng = np.random.default_rng(0)
    ints = rng.integers(0, 9, N)
    gaps = pa.array(ints, mask=ints > 5)
    return {
        "int64": pa.array(ints),
        "float64": pa.array(rng.standard_normal(N)),
        "bool": pa.array(ints > 4),
        "nulls": gaps,
        "lists": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(N * 6)), 6),
        "nested": pa.array(rng.integers(0, 9, (N, 2, 3)).tolist()),
        "dictionary": pa.array([str(i) for i in ints]).dictionary_encode(),
        "struct": pa.array([{"a": int(i), "b": [1.0, 2.0]} for i in ints]),
        "strings": pa.array([str(i) for i in ints]),
    }


@pytest.mark.parametrize("kind", ["jax", "numpy", "arrow"])
@pytest.mark.parametrize("name", columns())
def test_calls_for_a_batch_do_not_grow_with_it(kind, name):
    ds = Dataset.from_arrow(pa.table({name: columns()[name]}))
    ds = ds.with_format(kind, nulls="mask")
    picked = ds.shuffle(seed=0)
    for made in (ds, picked):
        made[:N], made[:8]
        small = calls_of(lambda ds=made: ds[8:16])
        large = calls_of(lambda ds=made: ds[:N])
        assert large <= small + 8


def test_the_test_above_can_fail():
    ds = Dataset.from_dict({"x": [[0] * (i % 3) for i in range(N)]}).with_format("jax")
    ds[:]
    assert calls_of(lambda: ds[:]) > N
