"""What a classifier's probabilities say of a set of samples."""

import numpy as np


def classifier_score(log_probs: np.ndarray) -> float:
    """How sure the classifier is of each sample, and how varied the classes are.

    exp(mean KL(p(y|x) || p(y))): 1 when all samples look alike to the classifier, the
    number of classes when it is sure of each and the classes are even.

    Args:
      log_probs: float64[n, classes], logarithms of the classifier's probabilities.

    Returns:
      The score.

    Example:
      >>> classifier_score(np.log(np.eye(4).clip(1e-30)))
      4.0

    References:
      Salimans et al., Improved Techniques for Training GANs, 2016, section 4,
      https://arxiv.org/abs/1606.03498 (there with an Inception network).
    """
    probs = np.exp(log_probs)
    overall = np.log(probs.mean(0).clip(1e-300))
    return float(np.exp((probs * (log_probs - overall)).sum(1).mean()))


def class_shares(log_probs: np.ndarray) -> np.ndarray:
    """The share of samples in each class, by the classifier's first choice.

    Args:
      log_probs: float64[n, classes].

    Returns:
      float64[classes], summing to 1.
    """
    n, classes = log_probs.shape
    return np.bincount(log_probs.argmax(1), minlength=classes) / n


def divergence(shares: np.ndarray, real: np.ndarray) -> float:
    """KL(shares || real) of two histograms, in nats.

    It is 0 when the classes are made as often as they occur, and stays finite when
    some are never made.

    Args:
      shares: float64[classes], of the samples.
      real: float64[classes], of real digits; none is 0.

    Returns:
      The divergence.

    Example:
      >>> divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
      0.6931471805599453
    """
    made = shares > 0
    return float((shares[made] * np.log(shares[made] / real[made])).sum())
