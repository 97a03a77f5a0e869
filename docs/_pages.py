"""Makes pages of what stands elsewhere: READMEs, their measured tables, the lock file.

They are written below docs/generated, which git ignores, each time the site is built.
"""
# ruff: noqa: INP001

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs/generated"
PACKAGES = [
    "arrow-jax",
    "haiku-nets",
    "optax-chains",
    "rlax-agents",
    "jraph-kit",
    "chex-harness",
]
MODULES = [name.replace("-", "_") for name in PACKAGES]
# Files of the repository that are pages, and those pages.
READMES = {f"packages/{name}/README.md": f"{name}.md" for name in PACKAGES} | {
    "integration/README.md": "mnist-gan.md",
    "integration/launch/README.md": "launch.md",
    "integration/examples/molecules/README.md": "molecules.md",
    "integration/examples/offline_rl/README.md": "offline-rl.md",
    "CONTRIBUTING.md": "contributing.md",
}
PYTHONS = ["3.11", "3.12", "3.13"]
# What stands below each package in the table of contents.
CHILDREN = {f"{name}.md": [f"../api/{name.replace('-', '_')}"] for name in PACKAGES}
CHILDREN["arrow-jax.md"] += ["../arrow-types"]
CHILDREN["mnist-gan.md"] = ["launch", "molecules", "offline-rl"]
_MEASURED = """# Measured

These tables are taken out of the packages' READMEs when the site is built. Beside each
is the command that prints it. All were measured on two cores, most of them shared with
other work: counts and ratios say more than seconds."""
_VERSIONS = """# Versions that work together

`uv.lock` names one version of everything for each Python. `nox -s compat` runs all
tests with these, with the newest releases and with the lowest that are allowed. This
table is read from the lock when the site is built.

| package | {head} |
|---|{line}
{rows}

With these versions of ours:

| package | version |
|---|---|
{own}
"""
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def write_all() -> None:
    """Writes every generated page; a page that did not change keeps its date."""
    pages = {page: moved(ROOT / source) for source, page in READMES.items()}
    for page, children in CHILDREN.items():
        tree = "\n".join(["```{toctree}", ":hidden:", "", *children, "```"])
        pages[page] = f"{pages[page].rstrip()}\n\n{tree}\n"
    pages["measured.md"] = measured()
    pages["versions.md"] = versions(ROOT / "uv.lock")
    OUT.mkdir(exist_ok=True)
    for old in {file.name for file in OUT.iterdir()} - set(pages):
        (OUT / old).unlink()
    for name, text in pages.items():
        file = OUT / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def moved(source: Path) -> str:
    """A README's text with its links as they are from the generated folder."""
    parts = _FENCE.split(source.read_text())
    for i in range(0, len(parts), 2):  # code stays as it is
        parts[i] = _LINK.sub(lambda link: _moved_link(source.parent, link), parts[i])
    return "".join(parts)


def _moved_link(folder: Path, link: re.Match[str]) -> str:
    picture, text, target = link.groups()
    if re.match(r"[a-z]+:|#", target):
        return link[0]
    path, _, anchor = target.partition("#")
    file = (folder / path).resolve()
    if file.is_dir():
        file /= "README.md"
    name = file.relative_to(ROOT).as_posix()
    anchor = f"#{anchor}" if anchor else ""
    if picture:
        return f"![{text}]({os.path.relpath(file, OUT)})"
    if name in READMES:
        return f"[{text}]({READMES[name]}{anchor})"
    if name.startswith("docs/") and file.suffix == ".md":
        return f"[{text}]({os.path.relpath(file, OUT)}{anchor})"
    if not file.exists():
        raise ValueError(
            f"{folder / 'README.md'} links to {target}, which is not there"
        )
    if repository := os.environ.get("DOCS_REPOSITORY"):
        return f"[{text}]({repository}/blob/main/{name}{anchor})"
    return text if text.startswith("`") else f"`{' '.join(text.split())}`"


def sections(text: str) -> dict[str, str]:
    """Splits Markdown at its second headings: title -> text."""
    parts = _FENCE.split(text)
    hidden = "".join(
        part if i % 2 == 0 else part.replace("\n## ", "\n\0## ")
        for i, part in enumerate(parts)
    )
    found = re.split(r"^## (.*)$", hidden, flags=re.MULTILINE)
    return {
        title: body.replace("\0", "").strip()
        for title, body in zip(found[1::2], found[2::2], strict=True)
    }


def is_measured(block: str) -> bool:
    """Whether a block of Markdown is a table most of whose cells are numbers."""
    if not block.startswith("|"):
        return False
    cells = [
        cell.strip() for row in block.splitlines()[2:] for cell in row.split("|")[2:-1]
    ]
    numbers = [cell for cell in cells if re.match(r"[-<]?\d", cell)]
    return bool(cells) and 2 * len(numbers) >= len(cells)


def measured_part(title: str, body: str) -> str:
    """What a section says of measurements: all, or its tables and what is beside."""
    if title in {"Measured", "Speed"}:
        return body
    blocks = list(_blocks(body))
    wanted = set()
    for i, block in enumerate(blocks):
        if is_measured(block):
            wanted |= {i - 1, i, i + 1}
    return "\n\n".join(
        block
        for i, block in enumerate(blocks)
        if i in wanted and not block.startswith("```")
    )


def _blocks(body: str) -> Iterator[str]:
    for i, part in enumerate(_FENCE.split(body)):
        if i % 2:
            yield part
        else:
            yield from filter(None, map(str.strip, re.split(r"\n\s*\n", part)))


def measured() -> str:
    """One page of all measured tables, taken out of the READMEs."""
    out = [_MEASURED]
    for source, page in READMES.items():
        if not source.startswith("packages/") and page != "mnist-gan.md":
            continue
        parts = {
            title: part
            for title, body in sections(moved(ROOT / source)).items()
            if (part := measured_part(title, body))
        }
        if parts:
            out.append(f"## {page.removesuffix('.md')}")
        for title, part in parts.items():
            if title not in {"Measured", "Speed"}:
                out.append(f"### {title}")
            out.append(part)
    return "\n\n".join(out) + "\n"


def versions(lock: Path) -> str:
    """A table of the versions in the lock file that the projects ask for themselves."""
    packages = tomllib.loads(lock.read_text())["package"]
    members = [p for p in packages if {"editable", "virtual"} & set(p["source"])]
    names = {member["name"] for member in members}
    needed = {
        need["name"]
        for member in members
        for needs in [
            member.get("dependencies", []),
            *member.get("optional-dependencies", {}).values(),
        ]
        for need in needs
    }
    needed |= {"chex", "jaxlib", "rlax"}  # by way of others
    rows = []
    for name in sorted(needed - names):
        found = [_version(packages, name, python) for python in PYTHONS]
        rows.append(f"| {name} | {' | '.join(found)} |")
    own = [f"| {m['name']} | {m['version']} |" for m in members]
    head = " | ".join(f"Python {python}" for python in PYTHONS)
    return _VERSIONS.format(
        head=head,
        line="---|" * len(PYTHONS),
        rows="\n".join(rows),
        own="\n".join(own),
    )


def _version(packages: list[dict[str, Any]], name: str, python: str) -> str:
    """The version of a package that the lock has for a Python."""
    place = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    found = [
        package["version"]
        for package in packages
        if package["name"] == name
        and (
            not package.get("resolution-markers")
            or any(Marker(m).evaluate(place) for m in package["resolution-markers"])
        )
    ]
    return ", ".join(found) or "none"
