"""What the sessions of packages and of the integration do."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import nox

from .places import HARNESS, INTEGRATION, PACKAGES, ROOT, test_group

# What a short run of a package's tests is: `nox -s minimums -- short`.
SHORT = ["README.md", "tests/test_public_api.py", "tests/test_laws.py"]

# A test at a time on each core: most of the time goes into compiling, on one thread.
XDIST = "pytest-xdist>=3.6.1"
ON_ALL_CORES = ["-n", "auto", "--dist", "worksteal"]


def chosen_tests(
    session: nox.Session, path: Path, *, short: Sequence[str] = SHORT
) -> list[str]:
    """The arguments for pytest; `short` stands for what shows most in little time."""
    if session.posargs != ["short"]:
        return session.posargs
    return [test for test in short if (path / test).exists()]


def run_tests(session: nox.Session, path: Path) -> None:
    """Runs a package's tests, all of them on all cores, or those that are named.

    Those of the harness start processes of their own, and give them a time.
    """
    session.chdir(path)
    session.install(XDIST)
    whole = not session.posargs and path != HARNESS
    chosen = ON_ALL_CORES if whole else chosen_tests(session, path)
    session.run("pytest", "--forbid-skips", *chosen)


def install_pinned(session: nox.Session, path: Path) -> None:
    """Installs a project and its test group at the versions of uv.lock."""
    folder = Path(session.create_tmp())
    wanted = ["--frozen", "--no-hashes", "--no-emit-workspace", "--group", "test"]
    name = nox.project.load_toml(path / "pyproject.toml")["project"]["name"]
    pins = folder / "pins.txt"
    export = ["uv", "export", "--quiet", "--package", name, *wanted, "-o", str(pins)]
    session.run(*export, external=True)
    members = {f"-e{path}", f"-e{HARNESS}"}
    if path == INTEGRATION:
        members |= {f"-e{package}" for package in PACKAGES}
    session.install("--no-deps", *sorted(members))
    session.install("-r", str(pins))


def measure_coverage(
    session: nox.Session, path: Path, *tests: str, extras: str = ""
) -> None:
    """Runs a project's tests under coverage, with the processes that they start.

    Coverage starts before pytest does, which imports the plugin of chex-harness.
    """
    group = test_group(path)
    session.install("-e", f"{path}{extras}", group, "coverage>=7.10")
    session.env["COVERAGE_FILE"] = str(Path(session.create_tmp()) / "coverage")
    session.chdir(path)
    settings = f"--rcfile={ROOT / 'pyproject.toml'}"
    # By its path, since programs that are run by theirs count too.
    source = f"--source={path / 'src'}"
    measured = ["coverage", "run", settings, source, "-m", "pytest"]
    session.run(*measured, "-p", "no:randomly", *(session.posargs or tests))
    session.run("coverage", "combine", "--quiet", settings)
    session.run("coverage", "report", settings)


def run_in_random_order(session: nox.Session, path: Path, *needs: str) -> None:
    """Runs a project's tests in an order that pytest-randomly draws, and names."""
    session.install(*needs, "pytest-randomly>=3.16")
    session.chdir(path)
    session.run("pytest", "--forbid-skips", *session.posargs)


def run_benchmarks(session: nox.Session, path: Path) -> None:
    """Runs a project's benchmarks, with its bench group where it has one."""
    groups = nox.project.load_toml(path / "pyproject.toml")["dependency-groups"]
    group = "bench" if "bench" in groups else "test"
    session.install("-e", str(path), f"--group={path / 'pyproject.toml'}:{group}")
    scripts = sorted(path.glob("benchmarks/bench_*.py"))
    for script in scripts:
        options = list(session.posargs)
        if len(scripts) > 1 and "--json" in options[:-1]:
            at = options.index("--json") + 1
            file = Path(options[at])  # each has a file of its own
            options[at] = str(file.with_stem(f"{file.stem}-{script.stem[6:]}"))
        session.run("python", str(script), *options)


def test_wheel(session: nox.Session, path: Path, away: Path) -> None:
    """Builds the wheel without the workspace, and runs the package's tests on it."""
    for project in {path, HARNESS}:
        build = ["uv", "build", "--no-sources", "--quiet", "--wheel", "--out-dir", away]
        session.run(*map(str, [*build, project]))
    groups = nox.project.load_toml(path / "pyproject.toml")["dependency-groups"]
    others = [need for need in groups["test"] if need != HARNESS.name]
    wheels = [str(wheel) for wheel in away.glob("*.whl")]
    session.install("--no-sources", *wheels, *others)
    # The tree's layout without its sources, for tests that look at the docs.
    copy = away / "packages" / path.name
    copy.mkdir(parents=True)
    for part in ("README.md", "pyproject.toml"):
        shutil.copy(path / part, copy)
    shutil.copytree(path / "tests", copy / "tests")
    shutil.copytree(ROOT / "docs", away / "docs")
    session.chdir(copy)
    # A wheel lacks files, if anything; the laws know nothing of files.
    chosen = chosen_tests(session, path, short=SHORT[:2]) or ["README.md", "tests"]
    session.run("pytest", "--forbid-skips", *chosen)


def test_install_from_git(session: nox.Session, path: Path, away: Path) -> None:
    """Types what the README says into an empty environment, and runs its examples."""
    readme = path / "README.md"
    line = re.search(r"^pip install (.*)$", readme.read_text(), re.MULTILINE)
    if line is None:
        session.error(f"{readme} has no line that starts with: pip install")
    clone, python = away / "clone", str(away / "env/bin/python")
    typed = f"{python} -m pip install --quiet {line[1]}"
    run = "import sys; sys.path.insert(0, sys.argv[1]); import _examples as e"
    examples = str(HARNESS / "src/chex_harness")
    for command in (
        ["git", "clone", "--quiet", str(ROOT), str(clone)],
        ["python", "-m", "venv", str(away / "env")],
        [python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"],
        ["sh", "-c", typed],
        [python, "-c", f"{run}; e.run_file(sys.argv[2])", examples, str(readme)],
    ):
        session.run(*command, env={"REPO": clone.as_uri()}, external=True)
