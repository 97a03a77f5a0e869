import numpy as np
import pytest
from sounds import encoded, tone

from arrow_jax import ArrowJaxError, Audio, Dataset, DecodeError, Features, ShapeError
from arrow_jax._audio import decode_sound, sound_of


@pytest.mark.parametrize("form", ["WAV", "FLAC", "OGG", "MP3"])
@pytest.mark.parametrize("channels", [1, 2])
def test_every_format_decodes_to_what_its_header_says(form, channels):
    samples = tone(8000, channels)
    content = encoded(samples, 16000, form)
    for feature in (Audio(), Audio(mono=False), Audio(sampling_rate=8000)):
        values, rate = decode_sound(content, feature)
        assert values.dtype == np.float32
        sound = sound_of(content, feature)
        assert (len(values), rate) == (sound.n_samples, sound.rate)
    got, _ = decode_sound(content, Audio(mono=False))
    assert got.shape == (8000, channels)
    if form in ("WAV", "FLAC"):
        wanted = samples.reshape(8000, channels)
        np.testing.assert_allclose(got, wanted, atol=1e-4)
        mono, _ = decode_sound(content, Audio())
        np.testing.assert_allclose(mono, wanted.mean(axis=1), atol=1e-4)


@pytest.mark.parametrize("rate", [8000, 22050, 44100, 48000])
def test_resampling_keeps_the_tone(rate):
    seconds = np.arange(rate) / rate
    content = encoded(np.sin(2 * np.pi * 440 * seconds).astype(np.float32), rate)
    values, found = decode_sound(content, Audio(sampling_rate=16000))
    assert (len(values), found) == (16000, 16000)
    wanted = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    np.testing.assert_allclose(values[500:-500], wanted[500:-500], atol=1e-2)


def test_odd_lengths_are_rounded_up():
    for n in (1, 2, 799, 801):
        content = encoded(tone(n), 44100)
        values, _ = decode_sound(content, Audio(sampling_rate=16000))
        assert len(values) == -(-n * 16000 // 44100)
        assert sound_of(content, Audio(sampling_rate=16000)).n_samples == len(values)


def test_everything_that_is_a_sound_goes_in(tmp_path):
    samples = tone()
    (tmp_path / "a.wav").write_bytes(encoded(samples))
    items = [
        encoded(samples),
        tmp_path / "a.wav",
        str(tmp_path / "a.wav"),
        {"array": samples, "sampling_rate": 8000},
        {"bytes": encoded(samples), "path": None},
        samples,
    ]
    feature = Features({"a": Audio(sampling_rate=8000)})
    got = Dataset.from_dict({"a": items}, feature).with_format("numpy")[:]["a"]
    np.testing.assert_array_equal(got["array"], [samples] * 6)
    again = Dataset.from_dict({"a": got}, feature).with_format("numpy")[:]["a"]
    np.testing.assert_array_equal(again["array"], got["array"])


def test_what_is_no_sound_says_so(tmp_path):
    for item in (3, np.zeros(4, np.int16), tone()):
        with pytest.raises(
            ShapeError, match=r"column 'a', row 1: .* is no sound: give"
        ):
            Dataset.from_dict({"a": [None, item]}, {"a": Audio()})
    with pytest.raises(FileNotFoundError):
        Dataset.from_dict({"a": ["absent.wav"]}, {"a": Audio()})
    with pytest.raises(ArrowJaxError, match=r"sampling_rate=0\): wanted samples a sec"):
        Audio(sampling_rate=0)
    with pytest.raises(ArrowJaxError, match="such as 16000, and at most 1,000,000"):
        Audio(sampling_rate=10**9)


def test_what_is_no_sound_is_said_without_objects():
    ds = Dataset.from_dict({"x": [b"nope"]}, {"x": Audio()})
    with pytest.raises(DecodeError, match="column 'x', row 0: ") as caught:
        ds[0]
    assert "object at" not in str(caught.value)
