"""Rehearses a package's release, from the tree to a stranger's environment.

    python3 tools/release_check.py arrow-jax               all checks
    python3 tools/release_check.py arrow-jax --out dist    and keep what was built

Run it by `nox -s release-check -- ...`. It builds sdist and wheel without the
workspace, looks into both, asks griffe what broke since the last tag, serves both from
an index of its own, and runs the package's tests against the wheel in empty
environments of the oldest and the newest Python here.
"""

import argparse
import email
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import release

ROOT = Path(__file__).resolve().parent.parent
HARNESS = "chex-harness"
PYTHONS = ("3.11", "3.13")


class CheckError(Exception):
    """The package should not be released as it is."""


def say(text: str) -> None:
    """Tells the user what is done; a release takes minutes."""
    print(f"release_check.py: {text}", flush=True)


def build(folder: Path, out: Path) -> tuple[Path, Path]:
    """Builds a package without the workspace.

    Returns:
      The wheel and the sdist.
    """
    _run("uv", "build", "--no-sources", "--quiet", "--out-dir", out, folder)
    stem = f"{folder.name.replace('-', '_')}-{release.stated_version(folder)}"
    return next(out.glob(f"{stem}-*.whl")), out / f"{stem}.tar.gz"


def check_wheel(wheel: Path, folder: Path) -> None:
    """Checks what is in a wheel: the module whole, its licence, its metadata, no more.

    Raises:
      CheckError: if something is missing or too much.
    """
    module = folder.name.replace("-", "_")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = next(n for n in names if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(about))
    info = about.split("/")[0]
    stray = [n for n in names if n.split("/")[0] not in (module, info)]
    stray += [n for n in names if n.endswith((".pyc", ".orig", "~"))]
    if stray:
        raise CheckError(f"{wheel.name}: holds {stray[0]}, which is none of it")
    source = folder / "src" / module
    files = (f for f in source.rglob("*") if f.is_file() and f.suffix != ".pyc")
    wanted = {f"{module}/{f.relative_to(source).as_posix()}" for f in files}
    wanted |= {f"{info}/licenses/LICENSE", f"{module}/py.typed"}
    if missing := sorted(wanted - set(names)):
        raise CheckError(f"{wheel.name}: lacks {missing[0]}")
    check_metadata(wheel.name, metadata, folder)


def check_metadata(where: str, metadata: email.message.Message, folder: Path) -> None:
    """Checks that the metadata are those of pyproject.toml, and can be published.

    Raises:
      CheckError: if not.
    """
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for key, wanted in {
        "Name": project["name"],
        "Version": project["version"],
        "Summary": project["description"],
        "License-Expression": project["license"],
        "Requires-Python": project["requires-python"],
        "Description-Content-Type": "text/markdown",
    }.items():
        if metadata[key] != wanted:
            raise CheckError(f"{where}: {key} is {metadata[key]!r}, wanted {wanted!r}")
    for need in metadata.get_all("Requires-Dist", []):
        if " @ " in need:
            raise CheckError(f"{where}: needs {need!r}, an address that PyPI refuses")
    if "# " + project["name"] not in str(metadata.get_payload()):
        raise CheckError(f"{where}: its description is not the README")


def check_sdist(sdist: Path, folder: Path) -> None:
    """Checks that an sdist holds what a packager needs.

    Raises:
      CheckError: if something is missing.
    """
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    module = folder.name.replace("-", "_")
    wanted = ["LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"]
    for name in [*wanted, f"src/{module}/py.typed", "tests/test_public_api.py"]:
        if name not in names:
            raise CheckError(f"{sdist.name}: lacks {name}")


def last_tag(folder: Path) -> str | None:
    """The newest tag of a package, None before its first release."""
    tags = _run("git", "tag", "--list", f"{folder.name}-v*", cwd=ROOT).split()
    return max(
        tags, key=lambda tag: release.parse(tag.rpartition("-v")[2]), default=None
    )


def check_api(folder: Path) -> str:
    """Asks griffe what broke since the last tag.

    Returns:
      What to report.

    Raises:
      CheckError: if something broke and the version is not a step for that.
    """
    tag = last_tag(folder)
    if tag is None:
        return "no release yet, so nothing to break"
    module = folder.name.replace("-", "_")
    source = str((folder / "src").relative_to(ROOT))
    command = ["griffe", "check", module, "--search", source, "--against", tag]
    done = _start(command, cwd=ROOT)
    broken = (done.stdout + done.stderr).strip()
    if not done.returncode:
        return f"nothing broke since {tag}"
    before = tag.rpartition("-v")[2]
    least = release.next_version(before, {"removed"})
    if release.parse(release.stated_version(folder)) < release.parse(least):
        raise CheckError(
            f"the public interface broke since {tag}, which asks for {least}:\n{broken}"
        )
    return f"broken since {tag}, as the version says:\n{broken}"


@contextmanager
def index(files: list[Path], folder: Path) -> Iterator[str]:
    """Serves wheels and sdists as PyPI would, on loopback.

    Args:
      files: what to serve.
      folder: an empty one, for the pages.

    Yields:
      The address for `--index`.
    """
    for file in files:
        name = file.name.split("-")[0].replace("_", "-")
        page = folder / "simple" / name
        page.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, page)
    for page in (folder / "simple").iterdir():
        links = "".join(f'<a href="{f.name}">{f.name}</a>\n' for f in page.iterdir())
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body>")
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple/"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Says nothing."""


def test_installed(folder: Path, address: str, python: str, away: Path) -> None:
    """Runs a package's tests against its release, in an empty environment.

    Args:
      folder: the package's.
      address: of an index that has it.
      python: which, such as `3.11`.
      away: an empty folder, far from the tree.
    """
    content = tomllib.loads((folder / "pyproject.toml").read_text())
    version = content["project"]["version"]
    environment = away / "env"
    _run("uv", "venv", "--quiet", "--python", python, environment)
    needs = content["dependency-groups"]["test"]
    install = ["uv", "pip", "install", "--quiet", "--no-sources", "--index", address]
    chosen = environment / "bin/python"
    _run(*install, "--python", chosen, f"{folder.name}=={version}", *needs)
    copy = away / "packages" / folder.name
    copy.mkdir(parents=True)
    for part in ("README.md", "pyproject.toml"):
        shutil.copy(folder / part, copy)
    shutil.copytree(folder / "tests", copy / "tests")
    shutil.copytree(ROOT / "docs", away / "docs")
    where = "import importlib.util as u, sys; print(u.find_spec(sys.argv[1]).origin)"
    module = folder.name.replace("-", "_")
    origin = _run(chosen, "-c", where, module, cwd=copy).strip()
    if not origin.startswith(str(environment)):
        raise CheckError(f"{module} is imported from {origin}, not from the wheel")
    tests = ["README.md", "tests"]
    command = [str(chosen), "-m", "pytest", "--forbid-skips", "-q", *tests]
    done = subprocess.run(command, check=False, cwd=copy)
    if done.returncode:
        raise CheckError(f"the tests fail against the wheel on Python {python}")


def rehearse(name: str, out: Path | None, pythons: list[str]) -> None:
    """Does all of it.

    Args:
      name: the package's, or a tag of it.
      out: where to keep wheel and sdist; None to drop them.
      pythons: which Pythons to test on.

    Raises:
      CheckError: if the package should not be released as it is.
      release.ReleaseError: if there is no such package, or the tag says otherwise.
    """
    tag = os.environ.get("GITHUB_REF_NAME", "")
    folder = release.package_folder(ROOT, name)
    if out is not None:
        _make(out)
    if tag.startswith(f"{name}-v"):
        release.check_tag(ROOT, tag)
        say(f"tag {tag} is what pyproject.toml and CHANGELOG.md say")
    with tempfile.TemporaryDirectory(prefix="release-") as temporary:
        away = Path(temporary)
        wheel, sdist = build(folder, away / "dist")
        check_wheel(wheel, folder)
        check_sdist(sdist, folder)
        say(f"{wheel.name} and {sdist.name} hold what they should")
        say(check_api(folder))
        served = [wheel, sdist]
        if name != HARNESS:
            served += build(ROOT / "packages" / HARNESS, away / "harness")
        with index(served, away / "index") as address:
            for i, python in enumerate(pythons):
                place = away / f"python{i}"
                place.mkdir()
                test_installed(folder, address, python, place)
                say(f"the tests pass against the wheel on Python {python}")
        if out is not None:
            for file in (wheel, sdist):
                shutil.copy(file, out)
            say(f"kept in {out}")


def _make(out: Path) -> None:
    """Makes the folder for what is kept: at the start, not after minutes of tests."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckError(f"--out {out}: cannot be a folder ({error})") from error


def _run(*command: object, cwd: Path | None = None) -> str:
    words = [str(word) for word in command]
    done = _start(words, cwd=cwd)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise CheckError(f"{' '.join(words[:3])} ...: {said}")
    return done.stdout


def _start(words: list[str], *, cwd: Path | None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words, check=False, capture_output=True, text=True, cwd=cwd
        )
    except FileNotFoundError as error:
        raise CheckError(
            f"{words[0]} is not installed; run this by nox -s release-check -- ..."
        ) from error


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", help="such as arrow-jax")
    parser.add_argument("--out", type=Path, help="keep wheel and sdist here")
    parser.add_argument(
        "--python", action="append", help=f"default: {' and '.join(PYTHONS)}"
    )
    asked = parser.parse_args(arguments)
    try:
        rehearse(asked.package, asked.out, asked.python or list(PYTHONS))
    except (CheckError, release.ReleaseError) as error:
        print(f"release_check.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
