"""What a file's columns are, what they become, and which options they want."""

from typing import Any, NamedTuple

import jax
import numpy as np

from arrow_jax._audio_plan import AudioPlan
from arrow_jax._buckets import choose_edges
from arrow_jax._dataset import Dataset
from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import Audio, Image
from arrow_jax._image_plan import ImagePlan
from arrow_jax._ledger import Ledger
from arrow_jax._number_plan import NumberPlan
from arrow_jax._plan import Plan
from arrow_jax._planner import plan_columns
from arrow_jax._string_plan import StringPlan

_BATCH = 64


class Report(NamedTuple):
    """What is known about a column.

    Attributes:
      name: the column's.
      type: its Arrow type.
      becomes: what a row is on the device.
      nulls: how many rows are null.
      lengths: of its lists, in words.
      n_bytes: of its Arrow data.
      way: "viewed", "copied" or "decoded", in a batch that is not shuffled.
      advice: what the loader is to be given for it, or what stands in the way.
      usable: whether it becomes an array in a batch.
      masked: whether it has nulls.
      edges: of the buckets that its lists want, if they differ in length.
    """

    name: str
    type: str
    becomes: str
    nulls: int
    lengths: str
    n_bytes: int
    way: str = ""
    advice: str = ""
    usable: bool = False
    masked: bool = False
    edges: tuple[int, ...] = ()


def inspect_columns(ds: Dataset) -> list[Report]:
    """Looks at every column of a dataset.

    Args:
      ds: the dataset, in memory or mapped.

    Returns:
      One report a column.
    """
    return [_inspect(ds, name) for name in ds.column_names]


def _inspect(ds: Dataset, name: str) -> Report:
    column = ds.source.table.column(name)
    # What is null inside an image is its path, or its bytes.
    one = isinstance(ds.features[name], Image | Audio)
    masked = bool(column.null_count) if one else _has_nulls(column.chunks)
    blank = Report(
        name, _short(str(column.type)), "", column.null_count, "", column.nbytes
    )
    x64, nulls = bool(jax.config.jax_enable_x64), "mask" if masked else "error"
    try:
        plan = plan_columns(ds.source, [name], x64=x64, nulls=nulls)[name]
        if isinstance(plan, StringPlan):
            return blank._replace(becomes="Python objects", advice=f"host=[{name!r}]")
        plan.check(ds.rows)
        found = blank._replace(becomes=describe(plan.spec), usable=True, masked=masked)
        if plan.is_ragged:
            return _ragged(found, plan, ds)
        return found._replace(
            way=_way(ds, plan), advice='nulls="mask"' if masked else ""
        )
    except ArrowJaxError as error:
        return blank._replace(becomes="no array", advice=f"! {error}")


def _has_nulls(arrays: Any) -> bool:
    for array in arrays:
        if array.null_count:
            return True
        inner = getattr(array, "flatten", None)
        if inner is None or not array.type.num_fields:
            continue
        parts = inner()
        if _has_nulls(parts if isinstance(parts, list) else [parts]):
            return True
    return False


def _ragged(report: Report, plan: Plan, ds: Dataset) -> Report:
    if not isinstance(plan, NumberPlan):
        advice = "! its rows differ in shape. Make them alike, or give sounds a length"
        return report._replace(usable=False, advice=advice)
    lengths = plan.lengths(ds.rows)
    low, middle, high = np.percentile(lengths, [0, 50, 100]).astype(int)
    edges = choose_edges(lengths, max_buckets=8, waste=0.1)
    bucketed = np.asarray(edges)[np.searchsorted(edges, lengths)].sum()
    padding = ", ".join(
        f"{100 * (1 - lengths.sum() / max(size, 1)):.0f} % {what}"
        for size, what in ((bucketed, "so"), (high * len(lengths), "in one length"))
    )
    option = f"ragged={{{report.name!r}: Buckets({list(edges)})}}, padding {padding}"
    return report._replace(
        lengths=f"{low:,} to {high:,}, median {middle:,}",
        way="copied",
        advice=f'nulls="mask", {option}' if report.masked else option,
        edges=edges,
    )


def _way(ds: Dataset, plan: Plan) -> str:
    if isinstance(plan, ImagePlan | AudioPlan):
        return "decoded"
    ledger = Ledger()
    ledger.column("", plan.batch(ds.rows[: min(_BATCH, len(ds))]))
    return "copied" if ledger.stats().copied else "viewed"


def describe(spec: Any) -> str:
    """Says what a spec is.

    Args:
      spec: tree of `jax.ShapeDtypeStruct`; an axis of length 0 is one of any length.

    Returns:
      Words such as "float32[3, 4]" or "Ragged int32[*]".
    """
    if isinstance(spec, dict):
        inner = ", ".join(f"{name}: {describe(part)}" for name, part in spec.items())
        return f"{{{inner}}}"
    if isinstance(spec, tuple):
        return f"{type(spec).__name__} {describe(spec[0])}"
    axes = ", ".join("*" if n == 0 else str(n) for n in spec.shape)
    return f"{spec.dtype}[{axes}]"


def _short(text: str, most: int = 34) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
