"""Being one process of many, for code that only asks which one it is."""

import contextlib
from collections.abc import Generator
from unittest import mock

import jax


@contextlib.contextmanager
def fake_hosts(*, process_index: int, process_count: int) -> Generator[None]:
    """Makes jax say that this is one process of several.

    For code that picks files, rows or a seed by `jax.process_index()`, and for what
    only process 0 does. Nothing is there to talk to: a collective or a barrier needs
    `run_processes`. What it cannot see: `from jax import process_index` done before.

    Args:
      process_index: what `jax.process_index()` returns.
      process_count: what `jax.process_count()` returns.

    Yields:
      Nothing.

    Raises:
      ValueError: if there is no such process.

    Example:
      >>> import jax
      >>> with fake_hosts(process_index=3, process_count=4):
      ...     jax.process_index(), jax.process_count()
      (3, 4)
    """
    if not 0 <= process_index < process_count:
        raise ValueError(
            f"fake_hosts: process_index={process_index} of process_count="
            f"{process_count}; wanted 0 to {process_count - 1}"
        )
    answers = {
        "process_index": lambda *_, **__: process_index,
        "process_count": lambda *_, **__: process_count,
        "process_indices": lambda *_, **__: list(range(process_count)),
    }
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(jax, name, answer))
        yield
