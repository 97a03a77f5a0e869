"""Decoding and encoding sound with soundfile, which loads at the first sound."""

import importlib
import io
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from arrow_jax._containers import Masked, Ragged
from arrow_jax._errors import ArrowJaxError, ShapeError
from arrow_jax._features import Audio
from arrow_jax._unread import read_typed, unread

_TYPE = pa.struct({"bytes": pa.binary(), "path": pa.string()})
_MAX_SAMPLES = 1 << 28  # four hours at 16 kHz; more is taken for an attack
# Eight channels of silence in the longest FLAC blocks come near it; a header that
# states more than this for each byte lies.
_SAMPLES_A_BYTE = 1 << 14
_BLOCK = 1 << 20  # samples read at once, so a header that lies allocates no more


class Sound(NamedTuple):
    """What a sound will be.

    Attributes:
      n_samples: after resampling.
      channels: 0 for mono, which has no axis of channels.
      rate: samples a second.
    """

    n_samples: int
    channels: int
    rate: int


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)  # only audio columns need it
    except (ImportError, OSError) as error:  # soundfile without its library
        raise ArrowJaxError(
            f'audio columns need {name}: pip install "arrow-jax[audio]"'
        ) from error


def sound_of(content: bytes, feature: Audio) -> Sound | None:
    """Reads the header of a sound.

    Args:
      content: the bytes of a file.
      feature: what is asked for.

    Returns:
      What decoding will give, or None if it is no sound.
    """
    try:
        info = _package("soundfile").info(io.BytesIO(content))
    except ArrowJaxError:
        raise
    except Exception:  # noqa: BLE001  (what is no sound raises when it is decoded)
        return None
    rate = feature.sampling_rate or info.samplerate
    try:
        _check_size(content, info.frames, info.channels, rate / info.samplerate)
    except ValueError:  # is raised again, with its row, when it is decoded
        return None
    channels = 0 if feature.mono else info.channels
    return Sound(_resampled_length(info.frames, info.samplerate, rate), channels, rate)


def _check_size(content: bytes, frames: int, channels: int, growth: float) -> None:
    if frames * channels * max(1, growth) > _MAX_SAMPLES:
        grown = f", {growth:g} times as many resampled," if growth > 1 else ""
        raise ValueError(f"{frames} x {channels} samples{grown} are too many")
    if frames * channels > len(content) * _SAMPLES_A_BYTE:
        raise ValueError(
            f"its header states {frames} x {channels} samples, the {len(content)} "
            "bytes can't hold so many"
        )


def _resampled_length(n: int, rate: int, wanted: int) -> int:
    return -(-n * wanted // rate)


def decode_sound(content: bytes, feature: Audio) -> tuple[np.ndarray, int]:
    """Decodes one sound.

    Args:
      content: the bytes of a WAV, FLAC, OGG or MP3 file.
      feature: what is asked for.

    Returns:
      float32[samples], or [samples, channels] where mono is not asked for; and the
      sampling rate.

    Raises:
      ValueError: if the bytes are no sound, or a huge one. soundfile raises other types
        too.
    """
    with _package("soundfile").SoundFile(io.BytesIO(content)) as file:
        rate = file.samplerate
        wanted = feature.sampling_rate or rate
        _check_size(content, file.frames, file.channels, wanted / rate)
        values = _samples(file)
    if feature.mono:
        values = values.mean(axis=1)
    if wanted != rate:
        n = _resampled_length(len(values), rate, wanted)
        made = _package("soxr").resample(values, rate, wanted)[:n]
        # The last sample or two may be missing; then there is silence.
        values = np.zeros((n, *values.shape[1:]), np.float32)
        values[: len(made)] = made
    return values, wanted


def _samples(file: Any) -> np.ndarray:
    step = max(1, _BLOCK // file.channels)
    parts = [file.read(step, dtype="float32", always_2d=True)]
    while len(parts[-1]) == step:
        parts.append(file.read(step, dtype="float32", always_2d=True))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def encode_sounds(name: str, values: Any, feature: Audio) -> pa.Array:
    """Makes the Arrow column of some sounds.

    Args:
      name: the column's, for errors.
      values: one item a row: the bytes of a file, a path, {"array": ...,
        "sampling_rate": ...}, samples if the feature has a sampling rate, {"bytes":
        ..., "path": ...}, or None. Or a dict of columns "array" and "sampling_rate".
      feature: the column's.

    Returns:
      struct{bytes, path}; samples are stored as WAV of float32, without loss.
      Files that an Arrow array names are not read now, see `unread`.

    Raises:
      ArrowJaxError: if an item is none of these.
      FileNotFoundError: if a path leads nowhere.
    """
    if isinstance(values, Mapping):
        pairs = zip(_rows(values["array"]), _rows(values["sampling_rate"]), strict=True)
        values = [
            None if samples is None else {"array": samples, "sampling_rate": rate}
            for samples, rate in pairs
        ]
    if isinstance(values, pa.Array | pa.ChunkedArray):
        values = unread(values)
    items = [
        _item(f"column {name!r}, row {row}", value, feature)
        for row, value in enumerate(values)
    ]
    return pa.array(items, _TYPE)


def _rows(column: Any) -> list[Any]:
    if isinstance(column, Masked):
        valid = np.asarray(column.valid)
        rows = _rows(column.values)
        return [row if ok else None for row, ok in zip(rows, valid, strict=True)]
    if isinstance(column, Ragged):
        pairs = zip(np.asarray(column.values), np.asarray(column.lengths), strict=True)
        return [row[:length] for row, length in pairs]
    return list(column)


def _item(where: str, value: Any, feature: Audio) -> dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return {"bytes": value, "path": None}
    if isinstance(value, str | os.PathLike):
        return read_typed(where, value)
    if isinstance(value, dict) and value.keys() <= {"bytes", "path"}:
        return {"bytes": value.get("bytes"), "path": value.get("path")}
    rate: Any = feature.sampling_rate
    if isinstance(value, Mapping) and {"array", "sampling_rate"} <= value.keys():
        value, rate = value["array"], int(value["sampling_rate"])
    samples = np.asarray(value)
    if not rate or samples.dtype.kind != "f" or samples.ndim not in (1, 2):
        raise ShapeError(
            f"{where}: {type(value).__name__} is no sound: give the bytes of a file, a "
            'path, or {"array": float32[samples] or [samples, channels], '
            '"sampling_rate": 16000}'
        )
    buffer = io.BytesIO()
    _package("soundfile").write(buffer, samples, rate, format="WAV", subtype="FLOAT")
    return {"bytes": buffer.getvalue(), "path": None}
