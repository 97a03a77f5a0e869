"""Prepares a package's release: version, changelog, and the tag to set.

    python3 tools/release.py arrow-jax              the next version, by its fragments
    python3 tools/release.py arrow-jax 0.3.0        this version
    python3 tools/release.py --check arrow-jax-v0.3.0   is a tag what the tree says?

Run it by `nox -s release -- ...`, which installs what it needs. It writes the version
into pyproject.toml and uv.lock and the fragments into CHANGELOG.md, and prints what to
type next; it commits nothing and pushes nothing. A tree that is not clean is refused.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NUMBER = "(0|[1-9][0-9]*)"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")
_TAG = re.compile(rf"(?P<name>[a-z][a-z0-9-]*)-v(?P<version>{_VERSION.pattern})")
# Below 1.0.0 a minor release may break; from then on only a major one may.
_BREAKS = {"removed", "changed"}
_ADDS = {"added"}
_KINDS = {*_BREAKS, *_ADDS, "fixed"}


class ReleaseError(Exception):
    """The release cannot be prepared; nothing has been written."""


def parse(version: str) -> tuple[int, int, int]:
    """Reads `1.2.3`.

    Raises:
      ReleaseError: if it is something else.
    """
    found = _VERSION.fullmatch(version)
    if not found:
        raise ReleaseError(f"version {version!r}: wanted three numbers, such as 0.2.0")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def next_version(current: str, kinds: set[str]) -> str:
    """The version that fragments of these kinds ask for.

    Args:
      current: the last released version.
      kinds: of the fragments: added, changed, removed, fixed.

    Returns:
      The least version that the kinds allow.
    """
    major, minor, patch = parse(current)
    if kinds & _BREAKS and major:
        return f"{major + 1}.0.0"
    if kinds & (_BREAKS | _ADDS):
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}"


def package_folder(root: Path, name: str) -> Path:
    """Finds a package.

    Raises:
      ReleaseError: if there is none of that name.
    """
    known = sorted(f.parent.name for f in root.glob("packages/*/pyproject.toml"))
    if name not in known:
        which = f"take {', '.join(known)}" if known else f"{root / 'packages'} has none"
        raise ReleaseError(f"package {name!r}: there is none; {which}")
    return root / "packages" / name


def stated_version(folder: Path) -> str:
    """The version in a package's pyproject.toml.

    Raises:
      ReleaseError: if it states none.
    """
    file = folder / "pyproject.toml"
    try:
        version = tomllib.loads(_read(file))["project"]["version"]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ReleaseError(f"{file}: states no version ({error})") from error
    if not isinstance(version, str):
        raise ReleaseError(f"{file}: the version is {version!r}, which is no text")
    return version


def released_versions(folder: Path) -> list[str]:
    """The versions in a package's changelog, newest first."""
    text = _read(folder / "CHANGELOG.md")
    return re.findall(r"^## (\d+\.\d+\.\d+)\b", text, re.MULTILINE)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseError(f"{file}: cannot be read ({error})") from error


def fragments(folder: Path) -> list[Path]:
    """A package's changelog fragments, `what.kind.md`.

    Raises:
      ReleaseError: if one has no kind, which towncrier would leave out.
    """
    found = sorted(folder.glob("changelog.d/*.md"))
    for file in found:
        if not _KINDS & set(file.name.split(".")[1:-1]):
            raise ReleaseError(
                f"changelog.d/{file.name}: wanted WHAT.KIND.md with one of the kinds "
                f"{', '.join(sorted(_KINDS))}"
            )
    return found


def check_tag(root: Path, tag: str) -> Path:
    """Checks that a tag names what the tree holds.

    Args:
      root: the repository.
      tag: such as `arrow-jax-v0.2.0`.

    Returns:
      The package's folder.

    Raises:
      ReleaseError: if the tag has another form, there is no such package, its
        pyproject.toml or its changelog has another version, or fragments are left.
    """
    found = _TAG.fullmatch(tag)
    if not found:
        raise ReleaseError(f"tag {tag!r}: wanted PACKAGE-vVERSION: arrow-jax-v0.2.0")
    folder, version = package_folder(root, found["name"]), found["version"]
    stated = stated_version(folder)
    if stated != version:
        raise ReleaseError(f"tag {tag}: {folder.name}'s pyproject.toml has {stated}")
    newest = next(iter(released_versions(folder)), "none")
    if newest != version:
        raise ReleaseError(f"tag {tag}: the newest version in CHANGELOG.md is {newest}")
    if left := fragments(folder):
        raise ReleaseError(
            f"tag {tag}: {len(left)} fragments are left in changelog.d, such as "
            f"{left[0].name}; prepare the release with tools/release.py {folder.name}"
        )
    return folder


def choose_version(folder: Path, asked: str | None) -> str:
    """Settles the version of the next release.

    Args:
      folder: the package's.
      asked: by the user; None for what the fragments ask for.

    Returns:
      The version.

    Raises:
      ReleaseError: if there is nothing to release, or the version is not above the
        last one, or too small a step for the fragments.
    """
    found = fragments(folder)
    if not found:
        raise ReleaseError(f"{folder.name}: changelog.d holds nothing to release")
    kinds = {path.name.split(".")[-2] for path in found}
    released = released_versions(folder)
    # The first release is of the version that was stated from the start.
    least = next_version(released[0], kinds) if released else stated_version(folder)
    if asked is None:
        return least
    if parse(asked) < parse(least):
        raise ReleaseError(
            f"version {asked}: fragments of the kinds {', '.join(sorted(kinds))} "
            f"ask for {least} or more"
        )
    return asked


def check_clean(root: Path, tag: str) -> None:
    """Checks that the tree is as committed, on main, and the tag is free.

    Raises:
      ReleaseError: if not.
    """
    if not (root / ".git").exists():  # git would take a repository further up
        raise ReleaseError(f"{root} is no git repository")
    if changed := _git(root, "status", "--porcelain"):
        raise ReleaseError(f"the tree is not clean: {changed.splitlines()[0].strip()}")
    branch = _git(root, "branch", "--show-current")
    if branch != "main":
        raise ReleaseError(f"on branch {branch or '(none)'}, wanted main")
    if _git(root, "tag", "--list", tag):
        raise ReleaseError(f"tag {tag} exists")


def prepare(root: Path, name: str, asked: str | None) -> str:
    """Writes version and changelog of a release.

    Args:
      root: the repository.
      name: the package's.
      asked: a version; None for what the fragments ask for.

    Returns:
      The tag to set once the change is on main.

    Raises:
      ReleaseError: if it cannot be prepared; nothing has been written.
    """
    folder = package_folder(root, name)
    version = choose_version(folder, asked)
    tag = f"{name}-v{version}"
    check_clean(root, tag)
    files = (folder / "pyproject.toml", root / "uv.lock")
    heads = ("", f'^name = "{re.escape(name)}"\n')
    written = {
        file: _with_version(file, head, version)
        for file, head in zip(files, heads, strict=True)
    }
    # towncrier writes the changelog and removes the fragments.
    command = ["towncrier", "build", "--yes", "--version", version]
    command += ["--config", str(root / "pyproject.toml"), "--dir", str(folder)]
    _run(root, command)
    for file, text in written.items():
        file.write_text(text, encoding="utf-8")
    return tag


def _with_version(file: Path, head: str, version: str) -> str:
    line = re.compile(rf'({head}^version = )"[^"]*"$', re.MULTILINE)
    text, n = line.subn(rf'\g<1>"{version}"', _read(file), count=1)
    if n != 1:
        raise ReleaseError(f'{file}: has no line of the form version = "1.2.3"')
    return text


def _git(root: Path, *arguments: str) -> str:
    return _run(root, ["git", *arguments])


def _run(root: Path, command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=root
        )
    except FileNotFoundError:
        raise ReleaseError(
            f"{command[0]} is not installed; run this by nox -s release -- ..."
        ) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise ReleaseError(f"{' '.join(command[:2])}: {said[-1]}")
    return done.stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", help="such as arrow-jax; with --check a tag")
    parser.add_argument(
        "version", nargs="?", help="default: what the fragments ask for"
    )
    parser.add_argument("--check", action="store_true", help="check a tag instead")
    asked = parser.parse_args(arguments)
    try:
        if asked.check:
            folder = check_tag(ROOT, asked.package)
            print(folder.name)
            return 0
        tag = prepare(ROOT, asked.package, asked.version)
    except ReleaseError as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 2
    print(f"prepared {tag}. Look at git diff HEAD, then type:")
    print(f"  git commit --all --message 'Release {tag}'")
    print("and when that is on main:")
    print(f"  git tag {tag} && git push origin {tag}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
