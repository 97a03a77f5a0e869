"""Writes docs/arrow-types.md: what each Arrow type becomes, by trying it.

python packages/arrow-jax/tests/type_table.py
"""

import re
from pathlib import Path
from typing import Any

import jax
import pyarrow as pa
from type_cases import CASES, Case

from arrow_jax import (
    ArrowJaxError,
    Dataset,
    Days,
    List,
    Masked,
    NarrowingError,
    Ragged,
    UnsupportedTypeError,
    Value,
)

PAGE = Path(__file__).parents[3] / "docs" / "arrow-types.md"

HEAD = """\
# What each Arrow type becomes

Written by `python packages/arrow-jax/tests/type_table.py`, which tries every type; a
test fails where this page says something else than the code does.

`n` stands for the rows asked for, `k` for a length that differs from row to row. What a
column becomes is the same for `ds[a:b]`, `ds[[...]]`, `ds["c"]` and the batches of
`ds.iter`, whatever rows they have.

## `with_format("jax")`

| Arrow type | `ds[0]["c"]` | `ds[a:b]["c"]`, `ds["c"]`, `ds.iter` | with x64 |
|---|---|---|---|
"""

SPECS = """
Strings and bytes are what they were, to the last NUL, and `None` where they are null. A
struct is a dict of columns, also below lists; a map is a list of structs with the
fields `key` and `value`. Of a dictionary the codes are given; the values are in
`ds.features["c"].values`. Times are integers in the unit of their type, in UTC where
they have a zone.

## `ds.spec` and nulls

The spec of a row, and what `nulls="mask"` makes of a slice of a column that has a null
row and, where there are lists, a null element. `Ragged` in a spec has length 0 along
the axis that differs, since no number would be right.

| Arrow type | `ds.spec["c"]` | `nulls="mask"` |
|---|---|---|
"""

ASKED = """
Null rows of structs are null in each of their fields. In a tensor a null list is a list
of nulls, since the mask has one flag an element.

## On request

`Dataset.from_arrow(data, features={"c": ...})` makes numbers of columns that have none,
or others than they have.

| Arrow type | without | feature | `ds[a:b]["c"]` |
|---|---|---|---|
"""

REQUESTS = [
    ("null", Value("int32")),
    *((f"decimal{n}", Value("float32")) for n in (32, 64, 128, 256)),
    ("timestamp[us, UTC]", Days("ms")),
    ("duration[ms]", Days("s")),
    ("date64", Days("s")),
    ("string", List(Value("uint8"))),
    ("binary", List(Value("uint8"))),
    ("fixed_size_binary[4]", List(Value("uint8"), 4)),
]


def kind(tree: Any, first: str = "") -> str:
    """Says what a tree is; the first axis of its arrays is called n or k."""
    if isinstance(tree, Masked | Ragged):
        return f"{type(tree).__name__}({', '.join(kind(part, first) for part in tree)})"
    if isinstance(tree, dict):
        fields = ", ".join(f"{name}: {kind(v, first)}" for name, v in tree.items())
        return f"{{{fields}}}"
    if isinstance(tree, list):
        inner = {kind(x, "k") for x in tree} - {"NoneType", "list"}
        if len(inner) > 1:  # tensors that differ in more than their first size
            inner = {re.sub(r"\d+(?=[,\]])", "k", max(inner))}
        return " of ".join(["list", *inner])
    if hasattr(tree, "shape"):
        shape = list(map(str, tree.shape))
        shape[:1] = [first or shape[0]] if shape else []
        return f"{tree.dtype}[{', '.join(shape)}]"
    return type(tree).__name__


def dataset(array: pa.Array, feature: Any = None, said: Any = None) -> Dataset:
    features = None if feature is None else {"c": feature}
    schema = pa.schema([pa.field("c", array.type, metadata=said)])
    return Dataset.from_arrow(pa.table([array], schema=schema), features)


def code(text: str) -> str:
    return f"`{text}`"


def given(ds: Dataset, **options: Any) -> tuple[str, str]:
    """What a row is, and what a slice, a column and a batch are."""
    ds = ds.with_format("jax", **options)
    batches = [batch["c"] for batch in ds.iter(len(ds))]
    many = {kind(column, "n") for column in (ds[:]["c"], ds["c"], *batches)}
    row = kind(ds[0]["c"], "k" if "[k" in str(many) else "")
    if "k, k" in str(many):
        row = re.sub(r"\d+(?=[,\]])", "k", row)
    return row, " or ".join(sorted(many))


def type_line(name: str, case: Case) -> str:
    """A row of the first table."""
    ds = dataset(case.array(), said=case.metadata)
    below = ", [unless asked for](#on-request)" if name in dict(REQUESTS) else ""
    try:
        with jax.enable_x64(new_val=True):
            wide = given(ds)
        row, many = given(ds)
    except UnsupportedTypeError:
        return f"| {code(name)} | `UnsupportedTypeError`{below} | | |"
    except NarrowingError:
        line = [f"`NarrowingError`{below}", "", ", ".join(map(code, wide))]
    else:
        same = wide == (row, many)
        line = [code(row), code(many), "" if same else ", ".join(map(code, wide))]
    return f"| {code(name)} | {' | '.join(line)} |"


def with_nulls(case: Case) -> pa.Array:
    """The case with a null row, and a null element where rows are lists of scalars."""
    values = list(case.values)
    deep = isinstance(values[0], list) and not isinstance(values[0][0], list | tuple)
    if deep and not isinstance(case.type, pa.BaseExtensionType):
        values[0] = [*values[0][:-1], None]
    values[1] = None
    return case.array(values)


def null_line(name: str, case: Case) -> str:
    """A row of the second table; of types that have an array."""
    with jax.enable_x64(new_val="[us" in name):
        ds = dataset(case.array(), said=case.metadata)
        spec = ds.with_format("jax").spec.get("c")
        holed = dataset(with_nulls(case), said=case.metadata)
        _, many = given(holed, nulls="mask")
    said = code(kind(spec)) if spec is not None else "left out"
    return f"| {code(name)} | {said} | {code(many)} |"


def request_line(name: str, feature: Any) -> str:
    """A row of the third table."""
    array = CASES[name].array()
    try:
        _, without = given(dataset(array))
    except ArrowJaxError as error:
        without = type(error).__name__
    _, many = given(dataset(array, feature), nulls=0)
    return f"| {code(name)} | {code(without)} | {code(str(feature))} | {code(many)} |"


def lines() -> tuple[list[str], list[str], list[str]]:
    """The rows of the three tables, of the types that this pyarrow has."""
    types = [type_line(name, case) for name, case in CASES.items()]
    refused = "`UnsupportedTypeError`"
    shown = [n for n, line in zip(CASES, types, strict=True) if refused not in line]
    nulls = [null_line(name, CASES[name]) for name in shown]
    return types, nulls, [request_line(n, f) for n, f in REQUESTS if n in CASES]


def page() -> str:
    """The whole page."""
    types, nulls, requests = lines()
    parts = [HEAD, *types, SPECS, *nulls, ASKED, *requests]
    return "".join(p if p.endswith("|\n") else f"{p}\n" for p in parts)


if __name__ == "__main__":
    PAGE.write_text(page())
