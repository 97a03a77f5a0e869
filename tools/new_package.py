"""Makes a package from tools/template, complete enough to pass all its sessions.

python3 tools/new_package.py jraph-kit "Graphs of any size in jitted networks" \
        --needs "jax>=0.9" --needs "jraph==0.0.6.dev0"

It also writes the package's page in docs/api, adds the module to the lists in
pyproject.toml, of what is checked for types and for imports, and names what is left to
do. jax is always among the needs.
"""

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = Path(__file__).resolve().parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NEED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[\w,.-]+\])?\s*[^\"\\\x00-\x1f]*")
_FLOOR = re.compile(r"[>=]=\s*\d")
_JAX = "jax>=0.9"
# Tables of the root's pyproject.toml and their lists of modules; {} is the module.
_LISTS = [
    ("tool.pyrefly", "search-path", "packages/{name}/src"),
    ("tool.importlinter", "root_packages", "{module}"),
    ("tool.importlinter.contracts", "modules", "{module}"),
    ("tool.importlinter.contracts", "source_modules", "{module}"),
]

# Where packages stand in an order or with words that somebody chooses.
_PLACES = [
    "README.md: a row in its table",
    "docs/index.md: a row in its table, and generated/NAME in its contents",
    "docs/_pages.py: in PACKAGES",
    ".github/ISSUE_TEMPLATE/bug.yml: in the options",
]


class NewPackageError(Exception):
    """The package cannot be made; nothing has been written."""


def new_package(root: Path, name: str, about: str, needs: list[str]) -> Path:
    """Makes `packages/<name>` and `docs/api/<module>.md`.

    Args:
      root: the repository.
      name: of the distribution, such as `jraph-kit`; the module is `jraph_kit`.
      about: one line on what it is for.
      needs: its requirements, each with a floor; jax is added.

    Returns:
      The new folder.

    Raises:
      NewPackageError: if the name does not serve, is taken, a requirement has no
        floor, or the repository lacks a file.
    """
    folder = root / "packages" / name
    needs = _checked_needs(needs)
    _check_name(name)
    if folder.exists():
        raise NewPackageError(f"{folder} exists")
    if not about.strip() or re.search(r"[\"\\\x00-\x1f]", about):
        raise NewPackageError(
            f"the line on what it is for is {about!r}: wanted one line without quotes "
            "and backslashes"
        )
    module = name.replace("-", "_")
    words = {
        "@NAME@": name,
        "@MODULE@": module,
        "@NEEDS@": ", ".join(f'"{need}"' for need in needs),
        "@ABOUT@": about.strip().removesuffix("."),  # the last: a user's text is final
    }
    sources = [
        file
        for file in sorted(TEMPLATE.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    ]
    try:
        settings = (root / "pyproject.toml").read_text(encoding="utf-8")
        licence = (root / "LICENSE").read_bytes()
    except (OSError, UnicodeDecodeError) as error:
        raise NewPackageError(f"the root's files cannot be read: {error}") from error
    if not sources:
        raise NewPackageError(f"{TEMPLATE} holds no template: git checkout tools")
    settings = with_module(settings, name=name, module=module)
    places = {"package": folder, "docs": root / "docs/api"}
    for source in sources:
        kind, *below = source.relative_to(TEMPLATE).parts
        parts = [part.replace("module", module) for part in below]
        _write(source, places[kind].joinpath(*parts), words)
    (folder / "LICENSE").write_bytes(licence)
    (root / "pyproject.toml").write_text(settings, encoding="utf-8")
    return folder


def _check_name(name: str) -> None:
    module = name.replace("-", "_")
    if not _NAME.fullmatch(name):
        raise NewPackageError(f"name {name!r}: wanted lower case words joined by -")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names:
        raise NewPackageError(f"name {name!r}: {module} is Python's own; take another")
    if module in {"jax", "mnist_gan", "test", "tests", "tools"}:
        raise NewPackageError(f"name {name!r}: {module} is in use; take another")


def _checked_needs(needs: list[str]) -> list[str]:
    """The requirements in order, with jax, on which the template's example stands."""
    for need in needs:
        if not _NEED.fullmatch(need):
            raise NewPackageError(f"{need!r} is no requirement; type 'NAME>=VERSION'")
        if not _FLOOR.search(need):
            bare = re.match(r"[\w.-]+(\[[^]]*\])?", need)
            name = bare[0] if bare else need
            raise NewPackageError(f"{need!r} has no floor; type '{name}>=VERSION'")
    names = [re.split(r"[^A-Za-z0-9._-]", need)[0].lower() for need in needs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise NewPackageError(f"{twice[0]} is needed twice; type it once")
    return sorted([*needs, *([] if "jax" in names else [_JAX])])


def with_module(settings: str, *, name: str, module: str) -> str:
    """Adds a module to the lists of the root's pyproject.toml, in order.

    Args:
      settings: the file's text.
      name: of the package.
      module: its.

    Returns:
      The new text.

    Raises:
      NewPackageError: if a list is not there.
    """
    for table, key, form in _LISTS:
        entry = form.format(name=name, module=module)
        # The tables of that name, each up to the next one's head.
        tables = rf"(?ms)^\[+{re.escape(table)}\]+$.*?(?=^\[|\Z)"
        lists = [
            (part.start() + found.start(1), part.start() + found.end(1))
            for part in re.finditer(tables, settings)
            if (found := re.search(rf"(?ms)^{key} = \[(.*?)\]", part[0]))
        ]
        if not lists:
            raise NewPackageError(f"pyproject.toml: [{table}] has no list {key}")
        start, stop = lists[0]
        entries = [*re.findall(r'"([^"]+)"', settings[start:stop]), entry]
        first = [e for e in entries if e.startswith("packages/")] or entries
        rest = [e for e in entries if e not in first]
        lines = "".join(f'  "{e}",\n' for e in [*sorted(set(first)), *rest])
        settings = f"{settings[:start]}\n{lines}{settings[stop:]}"
    return settings


def _write(source: Path, target: Path, words: dict[str, str]) -> None:
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
        folder = new_package(ROOT, found.name, found.about, found.needs)
    except NewPackageError as error:
        print(f"new_package.py: {error}", file=sys.stderr)
        return 2
    module = found.name.replace("-", "_")
    print(f"{folder.relative_to(ROOT)} is made. It is still to be named in:")
    for place in _PLACES:
        print(f"  {place}")
    print("and then, type:")
    print("  uv lock")
    print(f"  python3 tools/run.py tests-{module} lint types")
    others = [need for need in found.needs if not re.match(r"jax\b(?!-)", need)]
    if others:
        print(f"lint asks that something in src/ imports {', '.join(others)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
