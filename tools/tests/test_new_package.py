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


def test_the_package_is_complete(load, repository):
    needs = ["jraph==0.0.6.dev0", "jax>=0.9"]
    folder = load("new_package").new_package(repository, "jraph-kit", "Graphs", needs)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "jraph-kit"
    assert project["dependencies"] == sorted(needs)
    assert (folder / "src/jraph_kit/py.typed").exists()
    assert (folder / "LICENSE").exists()
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
        (("jraph-kit", 'a "word"', []), "holds a quote"),
    ],
)
def test_what_does_not_serve_is_refused(load, repository, arguments, complaint):
    program = load("new_package")
    before = sorted(repository.rglob("*"))
    with pytest.raises(program.NewPackageError, match=complaint):
        program.new_package(repository, *arguments)
    assert sorted(repository.rglob("*")) == before


def test_a_refusal_is_one_line_and_exit_code_2(load, capsys):
    assert load("new_package").main(["chex-harness", "about"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
