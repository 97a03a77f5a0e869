import collections
import tracemalloc

import jax
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from arrow_jax import (
    ArrowJaxError,
    Buckets,
    Flat,
    Loader,
    ManifestError,
    NullsError,
    Pack,
    ShapeError,
    UnsupportedTypeError,
    Window,
    read_parquet,
    scan_parquet,
    write_parquet,
)
from arrow_jax._facts import KEY
from arrow_jax._scan import Scan


@pytest.fixture
def folder(tmp_path):
    """Four files of 40 rows, in row groups of 10."""
    for i in range(4):
        x = np.arange(40 * i, 40 * i + 40)
        table = pa.table({"x": x, "v": pa.array(np.outer(x, [1.0, 2.0]).tolist())})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=10)
    return tmp_path


@pytest.fixture
def reads(monkeypatch):
    found = []
    read = Scan.read
    monkeypatch.setattr(
        Scan, "read", lambda self, g, c: found.extend(g) or read(self, g, c)
    )
    return found


RAGGED = {"v": 2}


@pytest.mark.parametrize("last", ["mask", "drop", "keep"])
@pytest.mark.parametrize("batch_size", [7, 16, 45])
def test_a_row_group_is_read_once_an_epoch(folder, reads, last, batch_size):
    loader = Loader(
        scan_parquet(folder),
        batch_size,
        shuffle=Window(3),
        epochs=3,
        last=last,
        ragged=RAGGED,
    )
    for _ in loader:
        pass
    counts = collections.Counter(reads)
    if last == "drop":  # the rows that are dropped may be all of a window
        assert max(counts.values()) == 3
        assert len(reads) >= 3 * 16 - 3
    else:
        assert set(counts.values()) == {3}


def test_rows_of_a_shuffle_are_those_of_the_table(folder):
    table = read_parquet(folder)
    by_row = {int(x): v for x, v in zip(table["x"], table["v"], strict=True)}
    for batch in Loader(scan_parquet(folder), 16, shuffle=Window(3), ragged=RAGGED):
        for x, v in zip(batch["x"], batch["v"].values, strict=True):
            assert v.tolist() == by_row[int(x)]


def test_little_is_read_before_the_first_batch_also_when_resuming(folder, reads):
    loader = Loader(
        scan_parquet(folder), 8, shuffle=Window(2), prefetch=1, ragged=RAGGED
    )
    run = iter(loader)
    next(run)
    run.close()
    assert len(reads) <= 2 + 2
    run = iter(loader)
    for _ in range(15):
        next(run)
    state = run.state()
    run.close()
    reads.clear()
    again = loader.resume(state)
    next(again)
    again.close()
    assert len(reads) <= 2 + 2


def test_memory_is_flat_over_epochs(tmp_path):
    for i in range(8):
        values = np.full((2000, 64), i, np.float32)
        write_parquet(tmp_path / f"{i}.parquet", {"v": values})
    loader = Loader(scan_parquet(tmp_path), 100, shuffle=Window(2), epochs=4)
    tracemalloc.start()
    peaks = []
    for i, batch in enumerate(loader):
        jax.block_until_ready(batch)
        if i % 160 == 159:
            peaks.append(
                (pa.total_allocated_bytes(), tracemalloc.get_traced_memory()[1])
            )
            tracemalloc.reset_peak()
    tracemalloc.stop()
    window = 2 * 2000 * 64 * 4
    arrow, numpy = zip(*peaks, strict=True)
    assert max(arrow) <= arrow[0] + 2 * window
    assert max(numpy) <= 1.5 * numpy[0] + window


def test_a_whole_shuffle_is_refused_with_a_way_out(folder):
    with pytest.raises(ArrowJaxError, match=r"shuffle=Window\(8\)"):
        Loader(scan_parquet(folder), 4, shuffle=True)
    with pytest.raises(ArrowJaxError, match="Flat is for datasets in memory"):
        Loader(scan_parquet(folder), 4, ragged={"v": Flat(100)})


def test_what_is_wrong_with_a_row_is_said_with_its_file(folder):
    bad = pa.table({"x": [1, None], "v": [[1.0], [2.0]]})
    pq.write_table(bad, folder / "4.parquet")
    run = iter(Loader(scan_parquet(folder), 160, ragged=RAGGED))
    next(run)
    with pytest.raises(
        NullsError, match=r"row 1 of row group 0 of 4.parquet: found a nu"
    ):
        next(run)


def test_files_that_do_not_keep_what_they_say(tmp_path):
    write_parquet(tmp_path / "a.parquet", {"v": [[1, 2], [3, 4]]})
    footer = pq.read_metadata(tmp_path / "a.parquet").metadata
    said = {KEY: footer[KEY], b"huggingface": footer[b"huggingface"]}
    other = pa.table({"v": [[1, 2, 3], [4]]}).replace_schema_metadata(said)
    pq.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(
        ShapeError, match=r"row group 0 of b.parquet becomes .*changed by"
    ):
        list(Loader(scan_parquet(tmp_path), 2))


def test_a_changed_list_of_files_is_refused(folder):
    loader = Loader(scan_parquet(folder), 16, shuffle=Window(2), ragged=RAGGED)
    with iter(loader) as run:
        next(run)
        state = run.state()
    (folder / "3.parquet").rename(folder / "9.parquet")
    with pytest.raises(ManifestError, match=r"3.parquet \(40\), .* now .*9.parquet"):
        Loader(scan_parquet(folder), 16, shuffle=Window(2), ragged=RAGGED).resume(state)
    (folder / "9.parquet").unlink()
    with pytest.raises(ManifestError, match="name and rows of each"):
        Loader(scan_parquet(folder), 16, shuffle=Window(2), ragged=RAGGED).resume(state)


@pytest.mark.parametrize("shuffle", [False, Window(2)])
def test_rows_in_other_row_groups_are_refused(tmp_path, shuffle):
    def loader(row_group_size):
        table = pa.table({"x": np.arange(60)})
        path = tmp_path / "a.parquet"
        pq.write_table(table, path, row_group_size=row_group_size)
        return Loader(scan_parquet(path), 4, shuffle=shuffle)

    with iter(loader(5)) as run:
        next(run)
        state = run.state()
    rest = [int(x) for batch in loader(5).resume(state) for x in batch["x"]]
    assert len(set(rest)) == 56
    with pytest.raises(ManifestError) as error:
        loader(7).resume(state)
    assert str(error.value).startswith(
        "the files were written anew with other row groups (12, crc32 "
    )


def test_lists_that_a_scan_has_not_looked_at(tmp_path):
    pq.write_table(pa.table({"x": [[1, 2], [3, 4]]}), tmp_path / "a.parquet")
    with pytest.raises(ShapeError, match=r"or are not known not to \(a scan does not"):
        Loader(scan_parquet(tmp_path), 2)


@pytest.mark.parametrize("form", [Buckets([2, 8]), Pack(8)])
def test_lists_of_other_lengths_are_refused(tmp_path, form):
    def loader(longest):
        lists = [[1] * (1 + i % longest) for i in range(40)]
        pq.write_table(pa.table({"x": lists}), tmp_path / "a.parquet")
        return Loader(scan_parquet(tmp_path), 4, ragged={"x": form})

    with iter(loader(5)) as run:
        next(run)
        state = run.state()
    next(loader(5).resume(state))
    with pytest.raises(ManifestError, match="the lists have other lengths than when"):
        loader(4).resume(state)


def test_strings_stay_beside_the_batch(tmp_path):
    for i in range(2):
        table = pa.table({"x": [2 * i, 2 * i + 1], "s": [f"{2 * i}", f"{2 * i + 1}"]})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=1)
    with iter(Loader(scan_parquet(tmp_path), 4, shuffle=Window(4), host="s")) as run:
        batch = next(run)
        assert run.host_columns["s"] == [str(x) for x in batch["x"].tolist()]


def test_lengths_are_those_of_the_form_that_asks(tmp_path):
    table = pa.table({"a": [[1], [2, 2]], "b": [[1, 1, 1], [2, 2]]})
    pq.write_table(table, tmp_path / "a.parquet")
    scan = scan_parquet(tmp_path)
    both = Buckets()
    Loader(scan, 2, ragged={"a": both, "b": both})
    pack = Pack(8)
    with pytest.raises(ShapeError, match="packed together, but row 0"):
        Loader(scan, 2, ragged={"a": pack, "b": pack})


def write_alike(path, k):
    """Files whose bytes lie alike, with rows that differ in length."""
    rows = [[100 + j] * ((j + k) % 4 + 1) for j in range(20)]
    options = {"compression": "none", "use_dictionary": False}
    pq.write_table(pa.table({"t": rows}), path, write_statistics=False, **options)


@pytest.mark.parametrize("form", [Pack(8), Pack(5, split=True), Buckets(), 4])
def test_a_file_that_was_written_anew_is_refused(form, tmp_path):
    write_alike(tmp_path / "a.parquet", 0)
    loader = Loader(scan_parquet(tmp_path), 4, ragged={"t": form})
    write_alike(tmp_path / "a.parquet", 2)
    with pytest.raises(
        ArrowJaxError, match=r"a\.parquet has changed since it was opened"
    ):
        list(loader)


@pytest.mark.parametrize("form", [Pack(8), Pack(5, split=True), Buckets()])
def test_lengths_that_differ_from_those_that_were_counted(form, tmp_path, monkeypatch):
    # Behind an address there is no time of writing to go by.
    monkeypatch.setattr("arrow_jax._scan._stamp", lambda _: None)
    write_alike(tmp_path / "a.parquet", 0)
    loader = Loader(scan_parquet(tmp_path), 4, ragged={"t": form})
    write_alike(tmp_path / "a.parquet", 2)
    with pytest.raises(ArrowJaxError, match="has changed since it was opened"):
        list(loader)


def test_lists_of_tensors_are_read(tmp_path):
    storage = pa.FixedSizeListArray.from_arrays(pa.array(range(12), pa.int32()), 4)
    tensors = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), (2, 2)), storage
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), tensors)
    pq.write_table(pa.table({"t": lists}), tmp_path / "a.parquet")
    (batch,) = Loader(scan_parquet(tmp_path), 2, ragged={"t": 2})
    assert batch["t"].values.shape == (2, 2, 2, 2)
    assert batch["t"].lengths.tolist() == [1, 2]


def test_a_type_with_no_array_says_what_a_scan_takes(tmp_path):
    table = pa.table({"p": pa.array([1, 2], pa.decimal128(9, 2))})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UnsupportedTypeError, match=r"scan_parquet\(\.\.\., features="):
        Loader(scan_parquet(tmp_path), 2)


def test_rows_that_no_longer_pass_the_filter(tmp_path, monkeypatch):
    monkeypatch.setattr("arrow_jax._scan._stamp", lambda _: None)
    options = {"compression": "none", "use_dictionary": False}

    def write(x):
        pq.write_table(
            pa.table({"x": x}),
            tmp_path / "a.parquet",
            write_statistics=False,
            **options,
        )

    write([1, 2, 3, 4])
    scan = scan_parquet(tmp_path, filters=pc.field("x") > 1)
    write([1, 1, 3, 4])
    with pytest.raises(ArrowJaxError, match="has changed since it was opened"):
        list(Loader(scan, 2))
