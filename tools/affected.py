"""Lists the projects that a change can break: those it touches, and all that need them.

    python3 tools/affected.py --base origin/main   what differs from a branch
    python3 tools/affected.py packages/x/src/y.py  what these files belong to

It prints JSON for a job's matrix: {"project": ["arrow-jax", ...]}. Who needs whom is
read from every pyproject.toml: dependencies, extras and groups. A file that belongs to
no project and is no documentation, such as noxfile.py, can break them all; so can a
change whose base is not known, which a first push calls 000000.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# Read by people only; the session `docs` runs what they show.
_PROSE = re.compile(r"(docs/.*|[A-Z]+\.md|LICENSE|\.github/(?!workflows/).*)")
# Pages that a package's tests compare with what the package does.
_TESTED = {"docs/arrow-types.md": "packages/arrow-jax/tests/test_type_table.py"}


class AffectedError(Exception):
    """What is affected cannot be told."""


class Project(NamedTuple):
    """A project of the workspace.

    Attributes:
      name: its distribution's.
      folder: relative to the root, with slashes.
      needs: names of the distributions that it, its extras and its groups ask for.
    """

    name: str
    folder: str
    needs: frozenset[str]


def projects(root: Path) -> list[Project]:
    """Reads every pyproject.toml below packages/ and integration/.

    Raises:
      AffectedError: if there is none, or one says nothing of a project.
    """
    files = [
        *root.glob("packages/*/pyproject.toml"),
        root / "integration/pyproject.toml",
    ]
    found = [_project(root, file) for file in sorted(files) if file.exists()]
    if not found:
        raise AffectedError(f"{root} has no packages/*/pyproject.toml")
    return found


def _project(root: Path, file: Path) -> Project:
    folder = file.parent.relative_to(root).as_posix()
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AffectedError(f"{folder}/pyproject.toml: {error}") from error
    project = content.get("project")
    if not isinstance(project, dict) or not isinstance(project.get("name"), str):
        raise AffectedError(f"{folder}/pyproject.toml: has no name in [project]")
    lists = {
        "dependencies": project.get("dependencies", []),
        **project.get("optional-dependencies", {}),
        **content.get("dependency-groups", {}),
    }
    needs = frozenset().union(*(_names(folder, *each) for each in lists.items()))
    return Project(_normal(project["name"]), folder, needs)


def _names(folder: str, key: str, needs: Any) -> frozenset[str]:
    if not isinstance(needs, list):
        raise AffectedError(f"{folder}/pyproject.toml: {key} is no list: {needs!r}")
    # A group may include another, {include-group = "test"}, which is listed itself.
    return frozenset(_name(need) for need in needs if isinstance(need, str))


def _name(requirement: str) -> str:
    found = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    if not found:
        raise AffectedError(f"{requirement!r} is no requirement")
    return _normal(found[1])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def affected(found: Iterable[Project], changed: Iterable[str]) -> list[str]:
    """Names what a change can break.

    Args:
      found: all projects.
      changed: paths relative to the root, with slashes.

    Returns:
      Names of projects, sorted: those with a changed file, and all that need one of
      them, over any number of steps.
    """
    found = list(found)
    touched = set()
    for name in changed:
        path = PurePosixPath(_TESTED.get(name, name)).as_posix()  # without a ./
        owners = {p.name for p in found if f"{path}/".startswith(f"{p.folder}/")}
        if not owners and not _PROSE.fullmatch(path):
            return sorted(p.name for p in found)
        touched |= owners
    while more := {p.name for p in found if p.needs & touched} - touched:
        touched |= more
    return sorted(touched)


def changed_since(root: Path, base: str) -> list[str]:
    """Lists files that differ between `base`, where HEAD left it, and HEAD.

    Raises:
      AffectedError: if git cannot tell.
    """
    if not (root / ".git").exists():
        raise AffectedError(f"{root} is no git repository; name the files instead")
    command = ["git", "diff", "--name-only", "--no-renames", "-z"]
    command += ["--end-of-options", f"{base}...HEAD", "--"]
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=root
        )
    except OSError as error:
        raise AffectedError(f"git does not run: {error}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise AffectedError(
            f"git cannot compare with {base!r} ({said[0]}); fetch it first, with its "
            "history: git fetch --unshallow origin"
        )
    return [path for path in done.stdout.split("\0") if path]


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="paths relative to the root")
    parser.add_argument("--base", metavar="REF", help="compare HEAD with this")
    asked = parser.parse_args(arguments)
    if bool(asked.files) == bool(asked.base):
        parser.error("type either files or --base REF")
    try:
        found = projects(ROOT)
        if re.fullmatch("0+", asked.base or ""):
            changed = [project.folder for project in found]
        else:
            changed = asked.files or changed_since(ROOT, asked.base)
    except AffectedError as error:
        print(f"affected.py: {error}", file=sys.stderr)
        return 2
    print(json.dumps({"project": affected(found, changed)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
