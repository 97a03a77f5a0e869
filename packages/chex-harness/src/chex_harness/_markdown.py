"""Examples in a README are tests.

Every fenced block marked `python` runs, in order, in one namespace for the file. A
block that starts with `>>>` runs as a doctest, so what it prints is compared; any
other block must run to its end.
"""

import doctest
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

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


class MarkdownFile(pytest.File):
    """A Markdown file whose Python blocks are tests."""

    def collect(self) -> Iterator["MarkdownBlock"]:
        """Yields one test a block."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for block in blocks(self.path.read_text(encoding="utf-8")):
            yield MarkdownBlock.from_parent(
                self, name=f"line {block.line}", block=block, namespace=namespace
            )


class MarkdownBlock(pytest.Item):
    """One block; it sees what the blocks above it have defined."""

    def __init__(
        self, *, block: Block, namespace: dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._block = block
        self._namespace = namespace

    def runtest(self) -> None:
        """Runs the block."""
        code, line = self._block
        if not code.lstrip().startswith(">>>"):
            # Blank lines in front keep the file's line numbers in tracebacks.
            source = "\n" * (line - 1) + code
            exec(compile(source, str(self.path), "exec"), self._namespace)  # noqa: S102
            return
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        example = doctest.DocTestParser().get_doctest(
            code, self._namespace, self.name, str(self.path), line - 1
        )
        runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
        said: list[str] = []
        runner.run(example, out=said.append, clear_globs=False)
        self._namespace.update(example.globs)
        if runner.failures:
            pytest.fail("".join(said), pytrace=False)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Shows the file's own lines, without pytest's."""
        del style
        if isinstance(excinfo.value, pytest.fail.Exception):
            return str(excinfo.value)
        own = excinfo.traceback.filter(_outside_this_file)
        line = own[-1].lineno + 1 if own else self._block.line
        return f"{self.path}:{line}\n{excinfo.exconly()}"

    def reportinfo(self) -> tuple[Any, int, str]:
        """Names the block by file and line."""
        return self.path, self._block.line - 1, f"{self.path.name}, {self.name}"


def _outside_this_file(entry: Any) -> bool:
    return str(entry.path) != __file__
