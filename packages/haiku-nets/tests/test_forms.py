"""The forms against the definition, by loops over positions and taps."""

import jax
import numpy as np
import pytest

from haiku_nets._forms import (
    Window,
    correlate_form,
    dilated_spread_form,
    overlap_form,
    spread_form,
    untransposed_overlap_form,
)

_WINDOWS = [
    Window((6, 5), (k, k + 1), (s, 2), (low, low + 1), (positions, 3))
    for k, s, low, positions in [
        (3, 1, 1, 6),
        (1, 2, 0, 3),
        (4, 3, 5, 4),
        (2, 1, -1, 4),
        (3, 2, 0, 1),
        (1, 4, 2, 2),
    ]
]


def _pairs(window):
    """Where row and column of x, tap of w and position of y meet."""
    for o, p in np.ndindex(*window.positions):
        for t, u in np.ndindex(*window.kernel):
            i = window.stride[0] * o + t - window.low[0]
            j = window.stride[1] * p + u - window.low[1]
            if 0 <= i < window.image[0] and 0 <= j < window.image[1]:
                yield (i, j), (t, u), (o, p)


@pytest.fixture
def operands(window):
    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], (2, *window.image, 2))
    w = jax.random.normal(keys[1], (*window.kernel, 2, 3))
    return x, w, jax.random.normal(keys[2], (2, *window.positions, 3))


@pytest.mark.parametrize("window", _WINDOWS)
def test_correlate_is_what_its_definition_says(window, operands):
    x, w, y = map(np.asarray, operands)
    wanted = np.zeros_like(y)
    for (i, j), tap, (o, p) in _pairs(window):
        wanted[:, o, p] += x[:, i, j] @ w[tap]
    np.testing.assert_allclose(correlate_form(x, w, window), wanted, atol=1e-5)


@pytest.mark.parametrize("form", [spread_form, dilated_spread_form])
@pytest.mark.parametrize("window", _WINDOWS)
def test_spread_is_what_its_definition_says(window, operands, form):
    x, w, y = map(np.asarray, operands)
    wanted = np.zeros_like(x)
    for (i, j), tap, (o, p) in _pairs(window):
        wanted[:, i, j] += y[:, o, p] @ w[tap].T
    found = form(*map(jax.numpy.asarray, (y, w)), window)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("form", [overlap_form, untransposed_overlap_form])
@pytest.mark.parametrize("window", _WINDOWS)
def test_overlap_is_what_its_definition_says(window, operands, form):
    x, w, y = map(np.asarray, operands)
    wanted = np.zeros_like(w)
    for (i, j), tap, (o, p) in _pairs(window):
        wanted[tap] += x[:, i, j].T @ y[:, o, p]
    found = form(*map(jax.numpy.asarray, (x, y)), window)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
