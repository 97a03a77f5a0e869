"""What a model is made of: a table to print or to compare, before anything is trained.

Everything here reads shapes and dtypes only, so it takes the abstract parameters of
`jax.eval_shape(model.init, key, x)` as well as real ones: a model of any size can be
looked at without allocating it.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import jax
import numpy as np


class ArrayShaped(Protocol):
    """Anything that has a shape and a dtype: an array, or `jax.ShapeDtypeStruct`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        ...


class ParameterRow(NamedTuple):
    """One parameter of a model.

    Attributes:
      module: path of the module that holds it, such as `mlp/~/linear_0`.
      name: its name in that module, such as `w`.
      shape: its shape.
      dtype: its dtype.
      count: how many numbers it holds.
    """

    module: str
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    count: int


def parameter_table(
    params: Mapping[str, Mapping[str, ArrayShaped]],
) -> list[ParameterRow]:
    """Lists the parameters of a Haiku model, sorted by path and name.

    Use it to see what a model is made of, or to check that two models take the same
    parameters: equal tables mean that the parameters of one fit the other.

    Args:
      params: what `init` returns, or the same from `jax.eval_shape(init, ...)`:
        module path -> parameter name -> array of any shape and dtype. State trees
        have the same form and work too.

    Returns:
      One row a parameter.

    Raises:
      TypeError: if `params` is not a mapping of mappings of arrays.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> model = hk.transform(lambda x: hk.Linear(3)(x))
      >>> params = jax.eval_shape(model.init, jax.random.key(0), jnp.ones((1, 2)))
      >>> for row in parameter_table(params):
      ...     print(row.module, row.name, row.shape, row.dtype, row.count)
      linear b (3,) float32 3
      linear w (2, 3) float32 6
    """
    if not isinstance(params, Mapping):
        raise _not_parameters("params", params)
    # jit and eval_shape return mappings sorted, so any other order would not last.
    rows = []
    for module, held in sorted(params.items()):
        if not isinstance(held, Mapping):
            raise _not_parameters(f"params[{module!r}]", held)
        for name, array in sorted(held.items()):
            if not (hasattr(array, "shape") and hasattr(array, "dtype")):
                raise _not_parameters(f"params[{module!r}][{name!r}]", array)
            shape = tuple(array.shape)
            rows.append(
                ParameterRow(module, name, shape, array.dtype, math.prod(shape))
            )
    return rows


def count_parameters(params: object) -> int:
    """Counts the numbers that a model is made of.

    Args:
      params: any pytree of arrays or `jax.ShapeDtypeStruct`s, of any shape and dtype;
        a Haiku parameter tree in particular.

    Returns:
      The sum of the sizes of all leaves.

    Example:
      >>> import haiku as hk, jax, jax.numpy as jnp
      >>> model = hk.transform(lambda x: hk.Linear(3)(x))
      >>> count_parameters(model.init(jax.random.key(0), jnp.ones((1, 2))))
      9
    """
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(params))


def _not_parameters(where: str, found: object) -> TypeError:
    return TypeError(
        f"{where} is {type(found).__name__}: wanted Haiku parameters, that is module "
        "path -> parameter name -> array. Pass what init returned, such as "
        "params = model.init(key, x); for another pytree use count_parameters."
    )
