import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jraph_kit as jk
from jraph_kit._inspect import main

ENDS = [[0, i % 3] for i in range(120)]


@pytest.fixture
def path(tmp_path):
    nodes = [[0.0] * (3 + i % 40) for i in range(120)]
    columns = {"nodes": nodes, "senders": ENDS, "receivers": ENDS}
    pq.write_table(pa.table(columns), tmp_path / "graphs.parquet")
    return str(tmp_path / "graphs.parquet")


def test_the_screen_has_sizes_bars_buckets_and_padding(path, capsys):
    assert main(["inspect", path, "--batch-size", "8", "--waste", "0.1"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "120 graphs"
    assert lines[2].split() == ["nodes", "3", "5", "22", "40", "42", "22.5", "2,700"]
    bars = [line for line in lines if "█" in line]
    assert sum(int(line.split()[-1].replace(",", "")) for line in bars) == 120
    assert max(map(len, lines[:-1])) <= 80
    # What is printed to be typed is what `fit` gives.
    printed = eval(lines[-1], {"Buckets": jk.Buckets})
    assert printed.batch_size == 8
    wanted = jk.Buckets.fit(
        ([3 + i % 40 for i in range(120)], [2] * 120), batch_size=8, waste=0.1
    )
    assert printed.shapes == wanted.shapes


@pytest.mark.parametrize("sizes", [[0, 0, 5, 9, 1], [0, 0], [7]])
def test_graphs_without_nodes_are_in_the_bars(sizes, tmp_path, capsys):
    none = pa.array([[]] * len(sizes), pa.list_(pa.int32()))
    columns = {"senders": none, "receivers": none, "n_node": sizes}
    pq.write_table(pa.table(columns), tmp_path / "graphs.parquet")
    assert main(["inspect", str(tmp_path / "graphs.parquet")]) == 0
    lines = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert sum(int(line.split()[-1]) for line in lines) == len(sizes)


def test_a_picture_is_drawn(path, tmp_path, capsys):
    picture = tmp_path / "graph.png"
    assert main(["inspect", path, "--picture", str(picture), "--graph", "7"]) == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert f"graph 7 is drawn in {picture}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--graph", "120"], "jraph_kit: --graph 120, and there are 120 graphs\n"),
        (
            ["--max-shapes", "0"],
            "jraph_kit: max_shapes is 0; wanted an integer, 1 or more\n",
        ),
        (["--senders", "u"], "has no column 'u'; it has ['nodes', 'senders', 'rec"),
        (["/no/such.parquet"], "jraph_kit: cannot read"),
        (["--picture", "/no/such/folder/x.png"], "No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_code_2(path, more, text, capsys):
    assert main(["inspect", path, *more]) == 2
    said = capsys.readouterr()
    assert text in said.err
    assert said.err.count("\n") == 1


def test_no_graphs_are_said(tmp_path, capsys):
    empty = pa.array([], pa.list_(pa.int32()))
    columns = {"senders": empty, "receivers": empty, "nodes": empty}
    pq.write_table(pa.table(columns), tmp_path / "none.parquet")
    assert main(["inspect", str(tmp_path / "none.parquet")]) == 2
    assert "there are no graphs in /" in capsys.readouterr().err
