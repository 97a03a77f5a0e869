"""The sessions of each package, and those that run one kind of them all."""

import tempfile
from pathlib import Path

import nox

from . import steps
from .places import MIDDLE, NEWEST, OLDEST, PACKAGES, ROOT, test_group


def add_sessions(path: Path) -> list[str]:
    """Adds the sessions of one package, and returns their names."""
    name = path.name
    module = name.replace("-", "_")

    @nox.session(name=f"tests-{module}", python=NEWEST, tags=[name])
    def tests(session: nox.Session) -> None:
        """Test the package on the newest Python, with the newest releases."""
        session.install("-e", str(path), test_group(path))
        steps.run_tests(session, path)

    @nox.session(name=f"minimums-{module}", python=OLDEST, tags=[name], default=False)
    def minimums(session: nox.Session) -> None:
        """Test the package on the oldest Python, with the lowest releases it allows."""
        lowest = "--resolution=lowest-direct"
        session.install(lowest, "-e", str(path), test_group(path))
        session.run("uv", "pip", "list", "--quiet")
        steps.run_tests(session, path)

    @nox.session(name=f"dist-{module}", python=NEWEST, tags=[name], default=False)
    def dist(session: nox.Session) -> None:
        """Test the wheel, and pip's install from git, away from the tree."""
        with tempfile.TemporaryDirectory(prefix=f"{module}-") as folder:
            steps.test_wheel(session, path, Path(folder))
            steps.test_install_from_git(session, path, Path(folder))
            session.chdir(ROOT)

    @nox.session(name=f"pinned-{module}", python=MIDDLE, default=False)
    def pinned(session: nox.Session) -> None:
        """Test the package with the versions that uv.lock states."""
        steps.install_pinned(session, path)
        steps.run_tests(session, path)

    @nox.session(name=f"coverage-{module}", python=NEWEST, default=False)
    def coverage(session: nox.Session) -> None:
        """Measure which branches the package's tests take; 95 per cent are asked."""
        steps.measure_coverage(session, path)

    @nox.session(name=f"random-order-{module}", python=NEWEST, default=False)
    def random_order(session: nox.Session) -> None:
        """Test in another order each time; `-- --randomly-seed=3` for a known one."""
        needs = ["-e", str(path), test_group(path)]
        steps.run_in_random_order(session, path, *needs)

    added = [tests, minimums, dist, pinned, coverage, random_order]
    return [str(session.name) for session in added]


def add_optional_sessions(path: Path) -> list[str]:
    """Adds those for which a package has a folder, and returns their names."""
    module = path.name.replace("-", "_")
    added = []
    if (path / "benchmarks").is_dir():

        @nox.session(name=f"bench-{module}", python=NEWEST, default=False)
        def bench(session: nox.Session) -> None:
            """Run the package's benchmarks: tables, and JSON with `-- --json FILE`."""
            steps.run_benchmarks(session, path)

        added.append(bench)
    if (path / "peers").is_dir():

        @nox.session(name=f"peers-{module}", python=NEWEST, default=False)
        def peers(session: nox.Session) -> None:
            """Test the package beside big libraries that it can feed."""
            session.install("-e", str(path), f"--group={path / 'pyproject.toml'}:peers")
            session.chdir(path)
            session.run("pytest", "peers", *session.posargs)

        added.append(peers)
    return [str(session.name) for session in added]


NAMES = [
    name
    for path in PACKAGES
    for name in (*add_sessions(path), *add_optional_sessions(path))
]


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


@nox.session(python=False, default=False)
def coverage(session: nox.Session) -> None:
    """Measure the branch coverage of every package."""
    notify(session, "coverage")
    session.notify("coverage-mnist_gan", session.posargs)


@nox.session(name="random-order", python=False, default=False)
def random_order(session: nox.Session) -> None:
    """Test every package, the integration and tools/ in another order each time."""
    notify(session, "random-order")
    session.notify("random-order-mnist_gan", session.posargs)
    session.notify("random-order-tools", session.posargs)
