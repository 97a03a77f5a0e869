"""What argparse reads: whole numbers within bounds, and errors in one line."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from mnist_gan import _exits

PROGRAM = "mnist-gan"
LARGEST = 2**31 - 1


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; argparse would print the usage before it."""

    def error(self, message: str) -> NoReturn:
        """Ends the process with the code for what the user can put right."""
        self.exit(_exits.USER, f"{PROGRAM}: {message}; see {self.prog} --help\n")


def whole(least: int, most: int) -> Callable[[str], int]:
    """Makes a reader of whole numbers from `least` to `most`."""

    def parse(text: str) -> int:
        # A limit on the length comes first: int() refuses very long ones with a hint
        # that is about Python.
        value = int(text) if len(text) < 20 else most + 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: wanted {least} to {most}")
        return value

    parse.__name__ = "whole number"  # how argparse names what it could not read
    return parse


positive = whole(1, LARGEST)
seed = whole(0, 2**32 - 1)


def place(text: str) -> Path | str:
    """Reads a folder, or an address such as `gs://bucket/run`.

    Example:
      >>> place("gs://bucket/run")
      'gs://bucket/run'
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty; name a folder, or an address")
    return text if "://" in text else Path(text)
