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
LINTERS = [
    "check-jsonschema>=0.31",
    "codespell>=2.4",
    "deptry>=0.23",
    "import-linter>=2.3",
    "ruff>=0.17",
    "validate-pyproject[all]>=0.24",
    "zizmor>=1.5",
]
SITE = ["furo>=2025.9", "myst-nb>=1.3", "sphinx>=8.2"]
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
OLDEST, MIDDLE, NEWEST = PYTHONS[0], PYTHONS[len(PYTHONS) // 2], PYTHONS[-1]


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

    @nox.session(name=f"pinned-{module}", python=MIDDLE, default=False)
    def pinned(session: nox.Session) -> None:
        """Test the package with the versions that uv.lock states."""
        install_pinned(session, path)
        session.chdir(path)
        session.run("pytest", *chosen_tests(session, path))

    @nox.session(name=f"coverage-{module}", python=NEWEST, default=False)
    def coverage(session: nox.Session) -> None:
        """Measure which branches the package's tests take; 95 per cent are asked."""
        session.install("-e", str(path), test_group(path), "pytest-cov>=6.0")
        session.chdir(path)
        report = ["--cov-report=term-missing:skip-covered", "--cov-fail-under=95"]
        session.run(
            "pytest", f"--cov={module}", "--cov-branch", *report, *session.posargs
        )

    added = [tests, minimums, dist, pinned, coverage]
    if (path / "benchmarks").is_dir():

        @nox.session(name=f"bench-{module}", python=NEWEST, default=False)
        def bench(session: nox.Session) -> None:
            """Run the package's benchmarks: tables, and JSON with `-- --json FILE`."""
            run_benchmarks(session, path)

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
    needs = ["griffe>=1.7", "nox", "pytest", "towncrier>=24.8", "uv"]
    session.install(*needs, "-e", str(HARNESS))
    session.chdir(ROOT / "tools")
    session.run("pytest", "--forbid-skips", *session.posargs)


@nox.session(python=NEWEST, tags=["mnist-gan"])
def integration(session: nox.Session) -> None:
    """Test the MNIST GAN; `-- --rung multiprocess` (or another) for a part of it."""
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION))
    session.chdir(INTEGRATION)
    session.run("pytest", "--forbid-skips", *session.posargs)


@nox.session(python=NEWEST, default=False)
def nightly(session: nox.Session) -> None:
    """Test the MNIST GAN with all faults and all numbers of processes."""
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION))
    session.chdir(INTEGRATION)
    session.run("pytest", "--forbid-skips", "--nightly", *session.posargs)


@nox.session(name="pinned-mnist_gan", python=MIDDLE, default=False)
def pinned_mnist_gan(session: nox.Session) -> None:
    """Test the MNIST GAN with the versions that uv.lock states."""
    install_pinned(session, INTEGRATION)
    session.chdir(INTEGRATION)
    session.run("pytest", *session.posargs)


@nox.session(name="tagged-mnist_gan", python=NEWEST, default=False)
def tagged_mnist_gan(session: nox.Session) -> None:
    """Test the MNIST GAN with each package's last release beside the others' main."""
    sys.path.insert(0, str(ROOT / "tools"))
    import release_check  # noqa: PLC0415  (which knows tags)

    session.install("-e", str(INTEGRATION), test_group(INTEGRATION))
    session.chdir(INTEGRATION)
    for path in PACKAGES:
        tag = release_check.last_tag(path)
        if tag is None:
            session.log(f"{path.name} has no release yet")
            continue
        url = f"git+{ROOT.as_uri()}@{tag}#subdirectory=packages/{path.name}"
        session.install("--no-deps", "--reinstall", f"{path.name} @ {url}")
        session.run("pytest", *session.posargs)
        session.install("--no-deps", "-e", str(path))


@nox.session(python=NEWEST, default=False)
def compat(session: nox.Session) -> None:
    """Test all projects against all sets of versions, and print the matrix."""
    session.install("nox", "uv")
    session.run("python", "tools/compat.py", *session.posargs)


@nox.session(name="jax-nightly", python=NEWEST, default=False)
def jax_nightly(session: nox.Session) -> None:
    """Test every package with the jax of last night."""
    url = "https://us-python.pkg.dev/ml-oss-artifacts-published/jax/simple/"
    nightly = ["--prerelease=allow", "--upgrade", "--extra-index-url", url]
    for path in PACKAGES:
        session.install("-e", str(path), test_group(path))
        session.install(*nightly, "jax", "jaxlib")
        session.chdir(path)
        session.run("pytest", *session.posargs)


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


@nox.session(python=NEWEST, default=False)
def release(session: nox.Session) -> None:
    """Prepare a release: `-- arrow-jax [0.2.0]`; or check a tag: `-- --check TAG`."""
    session.install("towncrier>=24.8")
    session.run("python", "tools/release.py", *session.posargs)


@nox.session(name="release-check", python=NEWEST, default=False)
def release_check(session: nox.Session) -> None:
    """Rehearse a release on both ends of the Pythons: `-- arrow-jax [--out DIR]`."""
    session.install("griffe>=1.7", "uv")
    ends = [f"--python={find_python(python)}" for python in (VERSIONS[0], VERSIONS[-1])]
    session.run("python", "tools/release_check.py", *ends, *session.posargs)


@nox.session(python=NEWEST)
def lint(session: nox.Session) -> None:
    """Check style, format, spelling, imports, requirements, and the workflows."""
    session.install(*LINTERS, *(f"-e{path}" for path in (*PACKAGES, INTEGRATION)))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    session.run("lint-imports")
    session.run("zizmor", "--offline", "--no-progress", "--quiet", ".github")
    workflows = map(str, sorted(ROOT.glob(".github/workflows/*.yml")))
    schema = "--builtin-schema"
    session.run("check-jsonschema", schema, "vendor.github-workflows", *workflows)
    dependabot = ".github/dependabot.yml"
    session.run("check-jsonschema", schema, "vendor.dependabot", dependabot)
    for path in (*PACKAGES, INTEGRATION):
        session.chdir(path)
        session.run("validate-pyproject", "pyproject.toml", silent=True)
        session.run("deptry", "src")


@nox.session(python=NEWEST, default=False)
def docs(session: nox.Session) -> None:
    """Build the site into build/docs/html: pages are run, and warnings are errors."""
    extras = {
        "arrow-jax": "[vision]",
        "chex-harness": "[hypothesis]",
        "jraph-kit": "[haiku]",
        "optax-chains": "[privacy]",
        "rlax-agents": "[gymnasium]",
    }
    sources = [f"-e{path}{extras.get(path.name, '')}" for path in PACKAGES]
    session.install(*sources, f"-e{INTEGRATION}", *SITE)
    session.chdir(ROOT)
    session.run("python", "tools/check_docs.py")
    strict = ["--fail-on-warning", "--nitpicky", "--keep-going"]
    folders = ["--doctree-dir=build/docs/doctrees", "docs", "build/docs/html"]
    session.run("sphinx-build", *strict, *session.posargs, *folders)


@nox.session(python=NEWEST, default=False)
def audit(session: nox.Session) -> None:
    """Look the locked versions up among known vulnerabilities."""
    session.install("pip-audit>=2.9", "uv")
    pins = Path(session.create_tmp()) / "pins.txt"
    export = ["uv", "export", "--quiet", "--frozen", "--no-emit-workspace"]
    session.run(*export, "--all-packages", "--all-groups", "-o", str(pins))
    strictly = ["--strict", "--disable-pip", "--require-hashes"]
    session.run("pip-audit", *strictly, "-r", str(pins))


@nox.session(python=False, default=False)
def coverage(session: nox.Session) -> None:
    """Measure the branch coverage of every package."""
    notify(session, "coverage")


@nox.session(python=NEWEST)
def types(session: nox.Session) -> None:
    """Check types."""
    extras = ["chex-harness[hypothesis]", "optax-chains[privacy]"]
    needs = [f"-e{ROOT}/packages/{extra}" for extra in extras]
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION), *needs)
    session.install("pyrefly>=1.5")
    session.run("pyrefly", "check")
