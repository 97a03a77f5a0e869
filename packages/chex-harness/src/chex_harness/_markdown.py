"""Examples in a README are tests: one a block."""

from collections.abc import Iterator
from typing import Any

import pytest

from chex_harness import _examples


class MarkdownFile(pytest.File):
    """A Markdown file whose Python blocks are tests."""

    def collect(self) -> Iterator["MarkdownBlock"]:
        """Yields one test a block."""
        namespace = _examples.new_namespace()
        for block in _examples.blocks(self.path.read_text(encoding="utf-8")):
            yield MarkdownBlock.from_parent(
                self, name=f"line {block.line}", block=block, namespace=namespace
            )


class MarkdownBlock(pytest.Item):
    """One block; it sees what the blocks above it have defined."""

    def __init__(
        self, *, block: _examples.Block, namespace: dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._block = block
        self._namespace = namespace

    def runtest(self) -> None:
        """Runs the block."""
        _examples.run_block(self._block, self.path, self._namespace)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Shows the README's line, without the lines that ran it."""
        del style
        entries = [e for e in excinfo.traceback if str(e.path) == str(self.path)]
        line = entries[-1].lineno + 1 if entries else self._block.line
        return f"{self.path}:{line}\n{excinfo.exconly()}"

    def reportinfo(self) -> tuple[Any, int, str]:
        """Names the block by file and line."""
        return self.path, self._block.line - 1, f"{self.path.name}, {self.name}"
