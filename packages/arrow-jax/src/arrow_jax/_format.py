"""What a dataset gives when it is asked for rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

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
    """

    kind: str | None = None
    columns: tuple[str, ...] | None = None
    device: Any = None
    nulls: Any = "error"
    x64: bool = True


PYTHON = Format()


def make_format(
    kind: str | None, columns: Any, device: Any, nulls: Any, known: list[str]
) -> Format:
    """Checks the choices.

    Args:
      kind: see `Format`.
      columns: names, or None.
      device: see `Format`; also a Device.
      nulls: see `Format`.
      known: the columns that there are.

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
    return Format(
        kind=kind,
        columns=columns,
        device=device_name(device),
        nulls=nulls,
        x64=kind != "jax" or bool(jax.config.jax_enable_x64),
    )


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
