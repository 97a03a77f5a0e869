import pytest

import arrow_jax
from arrow_jax import ArrowJaxError

NAMES = [n for n in arrow_jax.__all__ if n.endswith("Error") and n != "ArrowJaxError"]


@pytest.mark.parametrize("name", NAMES)
def test_one_except_catches_all(name):
    assert issubclass(getattr(arrow_jax, name), ArrowJaxError)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_also_the_builtin_that_fits(name):
    fits = {"UnsupportedTypeError": TypeError}.get(name, ValueError)
    assert issubclass(getattr(arrow_jax, name), fits)
    assert issubclass(arrow_jax.NarrowingError, OverflowError)
    assert not issubclass(arrow_jax.UnsupportedTypeError, ValueError)
