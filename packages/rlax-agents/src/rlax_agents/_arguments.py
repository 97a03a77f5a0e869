"""What can be typed after `python -m rlax_agents`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

PROGRAM = "python -m rlax_agents"
EPISODES, EXIT_USER = 100, 2

_EXAMPLES = f"""\
examples:
  {PROGRAM} list
  {PROGRAM} train ppo cartpole
  {PROGRAM} train ppo cartpole --seed 1 --devices 2 --out runs/two
  {PROGRAM} train --resume runs/two
  {PROGRAM} train --resume runs/two --updates 300
  {PROGRAM} evaluate runs/two --episodes 1000
"""


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if len(text) < 20 else most + 1
        if not least <= value <= most:
            shown = text if len(text) < 20 else f"{text[:10]}..."
            raise argparse.ArgumentTypeError(f"{shown}: wanted {least} to {most}")
        return value

    parse.__name__ = "whole number"  # how argparse names what it could not read
    return parse


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; argparse would print the usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USER, f"rlax_agents: {message}; see {self.prog} --help\n")


def make_parser() -> argparse.ArgumentParser:
    """The parser of `python -m rlax_agents`; it ends the process where it must."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(
        prog=PROGRAM,
        description="Train agents that are tuned for an environment.",
        epilog=_EXAMPLES,
        formatter_class=raw,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="show what can be trained", allow_abbrev=False)
    training = commands.add_parser(
        "train",
        help="train, or go on training",
        description="Train a recipe; leave a picture, metrics and the state in a "
        "folder.",
        allow_abbrev=False,
    )
    add = training.add_argument
    add("agent", nargs="?", metavar="AGENT", help="such as ppo; see list")
    add("env", nargs="?", metavar="ENVIRONMENT", help="such as cartpole")
    add("--seed", type=_whole(0, 2**32 - 1), metavar="N", help="default: 0")
    add(
        "--updates",
        type=_whole(1, 2**31 - 1),
        metavar="N",
        help="updates in all, the resumed ones too (default: the recipe's, where its "
        "falling learning rates reach 0)",
    )
    add(
        "--envs",
        type=_whole(1, 2**20),
        metavar="N",
        help="environments on all devices (default: the recipe's)",
    )
    add(
        "--devices",
        type=_whole(1, 512),
        metavar="N",
        help="how many to split them over; simulated on a CPU (default: 1)",
    )
    add("--out", type=Path, metavar="DIR", help="default: runs/AGENT-ENVIRONMENT")
    add("--resume", type=Path, metavar="DIR", help="go on with the run in DIR")
    testing = commands.add_parser(
        "evaluate",
        help="evaluate a trained run",
        description="Play whole episodes without exploration.",
        allow_abbrev=False,
    )
    testing.add_argument("run", type=Path, metavar="DIR", help="the run's folder")
    testing.add_argument(
        "--episodes",
        type=_whole(1, 100_000),
        default=EPISODES,
        metavar="N",
        help=f"default: {EPISODES}",
    )
    return parser
