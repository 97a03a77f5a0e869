"""Every task of the repository: `nox -l` lists them.

The sessions of the packages are derived from `packages/*`, so a new package has them
all. Each session resolves on its own and installs what its package declares.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
os.environ["UV_PYTHON_DOWNLOADS"] = "never"

ROOT = Path(__file__).parent
PACKAGES = sorted(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))
HARNESS = ROOT / "packages/chex-harness"
INTEGRATION = ROOT / "integration"
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
# What a short run of a package's tests is: `nox -s minimums -- short`.
SHORT = ["README.md", "tests/test_public_api.py", "tests/test_laws.py"]


def find_python(version: str) -> str | None:
    """Finds a Python: the one that runs nox, one on the path, or one of pyenv's."""
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    # A shim on the path fails unless pyenv has switched that version on.
    found = [shutil.which(f"python{version}"), *PYENV.glob(f"{version}.*/bin/python")]
    return next((str(p) for p in found if p and "shims" not in str(p)), None)


VERSIONS = nox.project.python_versions(
    nox.project.load_toml(HARNESS / "pyproject.toml")
)
PYTHONS = [python for version in VERSIONS if (python := find_python(version))]
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]


def test_group(path: Path) -> str:
    """What a project's tests need, as uv spells it."""
    return f"--group={path / 'pyproject.toml'}:test"


def chosen_tests(session: nox.Session, path: Path) -> list[str]:
    """The arguments for pytest; `short` stands for what shows most in little time."""
    if session.posargs != ["short"]:
        return session.posargs
    return [test for test in SHORT if (path / test).exists()]


def add_sessions(path: Path) -> list[str]:
    """Adds the sessions of one package, and returns their names."""
    name = path.name
    module = name.replace("-", "_")

    @nox.session(name=f"tests-{module}", python=NEWEST, tags=[name])
    def tests(session: nox.Session) -> None:
        """Test the package on the newest Python, with the newest releases."""
        session.install("-e", str(path), test_group(path))
        session.chdir(path)
        session.run("pytest", "--forbid-skips", *chosen_tests(session, path))

    @nox.session(name=f"minimums-{module}", python=OLDEST, tags=[name], default=False)
    def minimums(session: nox.Session) -> None:
        """Test the package on the oldest Python, with the lowest releases it allows."""
        lowest = "--resolution=lowest-direct"
        session.install(lowest, "-e", str(path), test_group(path))
        session.run("uv", "pip", "list", "--quiet")
        session.chdir(path)
        session.run("pytest", "--forbid-skips", *chosen_tests(session, path))

    @nox.session(name=f"dist-{module}", python=NEWEST, tags=[name], default=False)
    def dist(session: nox.Session) -> None:
        """Test the wheel, and pip's install from git, away from the tree."""
        with tempfile.TemporaryDirectory(prefix=f"{module}-") as folder:
            test_wheel(session, path, Path(folder))
            test_install_from_git(session, path, Path(folder))
            session.chdir(ROOT)

    added = [tests, minimums, dist]
    if (path / "benchmarks").is_dir():

        @nox.session(name=f"bench-{module}", python=NEWEST, tags=[name], default=False)
        def bench(session: nox.Session) -> None:
            """Run the package's benchmarks: tables, and JSON with `-- --json FILE`."""
            run_benchmarks(session, path)

        added.append(bench)
    if (path / "peers").is_dir():

        @nox.session(name=f"peers-{module}", python=NEWEST, tags=[name], default=False)
        def peers(session: nox.Session) -> None:
            """Test the package beside big libraries that it can feed."""
            session.install("-e", str(path), f"--group={path / 'pyproject.toml'}:peers")
            session.chdir(path)
            session.run("pytest", "peers", *session.posargs)

        added.append(peers)
    return [str(session.name) for session in added]


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
    chosen = chosen_tests(session, path) or ["README.md", "tests"]
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


NAMES = [name for path in PACKAGES for name in add_sessions(path)]


def notify(session: nox.Session, kind: str) -> None:
    """Queues the sessions of one kind for all packages, with the same arguments."""
    for name in NAMES:
        if name.startswith(f"{kind}-"):
            session.notify(name, session.posargs)


@nox.session(python=False, default=False)
def tests(session: nox.Session) -> None:
    """Test every package and the integration."""
    notify(session, "tests")
    session.notify("tests-tools", session.posargs)
    session.notify("integration", session.posargs)


@nox.session(python=False, default=False)
def minimums(session: nox.Session) -> None:
    """Test every package on the oldest Python, with the lowest releases it allows."""
    notify(session, "minimums")


@nox.session(python=False, default=False)
def dist(session: nox.Session) -> None:
    """Test every package's wheel, and pip's install from git."""
    notify(session, "dist")


@nox.session(python=False, default=False)
def bench(session: nox.Session) -> None:
    """Run every benchmark."""
    notify(session, "bench")
    session.notify("bench-mnist_gan", session.posargs)


@nox.session(name="tests-tools", python=NEWEST)
def tests_tools(session: nox.Session) -> None:
    """Test the programs in tools/."""
    session.install("nox", "pytest", "towncrier>=24.8", "uv", "-e", str(HARNESS))
    session.chdir(ROOT / "tools")
    session.run("pytest", "--forbid-skips", *session.posargs)


@nox.session(python=NEWEST)
def integration(session: nox.Session) -> None:
    """Test the MNIST GAN, on one device and on eight simulated ones."""
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION))
    session.chdir(INTEGRATION)
    session.run("pytest", "--forbid-skips", *session.posargs)


@nox.session(name="bench-mnist_gan", python=NEWEST, default=False)
def bench_mnist_gan(session: nox.Session) -> None:
    """Run the GAN beside plain Haiku: tables, and JSON with `-- --json FILE`."""
    run_benchmarks(session, INTEGRATION)


@nox.session(python=NEWEST, default=False)
def train(session: nox.Session) -> None:
    """Train the MNIST GAN; options go behind --, such as `-- --steps 30 --out DIR`."""
    session.install("-e", str(INTEGRATION))
    session.chdir(session.invoked_from)
    # Ctrl-C reaches the run too, which needs a moment to save.
    patience = {"interrupt_timeout": 60, "terminate_timeout": 60}
    typed = f"{os.environ.get('QUIVER_TYPED', 'nox -s')} train --"
    run = ["mnist-gan", "train", *session.posargs]
    session.run(*run, env={"MNIST_GAN_TYPED": typed}, **patience)


@nox.session(python=NEWEST)
def lint(session: nox.Session) -> None:
    """Check style and format."""
    session.install("ruff>=0.17")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python=NEWEST)
def types(session: nox.Session) -> None:
    """Check types."""
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION), "pyrefly>=1.5")
    session.run("pyrefly", "check")
