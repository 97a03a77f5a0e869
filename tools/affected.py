"""Lists the projects that a change can break: those it touches, and all that need them.

    python3 tools/affected.py --base origin/main   what differs from a branch
    python3 tools/affected.py packages/x/src/y.py  what these files belong to

It prints JSON for a job's matrix: {"project": ["arrow-jax", ...]}. Who needs whom is
read from every pyproject.toml: dependencies, extras and groups. A file that belongs to
no project and is no documentation, such as noxfile.py, can break them all.
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# Read by people only; the session `docs` runs what they show.
_PROSE = re.compile(r"(docs/.*|[A-Z]+\.md|LICENSE|\.github/(?!workflows/).*)")


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
    """Reads every pyproject.toml below packages/ and integration/."""
    files = [
        *root.glob("packages/*/pyproject.toml"),
        root / "integration/pyproject.toml",
    ]
    return [_project(root, file) for file in sorted(files) if file.exists()]


def _project(root: Path, file: Path) -> Project:
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    project = content["project"]
    lists = [
        project.get("dependencies", []),
        *project.get("optional-dependencies", {}).values(),
        *content.get("dependency-groups", {}).values(),
    ]
    # A group may include another, {include-group = "test"}, which is listed itself.
    needs = (_name(need) for needs in lists for need in needs if isinstance(need, str))
    folder = file.parent.relative_to(root).as_posix()
    return Project(_normal(project["name"]), folder, frozenset(needs))


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
    for path in changed:
        owners = {p.name for p in found if path.startswith(f"{p.folder}/")}
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
    command = ["git", "diff", "--name-only", "--no-renames", "-z", f"{base}...HEAD"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=root
    )
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
        changed = asked.files or changed_since(ROOT, asked.base)
        found = projects(ROOT)
    except AffectedError as error:
        print(f"affected.py: {error}", file=sys.stderr)
        return 2
    print(json.dumps({"project": affected(found, changed)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
