import jax
import numpy as np
import pytest

from arrow_jax import (
    ArrowJaxError,
    Buckets,
    Dataset,
    Flat,
    Loader,
    Pack,
    Pad,
    ShapeError,
)
from arrow_jax._forms import read_forms


def test_an_integer_is_a_length():
    forms = read_forms({"a": 3, "b": np.int64(4), "c": Flat(2)})
    assert forms == {"a": Pad(3), "b": Pad(4), "c": Flat(2)}


@pytest.mark.parametrize(
    ("ragged", "text"),
    [
        ({"t": "512"}, r"ragged=\{'t': '512'\}: wanted a length, Pad, Buckets"),
        ({"t": True}, "wanted a length"),
        ([("t", 3)], "wanted column -> length"),
        ({"t": Pack(4), "u": Pack(5)}, "has 2 different Buckets or Pack"),
        ({"t": Pack(4), "u": Buckets([5])}, "has 2 different Buckets or Pack"),
    ],
)
def test_what_is_no_form(ragged, text):
    with pytest.raises(ArrowJaxError, match=text):
        read_forms(ragged)


@pytest.mark.parametrize("form", [Pad, Flat])
@pytest.mark.parametrize("size", [-1, 2.5, "3", True])
def test_sizes_that_are_none(form, size):
    with pytest.raises(ArrowJaxError, match=f"{form.__name__}.*wanted a length"):
        form(size)


def test_truncating_is_asked_for():
    ds = Dataset.from_dict({"t": [[1, 2, 3], [4]]})
    with pytest.raises(ShapeError, match=r"Pad\(2, truncate=True\)"):
        list(Loader(ds, 2, ragged={"t": 2}))
    ragged = next(iter(Loader(ds, 2, ragged={"t": Pad(2, truncate=True)})))["t"]
    assert ragged.values.tolist() == [[1, 2], [4, 0]]
    assert ragged.lengths.tolist() == [2, 1]


def test_truncating_fixed_lists_and_masked_ones():
    ds = Dataset.from_dict({"t": np.arange(6).reshape(2, 3)})
    ragged = next(iter(Loader(ds, 2, ragged={"t": Pad(2, truncate=True)})))["t"]
    assert ragged.values.tolist() == [[0, 1], [3, 4]]
    ds = Dataset.from_dict({"t": [[1, None, 3], None]}).with_format("jax", nulls="mask")
    masked = next(iter(Loader(ds, 2, ragged={"t": Pad(2, truncate=True)})))["t"]
    assert masked.valid.tolist() == [True, False]
    assert masked.values.values.values.tolist() == [[1, 0], [0, 0]]
    assert masked.values.values.valid.tolist() == [[True, False], [False, False]]


def test_flat_batches_hold_values_end_to_end():
    ds = Dataset.from_dict({"t": [[1, 2], [], [3]], "u": [[1], [2], [3]]})
    batch = next(iter(Loader(ds, 3, ragged={"t": Flat(5)})))
    assert batch["t"].values.tolist() == [1, 2, 3, 0, 0]
    assert batch["t"].lengths.tolist() == [2, 0, 1]
    assert batch["u"].shape == (3, 1)
    with pytest.raises(
        ShapeError, match=r"begins with row 0 has 3 elements, .*Flat\(2\)"
    ):
        list(Loader(ds, 3, ragged={"t": Flat(2)}))


def test_flat_columns_with_nulls():
    ds = Dataset.from_dict({"t": [[1, 2], None]}).with_format("jax", nulls="mask")
    loader = Loader(ds, 2, ragged={"t": Flat(3)})
    column = next(iter(loader))["t"]
    assert column.valid.tolist() == [True, False]
    assert column.values.values.tolist() == [1, 2, 0]
    assert loader.spec["t"].values.values.shape == (3,)
    assert loader.spec["t"].values.lengths.shape == (2,)


def test_forms_are_for_lists_of_numbers():
    ds = Dataset.from_dict({"s": [{"a": [1], "b": 2}, {"a": [3, 4], "b": 2}]})
    for form in (Flat(3), Pack(3), Buckets([3])):
        with pytest.raises(
            ShapeError, match=r"is for lists of numbers\. Give a length"
        ):
            Loader(ds, 1, ragged={"s": form})
    assert next(iter(Loader(ds, 2, ragged={"s": 3})))["s"]["a"].values.shape == (2, 3)


@pytest.mark.devices(2)
def test_rows_joined_end_to_end_are_not_shared_by_devices(devices):
    mesh = jax.sharding.Mesh(devices, ("data",))
    ds = Dataset.from_dict({"t": [[1], [2, 3]]})
    cut = jax.sharding.NamedSharding(mesh, jax.P("data"))
    with pytest.raises(ShapeError, match="'t': Flat joins the rows of a batch"):
        Loader(ds, 2, ragged={"t": Flat(4)}, sharding=cut)
    whole = jax.sharding.NamedSharding(mesh, jax.P())
    (batch,) = Loader(ds, 2, ragged={"t": Flat(4)}, sharding=whole)
    assert batch["t"].values.tolist() == [1, 2, 3, 0]
