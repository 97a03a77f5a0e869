"""What a network costs: parameters, bytes, and the work of one call, before it runs."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
from jax.typing import ArrayLike

from haiku_nets._parameters import ParameterRow, parameter_table


class Network(Protocol):
    """What `hk.transform` or `hk.transform_with_state` returns."""

    @property
    def init(self) -> Callable[..., Any]:
        """Makes parameters, or parameters and state."""
        ...

    @property
    def apply(self) -> Callable[..., Any]:
        """Runs the network."""
        ...


class Summary(NamedTuple):
    """What a network costs.

    Attributes:
      rows: its parameters, one by one.
      parameters: how many numbers they hold.
      bytes: how much memory they take.
      flops: floating-point operations of one call, as XLA counts them before it
        optimises: a multiply-add is two.
      bytes_accessed: what one call reads and writes by the same count, without the
        fusion that saves much of it.
      output: shapes and dtypes of what it returns.
    """

    rows: list[ParameterRow]
    parameters: int
    bytes: int
    flops: float
    bytes_accessed: float
    output: Any

    def __str__(self) -> str:
        cells = [
            (f"{r.module}/{r.name}", f"{r.dtype}{list(r.shape)}", f"{r.count:,}")
            for r in self.rows
        ]
        wide = [max(map(len, column)) for column in zip(*cells, strict=True)] or [0] * 3
        lines = [
            f"{name:<{wide[0]}}  {shape:<{wide[1]}}  {count:>{wide[2]}}"
            for name, shape, count in cells
        ]
        lines.append(
            f"{self.parameters:,} parameters, {_spell(self.bytes, 'B')}; a call: "
            f"{_spell(self.flops, 'FLOP')}, {_spell(self.bytes_accessed, 'B')} "
            "read and written"
        )
        return "\n".join(lines)


def summarize(network: Network, *args: Any, **kwargs: Any) -> Summary:
    """Counts what a network is made of and what a call costs; nothing is computed.

    Args:
      network: what `hk.transform`, `hk.without_apply_rng` or
        `hk.transform_with_state` returned.
      *args: the network's inputs, as arrays or `jax.ShapeDtypeStruct`s; what is no
        array, such as `is_training=True`, goes by name.
      **kwargs: settings, handed over as they are.

    Returns:
      The summary; `print` shows it as a table.

    Raises:
      TypeError: if `network` has no `init` and `apply`.

    Example:
      >>> import haiku as hk, jax.numpy as jnp
      >>> net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(3)(x)))
      >>> print(summarize(net, jnp.ones((8, 2))))
      linear/b  float32[3]     3
      linear/w  float32[2, 3]  6
      9 parameters, 36 B; a call: 120 FLOP, 580 B read and written
    """
    if not (hasattr(network, "init") and hasattr(network, "apply")):
        raise TypeError(
            f"summarize found {type(network).__name__}, wanted what hk.transform "
            "returns: type summarize(hk.transform(f), x)."
        )
    key = jax.random.key(0)

    def init(key: jax.Array, *args: ArrayLike) -> Any:
        return network.init(key, *args, **kwargs)

    made = jax.eval_shape(init, key, *args)
    has_state = isinstance(made, tuple)
    params = made[0] if has_state else made
    carried = made if has_state else (made,)

    def call(carried: Any, key: jax.Array, *args: ArrayLike) -> Any:
        rng = (key,) if takes_rng else ()
        return network.apply(*carried, *rng, *args, **kwargs)

    # hk.without_apply_rng takes the key away.
    names = list(inspect.signature(network.apply).parameters)
    takes_rng = names[len(carried) : len(carried) + 1] == ["rng"]
    lowered = jax.jit(call).lower(carried, key, *args)
    cost = lowered.cost_analysis() or {}
    rows = parameter_table(params)
    return Summary(
        rows,
        sum(row.count for row in rows),
        sum(row.count * row.dtype.itemsize for row in rows),
        float(cost.get("flops", 0.0)),
        float(cost.get("bytes accessed", 0.0)),
        lowered.out_info,
    )


def _spell(n: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G"):
        if n < 1000:
            return f"{n:.3g} {prefix}{unit}"
        n /= 1000
    return f"{n:.3g} T{unit}"
