import pytest

from chex_harness._examples import blocks, run_file


def test_blocks_know_their_lines():
    text = "one\n\n```python\na\n```\n```\nnot python\n```\n```python\nb\nc\n```\n"
    assert [(b.code, b.line) for b in blocks(text)] == [("a\n", 4), ("b\nc\n", 10)]


def test_a_file_runs_outside_pytest(tmp_path):
    file = tmp_path / "README.md"
    text = "```python\nfrom pathlib import Path\n```\n"
    text += f"```python\nPath({str(tmp_path / 'ran')!r}).touch()\n```\n"
    file.write_text(text + "```python\n>>> 1 + 1\n2\n```\n")
    run_file(str(file))
    assert (tmp_path / "ran").exists()


def test_a_wrong_output_is_an_assertion_error(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match=r"Expected:\n *3\nGot:\n *2"):
        run_file(str(file))


def test_a_file_without_examples_is_an_error(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("# Title\n")
    with pytest.raises(ValueError, match="has no block"):
        run_file(str(file))
