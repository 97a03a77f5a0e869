"""Sounds that the tests make for themselves."""

import io

import numpy as np
import soundfile


def tone(n=800, channels=1):
    """Two tones, one a channel, or the first alone: float32[n] or [n, 2]."""
    at = np.arange(n, dtype=np.float32)[:, None] / np.array([10, 7], np.float32)
    values = 0.5 * np.sin(at)
    return values[:, 0] if channels == 1 else values


def encoded(samples, rate=8000, form="WAV", **options):
    """The bytes of a file."""
    if form == "WAV":
        options = {"subtype": "FLOAT"} | options
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=form, **options)
    return buffer.getvalue()
