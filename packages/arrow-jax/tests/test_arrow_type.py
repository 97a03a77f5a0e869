import pyarrow as pa
import pytest

from arrow_jax import Array2D, ArrowJaxError, ClassLabel, Image, List, Value
from arrow_jax._arrow_type import arrow_type


@pytest.mark.parametrize(
    ("feature", "stored"),
    [
        (Value("float16"), pa.float16()),
        (List(Value("int8"), 3), pa.list_(pa.int8(), 3)),
        (Array2D((2, 3), "uint8"), pa.list_(pa.list_(pa.uint8()))),
        (ClassLabel(["a", "b"]), pa.int64()),
        (Image(), pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ({"a": Value("bool")}, pa.struct([("a", pa.bool_())])),
    ],
)
def test_every_feature_has_its_type(feature, stored):
    assert arrow_type(feature) == stored


def test_a_name_that_arrow_does_not_know_is_refused_by_name():
    with pytest.raises(ArrowJaxError, match=r"Value\('int33'\): Arrow has no type"):
        arrow_type(Value("int33"))


def test_what_is_no_feature_is_refused():
    with pytest.raises(ArrowJaxError, match="'int32' is no feature: use Value"):
        arrow_type("int32")
