"""Counts what the documentation says of every public name.

    python3 tools/check_docs.py          a table, and what lacks something
    python3 tools/check_docs.py --all    also what needs no example, and why

Each name in `__all__` of a package, and of its public modules, wants an entry in
docs/api/<package>.md, and an example that runs: a doctest in its docstring, or a line
of a code cell of that page. The sources are read, not imported.

No example is asked of what is not called by hand: exceptions, NamedTuples, Protocols
and enums, dataclasses without public methods, and constants. They show in the examples
of what makes them. The exit code is 1 if anything lacks something, and 2 if a file
cannot be read.
"""

import argparse
import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# Names whose example isn't run where the documentation is built, and why.
CANNOT_RUN = {
    "rlax_agents.from_gymnax": "gymnax is big, and `nox -s peers-rlax_agents` runs it",
}
_FIELDS_ONLY = {"NamedTuple", "Protocol", "IntEnum", "Enum", "TypedDict"}


class DocsError(Exception):
    """A file is not what it should be."""


class Name(NamedTuple):
    """A public name and what is said of it.

    Attributes:
      name: with its module, `arrow_jax.Loader`.
      entry: whether the page of the package has an entry for it.
      example: whether there is an example that runs.
      exempt: why it needs no example, or "".
    """

    name: str
    entry: bool
    example: bool
    exempt: str


def public_names(root: Path) -> list[Name]:
    """Reads all packages below `packages/`, and their pages below `docs/api/`.

    Raises:
      DocsError: if a source is not Python, a file not text, or there is no package.
    """
    found = []
    for init in sorted(root.glob("packages/*/src/*/__init__.py")):
        page = root / f"docs/api/{init.parent.name}.md"
        text = _read(page) if page.exists() else ""
        for file in [init, *sorted(init.parent.glob("[!_]*.py"))]:
            found += _names_of(init.parent.parent, file, text)
    if not found:
        raise DocsError(f"{root} has no packages/*/src/*/__init__.py")
    return found


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocsError(f"{file}: cannot be read ({error})") from error


def _parse(file: Path) -> ast.Module:
    try:
        return ast.parse(_read(file))
    except (SyntaxError, ValueError) as error:
        raise DocsError(f"{file}: is no Python ({error})") from error


def _names_of(source: Path, file: Path, page: str) -> list[Name]:
    tree = _parse(file)
    parts = file.relative_to(source).with_suffix("").parts
    module = ".".join(part for part in parts if part != "__init__")
    homes = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    found = []
    fence = re.compile(r"^```\{code-cell\}.*?^```", re.MULTILINE | re.DOTALL)
    cells = "\n".join(fence.findall(page))
    for name in _all_of(tree, file):
        home, own = homes.get(name, (module, name))
        definition = _definition(source, home, own)
        full = f"{module}.{name}"
        entry = rf"^\.\. [\w:]+:: {re.escape(full)}$"
        found.append(
            Name(
                full,
                bool(re.search(entry, page, re.MULTILINE)),
                _has_doctest(definition) or bool(re.search(rf"\b{name}\(", cells)),
                CANNOT_RUN.get(full, "") or _exemption(definition),
            )
        )
    return found


def _all_of(tree: ast.Module, file: Path) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            try:
                return sorted(ast.literal_eval(node.value))
            except (ValueError, TypeError) as error:
                raise DocsError(
                    f"{file}: __all__ is {ast.unparse(node.value)!r}, wanted a list of "
                    "names"
                ) from error
    return []


def _definition(source: Path, module: str, name: str) -> ast.stmt | None:
    """The class or function of that name; None for a constant or an alias."""
    file = source.joinpath(*module.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    last = None  # overloads come before what has the docstring
    for node in _parse(file).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            last = node
    return last


def _has_doctest(definition: ast.stmt | None) -> bool:
    """Whether the docstring has an example, or one of a public method."""
    if not isinstance(definition, ast.ClassDef | ast.FunctionDef):
        return False
    methods = definition.body if isinstance(definition, ast.ClassDef) else []
    docs = [
        ast.get_docstring(node) or ""
        for node in [definition, *methods]
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    return any(">>> " in text for text in docs)


def _exemption(definition: ast.stmt | None) -> str:
    if definition is None:
        return "a constant or an alias"
    if not isinstance(definition, ast.ClassDef):
        return ""
    bases = {ast.unparse(base).partition("[")[0] for base in definition.bases}
    bases = {base.rpartition(".")[2] for base in bases}
    if any(base.endswith(("Error", "Exception")) for base in bases):
        return "an exception"
    if fields := bases & _FIELDS_ONLY:
        return f"a {min(fields)}"
    marks = " ".join(ast.unparse(mark) for mark in definition.decorator_list)
    methods = [
        node.name
        for node in definition.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    if "dataclass" in marks and not methods and not bases:
        return "a dataclass of fields alone"
    return ""


def table(names: list[Name]) -> str:
    """Says how many names each module has, and how many of them lack what."""
    modules = sorted({name.name.rpartition(".")[0] for name in names})
    rows: list[tuple[str, ...]] = [
        ("module", "names", "entry", "example", "needs none", "lacks one")
    ]
    for module in [*modules, "all"]:
        own = [n for n in names if module in {n.name.rpartition(".")[0], "all"}]
        counts = (
            len(own),
            sum(n.entry for n in own),
            sum(n.example for n in own),
            sum(bool(n.exempt) and not n.example for n in own),
            sum(not n.exempt and not n.example for n in own),
        )
        rows.append((module, *map(str, counts)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
        ).rstrip()
        for row in rows
    )


def lacks(names: list[Name]) -> list[str]:
    """A line for each thing that is missing."""
    lines = []
    for name in names:
        page = f"docs/api/{name.name.partition('.')[0]}.md"
        if not name.entry:
            lines.append(f"{name.name} has no entry in {page}")
        if not name.example and not name.exempt:
            lines.append(
                f"{name.name} has no example: write a doctest into its docstring, or "
                f"call it in a code cell of {page}"
            )
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--all", action="store_true", help="also list what needs no example"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="default: this clone")
    asked = parser.parse_args(arguments)
    try:
        names = public_names(asked.root)
    except DocsError as error:
        print(f"check_docs.py: {error}", file=sys.stderr)
        return 2
    print(table(names))
    if asked.all:
        for name in names:
            if name.exempt and not name.example:
                print(f"{name.name} needs no example: {name.exempt}")
    missing = lacks(names)
    for line in missing:
        print(line, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
