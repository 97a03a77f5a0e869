"""Options and states that make no sense are said, not run into."""

import json
import pickle

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arrow_jax import (
    ArrowJaxError,
    Buckets,
    Dataset,
    Features,
    Flat,
    GrainSource,
    Image,
    Loader,
    ManifestError,
    Pack,
    Pad,
    Poisson,
    ShapeError,
    Window,
    mix,
    read_parquet,
    scan_parquet,
)

DS = Dataset.from_dict({"t": [[1], [2, 2], [], [3, 3, 3]], "x": [1, 2, 3, 4]})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": 1.5}, "seed=1.5: wanted an integer"),
        ({"seed": "a"}, "seed='a': wanted an integer"),
        ({"seed": True}, "seed=True: wanted an integer"),
        ({"seed": 1 << 63}, "seed=9223372036854775808: wanted an integer of 64 bits"),
        ({"shuffle": "yes"}, "shuffle='yes': wanted True, False or a Window"),
        ({"shuffle": 1}, "shuffle=1: wanted True"),
        ({"epochs": True}, "epochs=True: wanted at least 1, or None"),
        ({"prefetch": True}, "prefetch=True: wanted 0 or more"),
        ({"host": 5}, "host=5: wanted names of columns"),
        ({"host": None}, "host=None: wanted names"),
        ({"transform": 5}, "transform=5: wanted a function from a batch"),
        ({"host_transform": "x"}, "host_transform='x': wanted a function"),
        ({"sharding": 5}, "sharding=5: wanted a jax.sharding.Sharding, a dict"),
        (
            {"sharding": {"t": None, "x": 5}},
            "sharding=None: wanted a jax.sharding.Sharding",
        ),
        ({"host": ["t"]}, "'t' is in host= and in ragged="),
        ({"host_transform": lambda batch: {}}, "returned an empty dict, wanted a dict"),
    ],
)
def test_options_of_the_wrong_kind(options, text):
    with pytest.raises(ArrowJaxError, match=text):
        Loader(DS, 2, ragged={"t": 4}, **options)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Buckets([1.5, 2.5]), r"Buckets\(\[1.5, 2.5\]\): wanted lengths"),
        (lambda: Buckets("ab"), r"Buckets\('ab'\): wanted lengths"),
        (lambda: Buckets(5), r"Buckets\(5\): wanted lengths"),
        (lambda: Buckets(max_buckets="a"), "max_buckets='a'"),
        (lambda: Pack("a"), r"Pack\('a', .*wanted a length"),
        (lambda: Pack(3, split="no"), "split=no"),
        (lambda: Pad(3, truncate="no"), "truncate='no'.: wanted a boolean"),
        (lambda: Buckets(truncate="no"), "truncate='no'.: wanted a boolean"),
        (lambda: Pad(10**13), r"Pad\(10000000000000\): wanted a length from 0 to"),
        (lambda: Flat(10**30), r"Flat\(10+\): wanted a length from 0 to"),
        (lambda: Poisson(1e-300), r"Poisson\(rate=1e-300\): wanted one"),
        (lambda: Poisson(0.5, capacity="4"), r"Poisson\(capacity='4'\): wanted"),
        (lambda: Pack(2.5), r"Pack\(2.5, .*wanted a length"),
        (lambda: Pack(length=True), r"Pack\(True, .*wanted a length"),
        (lambda: Poisson("a"), r"Poisson\(rate='a'\): wanted one"),
        (lambda: Window(row_groups=True), r"Window\(True\): wanted at least 1"),
        (lambda: mix([DS, DS], ["a", "b"]), r"weights=\['a', 'b'\]: wanted a number"),
        (lambda: mix([DS, DS], [1, 1], rows=2.5), "rows=2.5: wanted at least 1"),
        (lambda: mix([DS, DS], [1, 1], seed="a"), "seed='a': wanted an integer"),
        (lambda: mix(None, [1]), r"mix got \['NoneType'\]"),
        (lambda: scan_parquet([1]), "scan_parquet got 1, wanted a path"),
        (lambda: scan_parquet(None), "scan_parquet got None, wanted a path"),
        (lambda: GrainSource(3), "GrainSource got a int, wanted a Dataset"),
    ],
)
def test_forms_and_sources_of_the_wrong_kind(make, text):
    with pytest.raises(ArrowJaxError, match=text):
        make()


def test_integers_of_numpy_are_integers():
    i = np.int64
    cases = [
        {"shuffle": True, "seed": i(3)},
        {"ragged": {"t": Pack(i(4), block=i(2))}, "epochs": i(2), "prefetch": i(0)},
        {"ragged": {"t": Buckets(np.array([2, 4]), block=i(2))}},
        {"ragged": {"t": i(4)}},
        {"ragged": {"t": Flat(i(40))}, "sampling": Poisson(np.float32(0.5))},
        {"ragged": {"t": 4}, "shuffle": Window(i(1)), "seed": np.uint8(3)},
    ]
    for options in cases:
        ds = DS.with_format(columns=["t"]) if "ragged" in options else DS
        if "ragged" not in options:
            ds = DS.with_format(columns=["x"])
        loader = Loader(ds, i(4), **options)
        with iter(loader) as run:
            next(run)
            state = json.loads(json.dumps(run.state()))
        list(loader.resume(state))
    assert DS.shuffle(seed=i(3))["x"] == DS.shuffle(seed=3)["x"]


def test_shardings_by_column_may_name_devices():
    device = str(jax.devices()[0])
    ds = DS.with_format(columns=["x"])
    (batch,) = Loader(ds, 4, sharding={"x": device})
    assert batch["x"].committed


def test_images_are_not_padded():
    ds = Dataset.from_dict(
        {"im": np.zeros((2, 3, 3), np.uint8)}, Features({"im": Image()})
    )
    with pytest.raises(ArrowJaxError, match=r"cast_column\('im', Image\("):
        Loader(ds, 2, ragged={"im": 3})


def test_a_loader_does_not_pickle_and_says_what_does():
    with pytest.raises(TypeError, match=r"a Loader does not pickle: .*the run's state"):
        pickle.dumps(Loader(DS, 2, ragged={"t": 4}))


@pytest.mark.devices(4)
def test_a_short_last_batch_that_devices_can_not_share_is_refused(devices):
    mesh = jax.sharding.Mesh(devices, ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.P("data"))
    ds = Dataset.from_dict({"t": [[1] * (i % 5 + 1) for i in range(50)]})
    for form in (Pack(8), Pack(8, split=True), Buckets()):
        with pytest.raises(ShapeError, match="can't be shared evenly"):
            Loader(ds, 4, last="keep", ragged={"t": form}, sharding=sharding)


def loader(form):
    return Loader(
        DS.with_format(columns=["t"]), 2, shuffle=True, epochs=3, ragged={"t": form}
    )


@pytest.mark.parametrize("form", [4, Pack(4, block=1), Pack(4, split=True), Buckets()])
@pytest.mark.parametrize(
    "change",
    [
        {"epoch": -1},
        {"epoch": 10**9},
        {"epoch": "a"},
        {"row": 10**20},
        {"row": 1.5},
        {"offset": -1},
        {"offset": 10**9},
        {"pending": [99]},
        {"pending": "a"},
        {"batch_size": 0},
        {"manifest": {}},
        {"manifest": None},
        {"manifest": {"rows": 4}},
        {"manifest": {"rows": 4, "columns": None, "view": "0:4", "files": []}},
        {"manifest": {"rows": 4, "columns": {}, "view": "0:4", "files": 5}},
        {"order": None},
        {"version": "2"},
    ],
    ids=str,
)
def test_states_that_were_changed_by_hand(form, change):
    with iter(loader(form)) as run:
        next(run)
        state = run.state()
    with pytest.raises(ManifestError):
        loader(form).resume(state | change)


def test_rows_without_elements_fill_no_packed_one():
    ds = Dataset.from_dict({"t": [np.zeros(0, np.int32)] * 3})
    for form in (Pack(4), Pack(4, split=True)):
        for epochs in (1, None):  # and does not look for elements for ever
            with pytest.raises(ArrowJaxError, match="'t': no row has an element"):
                Loader(ds, 2, epochs=epochs, last="drop", ragged={"t": form})
        full = Dataset.from_dict({"t": [np.ones(2, np.int32)]})
        with pytest.raises(ArrowJaxError, match="'t': no row has an element"):
            Loader(mix([ds, full], [1, 0]), 2, epochs=None, ragged={"t": form})
    (batch,) = Loader(ds, 3, ragged={"t": Buckets()})
    assert batch["t"].lengths.tolist() == [0, 0, 0]


def test_a_scan_and_a_mix_pickle(tmp_path):
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "a.parquet")
    scan = pickle.loads(pickle.dumps(scan_parquet(tmp_path)))
    assert next(iter(Loader(scan, 3)))["x"].tolist() == [1, 2, 3]
    assert len(pickle.loads(pickle.dumps(mix([DS], [1])))) == 4


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for name, x in (("p", [1, 2, 3]), ("q", [4, 5])):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"x": x}), tmp_path / name / "a.parquet")
    with iter(Loader(scan_parquet(tmp_path), 2)) as run:
        files = run.state()["manifest"]["files"]
    assert files == [["p/a.parquet", 3], ["q/a.parquet", 2]]


def test_files_of_one_name_in_another_order_are_another_manifest(tmp_path):
    files = []
    for name, x in (("a", [1, 2, 3]), ("b", [7, 8, 9])):
        (tmp_path / name).mkdir()
        files.append(tmp_path / name / "p.parquet")
        pq.write_table(pa.table({"x": x}), files[-1])
    for read in (read_parquet, scan_parquet):
        with iter(Loader(read(files), 2)) as run:
            next(run)
            state = run.state()
        assert state["manifest"]["files"] == [["a/p.parquet", 3], ["b/p.parquet", 3]]
        with pytest.raises(ManifestError, match=r"now b/p\.parquet \(3\), a/p"):
            Loader(read(files[::-1]), 2).resume(state)


def test_a_state_of_other_data_says_what_differs():
    ds = Dataset.from_dict({"x": np.arange(10), "v": np.zeros((10, 2))})
    state = iter(Loader(ds, 3, prefetch=0)).state()
    small = Dataset.from_dict({"x": np.arange(9), "v": np.zeros((9, 2))})
    with pytest.raises(ManifestError, match="saved on 10 rows, the data now have 9"):
        Loader(small, 3).resume(state)
    other = Dataset.from_dict({"x": np.arange(10.0), "w": np.zeros(10)})
    with pytest.raises(
        ManifestError, match=r"x: int64 then, double now; v: .*absent now"
    ):
        Loader(other, 3).resume(state)
    with pytest.raises(ManifestError, match="rows selected are not those"):
        Loader(ds.shuffle(seed=1), 3).resume(state)
    with pytest.raises(
        ManifestError, match=r"last='mask', this loader has last='drop'"
    ):
        Loader(ds, 3, last="drop").resume(state)
    with pytest.raises(
        ManifestError, match=r"shuffle=False.*Loader\(..., shuffle=False"
    ):
        Loader(ds, 3, shuffle=True).resume(state)
    shuffled = iter(Loader(ds, 3, shuffle=True, prefetch=0)).state()
    with pytest.raises(ManifestError, match="seed=0, this loader has seed=1"):
        Loader(ds, 3, shuffle=True, seed=1).resume(shuffled)
    with pytest.raises(ManifestError, match="has no 'version'"):
        Loader(ds, 3).resume({})
    with pytest.raises(ManifestError, match="version 99, this release reads 2"):
        Loader(ds, 3).resume(state | {"version": 99})
    with pytest.raises(ManifestError, match="row 10 of epoch 0"):
        Loader(ds, 3).resume(state | {"row": 10})


def test_one_file_of_another_name_is_said(tmp_path):
    table = pa.table({"x": [1, 2, 3]})
    for name in "ab":
        pq.write_table(table, tmp_path / f"{name}.parquet")
    with iter(Loader(scan_parquet(tmp_path / "a.parquet"), 2)) as run:
        next(run)
        state = run.state()
    with pytest.raises(
        ManifestError, match=r"files a.parquet \(3\), the data are now b"
    ):
        Loader(scan_parquet(tmp_path / "b.parquet"), 2).resume(state)
