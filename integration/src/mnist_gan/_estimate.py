"""How long a run will take, before it starts."""

import time

import jax
import jax.numpy as jnp

_SIZE = 512
_REPEATS = 20
# Of one step for one real digit, as XLA counts them.
_FLOP_A_DIGIT = 6.22e9 / 64
# Share of the machine's matrix-product rate that the step reaches; the progress bar
# knows better after a few steps.
_SHARE = {"cpu": 0.45}
_SHARE_ELSEWHERE = 0.05


def seconds(digits: int, device: jax.Device) -> float:
    """Estimates the time for a number of digits from a matrix product's rate.

    Args:
      digits: steps times batch size, over the number of devices that share no cores.
      device: one of the devices.

    Returns:
      Seconds, right to a factor of two or so.
    """
    x = jax.device_put(jnp.full((_SIZE, _SIZE), 1 / _SIZE), device)
    product = jax.jit(jnp.dot)
    took = []
    for _ in range(_REPEATS + 1):  # the first compiles, and the least is undisturbed
        start = time.perf_counter()
        x = jax.block_until_ready(product(x, x))
        took.append(time.perf_counter() - start)
    rate = 2 * _SIZE**3 / min(took)
    share = _SHARE.get(device.platform, _SHARE_ELSEWHERE)
    return digits * _FLOP_A_DIGIT / (rate * share)


def spell(seconds: float) -> str:
    """Spells a duration roughly: `40 s`, `6 min`, `2.5 h`.

    Example:
      >>> spell(42), spell(400), spell(9000)
      ('42 s', '7 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
