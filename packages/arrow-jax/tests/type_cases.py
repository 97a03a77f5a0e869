"""One case for every Arrow type: what the laws and the table in the docs run over."""

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

NOON = dt.datetime(2024, 2, 29, 12, 30, 15)  # noqa: DTZ001  (a column without a zone)
ZONED = NOON.replace(tzinfo=dt.UTC)


class Case(NamedTuple):
    """A type and four values of it, none of them null."""

    type: pa.DataType
    values: list[Any]
    metadata: dict[str, str] | None = None

    def array(self, values: list[Any] | None = None) -> pa.Array:
        """Makes an array of the type; a value may be None."""
        return build(self.type, self.values if values is None else values)


def build(type_: pa.DataType, values: list[Any]) -> pa.Array:
    """Makes an array of any type, also where `pa.array` can't."""
    if isinstance(type_, pa.BaseExtensionType):
        storage = build(type_.storage_type, values)
        return pa.ExtensionArray.from_storage(type_, storage)
    if pa.types.is_run_end_encoded(type_):
        starts = [
            i for i, v in enumerate(values) if i == 0 or v is None or v != values[i - 1]
        ]
        ends = [*starts[1:], len(values)] if values else []
        runs = build(type_.value_type, [values[i] for i in starts])
        ends = pa.array(ends, type_.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(ends, runs, type=type_)
    if pa.types.is_union(type_):
        kinds = pa.array([0] * len(values), pa.int8())
        children = [build(field.type, values) for field in type_]
        return pa.UnionArray.from_sparse(kinds, children, [f.name for f in type_])
    if pa.types.is_float16(type_):
        values = [v if v is None else np.float16(v) for v in values]
    return pa.array(values, type_)


def _decimals(width: str) -> Case | None:
    make = getattr(pa, width, None)
    values = [Decimal(v) for v in ("1.50", "-2.25", "0.00", "7.75")]
    return make and Case(make(5, 2), values)


_INTS = [1, 0, 3, 127]
_FLOATS = [0.5, -1.0, 0.0, 2.0]
_TEXT = ["a\0", "", "naïve", "longer than a view holds inside"]
_BYTES = [v.encode() for v in _TEXT]
_EVEN = [[1, 2], [3, 4], [5, 6], [7, 8]]
_UNEVEN = [[1, 2], [], [3], [4, 5, 6]]
_DAY = dt.timedelta(days=1, seconds=5)
_PAIRS = [[(1, 0.5)], [], [(2, 1.0), (3, 1.5)], [(4, 2.0)]]
_SHAPES = [(1, 2), (2, 2), (3, 1), (2, 2)]
_STRUCT = pa.struct({"x": pa.int32(), "name": pa.string()})
_ROWS = [{"x": i, "name": n} for i, n in zip(_INTS, "abcd", strict=True)]

_CASES = {
    **{
        f"{s}int{n}": Case(getattr(pa, f"{s}int{n}")(), _INTS)
        for s in ("", "u")
        for n in (8, 16, 32, 64)
    },
    **{f"float{n}": Case(getattr(pa, f"float{n}")(), _FLOATS) for n in (16, 32, 64)},
    "bool": Case(pa.bool_(), [True, False, False, True]),
    "null": Case(pa.null(), [None] * 4),
    **{f"decimal{n}": _decimals(f"decimal{n}") for n in (32, 64, 128, 256)},
    "date32": Case(pa.date32(), [NOON.date()] * 4),
    "date64": Case(pa.date64(), [dt.date(1970, 1, n) for n in (1, 2, 3, 4)]),
    "time32[s]": Case(pa.time32("s"), [NOON.time()] * 4),
    "time64[us]": Case(pa.time64("us"), [dt.time(0, 0, n) for n in range(4)]),
    "timestamp[s]": Case(pa.timestamp("s"), [NOON] * 4),
    "timestamp[us, UTC]": Case(pa.timestamp("us", "UTC"), [ZONED] * 4),
    "duration[ms]": Case(pa.duration("ms"), [_DAY] * 4),
    "month_day_nano_interval": Case(pa.month_day_nano_interval(), [(1, 2, 3)] * 4),
    **{f"{n}string": Case(getattr(pa, f"{n}string")(), _TEXT) for n in ("", "large_")},
    "string_view": Case(pa.string_view(), _TEXT),
    **{f"{n}binary": Case(getattr(pa, f"{n}binary")(), _BYTES) for n in ("", "large_")},
    "binary_view": Case(pa.binary_view(), _BYTES),
    "fixed_size_binary[4]": Case(
        pa.binary(4), [b"\1\0\0\0", b"\0" * 4, b"abcd", b"\0xyz"]
    ),
    "dictionary<string>": Case(
        pa.dictionary(pa.int8(), pa.string()), ["a", "b", "a", "c"]
    ),
    "run_end_encoded<float32>": Case(
        pa.run_end_encoded(pa.int32(), pa.float32()), [0.5, 0.5, 2.0, 2.0]
    ),
    "run_end_encoded<string>": Case(
        pa.run_end_encoded(pa.int16(), pa.string()), ["a", "a", "a\0", "b"]
    ),
    "list<int32>, of one length": Case(pa.list_(pa.int32()), _EVEN),
    "list<int32>": Case(pa.list_(pa.int32()), _UNEVEN),
    "large_list<int32>": Case(pa.large_list(pa.int32()), _UNEVEN),
    "list_view<int32>": Case(pa.list_view(pa.int32()), _UNEVEN),
    "large_list_view<int32>": Case(pa.large_list_view(pa.int32()), _UNEVEN),
    "fixed_size_list<int32>[2]": Case(pa.list_(pa.int32(), 2), _EVEN),
    "list<fixed_size_list<float32>[2]>": Case(
        pa.list_(pa.list_(pa.float32(), 2)),
        [[[0.5, 1.0]], [], [[2.0, 3.0]] * 2, [[0.0, 0.0]]],
    ),
    "list<list<int8>>": Case(
        pa.list_(pa.list_(pa.int8())), [[[1], [2, 3]], [], [[]], [[4]]]
    ),
    "list<string>": Case(pa.list_(pa.string()), [["a"], [], ["b\0", "c"], [""]]),
    "list<string_view>": Case(
        pa.list_(pa.string_view()), [["a"], [], ["b\0", "c"], [""]]
    ),
    "struct<int32, string>": Case(_STRUCT, _ROWS),
    "list<struct<int32, string>>": Case(
        pa.list_(_STRUCT), [_ROWS[:2], [], _ROWS[2:3], _ROWS[3:]]
    ),
    "map<int32, float32>": Case(pa.map_(pa.int32(), pa.float32()), _PAIRS),
    "map<string, int8>": Case(
        pa.map_(pa.string(), pa.int8()),
        [[("a", 1)], [], [("b", 2), ("c", 3)], [("d", 4)]],
    ),
    "sparse_union": Case(pa.sparse_union([pa.field("i", pa.int8())]), _INTS),
    "arrow.fixed_shape_tensor[3, 2]": Case(
        pa.fixed_shape_tensor(
            pa.int16(), (3, 2), dim_names=("column", "row"), permutation=(1, 0)
        ),
        [[6 * i + k for k in range(6)] for i in range(4)],
    ),
    "arrow.variable_shape_tensor": Case(
        pa.struct({"data": pa.list_(pa.int16()), "shape": pa.list_(pa.int32(), 2)}),
        [{"data": list(range(a * b)), "shape": [a, b]} for a, b in _SHAPES],
        {"ARROW:extension:name": "arrow.variable_shape_tensor"},
    ),
    "arrow.bool8": Case(pa.bool8(), [1, 0, 0, 7]),
    "arrow.uuid": Case(pa.uuid(), [bytes(range(i, i + 16)) for i in range(4)]),
    "arrow.json": Case(pa.json_(), ["1", "{}", "[2]", '"a"'])
    if hasattr(pa, "json_")
    else None,
    "arrow.opaque": Case(pa.opaque(pa.int32(), "shape", "vendor"), _INTS),
}

# The oldest pyarrow that we take has not all of them.
CASES: dict[str, Case] = {name: case for name, case in _CASES.items() if case}
