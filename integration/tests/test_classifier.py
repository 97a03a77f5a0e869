import hashlib
from importlib import resources

import numpy as np
import pytest
from safetensors import safe_open

from mnist_gan import _classifier, _labelled
from mnist_gan._errors import UserError
from mnist_gan._train_classifier import accuracy

# Every published figure is by this file.
SHA256 = "a2f653fc92c8cf3daddc3abc0a02d21b8c1acc924ba555b167fe5ef9e2a2baae"


@pytest.fixture(scope="module")
def shipped_file():
    file = resources.files("mnist_gan") / "classifier/lenet.safetensors"
    with resources.as_file(file) as path:
        yield path


def test_the_shipped_file_is_the_one_that_the_figures_are_by(shipped_file):
    assert hashlib.sha256(shipped_file.read_bytes()).hexdigest() == SHA256
    assert _classifier.load().sha256 == SHA256


def test_it_says_how_it_was_made_and_whose_the_digits_are(shipped_file):
    with safe_open(shipped_file, "np") as file:
        about = file.metadata()
    assert about["accuracy"] == "0.9958 of 10000 test digits"
    assert "CC BY-SA 3.0" in about["data"]


def test_it_is_right_in_99_of_100():
    assert accuracy(_classifier.load().params, _labelled.load(None, "test")) >= 0.99


def test_the_real_digits_in_its_eyes_are_near_to_those_of_the_sample():
    classifier = _classifier.load()
    judged = _classifier.judge(classifier.params, _labelled.load(None, "test").images)
    spread = np.sqrt(np.diag(classifier.real.covariance))
    apart = np.abs(judged.features.mean(0) - classifier.real.mean)
    assert (apart < 0.15 * spread + 1e-6).all()
    assert classifier.shares.sum() == pytest.approx(1, abs=1e-6)


def test_batches_do_not_matter():
    params, images = _classifier.load().params, _labelled.load(None, "test").images
    whole = _classifier.judge(params, images[:600])
    part = _classifier.judge(params, images[550:600])
    np.testing.assert_allclose(whole.log_probs[550:], part.log_probs, atol=1e-4)
    assert whole.features.shape == (600, 84)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"no")
    with pytest.raises(UserError, match="make a classifier with: mnist-gan classifier"):
        _classifier.load(path)
