"""`mnist-gan inspect`: the findings of `_inspect` as a table and a picture."""

from pathlib import Path

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from mnist_gan import _digits, _game
from mnist_gan._checkpoints import load_last
from mnist_gan._files import write_whole
from mnist_gan._inspect import Derivatives, Findings, inspect
from mnist_gan._private import KEEP
from mnist_gan._recipes import find_recipe
from mnist_gan._run import RunFolder

_BESIDE = 63  # latents that each is drawn beside, as in a sheet of 64


def inspect_run(run: Path | str, *, n: int, seed: int, out: Console) -> Findings:
    """Looks at a run's last checkpoint by derivatives.

    Writes `inspection.png` into the run's folder.

    Args:
      run: the run's folder, or address.
      n: how many made digits, and how many real ones.
      seed: of the latents.
      out: where to report.

    Returns:
      The findings.

    Raises:
      UserError: if there is no such run, or it has no checkpoint yet.
    """
    folder = RunFolder(run)
    folder.pull()
    config = folder.load()
    recipe = find_recipe(config.recipe)
    like = jax.eval_shape(lambda: _game.init(recipe, config.seed))
    state = load_last(run, folder.checkpoints, like)
    latents_key, others_key = jax.random.split(jax.random.key(seed))
    others = jax.random.normal(others_key, (_BESIDE, recipe.latents))
    latents = jax.random.normal(latents_key, (n, recipe.latents))
    digits = _digits.load(config.address).dataset.with_format("numpy")[:n]["image"]
    real = _game.scale(digits)[..., 0]
    out.print(f"differentiating at {n} made and {n} real digits of step {state.step}")
    derivatives = Derivatives(recipe, state.average, state.params.disc, others)
    findings = inspect(derivatives, latents, real)
    out.print(table(findings))
    if recipe.privacy:
        out.print(KEEP)
    draw(folder.inspection_page, findings)
    folder.push(folder.inspection_page)
    return findings


def table(findings: Findings) -> Table:
    """Tabulates findings for a terminal: medians and ranges over the digits."""
    shown = Table("", box=None, header_style="bold", pad_edge=False)
    for name in ("least", "median", "most"):
        shown.add_column(name, justify="right")
    rows = {
        "curvature of D(G(z)): largest": findings.hessian_eigenvalues[:, 0],
        "curvature of D(G(z)): smallest": findings.hessian_eigenvalues[:, -1],
        "generator's singular values: first": findings.singular_values[:, 0],
        "generator's singular values: last": findings.singular_values[:, -1],
        "slope of D by the pixels, norm": np.linalg.norm(
            findings.saliency.reshape(len(findings.saliency), -1), axis=1
        ),
        "gradient of D's loss at a digit, norm": findings.gradient_norms,
    }
    for name, values in rows.items():
        three = (values.min(), np.median(values), values.max())
        shown.add_row(name, *(f"{value:.3g}" for value in three))
    return shown


def draw(path: Path, findings: Findings) -> None:
    """Draws the findings.

    Args:
      path: the PNG file.
      findings: what to draw.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  (a second to import)

    shown = min(8, len(findings.made))
    figure = Figure(figsize=(11, 8), layout="constrained", facecolor="white")
    upper, lower = figure.subfigures(2, 1, height_ratios=[3, 2], squeeze=False).flat
    titles = ["made", "direction 1", "direction 2", "direction 3", "real", "slope of D"]
    axes = upper.subplots(len(titles), shown, squeeze=False)
    for column in range(shown):
        pictures = [findings.made[column], *findings.directions[column]]
        pictures += [findings.real[column], findings.saliency[column]]
        for row, picture in enumerate(pictures):
            signed = titles[row].startswith(("direction", "slope"))
            limit = np.abs(picture).max() if signed else 1
            axes[row][column].imshow(
                picture, cmap="RdBu" if signed else "gray", vmin=-limit, vmax=limit
            )
            axes[row][column].set(xticks=[], yticks=[])
    for row, title in enumerate(titles):
        axes[row][0].set_ylabel(title, rotation=0, ha="right", va="center")
    left, middle, right = lower.subplots(1, 3)
    left.plot(findings.singular_values.T, color="C0", alpha=0.3)
    left.set(yscale="log", title="generator's singular values", xlabel="direction")
    middle.plot(findings.hessian_eigenvalues.T, color="C0", alpha=0.3)
    middle.axhline(0, color="0.5", linewidth=0.8)
    middle.set(title="curvature of D(G(z))", xlabel="eigenvalue")
    right.hist(findings.gradient_norms, bins=20, color="C0")
    right.set(title="norm of D's gradient at a real digit", ylabel="digits")
    write_whole(path, lambda file: figure.savefig(file, format="png", dpi=100))
