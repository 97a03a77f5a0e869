import configparser
import shutil
import subprocess

import pytest

DIFF = """\
--- src/x/_a.py
+++ src/x/_a.py
@@ -1,3 +1,3 @@
 def f(n):
-    return n + 1
+    return n - 1
"""
RESULTS = """\
    x._a.x_f__mutmut_1: killed
    x._a.x_f__mutmut_2: survived
    x._a.xǁBoxǁopen__mutmut_1: no tests
    x._long_name.x_g__mutmut_1: survived
    program.x_main__mutmut_4: timeout
"""


@pytest.fixture
def tool(load):
    return load("mutation")


def test_each_fate_is_read(tool):
    assert tool.read_fates(RESULTS) == [
        ("x._a.x_f__mutmut_1", "a", "killed"),
        ("x._a.x_f__mutmut_2", "a", "survived"),
        ("x._a.xǁBoxǁopen__mutmut_1", "a", "no tests"),
        ("x._long_name.x_g__mutmut_1", "long_name", "survived"),
        ("program.x_main__mutmut_4", "program", "timeout"),
    ]


def test_a_change_is_what_the_diff_takes_out_and_puts_in(tool):
    assert tool.change(DIFF) == ("return n + 1", "return n - 1")


@pytest.mark.parametrize(
    ("removed", "added", "wording"),
    [
        ('"as Buckets([64])"', '"XXas Buckets([64])XX"', True),
        ('"as Buckets([64])"', '"as buckets([64])"', True),
        ("'as'", "'AS'", True),
        ("return n + 1", "return n - 1", False),
        ("f(n)", "f(N)", False),
        ('f"{n}: bad"', "None", False),
    ],
)
def test_words_of_messages_are_told_from_the_rest(tool, removed, added, wording):
    assert tool.is_wording(removed, added) is wording


def test_the_table_counts_each_module_and_all(tool):
    found = tool.table(tool.read_fates(RESULTS), {"x._long_name.x_g__mutmut_1"})
    assert found.splitlines() == [
        "| module | changes | noticed | words of messages | survived |",
        "|---|---|---|---|---|",
        "| a | 3 | 1 | 0 | 2 |",
        "| long_name | 1 | 0 | 1 | 0 |",
        "| program | 1 | 1 | 0 | 0 |",
        "| all | 5 | 2 | 1 | 2 |",
    ]


def test_every_module_has_its_test(tool):
    for project, modules in tool.MODULES.items():
        folder = tool.ROOT / tool.folder_of(project)
        for module in modules:
            source = folder / tool.source_of(project, module)
            assert source.exists(), source
            assert (folder / f"tests/test_{module}.py").exists(), module


@pytest.fixture
def project(tool, tmp_path, monkeypatch):
    """A repository with one package, whose test sees one of two changes."""
    root = tmp_path / "root"
    files = {
        "src/one_two/__init__.py": "",
        "src/one_two/_a.py": "def f(n):\n    return n + 1 if n > 0 else 0\n",
        "tests/test_a.py": (
            "from one_two._a import f\n\ndef test_f():\n    assert f(1) == 2\n"
        ),
        "pyproject.toml": "[tool.pytest.ini_options]\n",
        "README.md": "",
        "untracked.txt": "",
    }
    for name, text in files.items():
        file = root / "packages/one-two" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for command in (["init", "-q"], ["add", "packages/one-two/[!u]*"]):
        subprocess.run(["git", *command], check=True, cwd=root)
    monkeypatch.setattr(tool, "ROOT", root)
    monkeypatch.setitem(tool.MODULES, "one-two", ["a"])
    return root


def test_survivors_are_listed(tool, project, tmp_path, capfd):
    away = tmp_path / "away"
    assert tool.main(["one-two", "--away", str(away)]) == 0
    printed = capfd.readouterr().out
    assert "a, survived:\n  - return n + 1 if n > 0 else 0\n" in printed
    assert "  + return n + 1 if n > 0 else 1" in printed
    assert "  + return n - 1 if n > 0 else 0" not in printed
    assert not (away / "packages/one-two/untracked.txt").exists()
    assert not (project / "packages/one-two/mutants").exists()


def test_programs_have_beside_them_what_their_tests_read(tool, tmp_path):
    folder = tool.copy("tools", tmp_path / "away")
    assert folder == tmp_path / "away/tools"
    tool.write_settings(folder, "tools", ["affected"])
    settings = configparser.ConfigParser()
    settings.read(folder / "setup.cfg")
    assert settings["mutmut"]["source_paths"] == "."
    assert settings["mutmut"]["only_mutate"].split() == ["affected.py"]
    assert (folder / "affected.py").exists()
    # In a copy of the copy, mutants/tests/test_affected.py looks three folders up.
    for name in ("pyproject.toml", "packages/arrow-jax", "integration"):
        assert (folder / name).exists()


def test_tests_that_fail_without_a_change_are_said(tool, project, tmp_path, capfd):
    (project / "packages/one-two/tests/test_a.py").write_text("def test(): 1 / 0\n")
    assert tool.main(["one-two", "--away", str(tmp_path / "away")]) == 2
    assert "mutation.py: mutmut run fails: see above" in capfd.readouterr().err


def test_other_modules_are_refused(tool, capsys):
    with pytest.raises(SystemExit):
        tool.main(["optax-chains", "-m", "clip", "--away", "x"])
    said = "clip is not among the modules that compile nothing; take decay_mask,"
    assert said in capsys.readouterr().err


def test_a_folder_that_holds_other_things_is_left_alone(
    tool, project, tmp_path, capsys
):
    away = tmp_path / "away"
    away.mkdir()
    (away / "mine.txt").write_text("mine")
    assert tool.main(["one-two", "--away", str(away)]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"mutation.py: --away {away} holds other things; delete it or take another\n"
    )
    assert (away / "mine.txt").read_text() == "mine"
    assert tool.main(["one-two", "--away", str(away / "mine.txt")]) == 2
    assert "mutation.py: the copy cannot be made: " in capsys.readouterr().err


def test_an_earlier_copy_is_made_anew(tool, project, tmp_path):
    away = tmp_path / "away"
    (tool.copy("one-two", away) / "old.txt").write_text("")
    assert not (tool.copy("one-two", away) / "old.txt").exists()
    assert (away / "packages/one-two/README.md").exists()


def test_outside_of_a_repository(tool, project, tmp_path, monkeypatch, capsys):
    shutil.rmtree(project / ".git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert tool.main(["one-two", "--away", str(tmp_path / "away")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mutation.py: git cannot list the files of packages/one-two")
    subprocess.run(["git", "init", "-q"], check=True, cwd=project)
    assert tool.main(["one-two", "--away", str(tmp_path / "away")]) == 2
    said = capsys.readouterr().err
    assert said == f"mutation.py: git knows no files of packages/one-two in {project}\n"
    assert not (tmp_path / "away").exists()
