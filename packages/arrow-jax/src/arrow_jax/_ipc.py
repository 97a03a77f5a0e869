"""Reading Arrow's own files, which stay on disk until their rows are asked for."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from arrow_jax._facts import Facts
from arrow_jax._files import Kind, read_files
from arrow_jax._format import check_columns
from arrow_jax._paths import opened

IPC = Kind("Arrow IPC", "read_ipc", (".arrow", ".ipc", ".feather"))


def read_ipc(
    paths: Any,
    *,
    columns: Sequence[str] | None = None,
    folder: Any = None,
    validate: bool = False,
) -> Any:
    """Reads Arrow IPC files, also called Feather, into a dataset.

    Files on this machine are mapped into memory: opening them reads nothing, and what
    is read can be given back by the system. Both layouts are known, that of files and
    that of streams, in which Hugging Face `datasets` keeps its own.

    Args:
      paths: as for `read_parquet`; in a folder files that end in `.arrow`, `.ipc` or
        `.feather` count.
      columns: the names to keep; all of them by default.
      folder: as for `read_parquet`.
      validate: whether to read every value once and check it, for files that may have
        been tampered with. Otherwise only the sizes of buffers are checked, which
        reads nothing: an offset in the middle that points elsewhere can then end the
        process when its row is read.

    Returns:
      A `Dataset`, with files in order of name; of a mapping a `DatasetDict`.

    Raises:
      FileNotFoundError: if there is nothing at a path.
      ArrowJaxError: as `read_parquet` does.

    Example:
      >>> import pathlib, tempfile
      >>> import pyarrow as pa, pyarrow.feather
      >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.arrow"
      >>> pyarrow.feather.write_feather(pa.table({"x": [1, 2]}), str(file))
      >>> read_ipc(file)["x"]
      [1, 2]
    """
    return read_files(
        paths, IPC, lambda path: _read(path, columns, validate=validate), folder=folder
    )


def _read(
    path: str, columns: Sequence[str] | None, *, validate: bool
) -> tuple[pa.Table, dict[str, Facts]]:
    with opened(path) as file:
        # The map outlives this block: the table's buffers hold on to it.
        data = pa.memory_map(path) if file is path else pa.py_buffer(file.read())
        magic = bytes(data.read_at(6, 0)) if file is path else data[:6].to_pybytes()
        is_file = magic == b"ARROW1"
        reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(data)
        table = reader.read_all()
        table.validate(full=validate)
    if columns is not None:
        check_columns(tuple(columns), table.column_names)
        table = table.select(list(columns))
    return table, {}
