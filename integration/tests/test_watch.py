"""When a process ends itself, by what the others' notes say."""

import pytest

from mnist_gan import _watch
from mnist_gan._exits import Ending


class Notes:
    """Two processes, of which this is the first."""

    index, count, first = 1, 3, False
    names = ("process 0 (a)", "process 1 (b)", "process 2 (c)")

    def __init__(self):
        self.topics = {"ended": {}, "alive": {}}

    def post(self, topic, value):
        self.topics[topic][self.index] = value

    def read(self, topic):
        return dict(self.topics[topic])


class Left(Exception):  # noqa: N818  (not an error: it stands for os._exit)
    pass


@pytest.fixture
def notes(monkeypatch):
    def leave(code):
        raise Left(code)

    monkeypatch.setattr(_watch.os, "_exit", leave)
    return Notes()


def talk(watch, tick):
    watch._talk(tick)


def test_a_process_that_goes_quiet_is_named_with_its_step(notes, capsys):
    watch = _watch.Watch(notes, _watch.Limits(10, 10, silence=3))
    for tick in range(1, 20):
        notes.topics["alive"] |= {0: f"{tick} 9", 2: f"{min(tick, 4)} 7"}
        if tick <= 7:
            talk(watch, tick)
            continue
        with pytest.raises(Left, match="75"):
            talk(watch, tick)
        break
    said = capsys.readouterr().err
    assert "process 2 (c) has given no sign of life for 3 s; it was at step 7" in said


def test_a_process_that_dies_before_its_first_sign_of_life_is_named(notes, capsys):
    watch = _watch.Watch(notes, _watch.Limits(10, 10, silence=3))
    for tick in range(1, 4):
        notes.topics["alive"][0] = f"{tick} 0"
        talk(watch, tick)
    with pytest.raises(Left, match="75"):
        talk(watch, 4)
    said = capsys.readouterr().err
    assert "process 2 (c) has given no sign of life for 3 s; it was at step 0" in said


def test_why_another_ended_is_passed_on_with_its_code(notes, capsys):
    watch = _watch.Watch(notes, _watch.Limits())
    notes.topics["ended"][2] = "2 the disk is full"
    with pytest.raises(Left, match="2"):
        talk(watch, 1)
    assert "process 2 (c) ended: the disk is full" in capsys.readouterr().err


def test_the_one_that_is_behind_is_named(notes, capfd):
    watch = _watch.Watch(notes, _watch.Limits(10, 10, 30))
    watch.beat(8)
    notes.topics["alive"] |= {0: "1 9", 2: "1 5"}
    talk(watch, 1)
    with pytest.raises(Left, match="75"):
        watch._give_up()
    said = capfd.readouterr().err
    assert "process 2 (c) is at step 5, the last is at 9" in said
    assert "test_watch.py" in said  # the stacks


def test_a_process_that_leaves_says_why_first(notes, capsys):
    watch = _watch.Watch(notes, _watch.Limits())
    with pytest.raises(Left, match="70"):
        watch.leave(Ending(70, "KeyError: 'x'\nTraceback ..."))
    assert notes.topics["ended"][1] == "70 KeyError: 'x'"
    assert "Traceback" in capsys.readouterr().err


def test_a_coordinator_that_does_not_answer_is_named(notes, capsys):
    def post(*_):
        raise RuntimeError("UNAVAILABLE: connection refused")

    notes.post = post
    with pytest.raises(Left, match="75"):
        talk(_watch.Watch(notes, _watch.Limits()), 1)
    said = capsys.readouterr().err
    assert "process 0 (a), which coordinates, does not answer: UNAVAILABLE" in said


def test_the_first_step_gets_ten_times_as_long():
    assert _watch.Limits.after(60) == (600, 60, 30)
    assert _watch.Limits.after(12) == (120, 12, 6)


def test_a_coordinator_that_is_stopped_is_named(notes, capsys):
    """A call to it waits for ever, so another thread counts the seconds."""
    watch = _watch.Watch(notes, _watch.Limits(100, 100, silence=3))
    for _ in range(3):
        watch._check_time()
    with pytest.raises(Left, match="75"):
        watch._check_time()
    said = capsys.readouterr().err
    assert "process 0 (a), which coordinates, has not answered for 3 s" in said


def test_none_is_blamed_when_all_are_at_one_step(notes, capfd):
    watch = _watch.Watch(notes, _watch.Limits(10, 10, 30))
    watch.beat(8)
    notes.topics["alive"] |= {0: "1 8", 2: "1 8"}
    talk(watch, 1)
    with pytest.raises(Left, match="75"):
        watch._give_up()
    assert "all processes are at step 8; the stacks" in capfd.readouterr().err
