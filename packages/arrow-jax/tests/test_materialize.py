import numpy as np
import pyarrow as pa
import pytest
from sounds import encoded

from arrow_jax import (
    ArrowJaxError,
    Audio,
    ClassLabel,
    Dataset,
    DecodeError,
    Features,
    Image,
    Loader,
    Ragged,
)

PIXELS = np.random.default_rng(0).integers(0, 256, (1200, 6, 5), np.uint8)
FEATURES = Features({"im": Image(), "y": ClassLabel(["a", "b"])})


@pytest.fixture
def ds():
    return Dataset.from_dict({"im": PIXELS, "y": np.arange(1200) % 2}, FEATURES)


def test_the_rows_are_those_that_decoding_gives(ds, tmp_path):
    view = ds.shuffle(seed=1).with_format("jax")
    made = view.materialize(tmp_path / "a.arrow")
    assert made.spec == view.spec
    np.testing.assert_array_equal(made["im"], view["im"])
    assert made[3]["y"] == view[3]["y"]
    assert made.features["y"] == FEATURES["y"]
    assert made.format == view.format


def test_the_file_is_mapped_and_aligned(ds, tmp_path):
    before = pa.total_allocated_bytes()
    made = ds.materialize(tmp_path / "a.arrow")
    for chunk in made.source.table["im"].chunks:
        assert chunk.storage.buffers()[-1].address % 64 == 0
    assert pa.total_allocated_bytes() - before < PIXELS.nbytes
    batch = next(iter(Loader(made, 64, prefetch=0)))
    run = iter(Loader(made, 64, prefetch=0))
    next(run)
    assert run.stats().viewed["im"] == batch["im"].nbytes


def test_a_second_time_reads_what_is_there(ds, tmp_path, monkeypatch):
    path = tmp_path / "a.arrow"
    ds.materialize(path)
    written = path.stat().st_mtime_ns
    monkeypatch.setattr("arrow_jax._materialize._write", None)
    assert len(ds.materialize(path)) == 1200
    assert path.stat().st_mtime_ns == written
    with pytest.raises(ArrowJaxError, match="not the materialized form of these rows"):
        ds.select(range(5)).materialize(path)
    other = tmp_path / "b.arrow"
    other.write_bytes(b"something else")
    with pytest.raises(ArrowJaxError, match="Delete it, or name another one"):
        ds.materialize(other)


def test_nothing_is_left_of_what_could_not_be_made(tmp_path):
    ds = Dataset.from_dict({"im": [b"no image"]}, Features({"im": Image(shape=(2, 2))}))
    with pytest.raises(DecodeError, match="'im', row 0"):
        ds.materialize(tmp_path / "a.arrow")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ArrowJaxError, match="there is no folder"):
        ds.materialize(tmp_path / "no" / "a.arrow")


def test_nulls_sizes_and_other_columns(tmp_path):
    ds = Dataset.from_dict(
        {
            "im": [np.zeros((2, 3), np.uint8), None, np.ones((4, 3), np.uint8)],
            "t": [[1], [], [2, 3]],
            "s": ["a", None, "b\0"],
        },
        Features({"im": Image()}),
    )
    made = ds.materialize(tmp_path / "a.arrow")
    assert made["s"] == ["a", None, "b\0"]
    assert made["t"] == [[1], [], [2, 3]]
    images = made.with_format("numpy", nulls="mask")["im"]
    assert images.valid.tolist() == [True, False, True]


def test_sounds(tmp_path):
    sounds = [encoded(np.linspace(-0.5, 0.5, 40)), encoded(np.zeros(40))]
    ds = Dataset.from_dict({"a": sounds}, Features({"a": Audio()}))
    made = ds.materialize(tmp_path / "a.arrow").with_format("numpy")
    wanted = ds.with_format("numpy")["a"]
    np.testing.assert_array_equal(made["a"]["array"], wanted["array"])
    assert made["a"]["sampling_rate"].tolist() == wanted["sampling_rate"].tolist()


def test_no_rows(ds, tmp_path):
    assert len(ds.select([]).materialize(tmp_path / "a.arrow")) == 0


@pytest.mark.parametrize("changed", ["im", "y"])
def test_the_file_of_other_rows_is_not_taken(changed, ds, tmp_path):
    ds.materialize(tmp_path / "a.arrow")
    columns = {"im": PIXELS, "y": np.arange(1200) % 2}
    columns[changed] = columns[changed][::-1].copy()
    other = Dataset.from_dict(columns, FEATURES)
    with pytest.raises(ArrowJaxError, match="not the materialized form of these rows"):
        other.materialize(tmp_path / "a.arrow")
    again = Dataset.from_dict({"im": PIXELS, "y": np.arange(1200) % 2}, FEATURES)
    assert len(again.materialize(tmp_path / "a.arrow")) == 1200


def test_what_is_known_of_the_whole_holds_for_a_part(tmp_path):
    columns = {"im": PIXELS[:3], "t": [[1, 2], [3, 4], [5]]}
    ds = Dataset.from_dict(columns, Features({"im": Image()}))
    for _ in range(2):  # written, then found
        made = ds.take(2).materialize(tmp_path / "a.arrow")
        assert isinstance(made.spec["t"], Ragged)


def test_dictionaries_are_written_beside_the_images(tmp_path):
    kinds = pa.chunked_array(
        [
            pa.array(["a", "b"]).dictionary_encode(),
            pa.array(["c", "a"]).dictionary_encode(),
        ]
    )
    table = pa.table(
        {
            "k": kinds,
            "im": Dataset.from_dict(
                {"im": PIXELS[:4]}, Features({"im": Image()})
            ).with_format("arrow")[:]["im"],
        }
    )
    ds = Dataset.from_arrow(table, Features({"im": Image()}))
    for view in (ds, ds.select([3, 0, 2])):
        path = tmp_path / f"{len(view)}.arrow"
        for _ in range(2):  # written, then found
            made = view.materialize(path)
            assert made["k"] == view["k"]
            assert len(made.with_format("jax")[:]["im"]) == len(view)
