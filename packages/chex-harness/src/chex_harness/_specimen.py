"""What a package registers of each public object, so that laws can be held to it."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Specimen:
    """A pure function with arguments to try it on.

    An object with state is its step: `fn(params, state, batch)` returns the new
    parameters and state first, and `carry=2` says so. Laws that need what is not given
    (`init`, `carry`, `rows`, `grad`) do not apply.

    Attributes:
      fn: takes and returns pytrees of arrays.
      args: makes the arguments for the name of a dtype, the same ones each time.
      init: a function whose result is a state or parameters.
      init_args: makes its arguments.
      carry: how many arguments, from the first, come back as outputs, from the first.
      rows: positions of arguments whose first axis is a batch.
      grad: positions of arguments to differentiate by, all their floating leaves.
      dtypes: the dtypes that the function must keep.
      rtol: relative tolerance of comparisons; by default that of the dtype.
      atol: absolute tolerance of comparisons.
      without: names of laws that do not hold, each with the reason. Such a law must
        fail, so that the list does not outlive its reasons.

    Example:
      >>> import jax.numpy as jnp
      >>> square = Specimen(fn=jnp.square, args=lambda dtype: (jnp.ones(3, dtype),))
      >>> square.grad
      ()
    """

    fn: Callable[..., Any]
    args: Callable[[str], tuple[Any, ...]]
    init: Callable[..., Any] | None = None
    init_args: Callable[[], tuple[Any, ...]] = tuple
    carry: int = 0
    rows: tuple[int, ...] = ()
    grad: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ("float32", "bfloat16")
    rtol: float | None = None
    atol: float = 1e-6
    without: Mapping[str, str] = dataclasses.field(default_factory=dict)
