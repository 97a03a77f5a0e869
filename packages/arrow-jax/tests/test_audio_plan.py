import json
import subprocess
import sys

import jax
import numpy as np
import pyarrow as pa
import pytest
from sounds import encoded, tone

from arrow_jax import (
    Audio,
    Dataset,
    DecodeError,
    Loader,
    Masked,
    NullsError,
    Ragged,
    ShapeError,
    read_parquet,
    write_parquet,
)


def dataset(items, **options):
    return Dataset.from_dict({"a": items}, {"a": Audio(**options)})


def test_a_row_is_samples_and_their_rate():
    row = dataset([encoded(tone())]).with_format("jax")[0]["a"]
    assert (row["array"].dtype, row["sampling_rate"].dtype) == (np.float32, np.int32)
    np.testing.assert_array_equal(row["array"], tone())
    assert row["sampling_rate"] == 8000
    plain = dataset([encoded(tone()), None])[:]["a"]
    assert plain[0]["sampling_rate"] == 8000
    np.testing.assert_array_equal(plain[0]["array"], tone())
    assert plain[1] is None


def test_equal_lengths_are_a_tensor_and_others_a_list_always():
    ds = dataset([encoded(tone()), encoded(-tone())]).with_format("jax")
    assert ds.spec["a"]["array"].shape == (800,)
    assert ds[:]["a"]["array"].shape == (2, 800)
    assert ds[0:0]["a"]["array"].shape == (0, 800)
    ds = dataset([encoded(tone()), encoded(tone(900)), encoded(tone())])
    ds = ds.with_format("jax")
    assert isinstance(ds[:1]["a"]["array"], list)
    assert [len(x) for x in ds[:]["a"]["array"]] == [800, 900, 800]
    assert isinstance(ds.spec["a"]["array"], Ragged)
    assert ds[1]["a"]["array"].shape == (900,)


def test_resampling_and_stereo():
    items = [encoded(tone(800, 2)), encoded(tone(1600, 2), 16000)]
    ds = dataset(items, sampling_rate=8000, mono=False).with_format("jax")
    assert ds[:]["a"]["array"].shape == (2, 800, 2)
    assert ds[:]["a"]["sampling_rate"].tolist() == [8000, 8000]
    mixed = dataset([items[0], encoded(tone())], mono=False).with_format("numpy")
    assert [x.shape for x in mixed[:]["a"]["array"]] == [(800, 2), (800, 1)]
    with pytest.raises(ShapeError, match=r"differ in their channels\. Ask for mono"):
        Loader(mixed, 2, ragged={"a": 800})


def test_a_loader_pads():
    items = [encoded(tone()), encoded(tone(900))]
    with pytest.raises(ShapeError, match=r"column 'a': its sounds differ.*ragged="):
        Loader(dataset(items), 2)
    with Loader(dataset(items), 2, ragged={"a": 1000}) as loader:
        (batch,) = loader
        spec = loader.spec["a"]["array"]
    got = batch["a"]["array"]
    assert spec.values.shape == got.values.shape == (2, 1000)
    assert got.lengths.tolist() == [800, 900]
    np.testing.assert_array_equal(got.values[0, :800], tone())
    assert not got.values[0, 800:].any()
    wrong = r"'a', row 1: has 900 samples, .* holds 850"
    with (
        Loader(dataset(items), 2, ragged={"a": 850}) as loader,
        pytest.raises(ShapeError, match=wrong),
    ):
        list(loader)


def test_nulls_follow_the_policy():
    ds = dataset([encoded(tone()), None])
    with pytest.raises(NullsError, match=r"column 'a', row 1: found no sound \(1 of 2"):
        ds.with_format("jax")[:]
    masked = ds.with_format("jax", nulls="mask")
    got = masked[:]["a"]["array"]
    assert isinstance(got, Masked)
    assert got.valid.tolist() == [True, False]
    assert got.values.shape == (2, 800)
    assert jax.tree.structure(masked.spec["a"]) == jax.tree.structure(masked[0]["a"])
    assert not ds.with_format("jax", nulls=0)[1]["a"]["array"].any()


@pytest.mark.parametrize("content", [b"", b"?", encoded(tone())[:30]])
def test_corrupt_bytes_name_column_and_row(content):
    ds = dataset([encoded(tone()), content])
    for kind in ("numpy", None):
        with pytest.raises(DecodeError, match=r"column 'a', row 1: .*ds\.select"):
            ds.with_format(kind)[:]


def test_a_huge_sound_is_not_decoded(monkeypatch):
    monkeypatch.setattr("arrow_jax._audio._MAX_SAMPLES", 100)
    with pytest.raises(DecodeError, match=r"row 0: .* samples are too many"):
        dataset([encoded(tone())]).with_format("numpy")[:]


def test_paths_follow_the_rules_of_images(tmp_path):
    (tmp_path / "data").mkdir()
    for place in (tmp_path / "a.wav", tmp_path / "data" / "a.wav"):
        place.write_bytes(encoded(tone()))
    type_ = pa.struct({"bytes": pa.binary(), "path": pa.string()})

    def read(path):
        table = pa.table({"a": pa.array([{"bytes": None, "path": path}], type_)})
        folder = tmp_path / "data"
        return Dataset.from_arrow(table, {"a": Audio()}, folder=folder)[0]["a"]

    assert read("a.wav")["array"].shape == (800,)
    for path in ("../a.wav", str(tmp_path / "a.wav"), "https://host/a.wav"):
        with pytest.raises(DecodeError, match="not one below the dataset's folder"):
            read(path)


def test_features_go_through_a_file_as_datasets_writes_them(tmp_path):
    feature = Audio(sampling_rate=8000)
    file = tmp_path / "x.parquet"
    write_parquet(file, {"a": [encoded(tone())]}, {"a": feature})
    assert read_parquet(file).features["a"] == feature
    said = json.loads(read_parquet(file).to_arrow().schema.metadata[b"huggingface"])
    wanted = {"sampling_rate": 8000, "_type": "Audio"}
    assert said["info"]["features"]["a"] == wanted
    stereo = dataset([encoded(tone(800, 2))], mono=False)
    write_parquet(file, stereo)
    assert read_parquet(file).features["a"] == Audio(mono=False)


def test_a_missing_package_says_what_to_type():
    code = (
        "import sys; sys.modules['soundfile'] = None\n"
        "from arrow_jax import *\n"
        "ds = Dataset.from_dict({'a': [b'?']}, {'a': Audio()})\n"
        "try: ds.with_format('numpy')[0]\n"
        "except ArrowJaxError as error: print(error)\n"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, check=True, text=True)
    assert 'pip install "arrow-jax[audio]"' in done.stdout


def lying(n, *, n_samples=800, channels=1):
    """A FLAC file whose header states n samples."""
    made = bytearray(encoded(tone(n_samples, channels), form="FLAC"))
    stated = int.from_bytes(made[18:26], "big") >> 36 << 36 | n
    made[18:26] = stated.to_bytes(8, "big")
    return bytes(made)


@pytest.mark.parametrize("n", [(1 << 28) - 1, 1 << 27, 3_000_000])
@pytest.mark.parametrize("mono", [True, False])
def test_a_header_that_lies_about_its_length_costs_no_memory(n, mono):
    ds = dataset([lying(n)] * 64, mono=mono)
    for kind in ("jax", "numpy"):
        with pytest.raises(DecodeError, match=r"column 'a', row 0: .*ds\.select"):
            ds.with_format(kind)[:]
    long = dataset([lying((1 << 28) - 1, n_samples=90_000)] * 64, mono=mono)
    with pytest.raises(DecodeError, match=r"column 'a', row 0: .*ds\.select"):
        long.with_format("numpy")[:]


def test_a_rate_that_makes_a_sound_huge_is_refused():
    slow = encoded(np.zeros(1 << 20, np.float32), rate=1)
    with pytest.raises(DecodeError, match=r"row 0: .* 16000 times .* are too many"):
        dataset([slow], sampling_rate=16000).with_format("numpy")[:]


def test_silence_packs_tightly_and_is_read_in_blocks(monkeypatch):
    monkeypatch.setattr("arrow_jax._audio._BLOCK", 1000)
    silence = encoded(np.zeros((400_000, 2), np.float32), form="FLAC")
    ds = dataset([silence, silence], mono=False).with_format("numpy")
    assert ds[:]["a"]["array"].shape == (2, 400_000, 2)
    sound = dataset([encoded(tone(4000, 2))], mono=False).with_format("numpy")
    np.testing.assert_array_equal(sound[0]["a"]["array"], tone(4000, 2))
