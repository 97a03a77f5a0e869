"""The picture of `bench_loader.py`."""

from pathlib import Path
from typing import Any


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draws the table as bars on a logarithmic axis."""
    import matplotlib as mpl  # noqa: PLC0415  (only plots need it)

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    colours = {"grain": "#9aa5b1", "datasets": "#d9a441", "bare": "#cccccc"}
    colours["arrow-jax"] = "#2f6db3"
    figure, axes = plt.subplots(figsize=(8, 0.9 * len(rows) + 1.2))
    ticks, drawn = [], set()
    for number, row in enumerate(rows):
        best: dict[str, float] = {}
        for name, found in row["rows_per_second"].items():
            peer = name.split(",")[0]
            best[peer] = max(best.get(peer, 0.0), found["best"])
        for place, (peer, rate) in enumerate(best.items()):
            y = number + 0.8 * place / 4
            label = None if peer in drawn else peer
            drawn.add(peer)
            axes.barh(y, rate, height=0.18, color=colours[peer], label=label)
            axes.text(rate * 1.05, y, f"{rate:,.0f}", va="center", fontsize=7)
        ticks.append(number + 0.3)
    axes.set_xscale("log")
    axes.set_yticks(ticks, [row["name"].split(" (")[0] for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("rows a second, shuffled, on the device (log)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    figure.savefig(path, dpi=130)
