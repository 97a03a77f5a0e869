import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrow_jax import ArrowJaxError, Loader, Pack, Window, scan_parquet
from arrow_jax._ledger import Ledger
from arrow_jax._scan import Scan
from arrow_jax._step import Draft, Layout, Position


@pytest.fixture
def scan(tmp_path):
    """Two files of 40 rows, in row groups of 10."""
    for i in range(2):
        table = pa.table({"x": np.arange(40 * i, 40 * i + 40)})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=10)
    return scan_parquet(tmp_path)


@pytest.fixture
def reads(monkeypatch):
    found = []
    read = Scan.read

    def counted(self, groups, columns):
        found.extend((threading.current_thread().name, g) for g in groups)
        return read(self, groups, columns)

    monkeypatch.setattr(Scan, "read", counted)
    return found


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("arrow-jax")]


def test_no_more_than_two_windows_are_kept(scan, monkeypatch):
    readers = []
    feed = type(Loader(scan, 8)._feed)
    begin = feed.open
    monkeypatch.setattr(
        feed, "open", lambda *args: readers.append(begin(*args)) or readers[-1]
    )
    for _ in Loader(scan, 8, shuffle=Window(2), prefetch=0):
        assert len(readers[0].parts) <= 2


def test_the_next_window_is_read_while_this_one_is_used(scan, reads):
    loader = Loader(scan, 5, shuffle=Window(4), prefetch=1)
    rows = [int(x) for batch in loader for x in batch["x"]]
    assert sorted(rows) == list(range(80))
    # Four groups at once for the first window; those of the second one by one, ahead.
    assert len(reads) == 8
    ahead = [g for name, g in reads if name.startswith("arrow-jax_")]
    assert len(ahead) >= 3
    assert not threads()


def test_no_more_is_read_ahead_than_what_is_used_stands_for(scan):
    loader = Loader(scan, 10, shuffle=Window(4))
    reader, at, wanted = loader._feed.open(Ledger(), 1), Position(), []
    for _ in range(4):
        draft, at = loader._order.step(at, 10)
        reader.make(draft)
        wanted.append(len(reader._coming))
    # One that always may, and one for each quarter of the forty rows that is used.
    assert wanted == [2, 3, 4, 4]
    reader.close()


def test_a_run_that_is_left_leaves_no_thread(scan):
    run = iter(Loader(scan, 5, shuffle=Window(2), prefetch=2))
    next(run)
    run.close()
    assert not threads()


def test_what_fails_ahead_fails_where_it_is_needed(scan, tmp_path):
    run = iter(Loader(scan, 10, prefetch=1))
    assert next(run)["x"].tolist() == list(range(10))
    (tmp_path / "1.parquet").unlink()
    given = [next(run) for _ in range(3)]
    assert given[-1]["x"].tolist() == list(range(30, 40))
    with pytest.raises(ArrowJaxError, match=r"1\.parquet can't be read any more"):
        next(run)
    assert not threads()


def test_a_row_group_in_two_windows_is_taken_once(tmp_path):
    # Packed rows of several parts are laid over each other: twice would be doubled.
    rows = [[i + 1] for i in range(12)]
    pq.write_table(pa.table({"t": rows}), tmp_path / "a.parquet", row_group_size=1)
    ragged = {"t": Pack(3)}
    loader = Loader(scan_parquet(tmp_path), 1, shuffle=Window(4), ragged=ragged)
    reader, stream = loader._feed.open(Ledger(), 0), loader._feed.stream
    first = set(stream.together(0, 0))
    second = next(
        found
        for group in range(12)
        if (found := set(stream.together(1, group))) & first and found - first
    )
    x, both, y = min(first - second), min(first & second), min(second - first)
    alone = Layout(*[np.array([n]) for n in (0, 0, 0, 1)])
    for row, epoch in ((x, 0), (y, 1)):
        reader.make(Draft(np.array([row]), 1, 1, layout=alone, epoch=epoch))
    three = Layout(*map(np.array, ([0] * 3, [0, 1, 2], [0] * 3, [1] * 3)))
    batch, _ = reader.make(Draft(np.array([x, both, y]), 1, 1, layout=three))
    assert batch["t"].values.tolist() == [[x + 1, both + 1, y + 1]]
