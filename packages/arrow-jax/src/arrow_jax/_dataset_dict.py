"""Datasets by split, such as "train" and "test"."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from arrow_jax._chunks import Index
from arrow_jax._dataset import Dataset
from arrow_jax._dictionaries import without_values
from arrow_jax._encode import to_arrow
from arrow_jax._errors import ArrowJaxError
from arrow_jax._facts import merge
from arrow_jax._source import Source
from arrow_jax._unread import typed_columns


class DatasetDict(dict[str, Dataset]):
    """A dict of datasets, most often the splits of one.

    Splits with the same columns and features are laid into one source, which copies
    nothing: what is true for a column in one is true in all, so that a model traced on
    "train" is not traced again on "test".

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
        super().__init__(share(splits, " of split {!r}"))

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
            name: Source.of(
                to_arrow(columns, features), features, typed=typed_columns(columns)
            )
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

    def set_format(self, kind: str | None = None, **options: Any) -> None:
        """Sets the format of these very splits; `with_format` is to be preferred.

        Args:
          kind: see `Dataset.with_format`.
          **options: likewise.
        """
        for split in self.values():
            split.set_format(kind, **options)

    def map(self, function: Callable[..., Any], **options: Any) -> "DatasetDict":
        """Makes columns out of columns, in every split.

        Args:
          function: see `Dataset.map`.
          **options: likewise.

        Returns:
          The splits with the new columns.
        """
        return self._each("map", function, **options)

    def filter(self, condition: Any, **options: Any) -> "DatasetDict":
        """Keeps the rows of every split that a condition holds for.

        Args:
          condition: see `Dataset.filter`.
          **options: likewise.

        Returns:
          The splits with the rows that are left.
        """
        return self._each("filter", condition, **options)

    def sort(self, columns: str | Sequence[str], **options: Any) -> "DatasetDict":
        """Sorts the rows of every split.

        Args:
          columns: see `Dataset.sort`.
          **options: likewise.

        Returns:
          The sorted splits.
        """
        return self._each("sort", columns, **options)

    def shuffle(self, seed: int = 0) -> "DatasetDict":
        """Puts the rows of every split into another order.

        Args:
          seed: the same seed gives the same order.

        Returns:
          The shuffled splits.
        """
        return self._each("shuffle", seed)

    def cast_column(self, name: str, feature: Any) -> "DatasetDict":
        """Makes a column something else, in every split.

        Args:
          name: of the column.
          feature: what it shall be; see `Dataset.cast_column`.

        Returns:
          The splits with that column.
        """
        return self._each("cast_column", name, feature)

    def class_encode_column(self, name: str) -> "DatasetDict":
        """Makes class labels of the values of a column, in every split.

        Args:
          name: of the column; see `Dataset.class_encode_column`.

        Returns:
          The splits with that column.
        """
        return self._each("class_encode_column", name)

    def rename_column(self, old: str, new: str) -> "DatasetDict":
        """Gives a column another name, in every split.

        Args:
          old: its name.
          new: the name it gets.

        Returns:
          The splits with that name.
        """
        return self._each("rename_column", old, new)

    def remove_columns(self, names: str | Iterable[str]) -> "DatasetDict":
        """Leaves out columns, in every split.

        Args:
          names: one or several.

        Returns:
          The splits without them.
        """
        return self._each("remove_columns", names)

    def _each(self, verb: str, *choices: Any, **options: Any) -> "DatasetDict":
        return DatasetDict(
            {n: getattr(split, verb)(*choices, **options) for n, split in self.items()}
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
    return DatasetDict({n: Dataset.of_source(s) for n, s in sources.items()})


def share(splits: Mapping[Any, Dataset], says: str) -> dict[Any, Dataset]:
    """Lays datasets into one source, if they are several with the same columns.

    Args:
      splits: the datasets.
      says: how errors end the name of a row, made of the key by `str.format`.

    Returns:
      The same rows, as views of one source where that can be.
    """
    sources = {id(split.source): (n, split.source) for n, split in splits.items()}
    if len(sources) < 2 or len({kind_of(s) for _, s in sources.values()}) > 1:
        return dict(splits)
    origins: list[tuple[int, str]] = []
    starts: dict[int, int] = {}
    start = 0
    for key, (name, source) in sources.items():
        for at, words in source.origins:
            origins.append((start + at, words or says.format(name)))
        starts[key] = start
        start += len(source)
    first = next(iter(splits.values())).source
    folders = {source.folder for _, source in sources.values()}
    shared = Source.of(
        pa.concat_tables([s.table for _, s in sources.values()]),
        first.features,
        origins=tuple(origins),
        # Paths that one folder allows are not to lead the rows of another anywhere.
        folder=first.folder if len(folders) == 1 else None,
        said=merge(s.said for _, s in sources.values()),
        typed=frozenset.intersection(*(s.typed for _, s in sources.values())),
        elders={
            name: elder
            for name, elder in first.elders.items()
            if all(s.elders.get(name) == elder for _, s in sources.values())
        },
    )
    return {
        name: replace(split, source=shared, rows=_moved(split, starts))
        for name, split in splits.items()
    }


def kind_of(source: Source) -> tuple[str, str, Any]:
    """Finds what has to be alike in sources that are laid into one.

    Args:
      source: any.

    Returns:
      Something to compare.
    """
    # The values of dictionaries are made one with those of the other splits.
    features = without_values(source.features)
    schema = source.table.schema.remove_metadata()
    # Where paths start matters only to what has paths.
    has_paths = "Image(" in repr(features) or "Audio(" in repr(features)
    return str(schema), repr(features), source.folder if has_paths else None


def _moved(split: Dataset, starts: Mapping[int, int]) -> Index:
    start = starts[id(split.source)]
    if isinstance(split.rows, range):
        return range(split.rows.start + start, split.rows.stop + start)
    return split.rows + start
