"""Changes code a little, and lists the changes that no test notices.

    python3 tools/mutation.py arrow-jax --away DIR          its modules below
    python3 tools/mutation.py arrow-jax -m buckets --away DIR    one of them

Run it by `nox -s mutation -- arrow-jax`. mutmut makes the changes, one at a time, in a
copy of the project in DIR, and runs the tests of the same name: `src/x/_order.py` by
`tests/test_order.py`, since these mirror each other. A survivor is a change that they
let pass: a missing test, or code that does not matter.

Only modules that compile nothing are worth it, a test a second; MODULES lists them.
The programs in tools/ are the project `tools`; theirs start git, which takes longer.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MODULES = {
    "arrow-jax": [
        "block_order",
        "buckets",
        "lengths",
        "order",
        "pack",
        "permutation",
        "poisson",
        "split_order",
        "splits",
        "state",
        "window",
    ],
    "mnist-gan": ["exits", "topologies", "typed"],
    "tools": ["affected", "release"],
    "optax-chains": ["decay_mask", "epsilon", "migrate", "report", "slots"],
}
_MARK = ".mutation"  # in a folder that this program may delete
_SETTINGS = """[mutmut]
source_paths={source}
only_mutate=
{files}
also_copy=
{others}
pytest_add_cli_args=
  -p
  no:cacheprovider
pytest_add_cli_args_test_selection=
{tests}
use_git_change_detection=false
track_dependencies=false
"""
# What the tests of tools/ read of the rest; in the copy it lies in the tools' folder.
_READ = ["pyproject.toml", "packages/*/pyproject.toml", "integration/pyproject.toml"]


class Mutant(NamedTuple):
    """A change, and what became of it.

    Attributes:
      name: mutmut's.
      module: the file's, without the underscore.
      fate: such as "killed", "survived", "timeout" or "no tests".
    """

    name: str
    module: str
    fate: str


class MutationError(Exception):
    """There is nothing to change, or mutmut fails."""


def copy(project: str, away: Path) -> Path:
    """Copies the files of a project that git knows, as they are now.

    Returns:
      The copy's folder. It stands as deep as the project does in the tree.

    Raises:
      MutationError: if there is no such place, or git knows no files.
    """
    folder = folder_of(project)
    others = _READ if project == "tools" else []
    command = ["git", "ls-files", "-z", str(folder), *others]
    try:
        listed = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=ROOT
        ).stdout
        if not listed:
            raise MutationError(f"git knows no files of {folder} in {ROOT}")
        _empty(away)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                inside = Path(name).is_relative_to(folder)
                target = away / name if inside else away / folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        raise MutationError(f"git cannot list the files of {folder} ({said})") from None
    except OSError as error:
        raise MutationError(f"the copy cannot be made: {error}") from error
    return away / folder


def _empty(away: Path) -> None:
    """Makes an empty folder; one with anything but an earlier copy is left alone."""
    if away.is_dir() and any(away.iterdir()):
        if not (away / _MARK).exists():
            raise MutationError(
                f"--away {away} holds other things; delete it or take another"
            )
        shutil.rmtree(away)
    away.mkdir(parents=True, exist_ok=True)
    (away / _MARK).touch()


def folder_of(project: str) -> Path:
    """Where a project is, from the root."""
    own = {"mnist-gan": "integration", "tools": "tools"}
    return Path(own.get(project, f"packages/{project}"))


def source_of(project: str, module: str) -> str:
    """Where a module is, from the project's folder."""
    if project == "tools":
        return f"{module}.py"
    return f"src/{project.replace('-', '_')}/_{module}.py"


def write_settings(folder: Path, project: str, modules: Iterable[str]) -> None:
    """Tells mutmut which files to change and which tests to run."""
    modules, tools = list(modules), project == "tools"
    lists = {
        "files": [source_of(project, module) for module in modules],
        "others": ["tests", "pytest.ini"] if tools else ["README.md"],
        "tests": [f"tests/test_{module}.py" for module in modules],
    }
    words = {
        key: "\n".join(f"  {e}" for e in entries) for key, entries in lists.items()
    }
    settings = _SETTINGS.format(source="." if tools else "src", **words)
    (folder / "setup.cfg").write_text(settings)


def read_fates(printed: str) -> list[Mutant]:
    """Reads what `mutmut results --all true` prints."""
    line = r"^\s*((?:\S+\._)?(\w+)\.x\S+): (\w[\w ]*)$"
    found = re.findall(line, printed, re.MULTILINE)
    return [Mutant(*entry) for entry in found]


def is_wording(removed: str, added: str) -> bool:
    """Whether a change is one of a message's words, which mutmut marks and shouts."""
    plain = added.replace("XX", "").lower()
    return plain == removed.lower() and removed.count('"') + removed.count("'") > 0


def change(diff: str) -> tuple[str, str]:
    """The lines that a diff takes out and puts in, each as one line."""
    lines = [line for line in diff.splitlines() if not re.match(r"---|\+\+\+", line)]
    return (
        " ".join(line[1:].strip() for line in lines if line.startswith("-")),
        " ".join(line[1:].strip() for line in lines if line.startswith("+")),
    )


def table(mutants: list[Mutant], wording: set[str]) -> str:
    """Says of each module how many changes there were and how many survived."""
    lines = [
        "| module | changes | noticed | words of messages | survived |",
        "|---" * 5,
    ]
    lines[1] += "|"
    for module in [*sorted({m.module for m in mutants}), "all"]:
        own = [m for m in mutants if module in {m.module, "all"}]
        lived = [m for m in own if m.fate in {"survived", "no tests"}]
        words = sum(m.name in wording for m in lived)
        counts = (len(own), len(own) - len(lived), words, len(lived) - words)
        lines.append(f"| {module} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def _mutmut(folder: Path, *arguments: str, show: bool = False) -> str:
    # In front of the editable install, which is of the tree.
    environment = dict(os.environ, PYTHONPATH="", PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(
        command,
        check=False,
        capture_output=not show,
        text=True,
        cwd=folder,
        env=environment,
    )
    if done.returncode:
        said = "" if show else (done.stderr or done.stdout).strip()[-2000:]
        raise MutationError(f"mutmut {arguments[0]} fails: {said or 'see above'}")
    return done.stdout or ""


def run(project: str, modules: list[str], away: Path) -> str:
    """Does all of it.

    Args:
      project: its distribution's name.
      modules: which, without their underscore.
      away: a folder for the copy: none, an empty one, or that of an earlier run.

    Returns:
      The report: a table, and the survivors.

    Raises:
      MutationError: if mutmut fails, as it does when tests fail without any change.
    """
    folder = copy(project, away)
    write_settings(folder, project, modules)
    _mutmut(folder, "run", f"--max-children={os.cpu_count()}", show=True)
    mutants = read_fates(_mutmut(folder, "results", "--all", "true"))
    survivors, wording = [], set()
    for mutant in mutants:
        if mutant.fate not in {"survived", "no tests"}:
            continue
        removed, added = change(_mutmut(folder, "show", mutant.name))
        if is_wording(removed, added):
            wording.add(mutant.name)
        else:
            survivors.append((mutant, removed, added))
    lines = [table(mutants, wording)]
    for mutant, removed, added in survivors:
        lines += [
            f"\n{mutant.module}, {mutant.fate}:",
            f"  - {removed}",
            f"  + {added}",
        ]
    (away / "survivors.json").write_text(json.dumps(survivors, indent=1))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code; survivors are for reading, and are no failure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", choices=MODULES)
    parser.add_argument("-m", "--module", action="append", help="default: all listed")
    parser.add_argument("--away", type=Path, required=True, help="for the copy")
    asked = parser.parse_args(arguments)
    chosen = asked.module or MODULES[asked.project]
    if unknown := sorted(set(chosen) - set(MODULES[asked.project])):
        parser.error(
            f"{unknown[0]} is not among the modules that compile nothing; take "
            f"{', '.join(MODULES[asked.project])}"
        )
    try:
        print(run(asked.project, chosen, asked.away))
    except MutationError as error:
        print(f"mutation.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
