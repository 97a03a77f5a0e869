"""What a dataset gives when it is asked for rows."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from arrow_jax._device import device_name
from arrow_jax._errors import ArrowJaxError

KINDS = (None, "jax", "numpy", "arrow")


@dataclass(frozen=True)
class Format:
    """The choices made by `with_format`.

    Attributes:
      kind: "jax", "numpy", "arrow", or None for Python objects.
      columns: the names wanted, or None for all.
      device: name of a device or a Sharding, or None for the default device.
      nulls: see `Dataset.with_format`.
      x64: whether 64-bit columns stay; read from jax when the format is set.
      dtype: of the numbers, or column -> dtype, or None for each column's own.
    """

    kind: str | None = None
    columns: tuple[str, ...] | None = None
    device: Any = None
    nulls: Any = "error"
    x64: bool = True
    dtype: Any = None


PYTHON = Format()


def make_format(
    kind: str | None,
    known: list[str],
    *,
    columns: Any = None,
    device: Any = None,
    nulls: Any = "error",
    dtype: Any = None,
) -> Format:
    """Checks the choices.

    Args:
      kind: see `Format`.
      known: the columns that there are.
      columns: names, or None.
      device: see `Format`; also a Device.
      nulls: see `Format`.
      dtype: see `Format`.

    Returns:
      The format.

    Raises:
      ArrowJaxError: if a kind or a column is unknown, or a device has no use.
      DeviceError: if the device is unknown.
    """
    if kind not in KINDS:
        raise ArrowJaxError(
            f'with_format({kind!r}): wanted "jax", "numpy", "arrow" or None'
        )
    if device is not None and kind != "jax":
        raise ArrowJaxError(
            f'with_format({kind!r}, device=...): only "jax" puts arrays on a device'
        )
    if columns is not None:
        columns = (columns,) if isinstance(columns, str) else tuple(columns)
        check_columns(columns, known)
    if dtype is not None and kind not in ("jax", "numpy"):
        raise ArrowJaxError(
            f'with_format({kind!r}, dtype=...): only "jax" and "numpy" give arrays. To '
            "change what is stored, use ds.cast_column"
        )
    if isinstance(dtype, Mapping):
        check_columns(tuple(dtype), known)
        dtype = {name: _number_dtype(inner) for name, inner in dtype.items()}
    elif dtype is not None:
        dtype = _number_dtype(dtype)
    return Format(
        kind=kind,
        columns=columns,
        device=device_name(device),
        nulls=nulls,
        x64=kind != "jax" or bool(jax.config.jax_enable_x64),
        dtype=dtype,
    )


def _number_dtype(dtype: Any) -> np.dtype:
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise ArrowJaxError(
            f'dtype={dtype!r} is none: give one like "float32" or jax.numpy.bfloat16,'
            " or a mapping from column to dtype"
        ) from error
    kinds = (jnp.integer, jnp.floating, jnp.bool_)
    if not any(jnp.issubdtype(found, kind) for kind in kinds):
        raise ArrowJaxError(f"dtype={found} is not one of integers, floats or booleans")
    return found


def summary(n_rows: int, features: Mapping[str, Any], form: Format) -> str:
    """Says what a dataset is, one line a column.

    Args:
      n_rows: how many rows.
      features: of its columns.
      form: its format.

    Returns:
      Lines for `repr`.
    """
    where = f" on {form.device}" if form.device else ""
    kind = form.kind or "Python objects"
    width = max(map(len, features), default=0)
    lines = [f"Dataset of {n_rows:,} rows, given as {kind}{where}"]
    for name, feature in features.items():
        text = repr(feature)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        lines.append(f"  {name:{width}}  {text}")
    return "\n".join(lines)


def check_columns(wanted: tuple[str, ...], known: list[str]) -> None:
    """Raises for a column that is not there.

    Args:
      wanted: names.
      known: the columns that there are.

    Raises:
      ArrowJaxError: if one is unknown; lists the others.
    """
    for name in wanted:
        if name not in known:
            raise ArrowJaxError(f"there is no column {name!r}; there are {known}")


def is_expression(condition: Any) -> bool:
    """Whether something is an Arrow expression.

    Args:
      condition: what the user gave.

    Returns:
      True if it is.
    """
    # There is none before this module is there, and it takes long to import.
    compute = sys.modules.get("pyarrow.compute")
    return compute is not None and isinstance(condition, compute.Expression)


def raise_unknown(verb: str, error: Exception, known: list[str]) -> None:
    """Raises where an Arrow expression names a column that is not there.

    Args:
      verb: that got the expression.
      error: what Arrow raised.
      known: the columns that there are.

    Raises:
      ArrowJaxError: if the error is of that kind.
    """
    said = str(error).split(" in ", maxsplit=1)[0]
    if said.startswith("No match for FieldRef"):
        name = ".".join(re.findall(r"Name\((.*?)\)", said))
        raise ArrowJaxError(
            f"{verb}: the expression names the column {name!r}; there are {known}"
        ) from error
