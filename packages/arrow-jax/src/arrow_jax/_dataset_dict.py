"""Datasets by split, such as "train" and "test"."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from arrow_jax._dataset import Dataset
from arrow_jax._encode import to_arrow
from arrow_jax._errors import ArrowJaxError
from arrow_jax._source import Source


class DatasetDict(dict[str, Dataset]):
    """A dict of datasets, most often the splits of one.

    Splits made together, by `from_dict` or `read_parquet`, with the same columns lie in
    one source: what is true for a column in one is true in all, so that a model traced
    on "train" is not traced again on "test".

    Args:
      splits: name -> dataset.

    Raises:
      ArrowJaxError: if a value is not a `Dataset`.

    Example:
      >>> splits = DatasetDict.from_dict({"train": {"x": [1, 2]}, "test": {"x": [3]}})
      >>> splits.with_format("numpy")["test"][0]["x"].item()
      3
    """

    def __init__(self, splits: Mapping[str, Dataset]) -> None:
        for name, split in splits.items():
            if not isinstance(split, Dataset):
                raise ArrowJaxError(
                    f"split {name!r} is a {type(split).__name__}, wanted a Dataset; "
                    "DatasetDict.from_dict takes columns"
                )
        super().__init__(splits)

    @classmethod
    def from_dict(
        cls,
        mapping: Mapping[str, Mapping[str, Any]],
        features: Mapping[str, Any] | None = None,
    ) -> "DatasetDict":
        """Makes the splits of columns in memory.

        Args:
          mapping: split -> column -> values, see `Dataset.from_dict`.
          features: what some of the columns are, in every split.

        Returns:
          The datasets by split.

        Raises:
          ArrowJaxError: as `Dataset.from_dict` does.
        """
        sources = {
            name: Source.of(to_arrow(columns, features), features)
            for name, columns in mapping.items()
        }
        return split_up(sources)

    def with_format(self, kind: str | None = None, **options: Any) -> "DatasetDict":
        """Sets the format of every split.

        Args:
          kind: see `Dataset.with_format`.
          **options: likewise.

        Returns:
          The splits in that format.
        """
        return DatasetDict(
            {name: split.with_format(kind, **options) for name, split in self.items()}
        )

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {split!r}" for name, split in self.items())


def split_up(sources: Mapping[str, Source]) -> DatasetDict:
    """Lays splits with the same columns into one source.

    Args:
      sources: one a split.

    Returns:
      One dataset a split.
    """
    alike = len({(str(s.table.schema), s.folder) for s in sources.values()}) == 1
    if not alike:
        return DatasetDict({n: Dataset.of_source(s) for n, s in sources.items()})
    first = next(iter(sources.values()))
    origins: list[tuple[int, str]] = []
    bounds = {}
    start = 0
    for name, source in sources.items():
        for at, words in source.origins:
            origins.append((start + at, words or f" of split {name!r}"))
        bounds[name] = range(start, start + len(source))
        start += len(source)
    shared = Source.of(
        pa.concat_tables([s.table for s in sources.values()]),
        first.features,
        origins=tuple(origins),
        folder=first.folder,
    )
    return DatasetDict({n: Dataset.of_source(shared, r) for n, r in bounds.items()})
