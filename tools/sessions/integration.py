"""The sessions of the MNIST GAN, which composes the packages."""

import os

import nox

import release_check

from . import steps
from .places import INTEGRATION, MIDDLE, NEWEST, OLDEST, PACKAGES, ROOT, test_group

# What `nox -s tagged-mnist_gan -- short` runs: all the way from digits to samples.
SHORT = [f"tests/test_{name}.py" for name in ("game", "reference", "train", "sample")]


def _chosen(session: nox.Session) -> list[str]:
    return SHORT if session.posargs == ["short"] else session.posargs


def _run_tests(session: nox.Session) -> None:
    """Runs the tests that are asked for, or all: those of several processes alone.

    They measure how long others are silent, so nothing runs beside them.
    """
    session.chdir(INTEGRATION)
    session.install(steps.XDIST)
    if session.posargs:
        session.run("pytest", "--forbid-skips", *_chosen(session))
        return
    apart = "tests/multiprocess"
    session.run("pytest", "--forbid-skips", *steps.ON_ALL_CORES, f"--ignore={apart}")
    session.run("pytest", "--forbid-skips", apart)


@nox.session(python=NEWEST, tags=["mnist-gan"])
def integration(session: nox.Session) -> None:
    """Test the MNIST GAN; `-- --rung multiprocess` (or another) for a part of it."""
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION))
    _run_tests(session)


@nox.session(python=NEWEST, default=False)
def nightly(session: nox.Session) -> None:
    """Test the MNIST GAN with all faults and all numbers of processes."""
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION))
    session.chdir(INTEGRATION)
    session.run("pytest", "--forbid-skips", "--nightly", *session.posargs)


@nox.session(
    name="minimums-mnist_gan", python=OLDEST, tags=["mnist-gan"], default=False
)
def minimums_mnist_gan(session: nox.Session) -> None:
    """Test the MNIST GAN on the oldest Python, with the lowest releases it allows."""
    needs = ["-e", str(INTEGRATION), test_group(INTEGRATION)]
    session.install("--resolution=lowest-direct", *needs)
    _run_tests(session)


@nox.session(name="pinned-mnist_gan", python=MIDDLE, default=False)
def pinned_mnist_gan(session: nox.Session) -> None:
    """Test the MNIST GAN with the versions that uv.lock states."""
    steps.install_pinned(session, INTEGRATION)
    _run_tests(session)


@nox.session(name="coverage-mnist_gan", python=NEWEST, default=False)
def coverage_mnist_gan(session: nox.Session) -> None:
    """Measure which branches the tests of the MNIST GAN take; 95 per cent are asked."""
    steps.measure_coverage(
        session, INTEGRATION, "src", "tests", "peers", extras="[tpu]"
    )


@nox.session(name="random-order-mnist_gan", python=NEWEST, default=False)
def random_order_mnist_gan(session: nox.Session) -> None:
    """Test the MNIST GAN in another order each time."""
    needs = ["-e", str(INTEGRATION), test_group(INTEGRATION)]
    steps.run_in_random_order(session, INTEGRATION, *needs)


@nox.session(name="tagged-mnist_gan", python=NEWEST, default=False)
def tagged_mnist_gan(session: nox.Session) -> None:
    """Test the MNIST GAN with each package's last release beside the others' main."""
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION))
    session.chdir(INTEGRATION)
    for path in PACKAGES:
        tag = release_check.last_tag(path)
        if tag is None:
            session.log(f"{path.name} has no release yet")
            continue
        url = f"git+{ROOT.as_uri()}@{tag}#subdirectory=packages/{path.name}"
        session.install("--no-deps", "--reinstall", f"{path.name} @ {url}")
        session.run("pytest", *_chosen(session))
        session.install("--no-deps", "-e", str(path))


@nox.session(name="peers-mnist_gan", python=NEWEST, default=False)
def peers_mnist_gan(session: nox.Session) -> None:
    """Compile the train step for TPU slices, by libtpu and without a TPU."""
    session.install("-e", f"{INTEGRATION}[tpu]", test_group(INTEGRATION))
    session.chdir(INTEGRATION)
    session.run("pytest", "peers", *session.posargs)


def add_accelerator(platform: str) -> None:
    """Adds the session that means something on real devices."""

    @nox.session(name=f"accelerator-{platform}", python=NEWEST, default=False)
    def accelerator(session: nox.Session) -> None:
        """Test and time the MNIST GAN on the accelerators that are here."""
        session.install("-e", f"{INTEGRATION}[{platform}]", test_group(INTEGRATION))
        session.run("mnist-gan", "doctor")
        session.chdir(INTEGRATION)
        session.run("pytest", "--rung", "one", *session.posargs)
        session.run("python", "benchmarks/bench_mnist_gan.py")


for _platform in ("cuda", "tpu"):
    add_accelerator(_platform)


@nox.session(name="bench-mnist_gan", python=NEWEST, default=False)
def bench_mnist_gan(session: nox.Session) -> None:
    """Run the GAN beside plain Haiku: tables, and JSON with `-- --json FILE`."""
    steps.run_benchmarks(session, INTEGRATION)


@nox.session(name="quality-mnist_gan", python=NEWEST, default=False)
def quality_mnist_gan(session: nox.Session) -> None:
    """Judge what the recipes draw, count modes, and try other choices; takes hours."""
    session.install("-e", str(INTEGRATION))
    session.chdir(INTEGRATION)
    kept = ROOT / "build/quality"
    kept.mkdir(parents=True, exist_ok=True)
    for name in ("recipes", "stacked", "choices"):
        script, out = f"benchmarks/{name}.py", f"{kept}/{name}.json"
        session.run("python", script, "--out", out, *session.posargs)


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
