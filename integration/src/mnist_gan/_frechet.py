"""The Fréchet distance between two sets of features, taken as Gaussians."""

from typing import NamedTuple

import numpy as np


class Moments(NamedTuple):
    """A Gaussian.

    Attributes:
      mean: float64[d].
      covariance: float64[d, d].
    """

    mean: np.ndarray
    covariance: np.ndarray


def moments(features: np.ndarray) -> Moments:
    """Fits a Gaussian to features, float64[n, d] with two rows at least."""
    return Moments(features.mean(0), np.cov(features, rowvar=False))


def frechet_distance(a: Moments, b: Moments) -> float:
    r"""The squared 2-Wasserstein distance of two Gaussians.

    $|m_a - m_b|^2 + tr(C_a + C_b - 2 (C_a^{1/2} C_b C_a^{1/2})^{1/2})$, by eigenvalues
    of symmetric matrices, which stay real where covariances are singular. With
    features of an Inception network this is the FID; here they are LeNet's, so figures
    compare only with others of the same network and the same number of samples.

    Args:
      a: one Gaussian.
      b: the other, of the same dimension.

    Returns:
      A number that is 0 for equal Gaussians.

    Example:
      >>> import numpy as np
      >>> unit = Moments(np.zeros(2), np.eye(2))
      >>> frechet_distance(unit, Moments(np.ones(2), 4 * np.eye(2)))
      4.0

    References:
      Dowson and Landau, The Fréchet distance between multivariate normal
      distributions, 1982, https://doi.org/10.1016/0047-259X(82)90077-X; Heusel et al.,
      GANs Trained by a Two Time-Scale Update Rule, 2017, section 3,
      https://arxiv.org/abs/1706.08500
    """
    root = _square_root(a.covariance)
    middle = root @ b.covariance @ root
    eigenvalues = np.linalg.eigvalsh((middle + middle.T) / 2)
    cross = np.sqrt(eigenvalues.clip(0)).sum()
    apart = np.square(a.mean - b.mean).sum()
    spread = np.trace(a.covariance) + np.trace(b.covariance) - 2 * cross
    return float(apart + spread)


def _square_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values.clip(0))) @ vectors.T
