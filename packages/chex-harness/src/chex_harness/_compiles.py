"""Counting compilations: the number that says whether shapes are really static."""

import contextlib
import logging
import re
from collections.abc import Generator

import jax

_COMPILED = "/jax/core/compile/backend_compile_duration"
_REPORT = re.compile(
    r"Compiling (?P<name>.+?) with global shapes and types (?P<types>.*?)\. "
    r"Argument mapping: (?P<shardings>.*)\.$",
    re.DOTALL,
)
# How jax 0.9 logs a static argument. jax 0.12 logs no reason at all.
_STATIC = re.compile(
    r"\* at input path (?:\[0\]\[(?P<position>\d+)\]|\[1\]\[(?P<name>'\w+')\]), "
    r"now .*? Static\(val=(?P<now>.*)\) "
    r"and before .*? Static\(val=(?P<before>.*)\), so the pytree node .*"
)
_NO_REASON = (
    "jax's log gives no reason: a static argument has another value (the log does not "
    "say which, nor the values; print them), or the call has another device, mesh or "
    "jax.config option"
)


@contextlib.contextmanager
def assert_compiles(n: int) -> Generator[None]:
    """Asserts that the block compiles exactly `n` programs.

    One epoch over a loader should compile the step once, a second epoch not at all.
    Programs that jax makes for eager operations count too, so create inputs before
    the block. The block runs with jax's reports of cache misses on, in all threads.

    Args:
      n: how many programs the block compiles.

    Yields:
      Nothing.

    Raises:
      AssertionError: if another number was compiled. The message lists them, each
        with the types it was compiled for, and why: the shape, dtype, weak type,
        sharding or function that jax had not seen. A static argument is named with
        its values where jax's log has them (jax 0.9); jax 0.12 logs none, and the
        message then says what it cannot tell.
      TypeError: if `n` is no int.
      ValueError: if it is below 0.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> step = jax.jit(lambda x: x + 1)
      >>> x, y = jnp.ones(3), jnp.ones(3)
      >>> with assert_compiles(1):
      ...     _ = step(x), step(y)
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise (ValueError if isinstance(n, int) else TypeError)(
            f"assert_compiles: n={n!r}: wanted an int, 0 or more, as in "
            "assert_compiles(1)"
        )
    seconds: list[float] = []

    def listen(event: str, duration_secs: float, **facts: str | int) -> None:
        del facts
        if event == _COMPILED:
            seconds.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        with _reports() as reports:
            yield
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    if len(seconds) != n:
        listed = "\n".join(f"  {line}" for line in explain(reports).splitlines())
        raise AssertionError(
            f"wanted {n} compilation(s), counted {len(seconds)}:\n{listed or '  none'}"
        )


def explain(reports: list[str]) -> str:
    """What was compiled and why, from jax's own log.

    Args:
      reports: messages of jax's loggers, in order.

    Returns:
      One line a program with the types it is for, and below it what was new.
    """
    lines: list[str] = []
    reason: list[str] = []
    before: dict[str, tuple[str, str]] = {}
    for report in reports:
        if report.startswith("TRACING CACHE MISS"):
            # The traces of inner functions come before the program that they are in.
            reason += _shortened(report)
        elif found := _REPORT.match(report):
            name, types = found["name"], found["types"]
            shardings = found["shardings"]
            last = before.get(name)
            lines.append(f"{name} for {types}")
            if not reason and last is not None and last[1] != shardings:
                reason = [
                    "the sharding of an argument was new:",
                    f"now    {shardings}",
                    f"before {last[1]}",
                ]
            lines += [f"    {line}" for line in reason]
            before[name] = (types, shardings)
            reason = []
    return "\n".join(lines)


def _shortened(report: str) -> list[str]:
    lines = [line.strip() for line in report.splitlines()]
    lines[0] = lines[0].removeprefix("TRACING CACHE MISS ")
    kept = [_STATIC.sub(_static, re.sub(r"https?://\S+", "", line)) for line in lines]
    kept = [_NO_REASON if "explanation unavailable" in line else line for line in kept]
    return [
        line
        for line in kept
        if not line.startswith(("all previously seen", "different input pytree"))
    ]


def _static(found: re.Match[str]) -> str:
    name = found["name"] or f"{found['position']} (counted from 0)"
    return f"the static argument {name}: now {found['now']}, before {found['before']}"


class _Keeper(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextlib.contextmanager
def _reports() -> Generator[list[str]]:
    """Keeps what jax logs about cache misses, and shows it to nobody else."""
    logger, keeper = logging.getLogger("jax"), _Keeper()
    handlers, propagate = logger.handlers[:], logger.propagate
    options = ("jax_explain_cache_misses", "jax_log_compiles")
    values = [getattr(jax.config, option) for option in options]
    try:
        for option in options:
            jax.config.update(option, True)  # noqa: FBT003  (jax's signature)
        logger.handlers[:], logger.propagate = [keeper], False
        yield keeper.messages
    finally:
        logger.handlers[:], logger.propagate = handlers, propagate
        for option, value in zip(options, values, strict=True):
            jax.config.update(option, value)
