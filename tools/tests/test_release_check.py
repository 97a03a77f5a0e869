import email
import io
import tarfile
import urllib.request
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = """\
[project]
name = "x-y"
version = "0.2.0"
description = "One line"
license = "Apache-2.0"
requires-python = ">=3.11"
"""
METADATA = """\
Metadata-Version: 2.4
Name: x-y
Version: 0.2.0
Summary: One line
License-Expression: Apache-2.0
Requires-Python: >=3.11
Description-Content-Type: text/markdown
Requires-Dist: jax>=0.9

# x-y
"""


@pytest.fixture
def tool(load):
    return load("release_check")


@pytest.fixture
def folder(tmp_path):
    package = tmp_path / "packages/x-y"
    (package / "src/x_y").mkdir(parents=True)
    (package / "src/x_y/__init__.py").write_text("")
    (package / "src/x_y/py.typed").write_text("")
    (package / "pyproject.toml").write_text(PROJECT)
    return package


@pytest.fixture
def wheel(tmp_path):
    """Writes a wheel; None drops a file."""

    def write(changes=None):
        info = "x_y-0.2.0.dist-info"
        files = {
            "x_y/__init__.py": "",
            "x_y/py.typed": "",
            f"{info}/METADATA": METADATA,
            f"{info}/licenses/LICENSE": "Apache",
            **(changes or {}),
        }
        path = tmp_path / "x_y-0.2.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                if text is not None:
                    archive.writestr(name, text)
        return path

    return write


def test_a_good_wheel(tool, folder, wheel):
    tool.check_wheel(wheel(), folder)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"x_y/py.typed": None}, "lacks x_y/py.typed"),
        ({"x_y-0.2.0.dist-info/licenses/LICENSE": None}, "lacks .*LICENSE"),
        ({"tests/test_x.py": ""}, "holds tests/test_x.py, which is none of it"),
        ({"x_y/a.pyc": ""}, r"holds x_y/a\.pyc"),
        ({"x_y/__init__.py": None}, "lacks x_y/__init__.py"),
    ],
)
def test_what_is_missing_or_too_much(tool, folder, wheel, changes, complaint):
    with pytest.raises(tool.CheckError, match=complaint):
        tool.check_wheel(wheel(changes), folder)


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("Version: 0.2.0", "Version: 0.1.0", "Version is '0.1.0', wanted '0.2.0'"),
        ("License-Expression: Apache-2.0\n", "", "License-Expression is None"),
        ("jax>=0.9", "x @ file:///tmp/x", "an address that PyPI refuses"),
        ("# x-y", "nothing", "its description is not the README"),
    ],
)
def test_metadata_that_are_not_those_of_the_project(
    tool, folder, before, after, complaint
):
    metadata = email.message_from_string(METADATA.replace(before, after))
    with pytest.raises(tool.CheckError, match=complaint):
        tool.check_metadata("x", metadata, folder)


def test_an_sdist_without_its_tests(tool, folder, tmp_path):
    path = tmp_path / "x_y-0.2.0.tar.gz"
    names = ["LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"]
    with tarfile.open(path, "w:gz") as archive:
        for name in [*names, "src/x_y/py.typed"]:
            archive.addfile(tarfile.TarInfo(f"x_y-0.2.0/{name}"), io.BytesIO())
    with pytest.raises(tool.CheckError, match=r"lacks tests/test_public_api\.py"):
        tool.check_sdist(path, folder)


def test_the_index_is_one_that_installers_read(tool, wheel, tmp_path):
    (tmp_path / "index").mkdir()
    file = wheel()
    with tool.index([file], tmp_path / "index") as address:
        with urllib.request.urlopen(f"{address}x-y/") as answer:
            page = answer.read().decode()
        assert f'<a href="{file.name}">' in page
        with urllib.request.urlopen(f"{address}x-y/{file.name}") as answer:
            assert answer.read() == file.read_bytes()


def test_before_the_first_release_nothing_can_break(tool, folder, monkeypatch):
    monkeypatch.setattr(tool, "last_tag", lambda folder: None)
    assert "no release yet" in tool.check_api(folder)


@pytest.fixture
def released(tool, folder, tmp_path, monkeypatch):
    """The package, tagged x-y-v0.2.0 with the function f(a, b)."""
    import subprocess

    def git(*arguments):
        name = ["-c", "user.name=n", "-c", "user.email=e"]
        command = ["git", "-C", str(tmp_path), *name, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    monkeypatch.setattr(tool, "ROOT", tmp_path)
    module = folder / "src/x_y/__init__.py"
    module.write_text("def f(a, b):\n    return a\n")
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "one")
    git("tag", "x-y-v0.2.0")
    return module


def test_a_break_asks_for_a_step_of_the_version(tool, folder, released):
    assert tool.check_api(folder) == "nothing broke since x-y-v0.2.0"
    released.write_text("def f(a):\n    return a\n")
    with pytest.raises(tool.CheckError, match=r"asks for 0\.3\.0:(.|\n)*b"):
        tool.check_api(folder)
    project = folder / "pyproject.toml"
    project.write_text(PROJECT.replace("0.2.0", "0.3.0"))
    assert "broken since x-y-v0.2.0, as the version says" in tool.check_api(folder)


def test_the_last_tag_is_the_highest(tool, folder, released, tmp_path):
    import subprocess

    for version in ("0.10.0", "0.9.0"):
        subprocess.run(
            ["git", "-C", str(tmp_path), "tag", f"x-y-v{version}"], check=True
        )
    assert tool.last_tag(folder) == "x-y-v0.10.0"


def test_an_unknown_package_is_one_line_and_exit_code_2(tool, capsys):
    assert tool.main(["x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("release_check.py: package 'x': there is none; take arrow")
    assert said.count("\n") == 1


def test_a_program_that_is_not_installed_is_one_line(
    tool, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool.main(["optax-chains"]) == 2
    assert capsys.readouterr().err == (
        "release_check.py: uv is not installed; run this by nox -s release-check -- "
        "...\n"
    )


def test_a_place_to_keep_things_that_is_a_file_is_said_first(
    tool, tmp_path, monkeypatch, capsys
):
    (tmp_path / "dist").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))  # nothing is built
    for out in (tmp_path / "dist", tmp_path / "dist/below"):
        assert tool.main(["optax-chains", "--out", str(out)]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"release_check.py: --out {out}: cannot be a folder (")
        assert said.count("\n") == 1
