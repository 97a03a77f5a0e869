import pytest

from jraph_kit import GraphsError, OversizeError
from jraph_kit._errors import require


def test_errors_are_value_errors():
    assert issubclass(GraphsError, ValueError)
    assert issubclass(OversizeError, GraphsError)


def test_a_missing_extra_says_what_to_type():
    with pytest.raises(ImportError, match=r"pip install 'jraph-kit\[networkx\]'"):
        require("no_such_module", extra="networkx")
    assert require("math", extra="networkx").pi > 3


def test_the_package_is_named_not_its_part():
    with pytest.raises(ImportError, match=r"^no_such is not installed"):
        require("no_such.figure", extra="picture")
