import io

import numpy as np
from rich.console import Console

from haiku_nets import ParameterRow
from mnist_gan import _terminal
from mnist_gan._metrics import Row


def row(step):
    return Row(step, 1.386, 0.693, 212.0, 0.0)


def test_lines_come_at_the_ends_and_at_tenths():
    out = Console(file=io.StringIO(), width=120)
    with _terminal.progress(out, done=0, steps=100) as view:
        for step in range(1, 101):
            view.show(row(step))
    lines = out.file.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[0].startswith("step 1 of 100  disc 1.386  gen 0.693  212 images/s")
    assert lines[-1].startswith("step 100 of 100")
    assert lines[-1].endswith("0 s left")


def test_a_resumed_run_counts_on():
    out = Console(file=io.StringIO(), width=120)
    with _terminal.progress(out, done=40, steps=100) as view:
        view.show(row(41))
    assert out.file.getvalue().startswith("step 41 of 100")


def test_a_terminal_gets_a_bar_with_everything():
    out = Console(file=io.StringIO(), force_terminal=True, width=100)
    with _terminal.progress(out, done=0, steps=100) as view:
        view.show(row(25))
    said = out.file.getvalue()
    assert "nan" not in said
    for word in ("step 25 of 100", "25%", "disc 1.386", "gen 0.693", "212 images/s"):
        assert word in said


def test_the_model_table_ends_in_the_total():
    out = Console(file=io.StringIO(), width=80)
    rows = [
        ParameterRow("net/linear", "w", (20, 3136), np.dtype("float32"), 62720),
        ParameterRow("net/linear", "b", (3136,), np.dtype("float32"), 3136),
    ]
    out.print(_terminal.model_table(rows))
    lines = [line.split() for line in out.file.getvalue().splitlines()]
    assert lines[0] == ["module", "shape", "parameters"]
    assert lines[1] == ["net/linear/w", "20", "x", "3136", "62,720"]
    assert lines[-1] == ["total", "65,856"]
