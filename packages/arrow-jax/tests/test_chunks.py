import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import Dataset
from arrow_jax._chunks import Kept, chunk_starts, gather, merge_small


def test_small_chunks_are_merged_and_big_ones_stay():
    small = [pa.array([i]) for i in range(1000)]
    assert len(merge_small(small)) == 1
    big = pa.array(np.zeros(200_000))
    merged = merge_small([*small, big, *small, big, big])
    assert [len(m) for m in merged] == [1000, 200_000, 1000, 200_000, 200_000]
    assert merged[1] is big
    assert [len(a) for a in merge_small([pa.array([], pa.int8())] * 3)] == [0]
    medium = pa.array(np.zeros(100_000))  # 0.8 MB
    assert max(m.nbytes for m in merge_small([medium] * 400)) <= 256 << 20


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_rows_of_chunks_against_a_plain_list(sizes, data):
    plain = np.arange(sum(sizes))
    chunks = np.split(plain, np.cumsum(sizes)[:-1])
    starts = chunk_starts(chunks)
    start = data.draw(st.integers(0, len(plain)))
    stop = data.draw(st.integers(start, len(plain)))
    options = {"pick": lambda c, r: c[r], "join": np.concatenate}
    got = gather(chunks, starts, range(start, stop), **options)
    assert got.tolist() == plain[start:stop].tolist()
    if len(plain):
        rows = data.draw(st.lists(st.integers(0, len(plain) - 1), max_size=9))
        rows = np.array(rows, np.int64)
        assert gather(chunks, starts, rows, **options).tolist() == rows.tolist()


@pytest.fixture
def unmerged(monkeypatch):
    """Chunks of any size are taken for big, so none are merged."""
    monkeypatch.setattr("arrow_jax._chunks._SMALL", 0)


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, None, 4, 5, 6, 7],
        [[1, 2], [3, 4], None, [5, None], [6, 7], [8, 9], [1, 1]],
        [[1], [2, 3], None, [], [4, None, 5], [6], [7, 8]],
        [[[1], [2, 3]], [], None, [[4]], [None], [[5], []], [[6]]],
        ["a", None, "b\0", "", "c", "d", "e"],
    ],
)
def test_columns_in_chunks_are_those_in_one(unmerged, values):
    type_ = pa.array(values).type
    pieces = [pa.array(v, type_) for v in (values[:3], [], values[3:4], values[4:])]
    whole = Dataset.from_arrow(pa.table({"c": pa.chunked_array([pa.array(values)])}))
    parts = Dataset.from_arrow(pa.table({"c": pa.chunked_array(pieces)}))
    whole, parts = (d.with_format("numpy", nulls="mask") for d in (whole, parts))
    for key in (slice(None), slice(1, 5), slice(3, 3), [6, 0, 3, 3], [2], [], 4):
        assert str(parts[key]) == str(whole[key])
    python = parts.with_format(None)
    assert python["c"] == values
    assert python[[5, 1]]["c"] == [values[5], values[1]]


@pytest.mark.parametrize("kind", ["numpy", "arrow", None])
@pytest.mark.parametrize("values", [range(10_000), [[i] for i in range(10_000)]])
def test_ten_thousand_chunks_cost_the_calls_of_one(kind, values):
    column = pa.chunked_array([pa.array([v]) for v in values])
    many = Dataset.from_arrow(pa.table({"c": column})).with_format(kind)
    one = Dataset.from_dict({"c": list(values)}).with_format(kind)
    rows = np.random.default_rng(0).integers(0, 10_000, (100, 32))

    def calls(ds):
        ds[rows[0]]
        found = []
        sys.setprofile(lambda _, event, __: found.append(event))
        for r in rows:
            ds[r]
        sys.setprofile(None)
        return len(found)

    assert calls(many) <= 1.1 * calls(one)


def test_a_slice_of_a_table_in_chunks_does_not_walk_over_them():
    column = pa.chunked_array([pa.array([i]) for i in range(10_000)])
    ds = Dataset.from_arrow(pa.table({"c": column})).with_format("arrow")
    assert ds[5000:5010]["c"].num_chunks == 1
    assert ds[5000:5010]["c"].to_pylist() == list(range(5000, 5010))


@pytest.mark.parametrize("n", [1, 1000])
def test_memory_for_a_batch_does_not_grow_with_the_column(unmerged, n):
    # 32 rows of 1000 chunks: a take over the whole column would allocate all of it
    chunk = pa.array([[1.0] * n] * 4, pa.list_(pa.float64(), n))
    table = pa.table({"c": pa.chunked_array([chunk] * 1000)})
    ds = Dataset.from_arrow(table).with_format("arrow")
    rows = np.random.default_rng(0).integers(0, 4000, 32)
    ds[rows]
    before = pa.total_allocated_bytes()
    batch = ds[rows]
    assert pa.total_allocated_bytes() - before <= 4 * batch.nbytes + 4096


def test_offsets_that_pass_two_billion_together():
    size = 1_500_000_000
    data = pa.py_buffer(np.zeros(size, np.uint8))  # never touched, so never in memory
    offsets = pa.array(np.array([0, 2, size], np.int32)).buffers()[1]
    chunk = pa.Array.from_buffers(pa.binary(), 2, [None, offsets, data])
    kept = Kept.of([chunk, chunk])
    assert kept.gather(np.array([2, 0])).to_pylist() == [b"\0\0", b"\0\0"]
