import io
import os
import re

import pytest

from rlax_agents._progress import Now, progress, spell

NAN = float("nan")
HALF = Now(50, 1000, 12.345, 98765.4, 65.2)


class Screen(io.TextIOWrapper):
    def __init__(self, encoding="utf-8"):
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self):
        return True

    def lines(self):
        self.flush()
        text = self.buffer.getvalue().decode(self.encoding)
        return re.sub(r"\x1b\[\d*[mK]", "", text).split("\r")


@pytest.fixture
def columns(monkeypatch):
    def of(count):
        size = os.terminal_size((count, 24))
        monkeypatch.setattr("shutil.get_terminal_size", lambda *_: size)

    of(100)
    return of


def test_a_terminal_gets_a_bar(columns, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen()
    view = progress(screen, total=100)
    view.show(HALF)
    view.end()
    said = "  50%  return    12.35     98,765 steps/s  1:05 left"
    start, *_, last = screen.lines()
    assert start == "compiling ..."
    assert last == "━" * 15 + "─" * 15 + said + "\n"
    assert "\x1b[3" not in screen.buffer.getvalue().decode()


def test_colours_are_left_out_where_they_are_not_wanted(columns, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    progress(screen, total=100).show(HALF)
    screen.flush()
    assert "\x1b[36m━" in screen.buffer.getvalue().decode()


@pytest.mark.parametrize("width", [100, 70, 60, 30])
def test_a_bar_fits_its_terminal(columns, width):
    columns(width)
    screen = Screen()
    progress(screen, total=100).show(HALF)
    assert len(screen.lines()[-1]) <= max(width, 56)


def test_a_bar_in_ascii_where_there_is_nothing_else(columns):
    screen = Screen("ascii")
    progress(screen, total=100).show(HALF)
    assert screen.lines()[-1].startswith("=" * 15 + "-" * 15)


def test_a_bar_is_drawn_ten_times_a_second_and_at_the_end(columns):
    seconds = iter([0.0, 0.0, 0.04, 0.08, 0.12, 0.12, 0.13, 0.14])
    screen = Screen()
    view = progress(screen, total=100, clock=lambda: next(seconds))
    for update in range(1, 6):
        view.show(HALF._replace(update=update))
    view.end()
    shares = [int(line.split("%")[0].split()[-1]) for line in screen.lines()[1:]]
    assert shares == [1, 4, 5]


def test_elsewhere_there_are_lines_for_the_first_each_tenth_and_the_last():
    page = io.StringIO()
    view = progress(page, total=25, clock=lambda: 0.0)
    for update in range(1, 26):
        view.show(Now(update, 8 * update, NAN, NAN, NAN))
    view.end()
    said = page.getvalue().splitlines()
    found = [int(line.split()[1]) for line in said]
    assert found == [1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 25]
    assert said[0] == ("update  1 of 25  return        -          - steps/s  -:-- left")


def test_and_one_every_ten_seconds():
    page, now = io.StringIO(), [0.0]
    view = progress(page, total=1000, clock=lambda: now[0])
    for update in range(1, 8):
        now[0] = 4.0 * update
        view.show(HALF._replace(update=update))
    assert [int(line.split()[1]) for line in page.getvalue().splitlines()] == [1, 4, 7]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "0:00"), (65.2, "1:05"), (59.9, "1:00"), (3661, "1:01:01"), (NAN, "-:--")],
)
def test_seconds_are_spelled(seconds, said):
    assert spell(seconds) == said
