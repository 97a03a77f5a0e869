"""The verbs that change what columns there are, and what they are.

What they make is remembered by the source, so the splits of a DatasetDict still share
one source, and with it what is known about a column, after the same verb.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import pyarrow as pa

from arrow_jax._classes import encode_classes
from arrow_jax._errors import ArrowJaxError
from arrow_jax._facts import Facts, column_of, key_of
from arrow_jax._features import Audio, ClassLabel, Features, Image
from arrow_jax._format import Format, check_columns
from arrow_jax._give import give
from arrow_jax._materialize import materialized
from arrow_jax._metadata import write_features
from arrow_jax._row_verbs import RowVerbs
from arrow_jax._source import Source
from arrow_jax._table import with_features


@dataclass(frozen=True, eq=False, repr=False)
class ColumnVerbs(RowVerbs):
    """Some rows of a source, whose columns can be changed."""

    def cast_column(self, name: str, feature: Any) -> Self:
        """Makes a column something else, checked: no value is cut or wraps.

        Args:
          name: of the column.
          feature: what it shall be, such as `Value("float32")`, `ClassLabel([...])` or
            `Image(mode="RGB")`.

        Returns:
          The rows with that column; the others are not copied.

        Raises:
          NarrowingError: if a value does not fit.
          ArrowJaxError: if the column is not there, or can't be that.

        Example:
          >>> from arrow_jax import Dataset, Value
          >>> ds = Dataset.from_dict({"x": [1, 2]}).cast_column("x", Value("uint8"))
          >>> ds.with_format("numpy")["x"].dtype
          dtype('uint8')
        """
        return self.cast({name: feature})

    def materialize(self, path: Any) -> Self:
        """Decodes images and sounds once, into a file that is mapped into memory.

        Decoding costs more than anything else a loader does. What this returns has
        tensors in place of images and sounds, and costs what copying them costs; the
        file is many times as big as what was compressed. If the file is there already,
        it is used, provided that it was made of the same columns and as many rows of
        the same files, of which some are compared.

        Args:
          path: of the file, in Arrow's IPC stream layout; it appears when complete.

        Returns:
          The same rows in the same format.

        Raises:
          ArrowJaxError: if the path holds something else, or can't be written.
          DecodeError: if an image or a sound can't be decoded; names the row.

        Example:
          >>> import pathlib, tempfile
          >>> import numpy as np
          >>> from arrow_jax import Dataset, Image
          >>> pixels = np.zeros((2, 4, 4), np.uint8)
          >>> ds = Dataset.from_dict({"im": pixels}, {"im": Image()})
          >>> ds = ds.materialize(pathlib.Path(tempfile.mkdtemp()) / "im.arrow")
          >>> ds.with_format("jax")["im"].shape
          (2, 4, 4)
        """
        source = materialized(self, path)
        return replace(self, source=source, rows=range(len(source)))

    def cast(self, features: Mapping[str, Any]) -> Self:
        """Makes some columns something else; see `cast_column`.

        Args:
          features: column -> what it shall be.

        Returns:
          The rows with those columns.

        Raises:
          ArrowJaxError: as `cast_column` does.

        Example:
          >>> from arrow_jax import Dataset, Value
          >>> ds = Dataset.from_dict({"x": [1], "y": [2]})
          >>> ds.cast({"x": Value("float32"), "y": Value("int8")}).features["x"]
          Value(dtype='float32')
        """
        check_columns(tuple(features), self.source.table.column_names)

        def cast(source: Source) -> Source:
            table = with_features(source.table, features, typed=source.typed)
            # Facts that the cast column no longer agrees with are not believed.
            said = source.said
            return _derived(source, table, {**source.features, **features}, said)

        try:
            return self._over(("cast", repr(sorted(features.items()))), cast)
        except ArrowJaxError:
            if len(self) == len(self.source):
                raise
        # A row outside the view does not fit; it is none of the view's business.
        source = cast(self._own_source())
        return replace(self, source=source, rows=range(len(self)))

    def rename_column(self, old: str, new: str) -> Self:
        """Gives a column another name; nothing is copied.

        Args:
          old: its name.
          new: the name it gets.

        Returns:
          The rows with that name.

        Raises:
          ArrowJaxError: if there is no such column, or one of the new name.

        Example:
          >>> from arrow_jax import Dataset
          >>> Dataset.from_dict({"x": [1]}).rename_column("x", "y")[0]
          {'y': 1}
        """
        names = self.source.table.column_names
        check_columns((old,), names)
        if new in names and new != old:
            raise ArrowJaxError(
                f"column {old!r} can't be renamed: there is a column {new!r}. Remove "
                "that first, or choose another name"
            )

        def named(name: str) -> str:
            return new if name == old else name

        def rename(source: Source) -> Source:
            table = source.table.rename_columns([named(n) for n in names])
            features = {named(n): f for n, f in source.features.items()}
            said = {_moved(n, named): f for n, f in source.said.items()}
            made = _derived(source, table, features, said)
            return replace(
                made,
                typed=frozenset(named(n) for n in source.typed),
                elders={named(n): elder for n, elder in source.elders.items()},
            )

        form = _renamed(self.format, named)
        return self._over(("rename", old, new), rename, form)

    def remove_columns(self, names: str | Iterable[str]) -> Self:
        """Leaves out columns; nothing is copied.

        Args:
          names: one or several.

        Returns:
          The rows without them.

        Raises:
          ArrowJaxError: if one is not there.

        Example:
          >>> from arrow_jax import Dataset
          >>> Dataset.from_dict({"x": [1], "y": [2]}).remove_columns("x")[0]
          {'y': 2}
        """
        gone = (names,) if isinstance(names, str) else tuple(names)
        check_columns(gone, self.source.table.column_names)

        def remove(source: Source) -> Source:
            features = {n: f for n, f in source.features.items() if n not in gone}
            said = {n: f for n, f in source.said.items() if column_of(n) not in gone}
            table = source.table.select(list(features))
            return _derived(source, table, features, said)

        return self._over(("remove", gone), remove, _without(self.format, gone))

    def class_encode_column(self, name: str) -> Self:
        """Makes class labels of the values of a column.

        The names are those of all rows of the source, so that splits of one dataset
        number them alike.

        Args:
          name: of the column; of strings, integers or booleans.

        Returns:
          The rows with that column as a `ClassLabel`, its names in order; one that is
          that already stays as it is.

        Raises:
          ArrowJaxError: if the column is not there, or has no such values.

        Example:
          >>> from arrow_jax import Dataset
          >>> ds = Dataset.from_dict({"pet": ["dog", "cat", "dog"]})
          >>> ds = ds.class_encode_column("pet")
          >>> ds["pet"], ds.features["pet"].names
          ([1, 0, 1], ('cat', 'dog'))
        """
        check_columns((name,), self.source.table.column_names)
        if isinstance(self.source.features[name], ClassLabel):
            return self  # its names would be lost

        def encode(source: Source) -> Source:
            column, label = encode_classes(name, source.table[name])
            at = source.table.schema.get_field_index(name)
            table = source.table.set_column(at, name, column)
            return _derived(
                source, table, {**source.features, name: label}, source.said
            )

        return self._over(("class_encode", name), encode)

    def to_arrow(self) -> pa.Table:
        """Gives the rows as they are stored.

        Returns:
          A table of the columns that the format shows; its metadata hold the features
          as Hugging Face `datasets` writes them.

        Example:
          >>> from arrow_jax import Dataset
          >>> Dataset.from_dict({"x": [5, 6, 7]}).take(2).to_arrow()["x"].to_pylist()
          [5, 6]
        """
        names = self.column_names
        table = give(
            self.source, names, self.rows, Format("arrow"), plans=[], one=False
        )
        return table.replace_schema_metadata(write_features(self.features))

    def _over(
        self,
        key: Any,
        make: Callable[[Source], Source],
        form: Format | None = None,
    ) -> Self:
        source = self.source.fact(("made", key), lambda: make(self.source))
        return replace(self, source=source, format=form or self.format)


def _derived(
    source: Source,
    table: pa.Table,
    features: Mapping[str, Any],
    said: Mapping[str, Facts],
) -> Source:
    origins = source.origins if len(table) == len(source) else ((0, ""),)
    return Source.of(
        table.replace_schema_metadata(None),
        Features({name: features[name] for name in table.column_names}),
        origins=origins,
        folder=source.folder,
        said=said,
        typed=source.typed & set(table.column_names),
        elders={
            name: elder
            for name, elder in source.elders.items()
            if isinstance(features.get(name), Audio | Image)
        },
    )


def _moved(key: str, named: Callable[[str], str]) -> str:
    _, dot, fields = key.partition(".")
    return key_of([named(column_of(key))]) + dot + fields


def _renamed(form: Format, named: Callable[[str], str]) -> Format:
    return replace(
        form,
        nulls=_keyed(form.nulls, lambda n: (named(n),)),
        dtype=_keyed(form.dtype, lambda n: (named(n),)),
        columns=form.columns and tuple(named(n) for n in form.columns),
    )


def _without(form: Format, gone: tuple[str, ...]) -> Format:
    def kept(name: str) -> tuple[str, ...]:
        return () if name in gone else (name,)

    shown = form.columns
    return replace(
        form,
        nulls=_keyed(form.nulls, kept),
        dtype=_keyed(form.dtype, kept),
        columns=None if shown is None else tuple(n for n in shown if n not in gone),
    )


def _keyed(option: Any, names: Callable[[str], tuple[str, ...]]) -> Any:
    if not isinstance(option, Mapping):
        return option
    return {new: choice for name, choice in option.items() for new in names(name)}
