"""Makes a package from tools/template, complete enough to pass all its sessions.

python3 tools/new_package.py jraph-kit "Graphs of any size in jitted networks" \
        --needs "jax>=0.9" --needs "jraph==0.0.6.dev0"
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = Path(__file__).resolve().parent / "template" / "package"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class NewPackageError(Exception):
    """The package cannot be made; nothing has been written."""


def new_package(root: Path, name: str, about: str, needs: list[str]) -> Path:
    """Makes `packages/<name>`.

    Args:
      root: the repository.
      name: of the distribution, such as `jraph-kit`; the module is `jraph_kit`.
      about: one line on what it is for.
      needs: its requirements, each with a floor.

    Returns:
      The new folder.

    Raises:
      NewPackageError: if the name does not serve, is taken, or a requirement has no
        floor.
    """
    if not _NAME.fullmatch(name):
        raise NewPackageError(f"name {name!r}: wanted lower case words joined by -")
    folder = root / "packages" / name
    if folder.exists():
        raise NewPackageError(f"{folder} exists")
    for need in needs:
        if not re.search(r"[>=]=\s*\d", need):
            raise NewPackageError(f"{need!r} has no floor; type '{need}>=VERSION'")
    if '"' in about or "\n" in about:
        raise NewPackageError("the line on what it is for holds a quote or a line end")
    words = {
        "@NAME@": name,
        "@MODULE@": name.replace("-", "_"),
        "@ABOUT@": about,
        "@NEEDS@": ", ".join(f'"{need}"' for need in sorted(needs)),
    }
    for source in sorted(TEMPLATE.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            _write(source, folder, words)
    shutil.copy(root / "LICENSE", folder)
    return folder


def _write(source: Path, folder: Path, words: dict[str, str]) -> None:
    below = source.relative_to(TEMPLATE)
    parts = [words["@MODULE@"] if part == "module" else part for part in below.parts]
    target = folder.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = source.read_text(encoding="utf-8")
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    target.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="of the distribution, such as jraph-kit")
    parser.add_argument("about", help="one line on what it is for")
    parser.add_argument("--needs", action="append", default=[], metavar="REQUIREMENT")
    found = parser.parse_args(arguments)
    try:
        folder = new_package(ROOT, found.name, found.about, found.needs or ["jax>=0.9"])
    except NewPackageError as error:
        print(f"new_package.py: {error}", file=sys.stderr)
        return 2
    module = found.name.replace("-", "_")
    print(f"{folder.relative_to(ROOT)}: replace its example, then run")
    print(f"  python3 tools/run.py tests-{module} lint types")
    return 0


if __name__ == "__main__":
    sys.exit(main())
