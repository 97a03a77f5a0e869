"""Asserting that a block moves no data by accident."""

import contextlib
from collections.abc import Generator

import jax


@contextlib.contextmanager
def assert_no_transfers(*, explicit: bool = True) -> Generator[None]:
    """Asserts that no data move between host and devices in the block.

    A NumPy array or a Python number that reaches a jitted function is sent to the
    device at each call, and arrays on other devices are moved silently.

    What it cannot see: reads on the CPU backend, where arrays and NumPy share memory
    (`assert_no_host_sync` counts those), other threads, `Array.to_device`, which jax
    never counts as a transfer, and what a compiled program moves between its devices,
    as with `out_shardings=` (`assert_collectives` counts that).

    Args:
      explicit: whether `jax.device_put` and `jax.device_get` are allowed.

    Yields:
      Nothing.

    Raises:
      AssertionError: at the first transfer; the message says which.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> step = jax.jit(lambda x, lr: x * lr)
      >>> x, lr = jnp.ones(3), jnp.float32(0.1)
      >>> with assert_no_transfers():
      ...     _ = step(x, lr)
      >>> with assert_no_transfers():
      ...     _ = step(x, 0.1)
      Traceback (most recent call last):
      AssertionError: the block transfers data: Disallowed host-to-device transfer...
    """
    level = "disallow" if explicit else "disallow_explicit"
    try:
        with jax.transfer_guard(level):
            yield
    except Exception as error:
        if "Disallowed" not in str(error) or "transfer" not in str(error):
            raise
        what = str(error)[str(error).index("Disallowed") :]
        raise AssertionError(
            f"the block transfers data: {what}. The traceback above shows where. Make "
            "the array before the block, once, or use jax.device_put where you mean it."
        ) from error
