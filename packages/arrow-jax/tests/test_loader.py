import gc
import json
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import (
    ArrowJaxError,
    Dataset,
    Features,
    Image,
    Loader,
    NarrowingError,
    NullsError,
    Ragged,
    ShapeError,
    UnsupportedTypeError,
)
from chex_harness import assert_compiles, assert_trees_close


def ours():
    return [t for t in threading.enumerate() if t.name.startswith("arrow-jax")]


@pytest.fixture(autouse=True)
def no_threads_left():
    yield
    gc.collect()
    end = time.monotonic() + 5
    while ours() and time.monotonic() < end:
        time.sleep(0.005)
    assert not ours()


@pytest.fixture
def ds():
    return Dataset.from_dict({"x": np.arange(10), "v": np.arange(20.0).reshape(10, 2)})


def real(batches):
    """The rows of batches without padding."""
    return [
        int(x)
        for b in batches
        for x, ok in zip(b["x"], b.get("valid", np.ones(len(b["x"]))), strict=True)
        if ok
    ]


def test_mask_pads_the_last_batch_of_each_epoch(ds):
    batches = list(Loader(ds, 4, epochs=2))
    assert [b["x"].tolist() for b in batches[:3]] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 9, 9],
    ]
    assert [b["valid"].tolist() for b in batches[2:4]] == [
        [True, True, False, False],
        [True] * 4,
    ]
    assert real(batches) == [*range(10)] * 2


def test_drop_and_keep(ds):
    batches = list(Loader(ds, 4, epochs=2, last="drop"))
    assert [b["x"].tolist() for b in batches] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 0, 1],
        [2, 3, 4, 5],
        [6, 7, 8, 9],
    ]
    assert "valid" not in batches[0]
    batches = list(Loader(ds, 4, last="keep"))
    assert [len(b["x"]) for b in batches] == [4, 4, 2]


@pytest.mark.parametrize("last", ["mask", "drop", "keep"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_length_counts_the_batches_of_all_epochs(ds, last, epochs):
    loader = Loader(ds, 4, last=last, epochs=epochs)
    assert len(loader) == len(list(loader))


def test_an_endless_loader_has_no_length(ds):
    with Loader(ds, 4, epochs=None, shuffle=True) as loader:
        with pytest.raises(TypeError, match="runs for ever and has no length"):
            len(loader)
        run = iter(loader)
        assert len([next(run) for _ in range(50)]) == 50


def test_shuffle_gives_every_row_once_and_another_order_each_epoch(ds):
    rows = real(Loader(ds, 3, shuffle=True, seed=1, epochs=2))
    assert sorted(rows[:10]) == sorted(rows[10:]) == [*range(10)]
    assert rows[:10] != rows[10:]
    assert rows == real(Loader(ds, 7, shuffle=True, seed=1, epochs=2, prefetch=0))
    assert rows != real(Loader(ds, 3, shuffle=True, seed=2, epochs=2))


def test_other_columns_follow_the_shuffle(ds):
    for batch in Loader(ds, 4, shuffle=True):
        np.testing.assert_array_equal(batch["v"][:, 0], batch["x"] * 2)


def test_spec_is_known_before_and_true_after(ds):
    loader = Loader(ds, 4, shuffle=True)
    shapes = jax.tree.map(lambda s: (s.shape, s.dtype), loader.spec)
    assert shapes["v"] == ((4, 2), np.float32)
    for batch in loader:
        assert jax.tree.map(lambda a: (a.shape, a.dtype), batch) == shapes
        assert list(batch) == list(loader.spec) == ["x", "v", "valid"]
    jax.jit(lambda b: b["x"].sum()).lower(loader.spec).compile()


@pytest.mark.parametrize("shuffle", [False, True])
def test_one_trace_for_all_epochs_with_nulls_ragged_rows_and_padding(shuffle):
    table = pa.table(
        {
            "n": [1, None, 3, 4, 5, 6, 7],
            "r": [[1], [2, 3], [], None, [4, None, 5], [6], [7]],
            "f": [[1.0, 2.0]] * 7,
        }
    )
    ds = Dataset.from_arrow(table).with_format("jax", nulls="mask")
    step = jax.jit(lambda b: jax.tree.map(jnp.sum, b))
    loader = Loader(ds, 3, ragged={"r": 4}, epochs=3, shuffle=shuffle)
    with assert_compiles(1):
        for batch in loader:
            step(batch)


def test_ragged_columns_are_padded_and_long_rows_raise():
    ds = Dataset.from_dict(
        {"r": [[1, 2], [], [3, 4, 5]], "deep": [[[1, 1]], [], [[2, 2]]]}
    )
    batch = next(iter(Loader(ds, 3, ragged={"r": 3, "deep": 2})))
    assert isinstance(batch["r"], Ragged)
    assert batch["r"].values.tolist() == [[1, 2, 0], [0, 0, 0], [3, 4, 5]]
    assert batch["r"].lengths.tolist() == [2, 0, 3]
    assert batch["r"].lengths.dtype == np.int32
    assert batch["deep"].values.shape == (3, 2, 2)
    loader = Loader(ds.select([1, 2]), 1, ragged={"r": 2, "deep": 2}, prefetch=0)
    run = iter(loader)
    next(run)
    with pytest.raises(ShapeError, match=r"column 'r', row 2: has 3 elements.*holds 2"):
        next(run)


def test_ragged_gives_the_same_for_lists_that_happen_to_be_alike():
    alike = Dataset.from_dict({"r": [[1, 2], [3, 4]]})
    batch = next(iter(Loader(alike, 2, ragged={"r": 3})))
    assert batch["r"].values.tolist() == [[1, 2, 0], [3, 4, 0]]
    assert batch["r"].lengths.tolist() == [2, 2]
    with pytest.raises(ShapeError, match="its rows are scalars"):
        Loader(Dataset.from_dict({"r": [1, 2]}), 2, ragged={"r": 3})


def test_ragged_nests_as_masked_ragged_masked():
    rows = [[1, None], None, [2]]
    ds = Dataset.from_arrow(pa.table({"r": pa.array(rows, pa.list_(pa.int8()))}))
    got = next(iter(Loader(ds.with_format("jax", nulls="mask"), 3, ragged={"r": 2})))
    assert got["r"].valid.tolist() == [True, False, True]
    assert got["r"].values.lengths.tolist() == [2, 0, 1]
    assert got["r"].values.values.values.tolist() == [[1, 0], [0, 0], [2, 0]]
    assert got["r"].values.values.valid.tolist() == [
        [True, False],
        [False, False],
        [True, False],
    ]


def test_columns_of_other_shapes_are_refused_when_the_loader_is_made(ds):
    strings = Dataset.from_dict({"x": [1, 2], "s": ["a", "b"]})
    with pytest.raises(
        UnsupportedTypeError, match=r"column 's'.*host=\['s'\].*columns="
    ):
        Loader(strings, 2)
    with pytest.raises(UnsupportedTypeError, match="column 's'"):
        Loader(Dataset.from_dict({"s": [{"a": "x", "b": 1}]}), 1)
    with pytest.raises(ShapeError, match=r"column 'r'.*ragged=\{'r': 512\}"):
        Loader(Dataset.from_dict({"r": [[1], [2, 3]]}), 2)
    sizes = [np.zeros((2, 2), np.uint8), np.zeros((3, 2), np.uint8)]
    images = Dataset.from_dict({"im": sizes}, Features({"im": Image()}))
    with pytest.raises(ShapeError, match="column 'im': its images differ in size"):
        Loader(images, 2)
    with pytest.raises(NullsError, match="column 'x', row 1"):
        Loader(Dataset.from_dict({"x": [1, None]}), 1)
    with pytest.raises(NarrowingError, match="column 'x', row 0"):
        Loader(Dataset.from_dict({"x": [2**40]}), 1)
    with pytest.raises(UnsupportedTypeError, match="column 'x' has type null"):
        Loader(Dataset.from_dict({"x": [None]}), 1)


def test_host_columns_stay_beside_the_batch(ds):
    with_names = ds.map(lambda b: {"s": [f"row {x}" for x in b["x"]]})
    run = iter(Loader(with_names, 4, host=["s"], shuffle=True))
    for batch in run:
        assert run.host_columns["s"] == [f"row {x}" for x in batch["x"]]
        assert "s" not in batch


def test_a_column_named_valid(ds):
    taken = Dataset.from_dict({"valid": [1, 2], "x": [1, 2]})
    with pytest.raises(ArrowJaxError, match=r'a column is named "valid".*last="drop"'):
        Loader(taken, 2)
    assert next(iter(Loader(taken, 2, last="drop")))["valid"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 0}, "batch_size=0: wanted at least 1"),
        ({"last": "pad"}, r"last='pad': wanted \"mask\", \"drop\" or \"keep\""),
        ({"epochs": 0}, "epochs=0: wanted at least 1, or None"),
        ({"prefetch": -1}, "prefetch=-1: wanted 0 or more"),
        (
            {"batch_size": 11, "last": "drop"},
            "gives no batch of 10 rows.*smaller batch_size",
        ),
        ({"host": ["z"]}, r"no column 'z'; there are \['x', 'v'\]"),
        ({"ragged": {"z": 2}}, "no column 'z'"),
        ({"host": ["x", "v"]}, "all are in host="),
    ],
)
def test_options_that_make_no_sense(ds, options, text):
    batch_size = options.pop("batch_size", 2)
    with pytest.raises(ArrowJaxError, match=text):
        Loader(ds, batch_size, **options)


def test_no_rows_and_no_dataset():
    with pytest.raises(ArrowJaxError, match="has no rows"):
        Loader(Dataset.from_dict({"x": []}), 1)
    with pytest.raises(ArrowJaxError, match=r"got a list, wanted a Dataset"):
        Loader([1, 2], 1)


@pytest.mark.parametrize("last", ["mask", "drop", "keep"])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_resume_after_every_batch_twice_is_the_run_that_never_stopped(
    ds, last, prefetch
):
    def make():
        return Loader(ds, 3, shuffle=True, epochs=3, last=last, prefetch=prefetch)

    whole = list(make())
    for k in range(len(whole) + 1):
        with iter(make()) as run:
            for _ in range(k):
                next(run)
            state = json.loads(json.dumps(run.state()))
        with make().resume(state) as run:
            assert run.state() == state
            part = [next(run) for _ in range(min(2, len(whole) - k))]
            again = json.loads(json.dumps(run.state()))
        rest = part + list(make().resume(again))
        assert_trees_close(rest, whole[k:])


def test_another_batch_size_has_the_remaining_rows(ds):
    run = iter(Loader(ds, 3, shuffle=True, epochs=2))
    taken = [next(run), next(run)]
    state = run.state()
    run.close()
    whole = real(Loader(ds, 3, shuffle=True, epochs=2))
    for batch_size in (1, 2, 4, 10):
        loader = Loader(ds, batch_size, shuffle=True, epochs=2, prefetch=0)
        assert real(taken) + real(loader.resume(state)) == whole


def test_resuming_reads_nothing_of_what_was_before():
    ds = Dataset.from_dict({"x": np.arange(1000)})
    loader = Loader(ds, 10, shuffle=True, epochs=None, prefetch=0)
    state = iter(loader).state() | {"epoch": 10**12, "row": 990}
    start = time.perf_counter()
    run = loader.resume(state)
    assert len(next(run)["x"]) == 10
    assert run.state()["epoch"] == 10**12 + 1
    assert time.perf_counter() - start < 5


def test_transform_runs_on_the_device_and_has_a_spec(ds):
    def scale(batch):
        return {"y": batch["v"] / 2, "ok": batch["valid"]}

    loader = Loader(ds, 4, transform=scale)
    assert loader.spec["y"].shape == (4, 2)
    assert set(loader.spec) == {"ok", "y"}
    with assert_compiles(1):
        batches = list(loader)
    np.testing.assert_array_equal(batches[0]["y"][:, 0], np.arange(4.0))


def test_x64_is_that_of_the_time_when_the_loader_was_made(ds):
    with jax.enable_x64(new_val=True):
        loader = Loader(ds, 4, transform=lambda b: b | {"y": b["x"] * 2})
    for batch in loader:
        assert batch["x"].dtype == batch["y"].dtype == np.int64
        assert batch["v"].dtype == np.float64
    assert loader.spec["y"].dtype == np.int64


def test_the_default_device_is_that_of_the_time_when_the_loader_was_made(ds):
    device = jax.devices()[2]
    with jax.default_device(device):
        loader = Loader(ds, 4)
    for batch in loader:
        assert batch["x"].devices() == {device}
        assert not batch["x"].committed


def test_the_device_of_the_format(ds):
    device = jax.devices()[3]
    batch = next(iter(Loader(ds.with_format("jax", device=device), 4)))
    assert batch["valid"].devices() == batch["x"].devices() == {device}
    assert batch["x"].committed


@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_a_batch_does_not_change_when_others_are_made(prefetch):
    x = np.random.default_rng(0).normal(size=(64, 256)).astype(np.float32)
    loader = Loader(
        Dataset.from_dict({"x": x}), 8, shuffle=True, epochs=3, prefetch=prefetch
    )
    batches = [(b["x"], np.array(b["x"])) for b in loader]
    for batch, at_the_time in batches:
        np.testing.assert_array_equal(batch, at_the_time)


def test_waiting_is_counted(ds):
    run = iter(Loader(ds, 4, prefetch=0))
    assert run.wait_seconds == 0
    list(run)
    assert run.wait_seconds > 0


def test_errors_travel_and_end_the_thread():
    good = np.zeros((2, 2), np.uint8)
    ds = Dataset.from_dict(
        {"im": [good] * 7 + [b"bad"]}, Features({"im": Image(shape=(2, 2))})
    )
    run = iter(Loader(ds, 2))
    for _ in range(3):
        next(run)
    with pytest.raises(ValueError, match="column 'im', row 7"):
        next(run)
    assert not ours()


def test_closing_the_loader_closes_its_runs(ds):
    with Loader(ds, 2, epochs=None) as loader:
        runs = [iter(loader), iter(loader)]
        for run in runs:
            next(run)
        assert len(ours()) == 2
    assert not ours()
    for run in runs:
        assert list(run) == []


def test_a_break_and_an_exception_in_the_loop_leave_no_thread(ds):
    loader = Loader(ds, 2, epochs=None)
    for _ in loader:
        break

    def failing():
        for _ in loader:
            raise RuntimeError("in the training loop")

    with pytest.raises(RuntimeError, match="in the training loop"):
        failing()
