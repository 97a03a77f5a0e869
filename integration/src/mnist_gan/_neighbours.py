"""Whether samples are copies: how near each is to the digits that were learned from."""

from typing import NamedTuple

import numpy as np

_BLOCK = 250


class Nearest(NamedTuple):
    """The nearest digit of each sample.

    Attributes:
      index: int64[n], its row.
      distance: float64[n], root mean square difference of the pixels, 0 to 255.
    """

    index: np.ndarray
    distance: np.ndarray


def nearest(samples: np.ndarray, digits: np.ndarray) -> Nearest:
    """Finds the digit nearest to each sample, by pixels.

    Args:
      samples: uint8[n, 28, 28].
      digits: uint8[m, 28, 28], m at least 1.

    Returns:
      Rows and distances; of equal ones the first.
    """
    flat = digits.reshape(len(digits), -1).astype(np.float32)
    squares = np.square(flat).sum(1)
    found = []
    for start in range(0, len(samples), _BLOCK):
        block = samples[start : start + _BLOCK].reshape(-1, flat.shape[1])
        block = block.astype(np.float32)
        # |a - b|^2 without |a|^2, which is the same for all digits.
        found.append(np.argmin(squares - 2 * block @ flat.T, 1))
    index = np.concatenate(found)
    apart = samples.astype(np.float64) - digits[index]
    return Nearest(index, np.sqrt(np.square(apart).mean((1, 2))))


def share_of_copies(distance: np.ndarray, real: np.ndarray) -> float:
    """The share of samples nearer to a learned digit than 99 in 100 real ones are.

    Args:
      distance: float64[n], of samples to the digits that were learned from.
      real: float64[m], of digits that were not learned from.

    Returns:
      About 0.01 for samples that are as new as new digits, 1 for copies.
    """
    return float(np.mean(distance < np.quantile(real, 0.01)))
