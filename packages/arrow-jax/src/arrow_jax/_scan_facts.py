"""What is known about the columns of files whose rows have not been read.

The same must hold for every part that is read later: lists of any length are ragged,
and there may be nulls wherever the footers do not rule them out.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from arrow_jax._column import has_dictionary
from arrow_jax._errors import ShapeError, UnsupportedTypeError
from arrow_jax._facts import Facts
from arrow_jax._features import Audio, Image
from arrow_jax._forms import Form, Pad
from arrow_jax._metadata import is_list
from arrow_jax._plain import plain_type
from arrow_jax._scan import Scan
from arrow_jax._split import has_struct, split_type
from arrow_jax._tensors_plan import permutation_of


def scan_facts(scan: Scan) -> dict[str, Facts]:
    """Finds what is known about the columns of a scan.

    Args:
      scan: the files.

    Returns:
      Column, or struct.field -> facts.
    """
    full = _without_nulls(scan)
    found = {}
    for name in scan.column_names:
        for path, type_ in _leaves(name, plain_type(scan.schema.field(name).type)):
            found[path] = scan.said.get(path) or _facts(type_, nulls=path not in full)
    return found


def _leaves(path: str, type_: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    if not has_struct(type_):
        yield path, type_
        return
    for name, inner in split_type(type_).items():
        yield from _leaves(f"{path}.{name}", inner)


def _facts(type_: pa.DataType, *, nulls: bool) -> Facts:
    axes: list[int | None] = []
    while is_list(type_) or isinstance(type_, pa.FixedShapeTensorType):
        if isinstance(type_, pa.FixedShapeTensorType):
            axes += type_.shape
        else:
            fixed = pa.types.is_fixed_size_list(type_)
            axes.append(type_.list_size if fixed else None)
        type_ = type_.value_type
    if None in axes:
        # A tensor within ragged lists begins behind the last axis that is ragged.
        last = max(i for i, axis in enumerate(axes) if axis is None)
        axes[: last + 1] = [None] * (last + 1)
    inner = nulls and bool(axes) and axes[-1] is not None
    return Facts(tuple(axes), (*[nulls] * (axes.count(None) + 1), inner))


def _without_nulls(scan: Scan) -> set[str]:
    """The columns, and fields of structs, that the footers say have no nulls."""
    counts: dict[str, int] = {}
    for fragment in scan.fragments:
        footer = fragment.metadata
        for group in range(footer.num_row_groups):
            of = footer.row_group(group)
            for i in range(of.num_columns):
                column = of.column(i)
                path, stats = column.path_in_schema, column.statistics
                known = stats is not None and stats.has_null_count
                # Where a footer does not say it, there may be some.
                counts[path] = counts.get(path, 0) + (stats.null_count if known else 1)
    paths = {p.rsplit(".", i)[0] for p in counts for i in range(p.count(".") + 1)}
    return {
        path
        for path in paths
        if all(
            n == 0
            for leaf, n in counts.items()
            if leaf == path or leaf.startswith(f"{path}.")
        )
    }


def check_known(scan: Scan, forms: Mapping[str, Form]) -> None:
    """Raises for columns that could become one thing here and another there.

    Args:
      scan: the files.
      forms: column -> form.

    Raises:
      ShapeError: for images without a declared shape, sounds without a length, tensors
        of any shape.
      UnsupportedTypeError: for dictionaries, which differ from row group to row group.
    """
    for name in scan.column_names:
        field, feature = scan.schema.field(name), scan.features[name]
        if isinstance(feature, Image) and not _is_sized(feature):
            raise ShapeError(
                f"column {name!r}: what its images become is not known before they are "
                f'read. Say it: scan_parquet(..., features={{"{name}": '
                "Image(shape=(28, 28))})"
            )
        if isinstance(feature, Audio) and not (
            feature.mono and isinstance(forms.get(name), Pad)
        ):
            raise ShapeError(
                f"column {name!r}: sounds want a length, Loader(..., ragged="
                f"{{{name!r}: 160_000}}), and Audio(mono=True)"
            )
        if permutation_of(field) is not None:
            raise ShapeError(
                f"column {name!r} holds tensors of any shape. Read it with read_parquet"
            )
        if has_dictionary(field.type):
            raise UnsupportedTypeError(
                f"column {name!r} has type {field.type}, and every row group may have "
                "a dictionary of its own. Read it with read_parquet, or store it as a "
                "ClassLabel"
            )


def _is_sized(feature: Image) -> bool:
    return feature.shape is not None or bool(feature.size and feature.mode)
