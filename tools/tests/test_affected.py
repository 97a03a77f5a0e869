import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def tool(load):
    return load("affected")


@pytest.fixture
def found(tool):
    """a <- b <- c, with the harness in the tests of a and b, and d alone."""
    return [
        tool.Project("a", "packages/a", frozenset({"jax", "harness"})),
        tool.Project("b", "packages/b", frozenset({"a", "harness"})),
        tool.Project("c", "integration", frozenset({"b"})),
        tool.Project("d", "packages/d", frozenset({"jax"})),
        tool.Project("harness", "packages/harness", frozenset({"pytest"})),
    ]


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ([], []),
        (["packages/d/src/d/_x.py"], ["d"]),
        (["packages/b/README.md"], ["b", "c"]),
        (["packages/a/src/a.py"], ["a", "b", "c"]),
        (["packages/harness/src/x.py"], ["a", "b", "c", "harness"]),
        (["integration/tests/test_x.py", "packages/d/x"], ["c", "d"]),
        (["noxfile.py"], ["a", "b", "c", "d", "harness"]),
        ([".github/workflows/ci.yml"], ["a", "b", "c", "d", "harness"]),
        (["tools/run.py", "packages/d/x"], ["a", "b", "c", "d", "harness"]),
        (["packages/stray.txt"], ["a", "b", "c", "d", "harness"]),
        (["packages/apart/x.py"], ["a", "b", "c", "d", "harness"]),
        (["docs/index.md", "README.md", ".github/CODEOWNERS", "LICENSE"], []),
        (["./packages/d/x", "packages/d"], ["d"]),
        (["packages/dd/x"], ["a", "b", "c", "d", "harness"]),
        (["/packages/d/x"], ["a", "b", "c", "d", "harness"]),
        (["README.md.bak"], ["a", "b", "c", "d", "harness"]),
    ],
)
def test_a_change_reaches_what_needs_it(tool, found, changed, wanted):
    assert tool.affected(found, changed) == wanted


def test_circles_end(tool):
    circle = [
        tool.Project("a", "packages/a", frozenset({"b"})),
        tool.Project("b", "packages/b", frozenset({"a"})),
    ]
    assert tool.affected(circle, ["packages/a/x"]) == ["a", "b"]


def test_needs_are_read_from_dependencies_extras_and_groups(tool, tmp_path):
    folder = tmp_path / "packages/x-y"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        """
[project]
name = "X_y"
dependencies = ["Jax.Lib>=1", "numpy[all]>=2; python_version > '3'"]
[project.optional-dependencies]
extra = ["pillow"]
[dependency-groups]
test = ["pytest>=8", {include-group = "more"}]
more = ["chex_harness @ file:///x"]
"""
    )
    (one,) = tool.projects(tmp_path)
    assert one.name == "x-y"
    assert one.folder == "packages/x-y"
    assert one.needs == {"jax-lib", "numpy", "pillow", "pytest", "chex-harness"}


def test_this_repository(tool):
    found = {p.name: p for p in tool.projects(ROOT)}
    everything = sorted(found)
    assert tool.affected(found.values(), ["packages/chex-harness/src/x.py"]) == (
        everything  # all are tested with it
    )
    of_loader = tool.affected(found.values(), ["packages/arrow-jax/src/x.py"])
    assert of_loader == ["arrow-jax", "mnist-gan"]
    # A page, but arrow-jax's tests compare it with what they find.
    assert tool.affected(found.values(), ["docs/arrow-types.md"]) == of_loader
    assert {project.folder for project in found.values()} == {
        file.parent.relative_to(ROOT).as_posix()
        for file in [*ROOT.glob("packages/*/pyproject.toml"), ROOT / "integration/x"]
    }


@pytest.fixture
def clone(tool, tmp_path, monkeypatch):
    """A repository of one package with a branch; the tool looks at it."""

    def git(*arguments):
        name = ["-c", "user.name=n", "-c", "user.email=e"]
        command = ["git", "-C", str(tmp_path), *name, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    package = tmp_path / "packages/p"
    package.mkdir(parents=True)
    (package / "pyproject.toml").write_text('[project]\nname = "p"\n')
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "one")
    git("switch", "-c", "change")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    return tmp_path, git


def test_the_base_is_where_the_branch_left_it(tool, clone, capsys):
    root, git = clone
    (root / "packages/p/tést.py").write_text("x")
    git("add", ".")
    git("commit", "-m", "two")
    git("switch", "main")
    (root / "other.txt").write_text("later on main")
    git("add", ".")
    git("commit", "-m", "three")
    git("switch", "change")
    assert tool.changed_since(root, "main") == ["packages/p/tést.py"]
    assert tool.main(["--base", "main"]) == 0
    assert json.loads(capsys.readouterr().out) == {"project": ["p"]}


def test_an_unknown_base_is_one_line_and_exit_code_2(tool, clone, capsys):
    assert tool.main(["--base", "nowhere"]) == 2
    said = capsys.readouterr().err
    start = "affected.py: git cannot compare with 'nowhere' (fatal: "
    assert said.startswith(start)
    assert said.endswith(
        "); fetch it first, with its history: git fetch --unshallow origin\n"
    )
    assert said.count("\n") == 1


def test_help_says_how_it_is_typed(tool, capsys):
    with pytest.raises(SystemExit) as end:
        tool.main(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert tool.__doc__.strip() in said
    for words in ("paths relative to the root", "--base REF", "compare HEAD with this"):
        assert words in said


def test_the_base_of_a_first_push_is_none_and_all_are_affected(tool, clone, capsys):
    assert tool.main(["--base", "0" * 40]) == 0
    assert json.loads(capsys.readouterr().out) == {"project": ["p"]}


def test_a_base_that_is_an_option_of_git_is_none(tool, clone, capsys):
    root, _ = clone
    assert tool.main([f"--base=--output={root / 'written'}"]) == 2
    assert "git cannot compare with '--output=" in capsys.readouterr().err
    assert not list(root.glob("written*"))


def test_without_git_there_is_one_line(tool, clone, monkeypatch, capsys):
    root, _ = clone
    monkeypatch.setenv("PATH", str(root))
    assert tool.main(["--base", "main"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("affected.py: git does not run: ")
    assert said.count("\n") == 1


def test_a_folder_that_is_no_repository(tool, clone, capsys):
    root, _ = clone
    shutil.rmtree(root / ".git")
    assert tool.main(["--base", "main"]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"affected.py: {root} is no git repository; name the files instead\n"
    )


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"x = [", "packages/p/pyproject.toml: Invalid value"),
        (b"\xff\xfe", "packages/p/pyproject.toml: 'utf-8' codec can't decode"),
        (b"", "packages/p/pyproject.toml: has no name in [project]"),
        (b"project = 3", "packages/p/pyproject.toml: has no name in [project]"),
        (b"[project]\nname = 3", "packages/p/pyproject.toml: has no name in [project]"),
        (
            b'[project]\nname = "p"\ndependencies = "jax"',
            "packages/p/pyproject.toml: dependencies is no list: 'jax'",
        ),
        (
            b'[project]\nname = "p"\n[dependency-groups]\ntest = "jax"',
            "packages/p/pyproject.toml: test is no list: 'jax'",
        ),
        (
            b'[project]\nname = "p"\n[project.optional-dependencies]\nall = ">=3"',
            "packages/p/pyproject.toml: all is no list: '>=3'",
        ),
        (b'[project]\nname = "p"\ndependencies = [">=3"]', "'>=3' is no requirement"),
    ],
)
def test_a_broken_pyproject_is_one_line_and_exit_code_2(
    tool, clone, capsys, content, complaint
):
    root, _ = clone
    (root / "packages/p/pyproject.toml").write_bytes(content)
    assert tool.main(["a.py"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"affected.py: {complaint}")
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_no_project_is_said(tool, clone, capsys):
    root, _ = clone
    (root / "packages/p/pyproject.toml").unlink()
    assert tool.main(["a.py"]) == 2
    said = capsys.readouterr().err
    assert said == f"affected.py: {root} has no packages/*/pyproject.toml\n"


@pytest.mark.parametrize("arguments", [[], ["--base", "main", "a.py"]])
def test_either_files_or_a_base(tool, capsys, arguments):
    with pytest.raises(SystemExit):
        tool.main(arguments)
    assert "either files or --base REF" in capsys.readouterr().err


def test_files_by_name(tool, capsys):
    assert tool.main(["packages/jraph-kit/x.py"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"project": ["jraph-kit", "mnist-gan"]}
