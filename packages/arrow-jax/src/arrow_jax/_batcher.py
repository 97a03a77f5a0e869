"""The host's part of a batch: rows in, a tree of NumPy arrays of fixed shape out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from arrow_jax._audio_plan import AudioPlan
from arrow_jax._chunks import Index
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError, ShapeError, UnsupportedTypeError
from arrow_jax._format import check_columns
from arrow_jax._image_plan import ImagePlan
from arrow_jax._plan import Plan
from arrow_jax._planner import plan_columns
from arrow_jax._rows import compose
from arrow_jax._string_plan import StringPlan
from arrow_jax._struct_plan import StructPlan


@dataclass(frozen=True)
class Batcher:
    """Makes batches of a dataset's rows.

    Attributes:
      view: rows of the source.
      plans: of the columns that go to the devices.
      host: of the columns that stay.
      ragged: column -> length, of those that are padded.
      masked: whether batches have the key "valid".
    """

    view: Index
    plans: Mapping[str, Plan]
    host: Mapping[str, Plan]
    ragged: Mapping[str, int]
    masked: bool

    def make(
        self, rows: Index, n_real: int, local: np.ndarray | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Makes one batch.

        Args:
          rows: of the view, padding included.
          n_real: how many of them are no padding.
          local: positions in the batch that are wanted, or None for all.

        Returns:
          The columns for the devices, and those that stay.
        """
        valid = np.arange(len(rows)) < n_real
        if local is not None:
            rows, valid = np.asarray(rows, np.int64)[local], valid[local]
        rows = compose(self.view, rows)
        batch = {
            name: plan.padded(rows, self.ragged[name])
            if name in self.ragged
            else plan.batch(rows)
            for name, plan in self.plans.items()
        }
        if self.masked:
            batch["valid"] = valid
        return batch, {name: plan.batch(rows) for name, plan in self.host.items()}

    def spec(self, batch_size: int) -> dict[str, Any]:
        """Finds what a batch is, without reading a row.

        Args:
          batch_size: rows in it.

        Returns:
          A tree of `jax.ShapeDtypeStruct`.
        """
        empty, _ = self.make(range(0), 0)

        def of(array: np.ndarray) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct((batch_size, *array.shape[1:]), array.dtype)

        # By column, since jax sorts the keys of a dict.
        return {name: jax.tree.map(of, column) for name, column in empty.items()}


def make_batcher(
    ds: Dataset, *, ragged: Mapping[str, int], host: Any, masked: bool, x64: bool
) -> Batcher:
    """Plans the batches of a dataset and checks its columns.

    Args:
      ds: the rows.
      ragged: column -> length.
      host: names of the columns that stay.
      masked: whether batches get the key "valid".
      x64: whether 64-bit columns stay.

    Returns:
      The batcher.

    Raises:
      UnsupportedTypeError: for strings that are not in `host`.
      ShapeError: for ragged columns that are not in `ragged`.
      ArrowJaxError: if a name is unknown, or "valid" is taken.
    """
    host = (host,) if isinstance(host, str) else tuple(host)
    names = ds.column_names
    check_columns((*host, *ragged), names)
    plans = plan_columns(
        ds.source, names, x64=x64, nulls=ds.format.nulls, dtype=ds.format.dtype
    )
    on_device = {name: plan for name, plan in plans.items() if name not in host}
    if masked and "valid" in on_device:
        raise ArrowJaxError(
            'a column is named "valid", the key that last="mask" adds. Rename it, '
            "leave it out with with_format(..., columns=[...]), or use "
            'last="drop" or "keep"'
        )
    if not on_device:
        raise ArrowJaxError(
            f"no column of {names} goes to the devices: all are in host="
        )
    for name, plan in plans.items():
        plan.check(ds.rows)
        if name in on_device:
            _check_fixed(name, plan, ragged)
    return Batcher(
        view=ds.rows,
        plans=on_device,
        host={name: plans[name] for name in host},
        ragged=dict(ragged),
        masked=masked,
    )


def _check_fixed(name: str, plan: Plan, ragged: Mapping[str, int]) -> None:
    if _has_strings(plan):
        raise UnsupportedTypeError(
            f"column {name!r} is strings or bytes, and batches hold arrays only. Name "
            f"it in Loader(..., host=[{name!r}]) to have it beside the batch, or leave "
            "it out: ds.with_format(columns=[...])"
        )
    if plan.is_ragged and name not in ragged:
        raise ShapeError(f"column {name!r}: {_advice(name, plan)}")


def _advice(name: str, plan: Plan) -> str:
    if isinstance(plan, ImagePlan):
        return (
            "its images differ in size or mode, and batches have one shape. Make them "
            f'alike: ds.cast_column({name!r}, Image(mode="RGB", size=(224, 224)))'
        )
    if isinstance(plan, AudioPlan):
        return (
            "its sounds differ in length, and batches have one shape. Give the most "
            f"samples: Loader(..., ragged={{{name!r}: 160_000}})"
        )
    return (
        "its lists differ in length, and batches have one shape. Give the greatest "
        f"length: Loader(..., ragged={{{name!r}: 512}})"
    )


def _has_strings(plan: Plan) -> bool:
    if isinstance(plan, StructPlan):
        return any(map(_has_strings, plan.plans.values()))
    return isinstance(plan, StringPlan)
