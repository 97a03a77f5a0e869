import json
import re
import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from mnist_gan import _classifier, _evaluate, _labelled


@pytest.fixture(scope="module")
def evaluated(finished, tmp_path_factory):
    """A finished run, evaluated: (folder, what it said)."""
    from mnist_gan import _terminal

    folder = shutil.copytree(finished, tmp_path_factory.mktemp("evaluated") / "run")
    found = _evaluate.evaluate(folder, n=300, seed=0, out=_terminal.console())
    return folder, found


def test_the_file_says_what_was_found(evaluated):
    folder, found = evaluated
    content = json.loads((folder / "evaluation.json").read_text())
    assert content["run"] == {"recipe": "fast", "step": 12, "seed": 0}
    assert content["drawn"] == {"n": 300, "seed": 0}
    assert content["classifier_sha256"] == _classifier.load().sha256
    assert content["figures"]["frechet"] == found.samples.frechet
    assert content["reference"] is None  # which is of 10,000 samples


def test_twelve_steps_draw_nothing_like_digits(evaluated):
    _, (samples, floor, _) = evaluated
    assert samples.frechet > 20 * floor.frechet  # of few samples
    assert samples.score < floor.score / 2
    assert samples.class_divergence > 10 * floor.class_divergence
    assert floor.copies == pytest.approx(0.01)
    assert sum(samples.class_shares) == pytest.approx(1, abs=1e-3)


def test_real_digits_are_at_the_floor():
    classifier = _classifier.load()
    images = _labelled.load(None, "test").images
    judged = _classifier.judge(classifier.params, images)
    distance = np.ones(5)
    figures = _evaluate.figures(classifier, judged, distance, distance)
    assert figures.frechet < 10
    assert figures.score > 9.7


def test_the_page_is_a_picture(evaluated, pixels):
    folder, _ = evaluated
    assert pixels(folder / "evaluation.png").shape[:2] == (1040, 1000)


def test_the_command(call, run_folder):
    said = call("evaluate", run_folder, "--n", 200)
    assert said.code == 0, said.err
    assert "real digits" in said.out
    assert "Fréchet distance" in said.out
    assert "its figures are of 10,000 samples; type --n 10000" in said.out
    assert said.out.rstrip().endswith("evaluation.json, evaluation.png")


def test_the_same_seed_finds_the_same(call, run_folder):
    found = []
    for _ in range(2):
        call("evaluate", run_folder, "--n", 200, "--seed", 3)
        found.append((run_folder / "evaluation.json").read_bytes())
    assert found[0] == found[1]


def test_the_readme_has_the_published_figures():
    content = json.loads((resources.files("mnist_gan") / "published.json").read_text())
    assert content["samples"] == _evaluate.PUBLISHED_N
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    for recipe, runs in content["recipes"].items():
        assert [run["seed"] for run in runs] == [0, 1, 2]
        frechet = [run["figures"]["frechet"] for run in runs]
        mean = _evaluate.published(recipe, content["classifier_sha256"], n=10_000)
        row = re.search(
            rf"^\| `{recipe}`.* \| ([\d,]+)( \| \d+){{2}} \| (.*) \|$",
            readme,
            re.MULTILINE,
        )
        assert row[1] == f"{runs[0]['steps']:,}"
        assert row[3].split(" | ") == [
            f"{mean.frechet:.0f} ({min(frechet):.0f} to {max(frechet):.0f})",
            f"{mean.score:.2f}",
            f"{mean.class_divergence:.3f}",
            f"{np.mean([min(run['figures']['class_shares']) for run in runs]):.1%}",
            f"{np.mean([max(run['figures']['class_shares']) for run in runs]):.1%}",
        ]


def test_published_figures_are_means_over_seeds():
    found = _evaluate.published("reference", _classifier.load().sha256, n=10_000)
    assert 100 < found.frechet < 1000
    assert sum(found.class_shares) == pytest.approx(1, abs=1e-3)


def test_figures_of_other_circumstances_are_not_shown_beside():
    ours = _classifier.load().sha256
    assert _evaluate.published("reference", "another", n=10_000) is None
    assert _evaluate.published("reference", ours, n=9_999) is None
    assert _evaluate.published("no such", ours, n=10_000) is None


def test_the_table_shows_the_reference_where_it_compares(evaluated):
    _, found = evaluated
    for reference, shown in ((None, False), (found.floor, True)):
        table = _evaluate.table(found._replace(reference=reference))
        headers = [column.header for column in table.columns]
        assert ("reference" in headers) == shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--n", "10"], "wanted 200 to 100000"),
        (["--n", "x"], "invalid whole number"),
    ],
)
def test_what_cannot_be_done_is_said(call, run_folder, arguments, complaint):
    said = call("evaluate", run_folder, *arguments)
    assert (said.code, complaint in said.err) == (2, True), said.err


def test_no_run(call, tmp_path):
    said = call("evaluate", tmp_path)
    assert said.code == 2
    assert "holds no run" in said.err
