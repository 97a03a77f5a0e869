import pytest

LISTED = """\
Sessions defined in /x/noxfile.py:

* tests-arrow_jax-3.13 -> Test the package.
- minimums-arrow_jax-3.11 -> Test the package.
- pinned-arrow_jax-3.12 -> Test.
- tagged-mnist_gan-3.13 -> Test.
* tests-tools-3.13 -> Test the programs in tools/.
* integration-3.13 -> Test the MNIST GAN.
- pinned -> Test everything.
* lint-3.13 -> Check style.
"""


@pytest.fixture
def tool(load):
    return load("compat")


def test_the_runs_are_the_sessions_that_there_are(tool):
    assert tool.cells(LISTED) == [
        ("arrow-jax", "newest", "tests-arrow_jax-3.13"),
        ("mnist-gan", "newest", "integration-3.13"),
        ("arrow-jax", "floor", "minimums-arrow_jax-3.11"),
        ("arrow-jax", "pinned", "pinned-arrow_jax-3.12"),
        ("mnist-gan", "tagged", "tagged-mnist_gan-3.13"),
    ]


def test_a_failure_is_one_cell_and_does_not_end_the_others(tool):
    outcomes = tool.run(tool.cells(LISTED), lambda session: int("minimums" in session))
    assert len(outcomes) == 5
    lines = tool.matrix(outcomes).splitlines()
    assert lines[0] == "| | newest | floor | pinned | tagged |"
    assert lines[2] == "| arrow-jax | passed, 0 s | **failed**, 0 s | passed, 0 s |  |"
    assert lines[3] == "| mnist-gan | passed, 0 s |  |  | passed, 0 s |"


def test_only_the_sets_that_were_run_are_columns(tool):
    cell = tool.Cell("a", "floor", "minimums-a")
    found = tool.matrix({cell: tool.Outcome(passed=True, seconds=61.4)})
    assert found.splitlines() == ["| | floor |", "|---|---|", "| a | passed, 61 s |"]


def test_an_unknown_project_is_said(tool, capsys):
    with pytest.raises(SystemExit):
        tool.main(["none"])
    assert (
        "none: there is none; take arrow-jax, chex-harness" in capsys.readouterr().err
    )


def test_a_set_that_a_project_has_not_is_said(tool, capsys):
    with pytest.raises(SystemExit) as caught:
        tool.main(["arrow-jax", "--set", "tagged"])
    assert caught.value.code == 2
    assert (
        "nothing to run: of arrow-jax take floor, newest, pinned"
        in capsys.readouterr().err
    )


def test_a_noxfile_that_fails_is_one_line(tool, monkeypatch, tmp_path, capsys):
    (tmp_path / "noxfile.py").write_text("raise ValueError('broken')\n")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    with pytest.raises(SystemExit) as caught:
        tool.main([])
    assert caught.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(
        "nox cannot list its sessions (ValueError: broken); is nox installed?"
    )
