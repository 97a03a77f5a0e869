"""Reading Parquet from wherever it is."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arrow_jax._errors import ArrowJaxError
from arrow_jax._facts import KEY, Facts, from_json
from arrow_jax._files import Kind, read_files
from arrow_jax._format import check_columns, is_expression, raise_unknown
from arrow_jax._paths import opened

PARQUET = Kind("Parquet", "read_parquet", (".parquet",))


def read_parquet(
    paths: Any,
    *,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    folder: Any = None,
) -> Any:
    """Reads Parquet files into a dataset.

    Features such as `Image` and `ClassLabel` come from the schema's metadata, in the
    layout of Hugging Face `datasets`.

    Args:
      paths: a file, a folder (every `.parquet` below it), a glob, a list of these, or a
        mapping from split to these. An address such as `hf://`, `gs://`, `s3://`,
        `https://` or `memory://` is opened with fsspec.
      columns: the names to read; all of them by default.
      filters: an Arrow expression; row groups that can't hold such rows are not read.
      folder: where paths in image columns start; only what lies below is read, and
        absolute paths only with "/". By default it is where the files are.

    Returns:
      A `Dataset`, with files in order of name; of a mapping a `DatasetDict`.

    Raises:
      FileNotFoundError: if there is nothing at a path.
      ArrowJaxError: if a file is not Parquet or is cut short, a folder holds none, a
        column is not there, or files differ in their columns.

    Example:
      >>> import pathlib, tempfile
      >>> from arrow_jax import write_parquet
      >>> folder = pathlib.Path(tempfile.mkdtemp())
      >>> write_parquet(folder / "a.parquet", {"x": [1, 2]})
      >>> read_parquet(folder)["x"]
      [1, 2]
    """
    if not isinstance(filters, list | None) and not is_expression(filters):
        raise ArrowJaxError(
            f"read_parquet(filters={filters!r}): wanted an Arrow expression, such as "
            'pc.field("x") > 1'
        )
    return read_files(
        paths, PARQUET, lambda path: _read_file(path, columns, filters), folder=folder
    )


def _read_file(
    path: str, columns: Sequence[str] | None, filters: Any
) -> tuple[pa.Table, dict[str, Facts]]:
    with opened(path) as file:
        footer = pq.read_metadata(file)
        if hasattr(file, "seek"):
            file.seek(0)
        names = footer.schema.to_arrow_schema().names
        if columns is not None:
            check_columns(tuple(columns), names)
        try:
            table = pq.read_table(
                file,
                columns=None if columns is None else list(columns),
                filters=filters,
                partitioning=None,
            )
        except pa.ArrowInvalid as error:
            raise_unknown("read_parquet(filters=...)", error, names)
            raise
        return table, from_json((footer.metadata or {}).get(KEY))
