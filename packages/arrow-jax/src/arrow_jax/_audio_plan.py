"""Audio columns: a tensor where all sounds have one length, otherwise lists."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from arrow_jax._audio import Sound, decode_sound, sound_of
from arrow_jax._chunks import Index, Kept
from arrow_jax._containers import Masked, Ragged
from arrow_jax._errors import DecodeError, NullsError, ShapeError
from arrow_jax._features import Audio
from arrow_jax._images import decode_all, image_contents, without_content
from arrow_jax._nodes import aligned
from arrow_jax._plan import Options, row_spec
from arrow_jax._source import Source

# Samples in a batch; so much memory may be taken on the word of headers alone.
_TRUSTED = 1 << 28


@dataclass(frozen=True)
class AudioPlan:
    """A column of compressed sounds.

    Attributes:
      name: the column's.
      source: of the rows.
      path: column, then fields.
      feature: what is asked for.
      options: what the user chose.
    """

    name: str
    source: Source
    path: tuple[str, ...]
    feature: Audio
    options: Options

    @cached_property
    def _column(self) -> Kept:
        return self.source.kept(self.path)

    @cached_property
    def _sounds(self) -> set[Sound]:
        return self.source.fact(("sounds", self.path, self.feature), self._scan)

    def _scan(self) -> set[Sound]:
        if elder := self.source.elder(self.path):
            source, path = elder
            return replace(self, source=source, path=path)._sounds  # noqa: SLF001
        rows = range(int(self._column.starts[-1]))
        contents = self._contents(rows)
        found = {sound_of(content, self.feature) for content in contents if content}
        return {sound for sound in found if sound is not None}

    @property
    def _n_samples(self) -> int | None:
        lengths = {sound.n_samples for sound in self._sounds} or {0}
        return next(iter(lengths)) if len(lengths) == 1 else None

    @property
    def _channels(self) -> tuple[int, ...]:
        """The axes behind that of samples; one of length 0 where they differ."""
        kinds = {sound.channels for sound in self._sounds}
        if self.feature.mono:
            return ()
        return tuple(kinds) if len(kinds) == 1 else (0,)

    @property
    def is_ragged(self) -> bool:
        """Whether lengths differ."""
        return self._n_samples is None or self._channels == (0,)

    @property
    def _wants_mask(self) -> bool:
        return self.options.nulls == "mask"

    @property
    def spec(self) -> Any:
        """The row: samples and their rate; a ragged axis has length 0."""
        samples: Any = row_spec((self._n_samples or 0, *self._channels), np.float32)
        if self.is_ragged:
            samples = Ragged(samples, row_spec((), np.int32))
        return self._tree(samples, row_spec((), np.int32), row_spec((), bool))

    def _tree(self, samples: Any, rates: Any, valid: Any) -> dict[str, Any]:
        tree = {"array": samples, "sampling_rate": rates}
        if not self._wants_mask:
            return tree
        return {name: Masked(column, valid) for name, column in tree.items()}

    def check(self, rows: Index) -> None:
        """Raises for nulls that were not allowed."""
        if self.options.nulls not in ("error", "nan"):
            return
        if not any(without_content(chunk).any() for chunk in self._column.chunks):
            return
        bad = np.flatnonzero(without_content(self._column.gather(rows)))
        if len(bad):
            raise NullsError(
                f"column {self.name!r}, {self.source.words(int(rows[bad[0]]))}: found "
                f"no sound ({len(bad)} of {len(rows)} rows have none). Use "
                'with_format(..., nulls="mask") for Masked(values, valid), or silence: '
                "nulls=0"
            )

    def batch(self, rows: Index) -> Any:
        """Decodes some rows: samples [n, samples], or a list of arrays; and rates."""
        contents = self._contents(rows)
        rates = np.zeros(len(contents), np.int32)
        shape = (self._n_samples or 0, *self._channels)
        out: Any = [np.zeros((0, *self._channels), np.float32) for _ in contents]
        if not self.is_ragged:
            self._check_first(contents, rows, shape)
            out = aligned((len(contents), *shape), np.dtype(np.float32))
            out[[i for i, content in enumerate(contents) if content is None]] = 0

        def use(position: int, decoded: tuple[np.ndarray, int]) -> None:
            samples, rates[position] = decoded
            if not self.is_ragged and samples.shape != shape:
                raise self._undecoded(rows, position, self._misfit(samples, shape))
            out[position] = samples

        decode_all(
            contents,
            lambda content: decode_sound(content, self.feature),
            use=use,
            say=lambda position, what: self._undecoded(rows, position, what),
        )
        return self._tree(out, rates, np.array([c is not None for c in contents], bool))

    def _check_first(
        self, contents: list[bytes | None], rows: Index, shape: tuple[int, ...]
    ) -> None:
        """Decodes a sound before memory for all is taken, as headers may lie."""
        if math.prod(shape) * len(contents) < _TRUSTED:
            return
        first = next((i for i, c in enumerate(contents) if c is not None), None)
        if first is None:
            return

        def use(_: int, decoded: tuple[np.ndarray, int]) -> None:
            if decoded[0].shape != shape:
                raise self._undecoded(rows, first, self._misfit(decoded[0], shape))

        decode_all(
            contents[first : first + 1],
            lambda content: decode_sound(content, self.feature),
            use=use,
            say=lambda _, what: self._undecoded(rows, first, what),
        )

    @staticmethod
    def _misfit(samples: np.ndarray, shape: tuple[int, ...]) -> str:
        return (
            f"the sound is float32{list(samples.shape)}, its header says "
            f"float32{list(shape)}"
        )

    def padded(self, rows: Index, capacity: int, *, truncate: bool = False) -> Any:
        """Makes a `Ragged` of some rows; one that is too long raises, or is cut."""
        if self._channels == (0,):
            raise ShapeError(
                f"column {self.name!r}: its sounds differ in their channels. Ask for "
                f"mono: ds.cast_column({self.name!r}, Audio())"
            )
        tree = self.batch(rows)
        samples, rates = tree["array"], tree["sampling_rate"]
        valid = None
        if self._wants_mask:
            samples, valid = samples
            rates = rates.values
        shape = (len(samples), capacity, *self._channels)
        values = aligned(shape, np.dtype(np.float32))
        values[...] = 0
        if truncate:
            samples = [one[:capacity] for one in samples]
        lengths = np.array([len(one) for one in samples], np.int32)
        for row, one in enumerate(samples):
            if len(one) > capacity:
                raise ShapeError(
                    f"column {self.name!r}, {self.source.words(int(rows[row]))}: has "
                    f"{len(one)} samples, ragged={{{self.name!r}: {capacity}}} holds "
                    f"{capacity}. Give a greater length, or a lower sampling rate: "
                    f"ds.cast_column({self.name!r}, Audio(sampling_rate=8000))"
                )
            values[row, : len(one)] = one
        return self._tree(Ragged(values, lengths), rates, valid)

    def _contents(self, rows: Index) -> list[bytes | None]:
        return image_contents(
            self._column.gather(rows),
            folder=self.source.folder,
            say=lambda position, what: self._undecoded(rows, position, what),
        )

    def _undecoded(self, rows: Index, position: int, what: str) -> DecodeError:
        row = int(rows[position])
        return DecodeError(
            f"column {self.name!r}, {self.source.words(row)}: {what}. Replace the "
            "sound, or leave the row out with ds.select"
        )
