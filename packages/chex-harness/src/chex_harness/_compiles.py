"""Counting compilations: the number that says whether shapes are really static."""

import contextlib
from collections.abc import Generator

import jax

_COMPILED = "/jax/core/compile/backend_compile_duration"


@contextlib.contextmanager
def assert_compiles(n: int) -> Generator[None]:
    """Asserts that the block compiles exactly `n` programs.

    One epoch over a loader should compile the step once, a second epoch not at all.
    Programs that jax makes for eager operations count too, so create inputs before
    the block.

    Args:
      n: how many programs the block compiles.

    Yields:
      Nothing.

    Raises:
      AssertionError: if another number was compiled; the message lists them.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> step = jax.jit(lambda x: x + 1)
      >>> x, y = jnp.ones(3), jnp.ones(3)
      >>> with assert_compiles(1):
      ...     _ = step(x), step(y)
    """
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **facts: str | int) -> None:
        if event == _COMPILED:
            name = facts.get("fun_name", "a program")
            compiled.append(f"{name} ({duration_secs:.2f} s)")

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    if len(compiled) != n:
        listed = "\n  ".join(compiled) or "nothing"
        raise AssertionError(
            f"wanted {n} compilation(s), counted {len(compiled)}:\n  {listed}\n"
            "Set JAX_EXPLAIN_CACHE_MISSES=1 to see what differed between calls: a "
            "shape, a dtype, a weak type, a sharding or a static argument."
        )
