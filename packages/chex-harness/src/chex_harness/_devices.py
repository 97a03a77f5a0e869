"""Eight devices on a machine that has none, and compilers that take their ease.

Sharded code is only tested where there is more than one device to shard over. The CPU
backend can show any number of them, but the number is fixed when the backend starts,
so it has to be asked for first.
"""

import os
import sys

_CHEAP = "JAX_DISABLE_MOST_OPTIMIZATIONS"


def simulate_devices(n: int) -> None:
    """Makes jax's CPU backend show `n` devices.

    Call it before the first jax operation; the pytest plugin does so when pytest is
    configured. It wins over `XLA_FLAGS` and `JAX_NUM_CPU_DEVICES`, in this process and
    in those started from it, and leaves other backends alone.

    Args:
      n: how many devices, at least one.

    Raises:
      ValueError: if `n` is less than one.
      RuntimeError: if jax has started with another number of CPU devices.

    Example:
      >>> import jax
      >>> simulate_devices(8)
      >>> len(jax.devices("cpu"))
      8
    """
    if n < 1:
        raise ValueError(f"simulate_devices({n}): wanted at least 1 device")
    if "jax" in sys.modules:  # otherwise it reads the variable when it is imported
        _update_config(n)
    os.environ["JAX_NUM_CPU_DEVICES"] = str(n)


def compile_cheaply() -> None:
    """Has XLA optimise little, in this process and those it starts.

    A test compiles each program once and runs it on small arrays, so the optimiser
    takes longer than it saves. Call it before the first jax operation. What the user
    has set in `JAX_DISABLE_MOST_OPTIMIZATIONS` stays.
    """
    if _CHEAP in os.environ:
        return
    os.environ[_CHEAP] = "1"
    if "jax" in sys.modules:  # otherwise it reads the variable when it is imported
        import jax  # noqa: PLC0415

        jax.config.update("jax_disable_most_optimizations", True)  # noqa: FBT003


def _update_config(n: int) -> None:
    import jax  # noqa: PLC0415  (must stay unloaded until somebody else loads it)

    try:
        jax.config.update("jax_num_cpu_devices", n)
    except RuntimeError as error:
        found = len(jax.devices("cpu"))
        if found == n:
            return
        raise RuntimeError(
            f"simulate_devices({n}): jax has already started, with {found} CPU "
            "device(s), and cannot change that. Call simulate_devices before the "
            "first jax operation; under pytest, look for a conftest.py or a plugin "
            "that makes an array or calls jax.devices() when it is imported."
        ) from error
