"""One picture of what a run draws: a sheet, by class, in between, beside the real."""

from pathlib import Path

import numpy as np

from mnist_gan._files import write_whole
from mnist_gan._neighbours import Nearest
from mnist_gan._pictures import grid

_CLASSES = 10
_EACH = 10
_ROWS = 10
_SHEET = 100


def interpolation(latents: int, *, seed: int) -> np.ndarray:
    """Latents on arcs between pairs of random ones, ten an arc.

    An arc keeps the length that the generator knows; a straight line would pass nearer
    to the origin than any latent that it has seen.

    Args:
      latents: their length.
      seed: of the ends.

    Returns:
      float32[100, latents], arc by arc.
    """
    random = np.random.default_rng(seed)
    start, end = random.normal(size=(2, _ROWS, 1, latents))
    length = [np.linalg.norm(x, axis=-1, keepdims=True) for x in (start, end)]
    cosine = (start * end).sum(-1, keepdims=True) / (length[0] * length[1])
    angle = np.arccos(cosine.clip(-1, 1))
    t = np.linspace(0, 1, _EACH)[None, :, None]
    arc = (np.sin((1 - t) * angle) * start + np.sin(t * angle) * end) / np.sin(angle)
    return np.asarray(arc.reshape(-1, latents), np.float32)


def by_class(samples: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The first ten samples of each class, a row a class; black where there are fewer.

    Args:
      samples: uint8[n, h, w].
      classes: int[n], 0 to 9.

    Returns:
      uint8[100, h, w].
    """
    rows = np.zeros((_CLASSES, _EACH, *samples.shape[1:]), np.uint8)
    for row in range(_CLASSES):
        found = samples[classes == row][:_EACH]
        rows[row, : len(found)] = found
    return rows.reshape(-1, *samples.shape[1:])


def beside_nearest(
    samples: np.ndarray, near: Nearest, learned: np.ndarray
) -> np.ndarray:
    """The samples nearest to a learned digit, in rows above rows of those digits.

    Args:
      samples: uint8[n, h, w].
      near: of the first samples.
      learned: uint8[m, h, w].

    Returns:
      uint8[100, h, w]; black where there are fewer.
    """
    first = np.argsort(near.distance, kind="stable")[: _SHEET // 2]
    pairs = np.zeros((2, _SHEET // 2, *samples.shape[1:]), np.uint8)
    pairs[0, : len(first)] = samples[first]
    pairs[1, : len(first)] = learned[near.index[first]]
    rows = pairs.reshape(2, -1, _EACH, *samples.shape[1:]).swapaxes(0, 1)
    return rows.reshape(-1, *samples.shape[1:])


def save(
    path: Path,
    *,
    samples: np.ndarray,
    classes: np.ndarray,
    between: np.ndarray,
    near: Nearest,
    learned: np.ndarray,
) -> None:
    """Draws the page.

    Args:
      path: the PNG file.
      samples: uint8[n, 28, 28].
      classes: int[n], what the classifier takes them for.
      between: uint8[100, 28, 28], made from `interpolation`.
      near: the learned digits nearest to the first samples.
      learned: uint8[m, 28, 28].
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  (a second to import)

    blank = np.zeros((_SHEET, *samples.shape[1:]), np.uint8)
    blank[: len(samples)] = samples[:_SHEET]
    panels = {
        "the first hundred": blank,
        "the first ten of each class": by_class(samples, classes),
        "from one latent to another, a row each": between,
        "nearest to a learned digit: sample above digit": beside_nearest(
            samples, near, learned
        ),
    }
    figure = Figure(figsize=(10, 10.4), layout="constrained", facecolor="white")
    for axes, (title, images) in zip(
        figure.subplots(2, 2).flat, panels.items(), strict=True
    ):
        axes.imshow(grid(images), cmap="gray", vmin=0, vmax=255)
        axes.set_title(title, fontsize=11)
        axes.set_axis_off()
    write_whole(path, lambda file: figure.savefig(file, format="png", dpi=100))
