"""Finding and running the examples of a Markdown file; standard library only.

Every fenced block marked `python` runs, in order, in one namespace for the file. A
block that starts with `>>>` runs as a doctest, so what it prints is compared; any
other block must run to its end.
"""

import doctest
import re
from pathlib import Path
from typing import Any, NamedTuple

_FENCE = re.compile(r"^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block.

    Attributes:
      code: the text between the fences.
      line: the number of its first line in the file, from 1.
    """

    code: str
    line: int


def blocks(text: str) -> list[Block]:
    r"""Finds the Python blocks of a Markdown text.

    Args:
      text: Markdown.

    Returns:
      The blocks, in order.

    Example:
      >>> blocks("# Title\n```python\nx = 1\n```\n")
      [Block(code='x = 1\n', line=3)]
    """
    return [
        Block(m["code"], text.count("\n", 0, m.start()) + 2)
        for m in _FENCE.finditer(text)
    ]


def new_namespace() -> dict[str, Any]:
    """The namespace that a file's blocks start with."""
    return {"__name__": "__main__"}


def run_block(block: Block, path: Path, namespace: dict[str, Any]) -> None:
    """Runs a block; names that it defines go into the namespace.

    Args:
      block: the block.
      path: the file it is from, for messages.
      namespace: what it sees.

    Raises:
      AssertionError: if a doctest prints something else; the message shows both.
      Exception: whatever the block raises.
    """
    code, line = block
    if not code.lstrip().startswith(">>>"):
        # Blank lines in front keep the file's line numbers in tracebacks.
        source = "\n" * (line - 1) + code
        exec(compile(source, str(path), "exec"), namespace)  # noqa: S102
        return
    example = doctest.DocTestParser().get_doctest(
        code, namespace, f"line {line}", str(path), line - 1
    )
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    said: list[str] = []
    runner.run(example, out=said.append, clear_globs=False)
    namespace.update(example.globs)
    if runner.failures:
        raise AssertionError("".join(said))


def run_file(path: str) -> None:
    """Runs all blocks of a file, outside pytest.

    Args:
      path: a Markdown file.

    Raises:
      ValueError: if it has no Python block.
      Exception: whatever a block raises.
    """
    found = blocks(Path(path).read_text(encoding="utf-8"))
    if not found:
        raise ValueError(f"{path} has no block that starts with ```python")
    namespace = new_namespace()
    for block in found:
        run_block(block, Path(path), namespace)
