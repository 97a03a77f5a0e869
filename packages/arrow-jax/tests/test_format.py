import pytest

from arrow_jax import ArrowJaxError
from arrow_jax._format import make_format


def test_kinds():
    for kind in ("jax", "numpy", "arrow", None):
        assert make_format(kind, None, None, "error", ["a"]).kind == kind
    with pytest.raises(ArrowJaxError, match=r"with_format\('torch'\): wanted \"jax\""):
        make_format("torch", None, None, "error", ["a"])


def test_one_column_may_be_given_by_its_name():
    made = make_format("numpy", "ab", None, "error", ["a", "b", "ab"])
    assert made.columns == ("ab",)


def test_only_jax_narrows():
    assert not make_format("jax", None, None, "error", []).x64
    assert make_format("numpy", None, None, "error", []).x64
