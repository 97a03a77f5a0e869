import math

import numpy as np
import pytest

from mnist_gan._scores import class_shares, classifier_score, divergence


def test_the_score_is_one_when_nothing_is_told_apart():
    assert classifier_score(np.log(np.full((7, 10), 0.1))) == pytest.approx(1)
    one_class = np.log(np.array([[0.98, 0.01, 0.01]] * 4))
    assert classifier_score(one_class) == pytest.approx(1)


def test_the_score_is_that_of_a_loop():
    probs = np.random.default_rng(0).dirichlet(np.ones(4), 6)
    overall = probs.mean(0)
    total = 0.0
    for row in probs:
        total += sum(p * math.log(p / q) for p, q in zip(row, overall, strict=True))
    wanted = math.exp(total / len(probs))
    assert classifier_score(np.log(probs)) == pytest.approx(wanted)


def test_shares_count_first_choices_and_classes_that_are_never_made():
    log_probs = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.8, 0.1, 0.1]]))
    assert class_shares(log_probs).tolist() == [2 / 3, 0, 1 / 3]


def test_divergence_of_equal_histograms_is_zero_and_of_others_positive():
    p, q = np.array([0.2, 0.8]), np.array([0.5, 0.5])
    assert divergence(p, p) == 0
    wanted = 0.2 * math.log(0.4) + 0.8 * math.log(1.6)
    assert divergence(p, q) == pytest.approx(wanted)
