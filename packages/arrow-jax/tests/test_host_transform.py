import jax
import numpy as np
import pytest

from arrow_jax import (
    ArrowJaxError,
    Dataset,
    Flat,
    Loader,
    NarrowingError,
    ShapeError,
    UnsupportedTypeError,
)

DS = Dataset.from_dict({"x": np.arange(10, dtype=np.float32)})


def test_it_gets_numpy_and_gives_the_batch():
    seen = []

    def double(batch):
        seen.append(type(batch["x"]))
        return {"y": batch["x"][:, None] * np.ones(3), "ok": batch["valid"]}

    loader = Loader(DS, 4, host_transform=double)
    assert loader.spec["y"].shape == (4, 3)
    # Without x64 jax has no float64, so neither has the spec.
    assert loader.spec["y"].dtype == next(iter(loader))["y"].dtype == np.float32
    batches = list(Loader(DS, 4, host_transform=lambda b: {"y": b["x"] * 2}))
    assert [b["y"].tolist() for b in batches][-1] == [16, 18, 18, 18]
    assert set(seen) == {np.ndarray}


def test_before_transform_and_on_any_mesh():
    mesh = jax.make_mesh((4,), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.P("data"))
    loader = Loader(
        DS,
        4,
        sharding=sharding,
        host_transform=lambda b: {"y": b["x"] + 1},
        transform=lambda b: {"z": b["y"] * 2},
    )
    batches = list(loader)
    assert batches[0]["z"].tolist() == [2, 4, 6, 8]
    assert batches[0]["z"].sharding.is_equivalent_to(sharding, 1)


def test_beside_rows_joined_end_to_end():
    ds = Dataset.from_dict({"t": [[1], [1, 2, 3], [4, 5]]})
    loader = Loader(
        ds,
        2,
        last="keep",
        ragged={"t": Flat(6)},
        host_transform=lambda b: {"t": b["t"], "n": b["t"].lengths * 2},
    )
    assert loader.spec["t"].values.shape == (6,)
    assert [b["n"].tolist() for b in loader] == [[2, 6], [4]]


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda b: b["x"], ArrowJaxError, "returned a ndarray, wanted a dict of NumPy"),
        (
            lambda b: {"y": 3},
            ArrowJaxError,
            r"returned a int at \['y'\], wanted a NumPy",
        ),
        (
            lambda b: {"y": b["x"][:1]},
            ShapeError,
            r"returned \[1\] at \['y'\] for a batch",
        ),
    ],
)
def test_what_a_trial_on_zeros_finds(function, error, text):
    with pytest.raises(error, match=text):
        Loader(DS, 4, host_transform=function)


def test_shapes_that_depend_on_values_raise_at_the_batch():
    def odd(batch):
        return {"y": batch["x"].astype(np.float16 if batch["x"].any() else np.float32)}

    run = iter(Loader(DS, 4, host_transform=odd))
    with pytest.raises(
        ShapeError, match=r"returned \['y'\] float16\[4\], but for a bat"
    ):
        next(run)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.int64(2**40), r"returned 1099511627776 at \['y'\]\[0\], .* fit int32"),
        (np.int64(-3_000_000_000), r"-3000000000 at \['y'\]\[0\], .* fit int32"),
        (np.uint64(2**33), r"8589934592 at \['y'\]\[0\], which does not fit uint32"),
        (np.float64(1e300), r"1e\+300 at \['y'\]\[0\], which does not fit float32"),
    ],
)
def test_numbers_that_do_not_fit_are_not_wrapped(number, text):
    def function(batch):
        return {"y": np.where(batch["x"] == 0, 0, 1).astype(number.dtype) * number}

    loader = Loader(DS, 4, host_transform=function)
    assert loader.spec["y"].dtype.itemsize == 4
    with pytest.raises(NarrowingError, match=text):
        list(Loader(DS.skip(1), 4, host_transform=function))


def test_numbers_that_fit_are_narrowed():
    def function(batch):
        return {"y": batch["x"].astype(np.float64) + np.inf, "z": batch["x"] > 3}

    batch = next(iter(Loader(DS.skip(1), 4, host_transform=function)))
    assert batch["y"].dtype == np.float32
    assert np.isinf(batch["y"]).all()
    assert batch["z"].tolist() == [False, False, False, True]
    swapped = next(
        iter(Loader(DS, 4, host_transform=lambda b: {"y": b["x"].astype(">f4")}))
    )
    assert swapped["y"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["U3", object, "datetime64[s]"])
def test_what_is_no_number_is_said_when_the_loader_is_made(dtype):
    def function(batch):
        return {"y": np.zeros(len(batch["x"]), dtype)}

    with pytest.raises(UnsupportedTypeError, match=r"\['y'\], which is no array"):
        Loader(DS, 4, host_transform=function)
