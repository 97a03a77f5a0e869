"""Examples in a README are tests: one a block.

A block sees the names of those above it. Where these have not run (another worker of
pytest-xdist has them, or pytest-randomly has shuffled the tests) they run first.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chex_harness import _examples


class MarkdownFile(pytest.File):
    """A Markdown file whose Python blocks are tests."""

    def collect(self) -> Iterator["MarkdownBlock"]:
        """Yields one test a block."""
        page = Page(self.path)
        for index, block in enumerate(page.blocks):
            yield MarkdownBlock.from_parent(
                self, name=f"line {block.line}", page=page, index=index
            )


class Page:
    """The blocks of a file and the namespace they share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks = _examples.blocks(path.read_text(encoding="utf-8"))
        self._namespace = _examples.new_namespace()
        self._failed: dict[int, Exception] = {}
        self._next = 0

    def run(self, index: int) -> None:
        """Runs a block, once, after those above it."""
        while self._next <= index:
            now, self._next = self._next, self._next + 1
            try:
                _examples.run_block(self.blocks[now], self.path, self._namespace)
            except Exception as error:  # noqa: BLE001  (raised by the block's own test)
                self._failed[now] = error
        if index in self._failed:
            raise self._failed[index]


class MarkdownBlock(pytest.Item):
    """One block; it sees what the blocks above it have defined."""

    def __init__(self, *, page: Page, index: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._page = page
        self._index = index
        self._block = page.blocks[index]

    def runtest(self) -> None:
        """Runs the block."""
        self._page.run(self._index)

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
