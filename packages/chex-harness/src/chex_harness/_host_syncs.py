"""Counting the reads that make the host wait for a device.

A `float(loss)` in a training loop stops Python until the step is done; nothing is
dispatched ahead any more. jax's transfer guard sees this on accelerators only: on the
CPU an array is read where it lies. Here the doors are counted.
"""

import contextlib
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_METHODS = (
    "__array__",
    "__bool__",
    "__complex__",
    "__dlpack__",
    "__float__",
    "__format__",
    "__index__",
    "__int__",
    "__iter__",
    "__reduce__",
    "__repr__",
    "__str__",
    "block_until_ready",
    "item",
    "tolist",
)
_FUNCTIONS = (
    (jax, "device_get"),
    (jax, "block_until_ready"),
    (jax, "effects_barrier"),
    (np, "array"),
    (np, "asarray"),
    (np, "ascontiguousarray"),
    (np, "from_dlpack"),
)


@contextlib.contextmanager
def assert_no_host_sync(*, at_most: int = 0) -> Generator[list[str]]:
    """Asserts that the block never waits for a device.

    Counted are, of jax arrays, `float`, `int`, `bool`, `item`, `tolist`, printing,
    iterating, pickling, DLPack (which waits on the CPU; elsewhere it counts too) and
    `block_until_ready`, and `np.asarray`, `np.array`, `jax.device_get`,
    `jax.block_until_ready` and `jax.effects_barrier`. `copy.deepcopy` copies on the
    device and is no read.

    What it cannot see on the CPU (on accelerators, `jax.transfer_guard_device_to_host`
    does): NumPy functions that are given a jax array (as `np.mean(x)`) and
    `memoryview(x)`, which read its memory from C; names that were imported before, as
    in `from numpy import asarray` or `from jax import effects_barrier`; what a thread
    does is counted, whoever started it.

    Args:
      at_most: how many reads are allowed.

    Yields:
      The reads so far, a line each, as they are made.

    Raises:
      AssertionError: after the block; lists what was read and where.

    Example:
      >>> import jax.numpy as jnp
      >>> x = jnp.ones(3).sum()
      >>> with assert_no_host_sync(at_most=1) as reads:
      ...     _ = float(x)
      >>> reads
      ['float32[] by float, at <doctest...
    """
    reads: list[str] = []
    inside = [False]  # one read goes through several doors; the outermost is told

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def door(*args: Any, **kwargs: Any) -> Any:
            arrays = [x for x in jax.tree.leaves(args[:1]) if isinstance(x, jax.Array)]
            arrays = [x for x in arrays if not isinstance(x, jax.core.Tracer)]
            if inside[0] or not (arrays or name == "effects_barrier"):
                return real(*args, **kwargs)
            reads.append(f"{_shown(arrays)} by {name.strip('_')}, at {_caller()}")
            inside[0] = True
            try:
                return real(*args, **kwargs)
            finally:
                inside[0] = False

        return door

    with jax.transfer_guard("allow"):
        array = type(jnp.zeros(()))
    doors = [(array, name) for name in _METHODS if hasattr(array, name)]
    with contextlib.ExitStack() as stack:
        for owner, name in [*doors, *_FUNCTIONS]:
            real = getattr(owner, name)
            stack.callback(setattr, owner, name, real)
            setattr(owner, name, counted(name, real))
        yield reads
    if len(reads) > at_most:
        raise AssertionError(
            f"the block waits for the device {len(reads)} times, {at_most} allowed:\n  "
            + "\n  ".join(reads)
            + "\nKeep the values as jax arrays and read them once, after the loop."
        )


def _shown(arrays: list[jax.Array]) -> str:
    if not arrays:
        return "everything"
    more = f" and {len(arrays) - 1} more" if len(arrays) > 1 else ""
    return f"{arrays[0].dtype}{list(arrays[0].shape)}{more}"


def _caller() -> str:
    """The innermost line that belongs neither to jax, to NumPy nor to this file."""
    foreign = (str(Path(jax.__file__).parent), str(Path(np.__file__).parent), __file__)
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.startswith(foreign):
            return f"{frame.filename}:{frame.lineno}"
    return "an unknown line"
