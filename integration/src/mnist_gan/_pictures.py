"""Pictures: a grid of digits, and the two losses."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from mnist_gan._files import write_whole
from optax_chains import Players

_GAP = 2
_ZOOM = 2


def grid(images: np.ndarray) -> np.ndarray:
    """Lays images out in a near-square grid.

    Args:
      images: uint8[n, h, w].

    Returns:
      uint8[rows * (h + gap) + gap, columns * (w + gap) + gap], black in between.
    """
    n, h, w = images.shape
    columns = math.ceil(math.sqrt(n))
    rows = math.ceil(n / columns)
    cells = np.zeros((rows * columns, h + _GAP, w + _GAP), np.uint8)
    cells[:n, _GAP:, _GAP:] = images
    cells = cells.reshape(rows, columns, h + _GAP, w + _GAP).swapaxes(1, 2)
    sheet = cells.reshape(rows * (h + _GAP), columns * (w + _GAP))
    return np.pad(sheet, ((0, _GAP), (0, _GAP)))


def save_samples(path: Path, images: np.ndarray) -> None:
    """Draws digits on a sheet, twice their size.

    Args:
      path: the PNG file.
      images: uint8[n, h, w].
    """
    sheet = grid(images).repeat(_ZOOM, 0).repeat(_ZOOM, 1)
    write_whole(path, lambda file: Image.fromarray(sheet).save(file, "PNG"))


def save_losses(
    path: Path, step: np.ndarray, losses: Players, equilibrium: Players
) -> None:
    """Plots both losses by step, with their values at equilibrium.

    Args:
      path: the PNG file.
      step: int[n].
      losses: float[n] a player.
      equilibrium: a float a player.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  (a second to import)

    figure = Figure(figsize=(8, 5), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    names = Players(gen="generator", disc="discriminator")
    for panel, player in zip(panels, ("disc", "gen"), strict=True):
        values, level = getattr(losses, player), getattr(equilibrium, player)
        panel.plot(step, values, color="0.75", linewidth=0.8)
        panel.plot(*_smooth(step, values), color="C0", linewidth=1.8)
        panel.axhline(level, color="C3", linestyle="--", linewidth=1)
        panel.annotate(
            f"equilibrium {level:.3f}",
            (1, level),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 4),
            textcoords="offset points",
            color="C3",
            ha="right",
        )
        panel.set_ylabel(f"{getattr(names, player)} loss")
        panel.grid(visible=True, alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("step")
    write_whole(path, lambda file: figure.savefig(file, format="png", dpi=110))


def _smooth(step: np.ndarray, values: np.ndarray) -> tuple[Any, Any]:
    """Means over a fiftieth of the run, each drawn at the middle of its window."""
    window = max(1, len(values) // 50)
    kernel = np.full(window, 1 / window)
    middle = (window - 1) // 2
    smooth = np.convolve(values, kernel, "valid")
    return step[middle : middle + len(smooth)], smooth
