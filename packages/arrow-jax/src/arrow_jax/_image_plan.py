"""Image columns: a tensor where all images have one size, otherwise lists."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np
import pyarrow as pa

from arrow_jax._chunks import Index, Kept
from arrow_jax._containers import Masked
from arrow_jax._errors import ArrowJaxError, DecodeError, NullsError, ShapeError
from arrow_jax._features import Image
from arrow_jax._headers import scan
from arrow_jax._images import (
    Header,
    decode_all,
    decode_image,
    image_contents,
    mode_result,
    without_content,
)
from arrow_jax._nodes import aligned
from arrow_jax._plan import Options, row_spec
from arrow_jax._small_png import decode_small
from arrow_jax._source import Source


@dataclass(frozen=True)
class ImagePlan:
    """A column of compressed images.

    Attributes:
      name: the column's.
      source: of the rows.
      path: column, then fields.
      feature: mode and shape, where declared.
      options: what the user chose.
    """

    name: str
    source: Source
    path: tuple[str, ...]
    feature: Image
    options: Options

    def __post_init__(self) -> None:
        mode = self.feature.mode
        if mode is not None and mode_result(mode) is None:
            raise ArrowJaxError(
                f"column {self.name!r}: Image(mode={mode!r}) is no mode that becomes "
                'an array. Use "L", "RGB", "RGBA", "1" or "I;16"'
            )

    @cached_property
    def _column(self) -> Kept:
        return self.source.kept(self.path)

    @cached_property
    def _headers(self) -> set[Header]:
        key = ("headers", self.path, self.feature.upright)
        return self.source.fact(key, self._scan)

    def _scan(self) -> set[Header]:
        if elder := self.source.elder(self.path):
            source, path = elder
            return replace(self, source=source, path=path)._headers  # noqa: SLF001
        found: set[Header] = set()
        starts = self._column.starts
        for chunk, first in zip(self._column.chunks, starts, strict=False):
            array = chunk
            if pa.types.is_struct(array.type):
                inside = array.flatten()[array.type.get_field_index("bytes")]
                if inside.null_count:  # some are in files
                    contents = self._contents(array, range(first, first + len(array)))
                    inside = pa.array(contents, pa.large_binary())
                array = inside
            found |= scan(array, upright=self.feature.upright)
        return found

    @cached_property
    def _header(self) -> Header | None:
        """Shape and dtype of every image, or None where they differ."""
        mode, shape, size = self.feature.mode, self.feature.shape, self.feature.size
        if shape:
            like = mode_result(mode) if mode else None
            return Header(shape, like.dtype if like else "uint8")
        if mode and size:
            return mode_result(mode, *size)
        headers: set[Header | None] = set(self._headers)
        if mode:
            headers = {mode_result(mode, *h.shape[:2]) for h in self._headers}
        elif size:
            headers = {h._replace(shape=size + h.shape[2:]) for h in self._headers}
        if not headers:
            return Header(size or (0, 0), "uint8")
        return next(iter(headers)) if len(headers) == 1 else None

    @property
    def is_ragged(self) -> bool:
        """Whether sizes differ."""
        return self._header is None

    @property
    def spec(self) -> Any:
        """The row; with several sizes the axes have length 0."""
        header = self._header or Header((0, 0, 0), "uint8")
        spec = jax.ShapeDtypeStruct(header.shape, np.dtype(header.dtype))
        return Masked(spec, row_spec((), bool)) if self._wants_mask else spec

    @property
    def _wants_mask(self) -> bool:
        return self.options.nulls == "mask"

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
                f"no image ({len(bad)} of {len(rows)} rows have none). Use "
                'with_format(..., nulls="mask") for Masked(values, valid), or a fill '
                "value: nulls=0"
            )

    def batch(self, rows: Index) -> Any:
        """Decodes some rows: [n, *shape], or a list of arrays where sizes differ."""
        array = self._column.gather(rows)
        contents = self._contents(array, rows)
        header = self._header
        nulls = self.options.nulls
        fill = 0 if isinstance(nulls, str) else nulls
        if header is None:
            out: Any = [np.full((0, 0), fill, np.uint8)] * len(contents)
        else:
            out = aligned((len(contents), *header.shape), np.dtype(header.dtype))
            for position, content in enumerate(contents):
                if content is None:
                    out[position] = fill

        def use(position: int, pixels: np.ndarray) -> None:
            if header is not None and Header(pixels.shape, pixels.dtype.name) != header:
                raise ShapeError(self._misfit(int(rows[position]), pixels, header))
            out[position] = pixels

        shown = np.array([content is not None for content in contents], bool)
        decode_all(
            self._left(contents, out),
            lambda content: decode_image(content, self.feature),
            use=use,
            say=lambda position, what: self._undecoded(rows, position, what),
        )
        if not self._wants_mask:
            return out
        return Masked(out, shown)

    def _left(self, contents: list[bytes | None], out: Any) -> list[bytes | None]:
        """Decodes what can be together; the rest is left, for Pillow."""
        header, feature = self._header, self.feature
        if header is None or feature.size or feature.upright:
            return contents
        if feature.mode not in (None, "L", "LA", "RGB", "RGBA"):
            return contents
        done = decode_small(contents, out)
        pairs = zip(contents, done, strict=True)
        return [None if decoded else content for content, decoded in pairs]

    def _contents(self, array: pa.Array, rows: Index) -> list[bytes | None]:
        return image_contents(
            array,
            folder=self.source.folder,
            say=lambda position, what: self._undecoded(rows, position, what),
        )

    def _undecoded(self, rows: Index, position: int, what: str) -> DecodeError:
        row = int(rows[position])
        return DecodeError(
            f"column {self.name!r}, {self.source.words(row)}: {what}. Replace the "
            "image, or leave the row out with ds.select"
        )

    def _misfit(self, row: int, pixels: np.ndarray, header: Header) -> str:
        return (
            f"column {self.name!r}, {self.source.words(row)}: the image is "
            f"{pixels.dtype}{list(pixels.shape)}, the column's are {header.dtype}"
            f"{list(header.shape)}. Image(mode=...) makes colours alike, "
            "Image(size=...) sizes"
        )

    def padded(self, rows: Index, capacity: int, *, truncate: bool = False) -> Any:
        """Is refused: images have more than one axis."""
        del rows, capacity, truncate
        raise ShapeError(
            f"column {self.name!r} holds images, which ragged= can't pad. Make them "
            f"one size: ds.cast_column({self.name!r}, Image(size=(224, 224)))"
        )
