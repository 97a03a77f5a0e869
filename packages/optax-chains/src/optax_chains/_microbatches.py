"""A batch in pieces, for sums over examples that do not fit in memory at once."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from optax_chains._checks import check_counts, shapes_of


def rows_of(where: str, name: str, tree: Any) -> int:
    """The length that the first axes of all leaves have in common.

    Raises:
      ValueError: if they have none, or there is no leaf.
    """
    shapes = shapes_of(tree)
    lengths = {shape[:1] for shape in shapes.values()}
    if len(lengths) != 1 or () in lengths:
        listed = ", ".join(f"{p!r} {s}" if p else str(s) for p, s in shapes.items())
        raise ValueError(
            f"{where}: {name} has the shapes {listed or 'of no array'}, wanted a first "
            f"axis of one length, the rows, in every leaf; stack {name} so, or close "
            "over what has no rows"
        )
    return lengths.pop()[0]


def sum_over_microbatches(
    where: str,
    function: Callable[[Any], Any],
    rows: Any,
    *,
    size: int | None,
    zero: Any,
) -> Any:
    """Adds up what a function gives for each micro-batch, one after the other.

    Args:
      where: the public function.
      function: rows -> a tree like `zero`.
      rows: a tree of arrays [n, ...].
      size: rows in a micro-batch, which divides n; None for all.
      zero: the sum of nothing.
    """
    n = jax.tree.leaves(rows)[0].shape[0]
    if size is None:
        size = n
        if n == 0:
            raise ValueError(
                f"{where}: the batch has 0 rows; pad it, or type a microbatch_size, of "
                "which it then has none"
            )
    check_counts(where, microbatch_size=size)
    if n % size:
        raise ValueError(
            f"{where}: microbatch_size is {size}, which does not divide the {n} rows "
            "of the batch; pad the batch, or type a divisor"
        )

    def add(carry: Any, rows: Any) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, carry, function(rows)), None

    # Every (n / size)-th row goes into one micro-batch: each has rows of every device
    # that the rows are sharded over, where consecutive ones would be all on the same.
    # optax.microbatching does so too, but not on explicit mesh axes: it compares jax's
    # version as text, 0.12 with 0.7.
    pieces = jax.tree.map(
        lambda x: jnp.swapaxes(x.reshape(size, n // size, *x.shape[1:]), 0, 1), rows
    )
    return jax.lax.scan(add, zero, pieces)[0]
