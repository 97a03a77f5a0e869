"""What a column means, where its Arrow type does not say it all.

An int64 column can be class labels, a struct of bytes and path an image, a list of
lists a matrix. Features say so. They are read from, and written to, the schema
metadata that Hugging Face `datasets` uses, see `_metadata`.
"""

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from arrow_jax._errors import ArrowJaxError, ShapeError

# More is not meant: features come out of files, and files from anywhere.
_MOST_PIXELS = 1 << 27
_MOST_RATE = 1_000_000


@dataclass(frozen=True)
class Value:
    """A scalar.

    Attributes:
      dtype: Arrow's name of the type, such as "int64", "float32", "string" or
        "timestamp[ms]". Temporal columns are integers in that unit.

    Example:
      >>> Value("uint8")
      Value(dtype='uint8')
    """

    dtype: str


@dataclass(frozen=True)
class List:
    """A list of some feature.

    Attributes:
      feature: what each element is.
      length: how many there are in every row, or -1.

    Example:
      >>> List(Value("int32"), length=3)
      List(feature=Value(dtype='int32'), length=3)
    """

    feature: Any
    length: int = -1


@dataclass(frozen=True)
class Dictionary:
    """Codes into a dictionary; the column becomes the codes.

    Attributes:
      values: the dictionary, so that `values[code]` is what the file meant.
      dtype: the width of the codes.

    Example:
      >>> import pyarrow as pa
      >>> from arrow_jax import Dataset
      >>> colour = pa.array(["red", "blue", "red"]).dictionary_encode()
      >>> ds = Dataset.from_arrow(pa.table({"colour": colour}))
      >>> ds.features["colour"].values
      ('red', 'blue')
    """

    values: tuple[Any, ...]
    dtype: str = "int32"


@dataclass(frozen=True)
class ClassLabel:
    """An integer that stands for a name; int32 on the device.

    Attributes:
      names: in the order of their numbers; "0", "1"... with `num_classes=` alone.

    Raises:
      ArrowJaxError: if a name comes twice, or there are not `num_classes`.

    Example:
      >>> label = ClassLabel(names=["cat", "dog"])
      >>> label.str2int("dog"), label.int2str([1, 0])
      (1, ['dog', 'cat'])
    """

    names: tuple[str, ...]

    def __init__(
        self, names: Sequence[str] | None = None, *, num_classes: int | None = None
    ) -> None:
        if names is None:
            names = [str(code) for code in range(num_classes or 0)]
        if isinstance(names, str | int) or num_classes not in (None, len(names)):
            raise ArrowJaxError(
                f"ClassLabel({names!r}, num_classes={num_classes}): wanted a list of "
                "names, as many as num_classes says, or num_classes= alone"
            )
        object.__setattr__(self, "names", tuple(names))
        twice = sorted({n for n in self.names if self.names.count(n) > 1})
        if twice:
            raise ArrowJaxError(
                f"ClassLabel: {twice[0]!r} is there {self.names.count(twice[0])} "
                "times; each name stands for one number"
            )

    @property
    def num_classes(self) -> int:
        """How many names there are."""
        return len(self.names)

    def int2str(self, values: Any) -> Any:
        """Turns numbers into names.

        Args:
          values: an integer, or a sequence or array of them.

        Returns:
          A name, or a list of names.

        Raises:
          ArrowJaxError: if a number is not that of a name.
        """
        codes = np.asarray(values)
        bad = (codes < 0) | (codes >= len(self.names))
        if bad.any():
            raise ArrowJaxError(
                f"ClassLabel: {codes[bad].flat[0]} is no label; there are "
                f"{len(self.names)} names, numbered 0 to {len(self.names) - 1}"
            )
        names = np.array(self.names, object)[codes.astype(np.intp)]
        return np.asarray(names, object).tolist()

    def str2int(self, values: Any) -> Any:
        """Turns names into numbers.

        Args:
          values: a name, or a sequence of names.

        Returns:
          An integer, or a list of integers.

        Raises:
          ArrowJaxError: if a name is unknown; the message has the nearest ones.
        """
        if isinstance(values, str):
            return self.str2int([values])[0]
        codes = {name: code for code, name in enumerate(self.names)}
        unknown = next((v for v in values if v not in codes), None)
        if unknown is not None:
            near = difflib.get_close_matches(str(unknown), self.names) or self.names[:5]
            raise ArrowJaxError(
                f"ClassLabel: {unknown!r} is none of the {len(self.names)} names. "
                f"Near it: {', '.join(map(repr, near))}"
            )
        return [codes[v] for v in values]


def no_label(code: Any, n_names: int) -> str:
    """Says that a number stands for no name, of so many that there are."""
    return (
        f"{code} is no label; there are {n_names} names, numbered 0 to {n_names - 1} "
        "(-1 stands for an unknown one)"
    )


@dataclass(frozen=True)
class _ArrayND:
    shape: tuple[int | None, ...]
    dtype: str

    def __init__(self, shape: Sequence[int | None], dtype: str) -> None:
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "dtype", dtype)
        ndim = int(type(self).__name__[5])
        if len(self.shape) != ndim or None in self.shape[1:]:
            raise ShapeError(
                f"{type(self).__name__}(shape={self.shape}): wanted {ndim} sizes, of "
                "which only the first may be None"
            )


class Array2D(_ArrayND):
    """A matrix in each row, stored as nested lists.

    Rows are not compared with each other; one that differs from the shape raises.
    `Array3D`, `Array4D` and `Array5D` are the same with more axes.

    Attributes:
      shape: the sizes; the first may be None for rows of different lengths.
      dtype: name of the element type, kept as declared.

    Raises:
      ShapeError: if the rank is wrong or a later size is None.

    Example:
      >>> Array2D(shape=(2, 2), dtype="int8")
      Array2D(shape=(2, 2), dtype='int8')
    """


class Array3D(_ArrayND):
    """A tensor of rank 3 in each row; see `Array2D`.

    Example:
      >>> Array3D(shape=(None, 2, 3), dtype="float32").shape
      (None, 2, 3)
    """


class Array4D(_ArrayND):
    """A tensor of rank 4 in each row; see `Array2D`.

    Example:
      >>> Array4D(shape=(1, 2, 3, 4), dtype="bool").dtype
      'bool'
    """


class Array5D(_ArrayND):
    """A tensor of rank 5 in each row; see `Array2D`.

    Example:
      >>> len(Array5D(shape=(1, 2, 3, 4, 5), dtype="float16").shape)
      5
    """


@dataclass(frozen=True)
class Days:
    """A time as two int32, for 64-bit times where `jax_enable_x64` is off.

    The first counts whole days since 1970 (of a duration, whole days), the second what
    remains of the day; what is finer than its unit is dropped. Times with a zone count
    in UTC. Asked for with `Dataset.from_arrow(data, features={...})`.

    Attributes:
      unit: of what remains, "s" or "ms"; another raises, as it does not fit int32.

    Example:
      >>> import datetime as dt
      >>> import pyarrow as pa
      >>> from arrow_jax import Dataset
      >>> table = pa.table({"at": [dt.datetime(1970, 1, 3, 0, 0, 5)]})
      >>> ds = Dataset.from_arrow(table, {"at": Days("ms")}).with_format("jax")
      >>> ds[0]["at"]
      Array([   2, 5000], dtype=int32)
    """

    unit: str

    def __post_init__(self) -> None:
        if self.unit not in ("s", "ms"):
            raise ArrowJaxError(
                f'Days({self.unit!r}): wanted "s" or "ms"; of a finer unit a day '
                "has more than 2**31"
            )


@dataclass(frozen=True, repr=False)
class _Options:
    """Shows what was chosen, and not what is as always."""

    def __repr__(self) -> str:
        chosen = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({', '.join(chosen)})"


@dataclass(frozen=True, repr=False)
class Image(_Options):
    """A compressed image in each row, decoded on access.

    Stored as struct{bytes, path} or as plain binary. Decoded: uint8[h, w] for grey,
    uint8[h, w, 3] for RGB and palettes, uint8[h, w, 4] for RGBA, bool[h, w] for 1 bit,
    uint16[h, w] for 16 bits.

    Attributes:
      mode: convert every image to this PIL mode, such as "RGB" or "L".
      shape: the decoded shape that every image has. Where it is not given, one scan
        of the headers finds out whether all are of one size.
      size: make every image this (height, width).
      fit: how: "pad" scales it to fit inside and puts zeros around it, "crop" scales
        it to cover and cuts what stands out, "stretch" changes its proportions.
      upright: turn images as their EXIF orientation says.

    Raises:
      ArrowJaxError: if `size` or `fit` is none, or an image would be absurdly large.

    Example:
      >>> Image(mode="L", shape=(28, 28)).mode
      'L'
      >>> import numpy as np
      >>> from arrow_jax import Dataset
      >>> pixels = [np.zeros((8, 8), np.uint8), np.zeros((6, 9), np.uint8)]
      >>> ds = Dataset.from_dict({"im": pixels}, {"im": Image(size=(4, 4))})
      >>> ds.with_format("jax")["im"].shape
      (2, 4, 4)
    """

    mode: str | None = None
    shape: tuple[int, ...] | None = None
    size: tuple[int, int] | None = None
    fit: str = "pad"
    upright: bool = False

    def __post_init__(self) -> None:
        if self.mode is not None and not isinstance(self.mode, str):
            raise ArrowJaxError(f'Image(mode={self.mode!r}): wanted one such as "RGB"')
        if self.shape is not None and math.prod(self.shape) > 4 * _MOST_PIXELS:
            raise ArrowJaxError(
                f"Image(shape={self.shape}): wanted at most {_MOST_PIXELS:,} pixels"
            )
        if self.size is not None:
            good = len(self.size) == 2 and min(self.size) >= 1
            if not good or math.prod(self.size) > _MOST_PIXELS:
                raise ArrowJaxError(
                    f"Image(size={self.size}): wanted (height, width), of at least 1, "
                    f"and at most {_MOST_PIXELS:,} pixels"
                )
            object.__setattr__(self, "size", tuple(self.size))
        if self.fit not in ("pad", "crop", "stretch"):
            raise ArrowJaxError(
                f'Image(fit={self.fit!r}): wanted "pad", "crop" or "stretch"'
            )


@dataclass(frozen=True, repr=False)
class Audio(_Options):
    """A compressed sound in each row, decoded on access.

    Stored as struct{bytes, path} or as plain binary, as WAV, FLAC, OGG or MP3. A row is
    {"array": float32[samples], "sampling_rate": int32}.

    Attributes:
      sampling_rate: resample every sound to so many samples a second; by default each
        keeps its own.
      mono: mix the channels; otherwise "array" is float32[samples, channels].

    Raises:
      ArrowJaxError: if the sampling rate is not above 0, or absurd.

    Example:
      >>> Audio(sampling_rate=16000)
      Audio(sampling_rate=16000)
    """

    sampling_rate: int | None = None
    mono: bool = True

    def __post_init__(self) -> None:
        rate = self.sampling_rate
        if rate is not None and not 1 <= rate <= _MOST_RATE:
            raise ArrowJaxError(
                f"Audio(sampling_rate={self.sampling_rate}): wanted samples a second, "
                f"such as 16000, and at most {_MOST_RATE:,}"
            )


class Features(Mapping[str, Any]):
    """The features of a dataset by column name; it does not change.

    Args:
      features: name -> feature; a plain dict of features stands for a struct.

    Example:
      >>> Features({"label": ClassLabel(["no", "yes"])})["label"].names
      ('no', 'yes')
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = dict(features)

    def __getitem__(self, name: str) -> Any:
        return self._features[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._features)

    def __len__(self) -> int:
        return len(self._features)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._features == dict(other)

    def __hash__(self) -> int:
        return hash(tuple(self._features))

    def __repr__(self) -> str:
        return f"Features({self._features!r})"
