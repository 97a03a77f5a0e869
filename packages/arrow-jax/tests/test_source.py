import pickle

import pyarrow as pa

from arrow_jax._source import Source


def test_a_fact_is_found_once():
    calls = []
    source = Source.of(pa.table({"x": [1]}))
    for _ in range(3):
        assert source.fact("answer", lambda: calls.append(1) or 42) == 42
    assert len(calls) == 1


def test_columns_are_prepared_once_for_all_views_and_formats():
    from arrow_jax import Dataset

    ds = Dataset.from_dict({"x": [[1, 2], [3, 4]]})
    ds.with_format("jax")[0]
    first = ds.source.numbers(("x",))
    ds.select([1]).with_format("numpy")[0]
    assert ds.source.numbers(("x",)) is first


def test_rows_are_called_by_the_part_they_come_from():
    table = pa.table({"x": range(5)})
    source = Source.of(table, origins=((0, " of a"), (2, " of b")))
    assert [source.words(r) for r in (0, 1, 2, 4)] == [
        "row 0 of a",
        "row 1 of a",
        "row 0 of b",
        "row 2 of b",
    ]


def test_pickling_leaves_what_was_prepared_behind():
    source = Source.of(pa.table({"x": [1, 2]}))
    source.numbers(("x",))
    again = pickle.loads(pickle.dumps(source))
    assert again.table.equals(source.table)
    assert again._facts == {}
