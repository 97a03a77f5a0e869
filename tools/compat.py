"""Tests every project against several sets of versions, and prints the matrix.

    python3 tools/compat.py                        all of it, an hour or two
    python3 tools/compat.py --short                laws and short runs only
    python3 tools/compat.py optax-chains --set floor

The sets: `newest` releases on the newest Python, `floor` the lowest that each package
allows on the oldest, `pinned` what uv.lock states on the Python between, and, for the
integration, `tagged`: each package's last release beside the others' main.
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SETS = {"newest": "tests", "floor": "minimums", "pinned": "pinned", "tagged": "tagged"}
INTEGRATION = "mnist-gan"


class Cell(NamedTuple):
    """One run of a project's tests.

    Attributes:
      project: the distribution's name.
      versions: which set.
      session: of nox.
    """

    project: str
    versions: str
    session: str


class Outcome(NamedTuple):
    """How a run ended.

    Attributes:
      passed: whether nox says so.
      seconds: how long it took.
    """

    passed: bool
    seconds: float


def cells(listed: str) -> list[Cell]:
    """Finds the runs that there are.

    Args:
      listed: what `nox -l` prints.

    Returns:
      One cell a session of a kind that a set names.
    """
    sessions = re.findall(r"^[-*] (\S+)", listed, re.MULTILINE)
    found = []
    for versions, kind in SETS.items():
        for session in sessions:
            name = re.sub(r"-3\.\d+$", "", session)
            if name == "integration" and versions == "newest":
                found.append(Cell(INTEGRATION, versions, session))
            elif name.startswith(f"{kind}-") and name != "tests-tools":
                module = name.removeprefix(f"{kind}-")
                found.append(Cell(module.replace("_", "-"), versions, session))
    return found


def matrix(outcomes: dict[Cell, Outcome]) -> str:
    """Writes the outcomes as a Markdown table, a row a project."""
    projects = sorted({cell.project for cell in outcomes})
    used = [name for name in SETS if any(c.versions == name for c in outcomes)]
    lines = [f"| | {' | '.join(used)} |", "|---" * (len(used) + 1) + "|"]
    for project in projects:
        words = []
        for versions in used:
            of = [o for c, o in outcomes.items() if c[:2] == (project, versions)]
            said = "passed" if all(o.passed for o in of) else "**failed**"
            seconds = sum(o.seconds for o in of)
            words.append(f"{said}, {seconds:.0f} s" if of else "")
        lines.append(f"| {project} | {' | '.join(words)} |")
    return "\n".join(lines)


def run(chosen: Iterable[Cell], nox: Callable[[str], int]) -> dict[Cell, Outcome]:
    """Runs cells one after the other; a failure does not end it."""
    outcomes = {}
    for cell in chosen:
        print(f"compat.py: {cell.project} against {cell.versions}", flush=True)
        start = time.monotonic()
        code = nox(cell.session)
        outcomes[cell] = Outcome(code == 0, time.monotonic() - start)
    return outcomes


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0 if all passed, 1 if not, 2 if nothing can run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", nargs="*", help="default: all")
    parser.add_argument("--set", choices=SETS, action="append", help="default: all")
    parser.add_argument("--short", action="store_true", help="run few of the tests")
    asked = parser.parse_args(arguments)
    nox = [sys.executable, "-m", "nox", "--noxfile", str(ROOT / "noxfile.py")]
    listed = subprocess.run([*nox, "-l"], check=False, capture_output=True, text=True)
    if listed.returncode:
        said = (listed.stderr or listed.stdout).strip().splitlines() or ["no reason"]
        parser.error(f"nox cannot list its sessions ({said[-1]}); is nox installed?")
    found = cells(listed.stdout)
    known = {cell.project for cell in found}
    if unknown := set(asked.project) - known:
        parser.error(f"{min(unknown)}: there is none; take {', '.join(sorted(known))}")
    chosen = [
        cell
        for cell in found
        if cell.project in (asked.project or known)
        and cell.versions in (asked.set or SETS)
    ]
    if not chosen:
        sets = sorted(
            {cell.versions for cell in found if cell.project in asked.project}
        )
        which = ", ".join(asked.project)
        parser.error(f"nothing to run: of {which} take {', '.join(sets)}")
    extra = ["--", "short"] if asked.short else []

    def call(session: str) -> int:
        return subprocess.run([*nox, "-s", session, *extra], check=False).returncode

    outcomes = run(chosen, call)
    print(matrix(outcomes))
    return 0 if all(outcome.passed for outcome in outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
