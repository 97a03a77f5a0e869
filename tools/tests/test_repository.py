"""What holds for the repository as a whole, whichever packages it has."""

import fnmatch
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = sorted(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))
for_each_package = pytest.mark.parametrize(
    "package", PACKAGES, ids=[p.name for p in PACKAGES]
)
SOURCES = [
    *ROOT.glob("packages/*/src/**/*.py"),
    *ROOT.glob("integration/src/**/*.py"),
    *ROOT.glob("tools/*.py"),
    *ROOT.glob("tools/sessions/*.py"),
    *ROOT.glob("docs/*.py"),
    ROOT / "noxfile.py",
]
# The one door to jax's coordination service that has a deadline is private.
PRIVATE = ROOT / "integration/src/mnist_gan/_hosts.py"


def project(package):
    return tomllib.loads((package / "pyproject.toml").read_text())["project"]


def imports(file):
    pattern = r"^\s*(?:from|import) (\w+)"
    return set(re.findall(pattern, file.read_text(), re.MULTILINE))


def test_ci_runs_the_command_for_tests_that_the_readme_has():
    command = "python3 tools/run.py tests"
    assert command in (ROOT / "README.md").read_text().splitlines()
    assert command in (ROOT / ".ci/run").read_text().splitlines()


def test_hooks_leave_out_what_lint_does():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    (exclude,) = re.findall(r"^exclude: (\S+)", hooks, re.MULTILINE)
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    (template,) = tool["ruff"]["extend-exclude"]
    for file in (ROOT / template).rglob("*"):
        assert re.match(exclude, file.relative_to(ROOT).as_posix())
    # A hook names files by their whole path, and codespell then matches that.
    skip = tool["codespell"]["skip"].split(",")
    named = ["integration/tests/test_cli.py", "./integration/tests/test_cli.py"]
    for name in named:
        assert any(fnmatch.fnmatchcase(name, pattern) for pattern in skip)
    assert set(re.findall(r"repo: (\S+)", hooks)) == {"local"}


def test_every_project_has_sessions_of_both_ends():
    names = [*(package.name for package in PACKAGES), "mnist-gan"]
    nox = [sys.executable, "-m", "nox", "--list", "--json", "-t", *names]
    done = subprocess.run(nox, check=True, capture_output=True, text=True, cwd=ROOT)
    sessions = json.loads(done.stdout)
    for name in names:
        module = name.replace("-", "_")
        tagged = {s["name"] for s in sessions if name in s["tags"]}
        assert tagged & {f"tests-{module}", "integration"}
        assert f"minimums-{module}" in tagged


@for_each_package
def test_the_readme_has_an_install_line_for_every_package(package):
    url = f"git+$REPO#subdirectory=packages/{package.name}"
    assert url in (ROOT / "README.md").read_text()
    readme = (package / "README.md").read_text()
    own = re.findall(r"^pip install .*$", readme, re.MULTILINE)
    assert own, "the package's README has no line that starts with: pip install"
    assert url in own[0]


@for_each_package
def test_the_form_for_bugs_and_the_site_name_every_package(package):
    form = (ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text()
    assert re.search(rf"options: \[.*\b{package.name}\b.*\]", form)
    index = (ROOT / "docs/index.md").read_text()
    assert f"\ngenerated/{package.name}\n" in index
    assert f"| [{package.name}](generated/{package.name}.md) |" in index


@for_each_package
def test_every_package_is_complete(package):
    module = package.name.replace("-", "_")
    for file in ("README.md", "CHANGELOG.md", "LICENSE", f"src/{module}/py.typed"):
        assert (package / file).is_file(), file
    fragments = list(package.glob("changelog.d/*.md"))
    released = "## " in (package / "CHANGELOG.md").read_text()
    assert fragments or released


@for_each_package
def test_every_requirement_has_a_floor(package):
    found = project(package)
    extras = found.get("optional-dependencies", {}).values()
    for need in [*found["dependencies"], *(need for extra in extras for need in extra)]:
        assert re.search(r"[>=]=\s*\d", need), need


@for_each_package
def test_no_package_imports_another(package):
    others = {p.name.replace("-", "_") for p in PACKAGES if p != package}
    for file in package.glob("src/**/*.py"):
        assert not imports(file) & {*others, "mnist_gan"}, file


@for_each_package
def test_tests_mirror_the_source(package):
    files = package.glob("src/*/_[!_]*.py")
    modules = {f.stem.removeprefix("_") for f in files}
    tested = {f.stem.removeprefix("test_") for f in package.glob("tests/test_*.py")}
    assert modules - tested == set()


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_hold_one_idea(file):
    text = file.read_text()
    assert len(text.splitlines()) <= 400
    assert file.stem.strip("_") not in {"utils", "core", "helpers", "common", "base"}
    assert ("jax._src" in text) == (file == PRIVATE)
