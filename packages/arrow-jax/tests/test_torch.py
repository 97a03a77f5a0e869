import numpy as np
import pytest

from arrow_jax import ArrowJaxError, Dataset, collate


def test_rows_are_given_at_once():
    ds = Dataset.from_dict({"x": np.arange(5)}).with_format("numpy")
    assert ds.__getitems__([3, 0])["x"].tolist() == [3, 0]


def test_what_is_no_number_stays():
    assert collate({"s": ["a", b"b"], "d": {"n": None}}) == {
        "s": ["a", b"b"],
        "d": {"n": None},
    }


def test_a_list_of_rows_is_refused():
    with pytest.raises(ArrowJaxError, match="got a list, wanted a dict of columns"):
        collate([{"x": 1}])
