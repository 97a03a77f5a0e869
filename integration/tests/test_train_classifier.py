import jax
import numpy as np
import pyarrow.parquet as pq
import pytest

from mnist_gan import _classifier, _labelled, _train_classifier


@pytest.fixture
def folder(shipped, tmp_path):
    pq.write_table(shipped.slice(0, 1280), tmp_path / "train.parquet")
    pq.write_table(shipped.slice(2000, 500), tmp_path / "test.parquet")
    return tmp_path


def test_it_learns_and_leaves_what_evaluate_reads(call, folder):
    out = folder / "new" / "lenet.safetensors"
    said = call("classifier", "--data", folder, "--epochs", 3, "--out", out)
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == str(out)
    assert "epoch 3 of 3" in said.out
    classifier = _classifier.load(out)
    test = _labelled.load(folder, "test")
    assert _train_classifier.accuracy(classifier.params, test) > 0.7
    judged = _classifier.judge(classifier.params, test.images)
    np.testing.assert_allclose(
        judged.features.mean(0), classifier.real.mean, rtol=1e-4, atol=1e-5
    )


def test_shifts_move_whole_images_by_two_pixels_at_most():
    images = np.zeros((64, 28, 28), np.uint8)
    images[:, 14, 14] = np.arange(1, 65)
    shifted = np.asarray(_train_classifier._shift(jax.random.key(0), images))
    where = np.argwhere(shifted)
    assert len(where) == 64
    assert shifted[tuple(where.T)].tolist() == list(range(1, 65))
    moved = where[:, 1:] - 14
    assert set(moved.ravel()) == {-2, -1, 0, 1, 2}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "a.pt"], "wanted the name of a file.safetensors"),
        (["--data", "none", "--out", "a.safetensors"], "none: is no folder"),
        (["--epochs", "0", "--out", "a.safetensors"], "wanted 1 to 1000"),
    ],
)
def test_what_cannot_be_done_is_said(call, arguments, complaint):
    said = call("classifier", *arguments)
    assert (said.code, complaint in said.err) == (2, True), said.err


def test_too_few_digits(call, shipped, folder):
    pq.write_table(shipped.slice(0, 20), folder / "train.parquet")
    said = call("classifier", "--data", folder, "--out", folder / "a.safetensors")
    assert said.code == 2
    assert "20 training digits, wanted 128 at least" in said.err
