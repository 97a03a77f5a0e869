"""Judging a trained run: figures beside their floor and the reference's, and a page."""

import dataclasses
import json
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from mnist_gan import _classifier, _digits, _evaluation_page, _game, _labelled
from mnist_gan._checkpoints import load_last
from mnist_gan._files import write_whole
from mnist_gan._frechet import frechet_distance, moments
from mnist_gan._neighbours import nearest, share_of_copies
from mnist_gan._private import KEEP
from mnist_gan._recipes import find_recipe
from mnist_gan._run import RunFolder
from mnist_gan._sample import draw
from mnist_gan._scores import class_shares, classifier_score, divergence

PUBLISHED_N = 10_000  # samples of the published figures
_NEIGHBOURS = 1_000  # samples whose nearest digits are looked for


@dataclasses.dataclass(frozen=True)
class Figures:
    """What is measured of a set of digits.

    Attributes:
      frechet: distance to the test digits in the classifier's features; less is better.
      score: the classifier score, 1 to 10; more is better.
      class_divergence: KL of the classes made to the classes of the test digits, nats.
      class_shares: the share of each class, 0 to 9.
      copies: share nearer to a learned digit than 99 in 100 new ones are.
      nearest: median distance to the nearest learned digit, in grey levels.
    """

    frechet: float
    score: float
    class_divergence: float
    class_shares: list[float]
    copies: float
    nearest: float


class Evaluation(NamedTuple):
    """The outcome.

    Attributes:
      samples: of the run.
      floor: of real digits, which no run should be expected to pass.
      reference: the published run of the recipe `reference`; None if it was judged by
        another classifier, or by another number of samples.
    """

    samples: Figures
    floor: Figures
    reference: Figures | None


def evaluate(run: Path | str, *, n: int, seed: int, out: Console) -> Evaluation:
    """Draws samples from a run's last checkpoint and judges them.

    Writes `evaluation.json` and `evaluation.png` into the run's folder.

    Args:
      run: the run's folder, or address.
      n: how many samples; figures compare only at equal numbers.
      seed: of the latents.
      out: where to report.

    Returns:
      The figures.

    Raises:
      UserError: if there is no such run, or it has no checkpoint yet, or its digits
        are no longer there.
    """
    folder = RunFolder(run)
    folder.pull()
    config = folder.load()
    recipe = find_recipe(config.recipe)
    like = jax.eval_shape(lambda: _game.init(recipe, config.seed))
    state = load_last(run, folder.checkpoints, like)
    classifier = _classifier.load()
    learned = _digits.load(config.address).dataset.with_format("numpy")[:]["image"]

    out.print(f"drawing {n:,} digits from step {int(state.step):,}")
    samples = draw(recipe, state.average, seed=seed, n=n)
    out.print("judging them, and as many real ones")
    new = _labelled.load(None, "test").images[:_NEIGHBOURS]
    real_near = nearest(new, learned)
    near = nearest(samples[:_NEIGHBOURS], learned)
    judged = _classifier.judge(classifier.params, samples)
    real = _classifier.judge(
        classifier.params, _labelled.load(None, "train").images[:n]
    )
    evaluation = Evaluation(
        figures(classifier, judged, near.distance, real_near.distance),
        figures(classifier, real, real_near.distance, real_near.distance),
        published("reference", classifier.sha256, n=n),
    )
    content = {
        "run": {"recipe": config.recipe, "step": int(state.step), "seed": config.seed},
        "drawn": {"n": n, "seed": seed},
        "classifier_sha256": classifier.sha256,
        "figures": dataclasses.asdict(evaluation.samples),
        "floor": dataclasses.asdict(evaluation.floor),
        "reference": evaluation.reference and dataclasses.asdict(evaluation.reference),
    }
    text = json.dumps(content, indent=2) + "\n"
    write_whole(folder.evaluation, lambda file: file.write(text.encode()))
    latents = _evaluation_page.interpolation(recipe.latents, seed=seed)
    between = np.asarray(
        jax.jit(_game.render, static_argnums=0)(recipe, state.average, latents)
    )
    _evaluation_page.save(
        folder.evaluation_page,
        samples=samples,
        classes=judged.log_probs.argmax(1),
        between=between,
        near=near,
        learned=learned,
    )
    folder.push(folder.evaluation, folder.evaluation_page)
    out.print(table(evaluation))
    if n != PUBLISHED_N:
        out.print(
            f"the reference is not beside it, since its figures are of {PUBLISHED_N:,} "
            f"samples; type --n {PUBLISHED_N}"
        )
    if recipe.privacy:
        out.print(KEEP)
    return evaluation


def figures(
    classifier: _classifier.Classifier,
    judged: _classifier.Opinions,
    distance: np.ndarray,
    real_distance: np.ndarray,
) -> Figures:
    """Measures a set of digits.

    Args:
      classifier: the judge.
      judged: what it makes of them.
      distance: float64[n], from some of them to the nearest learned digits.
      real_distance: float64[m], the same of real digits that were not learned from.

    Returns:
      The figures.
    """
    shares = class_shares(judged.log_probs)
    return Figures(
        frechet=frechet_distance(moments(judged.features), classifier.real),
        score=classifier_score(judged.log_probs),
        class_divergence=divergence(shares, classifier.shares),
        class_shares=[round(float(share), 4) for share in shares],
        copies=share_of_copies(distance, real_distance),
        nearest=float(np.median(distance)),
    )


def published(recipe: str, classifier_sha256: str, *, n: int) -> Figures | None:
    """Looks up the published figures of a recipe, means over its seeds.

    Args:
      recipe: its name.
      classifier_sha256: of the classifier that judges.
      n: how many samples it judges.

    Returns:
      The figures; None if there are none by this classifier at this number.
    """
    file = resources.files("mnist_gan") / "published.json"
    content = json.loads(file.read_text())
    runs = content["recipes"].get(recipe, [])
    judged = content["classifier_sha256"], content["samples"]
    if judged != (classifier_sha256, n) or not runs:
        return None
    figures = [run["figures"] for run in runs]
    means = {
        field.name: np.mean([f[field.name] for f in figures], 0).tolist()
        for field in dataclasses.fields(Figures)
    }
    return Figures(**means)


def table(evaluation: Evaluation) -> Table:
    """Tabulates figures for a terminal."""
    shown = Table("", box=None, header_style="bold", pad_edge=False)
    columns = {
        "this run": evaluation.samples,
        "real digits": evaluation.floor,
        "reference": evaluation.reference,
    }
    columns = {name: found for name, found in columns.items() if found}
    for name in columns:
        shown.add_column(name, justify="right")
    rows = {
        "Fréchet distance": lambda f: f"{f.frechet:.1f}",
        "classifier score": lambda f: f"{f.score:.2f}",
        "KL of the classes": lambda f: f"{f.class_divergence:.3f}",
        "rarest class": lambda f: f"{min(f.class_shares):.1%}",
        "commonest class": lambda f: f"{max(f.class_shares):.1%}",
        "as near as a copy": lambda f: f"{f.copies:.1%}",
        "median distance to a learned digit": lambda f: f"{f.nearest:.1f}",
    }
    for name, spell in rows.items():
        shown.add_row(name, *(spell(found) for found in columns.values()))
    return shown
