import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def repository(tmp_path):
    """A repository with the tools, the harness and no other package."""
    shutil.copytree(ROOT / "packages/chex-harness", tmp_path / "packages/chex-harness")
    shutil.copytree(
        ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("tests")
    )
    (tmp_path / "integration").mkdir()
    for name in ("LICENSE", "pyproject.toml", "noxfile.py"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_the_package_is_complete(load, repository, capsys):
    needs = ["jraph==0.0.6.dev0", "jax>=0.9"]
    folder = load("new_package").new_package(repository, "jraph-kit", "Graphs", needs)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "jraph-kit"
    assert project["dependencies"] == sorted(needs)
    assert (folder / "src/jraph_kit/py.typed").exists()
    assert (folder / "LICENSE").exists()
    assert load("check_docs").main(["--root", str(repository)]) == 1  # the harness's
    said = capsys.readouterr()
    assert re.search(r"^jraph_kit +1 +1 +1 +0 +0$", said.out, re.MULTILINE)
    assert "jraph_kit" not in said.err
    left = [p for p in folder.rglob("*") if p.is_file() and "@" in p.read_text()]
    assert [p.name for p in left if "@NAME@" in p.read_text()] == []


def test_nox_gives_it_its_sessions(load, repository):
    load("new_package").new_package(repository, "jraph-kit", "Graphs", ["jax>=0.9"])
    listed = subprocess.run(
        [sys.executable, "-m", "nox", "-l"],
        check=True,
        capture_output=True,
        text=True,
        cwd=repository,
    ).stdout
    for kind in ("tests", "minimums", "dist"):
        assert f"{kind}-jraph_kit" in listed


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("Jraph", "Graphs", []), "wanted lower case words joined by -"),
        (("../away", "Graphs", []), "wanted lower case words joined by -"),
        (("chex-harness", "Tests", []), "exists"),
        (("jraph-kit", "Graphs", ["jax"]), "has no floor; type 'jax>=VERSION'"),
        (("jraph-kit", "Graphs", ["jraph"]), "has no floor; type 'jraph>=VERSION'"),
        (("jraph-kit", "Graphs", ["jax<1"]), "'jax<1' has no floor; type 'jax>="),
        (("jraph-kit", "Graphs", [">=3"]), "'>=3' is no requirement; type 'NAME>="),
        (("jraph-kit", "Graphs", ['jax>=0.9"']), "is no requirement"),
        (("jraph-kit", "Graphs", ["jax>=0.9\n"]), "is no requirement"),
        (("jraph-kit", "Graphs", ["Jax>=1", "jax==2"]), "jax is needed twice"),
        (("jraph-kit", 'a "word"', []), "wanted one line without quotes"),
        (("jraph-kit", "a\\b", []), "wanted one line without quotes and backslashes"),
        (("jraph-kit", "two\nlines", []), "wanted one line"),
        (("jraph-kit", " ", []), "is ' ': wanted one line"),
        (("class", "Graphs", []), "class is Python's own; take another"),
        (("json", "Graphs", []), "json is Python's own; take another"),
        (("jax", "Graphs", []), "jax is in use; take another"),
        (("mnist-gan", "Graphs", []), "mnist_gan is in use; take another"),
        (("tools", "Graphs", []), "tools is in use; take another"),
        (("", "Graphs", []), "wanted lower case words joined by -"),
    ],
)
def test_what_does_not_serve_is_refused(load, repository, arguments, complaint):
    program = load("new_package")
    before = sorted(repository.rglob("*"))
    with pytest.raises(program.NewPackageError, match=complaint):
        program.new_package(repository, *arguments)
    assert sorted(repository.rglob("*")) == before


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("LICENSE", None, "the root's files cannot be read: .*LICENSE"),
        ("pyproject.toml", None, "the root's files cannot be read: .*pyproject.toml"),
        ("pyproject.toml", "[tool.pyrefly]\n", "tool.pyrefly. has no list search-path"),
    ],
)
def test_a_root_that_lacks_something(load, repository, file, text, complaint):
    (repository / file).unlink()
    if text is not None:
        (repository / file).write_text(text)
    program = load("new_package")
    with pytest.raises(program.NewPackageError, match=complaint):
        program.new_package(repository, "jraph-kit", "Graphs", [])
    assert not (repository / "packages/jraph-kit").exists()


def test_it_is_checked_for_types_and_imports(load, repository):
    program = load("new_package")
    program.new_package(repository, "wave-guides", "Waves", [])
    program.new_package(repository, "a-kit", "A", [])
    tool = tomllib.loads((repository / "pyproject.toml").read_text())["tool"]
    first, second, _ = tool["importlinter"]["contracts"]
    found = [
        tool["pyrefly"]["search-path"],
        tool["importlinter"]["root_packages"],
        first["modules"],
        second["source_modules"],
    ]
    before = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    *packages, integration, tools = before["pyrefly"]["search-path"]
    wanted = {"packages/a-kit/src", "packages/wave-guides/src", *packages}
    assert found[0] == [*sorted(wanted), integration, tools]
    for modules in found[1:]:
        assert modules == sorted(set(modules))
        assert {"a_kit", "wave_guides"} < set(modules)
    assert second["forbidden_modules"] == ["chex_harness", "mnist_gan"]
    assert before["ruff"] == tool["ruff"]


def test_jax_is_among_the_needs_and_words_of_the_template_are_not_read(
    load, repository
):
    folder = load("new_package").new_package(
        repository, "a-kit", "Of @NEEDS@, é & $x.", ["numpy>=2"]
    )
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == ["jax>=0.9", "numpy>=2"]
    assert project["description"] == "Of @NEEDS@, é & $x"
    assert (
        (folder / "src/a_kit/__init__.py")
        .read_text()
        .startswith('"""Of @NEEDS@, é & $x."""\n')
    )


def test_the_command_says_what_is_left_to_do(load, repository, monkeypatch, capsys):
    program = load("new_package")
    monkeypatch.setattr(program, "ROOT", repository)
    assert program.main(["a-kit", "A", "--needs", "numpy>=2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "packages/a-kit is made. It is still to be named in:",
        "  README.md: a row in its table",
        "  docs/index.md: a row in its table, and generated/NAME in its contents",
        "  docs/_pages.py: in PACKAGES",
        "  .github/ISSUE_TEMPLATE/bug.yml: in the options",
        "and then, type:",
        "  uv lock",
        "  python3 tools/run.py tests-a_kit lint types",
        "lint asks that something in src/ imports numpy>=2",
    ]


def test_a_refusal_is_one_line_and_exit_code_2(load, capsys):
    assert load("new_package").main(["chex-harness", "about"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
