import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = '[project]\nname = "x-y"\nversion = "0.1.0"\n'
LOCK = """\
version = 1

[[package]]
name = "a"
version = "0.1.0"
dependencies = [{ name = "x-y" }]

[[package]]
name = "x-y"
version = "0.1.0"
source = { editable = "packages/x-y" }

[[package]]
name = "x-y-z"
version = "0.1.0"
"""
START = "# Changelog of x-y\n\n<!-- towncrier release notes start -->\n"


@pytest.fixture
def tool(load):
    return load("release")


@pytest.fixture
def git(tmp_path):
    def run(*arguments):
        name = ["-c", "user.name=n", "-c", "user.email=e"]
        command = ["git", "-C", str(tmp_path), *name, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    return run


@pytest.fixture
def repository(git, tmp_path, tool, monkeypatch):
    """A repository of one unreleased package; the tool looks at it."""
    package = tmp_path / "packages/x-y"
    (package / "changelog.d").mkdir(parents=True)
    (package / "pyproject.toml").write_text(PROJECT)
    (package / "CHANGELOG.md").write_text(START)
    (package / "changelog.d/+first.added.md").write_text("`f` does it.\n")
    settings = (ROOT / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "uv.lock").write_text(LOCK)
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "one")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    return tmp_path


def add(repository, git, name):
    folder = repository / "packages/x-y/changelog.d"
    folder.mkdir(exist_ok=True)  # git keeps no empty folder
    (folder / name).write_text("A change.\n")
    git("add", ".")
    git("commit", "-m", name)


def released(tool, repository, git, version=None):
    """Releases as the printed lines say."""
    tag = tool.prepare(repository, "x-y", version)
    git("commit", "--all", "--message", f"Release {tag}")
    git("tag", tag)
    return tag


def test_the_first_release_has_the_version_that_was_stated(tool, repository, git):
    assert released(tool, repository, git) == "x-y-v0.1.0"
    package = repository / "packages/x-y"
    changelog = (package / "CHANGELOG.md").read_text()
    assert changelog.startswith(START)
    assert "\n## 0.1.0 (" in changelog
    assert "### Added\n\n- `f` does it.\n" in changelog
    assert not list(package.glob("changelog.d/*.md"))
    assert tool.check_tag(repository, "x-y-v0.1.0") == package


def test_later_releases_are_above_and_stay_in_order(tool, repository, git):
    released(tool, repository, git)
    add(repository, git, "+bug.fixed.md")
    assert released(tool, repository, git) == "x-y-v0.1.1"
    add(repository, git, "+more.added.md")
    assert released(tool, repository, git, "0.4.0") == "x-y-v0.4.0"
    folder = repository / "packages/x-y"
    assert tool.released_versions(folder) == ["0.4.0", "0.1.1", "0.1.0"]
    assert tool.stated_version(folder) == "0.4.0"
    ours = 'name = "x-y"\nversion = "0.{}.0"'
    wanted = LOCK.replace(ours.format(1), ours.format(4))
    assert wanted != LOCK
    assert (repository / "uv.lock").read_text() == wanted


@pytest.mark.parametrize(
    ("current", "kinds", "wanted"),
    [
        ("0.1.4", {"fixed"}, "0.1.5"),
        ("0.1.4", {"fixed", "added"}, "0.2.0"),
        ("0.1.4", {"removed"}, "0.2.0"),
        ("1.1.4", {"fixed"}, "1.1.5"),
        ("1.1.4", {"added"}, "1.2.0"),
        ("1.1.4", {"added", "changed"}, "2.0.0"),
    ],
)
def test_the_kinds_of_changes_decide_the_step(tool, current, kinds, wanted):
    assert tool.next_version(current, kinds) == wanted


@pytest.mark.parametrize(
    ("version", "complaint"),
    [
        ("0.0.9", "added ask for 0.1.0 or more"),
        ("1.0", "wanted three numbers"),
        ("v1.0.0", "wanted three numbers"),
        ("1.0.0.0", "wanted three numbers"),
        ("01.0.0", "wanted three numbers"),
        ("\u0661.2.3", "wanted three numbers"),
    ],
)
def test_versions_that_do_not_serve(tool, repository, git, version, complaint):
    with pytest.raises(tool.ReleaseError, match=complaint):
        tool.prepare(repository, "x-y", version)
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["z", "", "/", "../packages/x-y", "x-y/", "."])
def test_an_unknown_package(tool, repository, git, name):
    with pytest.raises(tool.ReleaseError, match="there is none; take x-y"):
        tool.prepare(repository, name, None)
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    "broken",
    [
        ("packages/x-y/pyproject.toml", b"x = [", r"states no version \(Invalid value"),
        ("packages/x-y/pyproject.toml", b"", r"states no version \('project'\)"),
        ("packages/x-y/pyproject.toml", b"project = 3", "states no version"),
        ("packages/x-y/pyproject.toml", b"[project]", r"states no version \('version'"),
        ("packages/x-y/pyproject.toml", b"\xff", r"cannot be read \('utf-8'"),
        (
            "packages/x-y/pyproject.toml",
            b"[project]\nversion = 3",
            "the version is 3, which is no text",
        ),
        (
            "packages/x-y/pyproject.toml",
            b"[project]\nversion='0.1.0'",
            "no line of the form",
        ),
        ("packages/x-y/CHANGELOG.md", None, r"cannot be read .*No such file"),
        ("packages/x-y/CHANGELOG.md", b"\xff", "cannot be read"),
        ("uv.lock", None, "uv.lock: cannot be read"),
        ("uv.lock", b"version = 1\n", "uv.lock: has no line of the form"),
        (
            "packages/x-y/changelog.d/+x.nonsense.md",
            b"It.",
            r"\+x.nonsense.md: wanted WHAT.KIND.md with one of the kinds added, ",
        ),
        ("packages/x-y/changelog.d/added.md", b"It.", "wanted WHAT.KIND.md"),
    ],
)
def test_a_broken_file_is_one_line_and_nothing_is_written(
    tool, repository, git, capsys, broken
):
    file, content, complaint = broken
    if content is None:
        (repository / file).unlink()
    else:
        (repository / file).write_bytes(content)
    git("add", ".")
    git("commit", "-m", "broken")
    assert tool.main(["x-y"]) == 2
    said = capsys.readouterr().err
    assert re.match(rf"release.py: .*{complaint}", said)
    assert said.count("\n") == 1
    assert git("status", "--porcelain") == ""


def test_numbers_of_one_kind_are_fragments_too(tool, repository, git):
    add(repository, git, "12.fixed.1.md")
    released(tool, repository, git)
    changelog = (repository / "packages/x-y/CHANGELOG.md").read_text()
    assert "### Fixed\n\n- A change. (#12)\n" in changelog


def test_no_package_at_all(tool, tmp_path):
    with pytest.raises(
        tool.ReleaseError, match=r"'x': there is none; .*packages has n"
    ):
        tool.package_folder(tmp_path, "x")


def test_what_is_not_clean_is_refused(tool, repository, git):
    (repository / "new.txt").write_text("x")
    with pytest.raises(tool.ReleaseError, match=r"not clean: \?\? new.txt"):
        tool.prepare(repository, "x-y", None)


def test_another_branch_is_refused(tool, repository, git):
    git("switch", "-c", "other")
    with pytest.raises(tool.ReleaseError, match="on branch other, wanted main"):
        tool.prepare(repository, "x-y", None)


def test_a_tag_that_exists_is_refused(tool, repository, git):
    git("tag", "x-y-v0.1.0")
    with pytest.raises(tool.ReleaseError, match=r"tag x-y-v0\.1\.0 exists"):
        tool.prepare(repository, "x-y", None)


def test_nothing_to_release_is_refused(tool, repository, git):
    released(tool, repository, git)
    with pytest.raises(tool.ReleaseError, match="holds nothing to release"):
        tool.prepare(repository, "x-y", None)


def test_tags_that_the_tree_does_not_bear_out(tool, repository, git):
    def refused(tag, complaint):
        with pytest.raises(tool.ReleaseError, match=complaint):
            tool.check_tag(repository, tag)

    refused("x-y-v0.1.0", "the newest version in CHANGELOG.md is none")
    released(tool, repository, git)
    refused("x-y-0.1.0", "wanted PACKAGE-vVERSION")
    refused("x-y-v0.2.0", r"pyproject.toml has 0\.1\.0")
    refused("z-v0.1.0", "there is none; take x-y")
    add(repository, git, "+bug.fixed.md")
    refused("x-y-v0.1.0", "1 fragments are left")


def test_outside_of_a_repository(tool, repository, capsys):
    shutil.rmtree(repository / ".git")
    assert tool.main(["x-y"]) == 2
    said = capsys.readouterr().err
    assert said == f"release.py: {repository} is no git repository\n"
    assert (repository / "packages/x-y/CHANGELOG.md").read_text() == START


@pytest.mark.parametrize("missing", ["git", "towncrier"])
def test_a_program_that_is_not_installed(
    tool, repository, monkeypatch, capsys, missing
):
    run = tool.subprocess.run

    def without(command, **options):
        if command[0] == missing:
            raise FileNotFoundError(missing)
        return run(command, **options)

    monkeypatch.setattr(tool.subprocess, "run", without)
    assert tool.main(["x-y"]) == 2
    assert capsys.readouterr().err == (
        f"release.py: {missing} is not installed; run this by nox -s release -- ...\n"
    )


def test_the_command_says_what_to_type_next(tool, repository, capsys):
    assert tool.main(["x-y"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "prepared x-y-v0.1.0. Look at git diff HEAD, then type:",
        "  git commit --all --message 'Release x-y-v0.1.0'",
        "and when that is on main:",
        "  git tag x-y-v0.1.0 && git push origin x-y-v0.1.0",
    ]


def test_a_good_tag_is_answered_by_the_name_of_its_package(
    tool, repository, git, capsys
):
    released(tool, repository, git)
    assert tool.main(["--check", "x-y-v0.1.0"]) == 0
    assert capsys.readouterr() == ("x-y\n", "")


def test_the_version_that_the_fragments_ask_for_can_be_typed(tool, repository, git):
    assert released(tool, repository, git, "0.1.0") == "x-y-v0.1.0"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo a >&2; echo b >&2; echo c; exit 3", "b"),
        ("echo a; echo b; exit 1", "b"),
        ("exit 1", "no reason given"),
    ],
)
def test_a_program_that_fails_has_its_last_line_said(tool, tmp_path, script, reason):
    with pytest.raises(tool.ReleaseError) as caught:
        tool._run(tmp_path, ["sh", "-c", script])
    assert str(caught.value) == f"sh -c: {reason}"


def test_versions_of_other_tables_stay(tool, repository, git):
    file = repository / "packages/x-y/pyproject.toml"
    other = '\n[tool.other]\nversion = "7"\n'
    file.write_text(PROJECT + other)
    git("commit", "--all", "--message", "other")
    released(tool, repository, git, "0.3.0")
    assert file.read_text() == PROJECT.replace("0.1.0", "0.3.0") + other


def test_help_says_how_it_is_typed(tool, capsys):
    with pytest.raises(SystemExit) as end:
        tool.main(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert tool.__doc__.strip() in said
    for words in (
        "such as arrow-jax; with --check a tag",
        "default: what the fragments ask for",
        "check a tag instead",
    ):
        assert words in said


def test_a_refusal_is_one_line_and_exit_code_2(tool, repository, capsys):
    assert tool.main(["x-y", "0.0.1"]) == 2
    assert tool.main(["--check", "x-y"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == said.count("release.py: ") == 2
