import functools
import http.server
import os
import pathlib
import threading

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from arrow_jax import ArrowJaxError, Loader, ShapeError, scan_parquet, write_parquet


@pytest.fixture
def folder(tmp_path):
    """Three files of 5, 1 and 3 rows, in row groups of 2."""
    for name, first, n in (("a", 0, 5), ("b", 5, 1), ("c", 6, 3)):
        x = np.arange(first, first + n)
        table = pa.table({"x": x, "y": x * 0.5, "s": [f"row {i}" for i in x]})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=2)
    return tmp_path


def values(scan, **options):
    batches = Loader(scan.with_format(columns=["x"]), 4, last="keep", **options)
    return [int(x) for batch in batches for x in batch["x"]]


def test_only_footers_are_read(folder):
    scan = scan_parquet(folder)
    assert len(scan) == 9
    assert [g.n for g in scan.groups] == [2, 2, 1, 1, 2, 1]
    assert scan.column_names == ["x", "y", "s"]
    assert repr(scan).startswith("Scan of 3 files, 6 row groups, 9 rows\n  x  Value(")
    assert values(scan) == list(range(9))


def test_filters_are_counted_beforehand_and_groups_without_rows_are_left_out(folder):
    scan = scan_parquet(folder, columns=["x"], filters=pc.field("y") >= 3.0)
    assert len(scan) == 3
    assert [g[:2] for g in scan.groups] == [(2, 0), (2, 1)]
    assert len(Loader(scan, 2)) == 2
    assert values(scan) == [6, 7, 8]
    none = scan_parquet(folder, filters=pc.field("x") > 99)
    with pytest.raises(ArrowJaxError, match="the files have no rows"):
        Loader(none, 2)


def test_columns_that_are_not_wanted_are_not_read(folder, monkeypatch):
    scan = scan_parquet(folder)
    asked = []
    read = type(scan).read
    monkeypatch.setattr(
        type(scan), "read", lambda self, g, c: asked.append([*c]) or read(self, g, c)
    )
    values(scan)
    assert asked == [["x"]] * 6


@functools.cache
def handler(folder):
    class Ranged(http.server.SimpleHTTPRequestHandler):
        """Serves parts of files, as the servers of datasets do."""

        def __init__(self, *args):
            super().__init__(*args, directory=folder)

        def do_GET(self):
            data = pathlib.Path(self.translate_path(self.path)).read_bytes()
            wanted = self.headers.get("Range")
            first, last = 0, len(data) - 1
            if wanted:
                first, last = (
                    int(n) if n else d
                    for n, d in zip(
                        wanted.removeprefix("bytes=").split("-"),
                        (0, len(data) - 1),
                        strict=True,
                    )
                )
            last = min(last, len(data) - 1)
            part = data[first : last + 1]
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(part)))
            self.send_header("Accept-Ranges", "bytes")
            if wanted:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    return Ranged


def test_over_http_and_from_a_memory_filesystem(folder):
    memory = fsspec.filesystem("memory")
    memory.pipe("/scan/a.parquet", (folder / "a.parquet").read_bytes())
    assert values(scan_parquet("memory://scan")) == list(range(5))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        scan = scan_parquet([f"{address}/a.parquet", f"{address}/c.parquet"])
        assert values(scan) == [*range(5), 6, 7, 8]
    finally:
        server.shutdown()
        server.server_close()


def test_files_that_are_none(folder):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        scan_parquet(folder / "z.parquet")
    with pytest.raises(ArrowJaxError, match="empty list: name at least one"):
        scan_parquet([])
    with pytest.raises(ArrowJaxError, match="no column 'z'"):
        scan_parquet(folder, columns=["z"])
    with pytest.raises(ArrowJaxError, match="no column 'z'"):
        scan_parquet(folder, features={"z": None})
    with pytest.raises(
        ArrowJaxError, match=r"filters= can't be applied to .*a.parquet"
    ):
        scan_parquet(folder, filters=pc.field("z") > 1)
    whole = (folder / "a.parquet").read_bytes()
    (folder / "a.parquet").write_bytes(whole[:-20])
    with pytest.raises(ArrowJaxError, match=r"can't be read as Parquet: .*cut short"):
        scan_parquet(folder)
    write_parquet(folder / "a.parquet", {"x": [1.5]})
    with pytest.raises(ShapeError, match="has other columns than"):
        scan_parquet(folder)


def test_a_file_that_vanishes_or_changes_is_named(folder):
    scan = scan_parquet(folder).with_format(columns=["x"])
    (folder / "c.parquet").unlink()
    run = iter(Loader(scan, 4))
    assert next(run)["x"].tolist() == [0, 1, 2, 3]
    with pytest.raises(ArrowJaxError, match=r"c.parquet can't be read any more"):
        next(run)
    scan = scan_parquet(folder).with_format(columns=["x"])
    whole = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(whole[:40])
    with pytest.raises(ArrowJaxError, match=r"b.parquet has changed since it was open"):
        list(Loader(scan, 4))


def test_a_list_of_files_in_the_order_of_the_list(folder):
    files = [folder / "c.parquet", os.fspath(folder / "a.parquet")]
    assert values(scan_parquet(files)) == [6, 7, 8, *range(5)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"filters": pc.field("x") + 1},
            "it is of type int64. Give an Arrow expression",
        ),
        ({"filters": "x > 1"}, "filters= can't be applied"),
        ({"columns": 5}, "columns=5: wanted a list of names"),
        ({"columns": ["z"]}, "no column 'z'"),
    ],
)
def test_options_that_make_no_sense(folder, options, text):
    with pytest.raises(ArrowJaxError, match=text):
        scan_parquet(folder, **options)


def test_a_column_is_read_once_however_often_it_is_named(folder):
    assert scan_parquet(folder, columns=["x", "x"]).column_names == ["x"]
    assert scan_parquet(folder, columns="x").column_names == ["x"]


def test_a_filter_that_keeps_nothing_is_said(folder):
    scan = scan_parquet(folder, filters=pc.field("x") > 99)
    with pytest.raises(
        ArrowJaxError, match=r"no rows where \(x > 99\): there is nothing"
    ):
        Loader(scan, 2)


def test_two_columns_of_one_name(tmp_path):
    table = pa.table([[1], [2]], names=["x", "x"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ArrowJaxError, match=r"a.parquet: column 'x' is there 2 times"):
        scan_parquet(tmp_path)
