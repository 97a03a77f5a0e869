"""What a run leaves to look at: metrics as a Parquet file, returns as a picture.

Metrics are columns: NumPy arrays by name, with one entry an update. NaN stands for what
is not known, and is null in the file: a return before the first episode has ended, or
the speed of an update that was compiled first.
"""

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rlax_agents._new_file import new_file

Metrics = Mapping[str, np.ndarray]

_NULLABLE = ("episode_return", "steps_per_second")
_INK, _FAINT, _LINE, _GOAL = "#1f2933", "#9aa5b1", "#2563a8", "#c2571a"


class MetricsError(ValueError):
    """A file holds no metrics, or damaged ones."""


def missing_extra(modules: Iterable[str] = ("matplotlib", "pyarrow")) -> str | None:
    """The first of these modules that is not installed, or None."""
    return next((m for m in modules if importlib.util.find_spec(m) is None), None)


def write_metrics(path: Path, metrics: Metrics) -> None:
    """Writes columns to a Parquet file, whole or not at all.

    Args:
      path: of the file.
      metrics: the columns.
    """
    import pyarrow as pa  # noqa: PLC0415 (of the extra)
    import pyarrow.parquet as pq  # noqa: PLC0415

    arrays = {
        name: pa.array(values, from_pandas=name in _NULLABLE)  # NaN to null
        for name, values in metrics.items()
    }
    with new_file(path) as file:
        pq.write_table(pa.table(arrays), file)


def read_metrics(path: Path) -> dict[str, np.ndarray]:
    """Reads what `write_metrics` wrote.

    Raises:
      MetricsError: if the file is damaged or holds something else.
      OSError: if it cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415 (of the extra)
    import pyarrow.parquet as pq  # noqa: PLC0415

    with path.open("rb") as file:
        try:
            table = pq.read_table(file)
        except (pa.ArrowException, OSError) as error:
            raise MetricsError(f"{path}: no Parquet file, or a damaged one") from error
    if table.column_names[:2] != ["step", "episode_return"]:
        raise MetricsError(
            f"{path}: has the columns {table.column_names}, wanted step and "
            f"episode_return first, as train writes them"
        )
    return {name: table[name].to_numpy() for name in table.column_names}


def draw_returns(
    path: Path,
    metrics: Metrics,
    *,
    title: str,
    target: float | None,
    evaluated: float | None = None,
) -> None:
    """Draws the return by steps of the environments, as a PNG.

    Args:
      path: of the picture.
      metrics: columns `step` and `episode_return`.
      title: above it.
      target: where a line is drawn across.
      evaluated: mean return of the evaluation, a dot at the end.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415 (of the extra)
    from matplotlib.patheffects import withStroke  # noqa: PLC0415

    step, returns = metrics["step"], metrics["episode_return"]
    figure = Figure(figsize=(7.2, 4.2), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    halo = [withStroke(linewidth=3, foreground="white")]  # where the curve runs through
    axes.plot(step, returns, color=_LINE, linewidth=1.6, solid_capstyle="round")
    if target is not None:
        axes.axhline(target, color=_GOAL, linewidth=1.1, linestyle=(0, (5, 3)))
        axes.annotate(
            f"target {number(target)}",
            (0.0, target),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 4),
            textcoords="offset points",
            color=_GOAL,
            fontsize=9,
            path_effects=halo,
        )
    if evaluated is not None:
        axes.plot(step[-1:], [evaluated], "o", color=_LINE, markersize=6, clip_on=False)
        axes.annotate(
            f"evaluated\n{number(evaluated)}",
            (step[-1], evaluated),
            xytext=(9, 0),
            textcoords="offset points",
            color=_LINE,
            fontsize=9,
            va="center",
            annotation_clip=False,
        )
    _dress(axes, title, last=int(step[-1]))
    with new_file(path) as file:
        figure.savefig(file, format="png")


def number(value: float) -> str:
    """A return as people read it: three digits or more, no more than two decimals."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _dress(axes: Any, title: str, *, last: int) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator  # noqa: PLC0415

    axes.set_title(title, loc="left", color=_INK, fontsize=12, pad=12)
    axes.set_xlabel("steps of the environments", color=_INK, fontsize=10)
    axes.set_ylabel("return of an episode", color=_INK, fontsize=10)
    axes.set_xlim(0, last)
    axes.margins(y=0.08)
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.grid(axis="y", color=_FAINT, alpha=0.3, linewidth=0.7)
    axes.tick_params(colors=_INK, labelsize=9, length=3, color=_FAINT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_FAINT)
