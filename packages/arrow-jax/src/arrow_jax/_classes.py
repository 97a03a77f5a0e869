"""Class labels made of the values of a column."""

import pyarrow as pa

from arrow_jax._errors import ArrowJaxError
from arrow_jax._features import ClassLabel
from arrow_jax._plain import plain, plain_type


def encode_classes(
    name: str, values: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, ClassLabel]:
    """Numbers the values of a column in their order.

    Args:
      name: the column's, for errors.
      values: strings, integers or booleans.

    Returns:
      int64 codes, null where the value is; and the label with the names.

    Raises:
      ArrowJaxError: for values of another type.
    """
    import pyarrow.compute as pc  # noqa: PLC0415  (it takes long, and few need it)

    type_ = values.type
    types = pa.types
    kinds = (types.is_integer, types.is_boolean, types.is_string, types.is_large_string)
    values = pa.chunked_array([plain(c) for c in values.chunks], plain_type(type_))
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not any(is_kind(values.type) for is_kind in kinds):
        raise ArrowJaxError(
            f"class_encode_column: column {name!r} has type {type_}, wanted strings, "
            "integers or booleans"
        )
    known = sorted(v for v in values.unique().to_pylist() if v is not None)
    codes = pc.call_function(
        "index_in", [values], pc.SetLookupOptions(pa.array(known, values.type))
    )
    return codes.cast(pa.int64()), ClassLabel([str(v) for v in known])
