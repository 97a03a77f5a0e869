from pathlib import Path

import pytest

from rlax_agents._arguments import make_parser


def test_what_is_typed_is_read():
    typed = "train ppo cartpole --seed 3 --devices 2 --updates 5 --envs 8 --out a/b"
    found = vars(make_parser().parse_args(typed.split()))
    assert found == {
        "command": "train",
        "agent": "ppo",
        "env": "cartpole",
        "seed": 3,
        "devices": 2,
        "updates": 5,
        "envs": 8,
        "out": Path("a/b"),
        "resume": None,
    }


def test_what_is_not_typed_is_none_so_that_a_resumed_run_keeps_its_own():
    found = vars(make_parser().parse_args(["train", "--resume", "a"]))
    assert {n for n, v in found.items() if v is not None} == {"command", "resume"}


@pytest.mark.parametrize("digits", [10, 10_000])
def test_numbers_beyond_all_bounds_are_one_line(capsys, digits):
    with pytest.raises(SystemExit) as error:
        make_parser().parse_args(["train", "--envs", "9" * digits])
    assert error.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert len(said) < 200
    assert "wanted 1 to 1048576; see python -m rlax_agents train --help" in said


def test_a_shortened_option_is_no_option(capsys):
    with pytest.raises(SystemExit):
        make_parser().parse_args(["train", "--upd", "3"])
    assert "unrecognized arguments: --upd" in capsys.readouterr().err
