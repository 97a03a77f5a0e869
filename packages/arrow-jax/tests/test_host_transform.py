import jax
import numpy as np
import pytest

from arrow_jax import ArrowJaxError, Dataset, Flat, Loader, ShapeError

DS = Dataset.from_dict({"x": np.arange(10, dtype=np.float32)})


def test_it_gets_numpy_and_gives_the_batch():
    seen = []

    def double(batch):
        seen.append(type(batch["x"]))
        return {"y": batch["x"][:, None] * np.ones(3), "ok": batch["valid"]}

    loader = Loader(DS, 4, host_transform=double)
    assert loader.spec["y"].shape == (4, 3)
    assert loader.spec["y"].dtype == np.float64
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
        return {"y": batch["x"].astype(np.float64 if batch["x"].any() else np.float32)}

    run = iter(Loader(DS, 4, host_transform=odd))
    with pytest.raises(
        ShapeError, match=r"returned \['y'\] float64\[4\], but for a bat"
    ):
        next(run)
