import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from arrow_jax._cli import in_words, main


@pytest.fixture
def file(tmp_path):
    table = pa.table(
        {
            "x": np.arange(100),
            "gap": [None if i == 3 else i for i in range(100)],
            "t": [[1] * (i % 5) for i in range(100)],
            "u": [[1] * (i % 9) for i in range(100)],
            "s": ["a"] * 100,
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_inspect_is_a_table_and_what_to_type(file, capsys):
    assert main(["inspect", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{file}: 100 rows, ")
    assert lines[2].split() == [
        "column",
        "Arrow",
        "type",
        "becomes",
        "nulls",
        "lengths",
        "bytes",
        "batch",
    ]
    assert lines[4].split()[:5] == ["gap", "int64", "Masked", "int32[]", "1"]
    assert "s: host=['s']" in lines
    assert all(line == line.rstrip() for line in lines)


def test_inspect_of_a_folder_and_of_other_kinds(file, capsys):
    assert main(["inspect", str(file.parent), "--columns", "x"]) == 0
    assert capsys.readouterr().out.endswith("takes it as it is.\n")
    arrow = file.parent / "b.arrow"
    pyarrow.feather.write_feather(pa.table({"y": [1.5]}), str(arrow))
    assert main(["inspect", str(arrow)]) == 0
    assert "float32[]" in capsys.readouterr().out


def test_bench_says_how_fast_and_where_time_goes(file, capsys):
    command = ["bench", str(file), "--batch-size", "8", "--seconds", "0.05"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "x, gap, t, u: shuffled batches of 8" in out
    assert " rows/s, " in out
    assert "transfer" in out
    assert "#" in out


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["inspect", "/no/such"], "there is nothing at /no/such"),
        (
            ["inspect", "{folder}/c.txt"],
            "no file that ends in one of: .parquet, .arrow",
        ),
        (["inspect", "{file}", "--columns", "z"], "there is no column 'z'"),
        (["bench", "{file}", "--columns", "s"], "no column becomes an array"),
        (["bench", "{file}", "--batch-size", "0"], "batch_size=0: wanted at least 1"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(argv, text, file, capsys):
    (file.parent / "c.txt").write_text("?")
    argv = [part.format(file=file, folder=file.parent) for part in argv]
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert text in captured.err


def test_as_a_program(file):
    done = subprocess.run(
        [sys.executable, "-m", "arrow_jax", "inspect", str(file)],
        capture_output=True,
        check=True,
        text=True,
    )
    assert "int32[]" in done.stdout


def test_bytes_in_words():
    assert [in_words(n) for n in (0, 999, 1500, 123_456, 2_000_000, 3e12)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "123 kB",
        "2.0 MB",
        "3.0 TB",
    ]


def test_a_file_without_rows(tmp_path, capsys):
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "a.parquet")
    assert main(["inspect", str(tmp_path)]) == 0
    assert "It has no rows: nothing to load." in capsys.readouterr().out
    assert main(["bench", str(tmp_path), "--batch-size", "8"]) == 2
    assert capsys.readouterr().err == "error: it has no rows: nothing to load\n"


def test_more_is_asked_for_than_there_are(file, capsys):
    command = ["bench", str(file), "--seconds", "0.01", "--batch-size", "1000"]
    assert main([*command, "--columns", "x"]) == 0
    out = capsys.readouterr().out
    assert "batches of 100 (all rows; 1,000 were asked for)" in out


def test_names_can_not_move_the_cursor(tmp_path, capsys):
    name = "a\nb\x1b[2J"
    pq.write_table(pa.table({name: ["x"]}), tmp_path / "a.parquet")
    assert main(["inspect", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"a\nb\x1b[2J  string" in out


def test_two_columns_of_lists_are_said_to_share_one_family(file, capsys):
    assert main(["inspect", str(file)]) == 0
    assert "A batch has one family of Buckets" in capsys.readouterr().out
