import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import ArrowJaxError, Dataset, DatasetDict, Image, Ragged, Value

cells = st.one_of(st.none(), st.integers(-3, 3))
rows_of = st.lists(st.tuples(cells, cells), max_size=12)


def dataset(rows):
    """Two columns to sort by and one that counts."""
    columns = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    typed = {n: pa.array(c, pa.int64()) for n, c in columns.items()}
    return Dataset.from_arrow(pa.table({**typed, "row": [*range(len(rows))]}))


def sorted_rows(rows, keys):
    order = [*range(len(rows))]
    for column, backwards in reversed(keys):
        order.sort(key=lambda i: rows[i][column] or 0, reverse=backwards)
        order.sort(key=lambda i: rows[i][column] is None)
    return order


@given(rows_of, st.booleans(), st.booleans())
def test_sort_against_python(rows, a_back, b_back):
    wanted = sorted_rows(rows, [(0, a_back), (1, b_back)])
    # Python's reverse sort keeps equal rows in order, as ours does.
    ds = dataset(rows)
    assert ds.sort(["a", "b"], reverse=[a_back, b_back])["row"] == wanted
    assert ds.sort("a", reverse=a_back)["row"] == sorted_rows(rows, [(0, a_back)])
    turned = ds.select(range(len(rows) - 1, -1, -1)) if rows else ds
    assert turned.sort("row")["row"] == [*range(len(rows))]


def test_sort_places_nulls_and_nans():
    ds = Dataset.from_dict({"x": [2.0, None, np.nan, 1.0]})
    assert ds.sort("x")["x"][:2] == [1.0, 2.0]
    assert ds.sort("x")["x"][3] is None
    first = ds.sort("x", null_placement="at_start", reverse=True)["x"]
    assert first[1] is None
    assert first[2:] == [2.0, 1.0]


def test_sort_takes_strings_labels_and_dictionaries_by_their_values():
    table = pa.table({"s": ["b", "a", "c"], "d": pa.array(["z", "y", "x"])})
    table = table.set_column(1, "d", table["d"].dictionary_encode())
    ds = Dataset.from_arrow(table)
    assert ds.sort("s")["s"] == ["a", "b", "c"]
    assert ds.sort("d")["s"] == ["c", "a", "b"]


def test_sort_says_what_it_wants():
    ds = Dataset.from_dict({"x": [[1], [2]], "y": [1, 2]})
    with pytest.raises(ArrowJaxError, match=r"column 'x' has type list.* no order"):
        ds.sort("x")
    with pytest.raises(ArrowJaxError, match="no column 'z'; there are"):
        ds.sort("z")
    with pytest.raises(ArrowJaxError, match="1 columns and reverse="):
        ds.sort("y", reverse=[True, False])
    assert ds.sort("y", reverse=np.bool_(1))["y"] == [2, 1]
    with pytest.raises(ArrowJaxError, match="name at least one"):
        ds.sort([])
    with pytest.raises(ArrowJaxError, match="null_placement='last': wanted"):
        ds.sort("y", null_placement="last")


@given(st.integers(2, 40), st.data())
def test_a_split_has_every_row_once(n, data):
    size = data.draw(st.one_of(st.integers(1, n - 1), st.floats(0.01, 1 - 1 / n)))
    ds = Dataset.from_dict({"x": [*range(n)]})
    splits = ds.train_test_split(test_size=size, seed=3)
    assert isinstance(splits, DatasetDict)
    train, test = splits["train"]["x"], splits["test"]["x"]
    assert sorted([*train, *test]) == [*range(n)]
    wanted = size if isinstance(size, int) else -int(-size * n // 1)
    assert len(test) == wanted
    again = ds.train_test_split(test_size=size, seed=3)
    assert again["test"]["x"] == test


def test_a_split_in_order_and_of_views():
    ds = Dataset.from_dict({"x": [*range(6)]}).select([5, 4, 3, 2]).with_format("jax")
    splits = ds.train_test_split(test_size=1, shuffle=False)
    assert splits["train"]["x"].tolist() == [5, 4, 3]
    assert splits["test"]["x"].tolist() == [2]
    assert splits["test"].source is ds.source
    seeds = [ds.train_test_split(test_size=2, seed=s)["test"]["x"] for s in range(9)]
    assert len({tuple(s.tolist()) for s in seeds}) > 1


@pytest.mark.parametrize("size", [0, 4, -1, 0.0, 1.0, 5])
def test_a_split_without_rows_is_refused(size):
    ds = Dataset.from_dict({"x": [1, 2, 3, 4]})
    with pytest.raises(ArrowJaxError, match=r"of 4 rows leaves.* from 1 to 3"):
        ds.train_test_split(test_size=size)


def test_views_of_views_against_lists():
    ds, rows = Dataset.from_dict({"x": [*range(20)]}), [*range(20)]
    assert ds.skip(3).take(9).skip(2)["x"] == rows[3:][:9][2:]
    assert ds.select([7, 1, -1]).skip(1)["x"] == [1, 19]
    assert ds.take(5).select([True, False, True, False, False])["x"] == [0, 2]
    once = ds.shuffle(seed=1)["x"]
    assert sorted(once) == rows
    assert once != rows
    assert ds.shuffle(seed=1)["x"] == once != ds.shuffle(seed=2)["x"]
    assert ds.skip(99)["x"] == ds.take(-1)["x"] == []


@pytest.mark.parametrize("size", [float("nan"), float("inf"), "a", None])
def test_a_size_that_is_no_number_is_refused(size):
    with pytest.raises(ArrowJaxError, match=r"test_size=.*: wanted a part between"):
        Dataset.from_dict({"x": [1, 2, 3]}).train_test_split(size)


def test_spellings_of_datasets():
    ds = Dataset.from_dict({"x": [*range(10)], "y": [0] * 10})
    assert (ds.num_rows, ds.num_columns, ds.shape) == (10, 2, (10, 2))
    assert {n: len(d) for n, d in ds.train_test_split(0.2).items()} == {
        "train": 8,
        "test": 2,
    }
    assert ds.shuffle()["x"] == ds.shuffle(0)["x"] == ds.shuffle(seed=0)["x"]
    assert sorted(ds.shuffle()["x"]) == ds["x"] != ds.shuffle()["x"]


def test_unique_values_of_a_view():
    ds = Dataset.from_dict({"x": ["b", None, "a", "b"], "l": [[1]] * 4})
    assert ds.unique("x") == ["b", None, "a"]
    assert ds.select([3, 0]).unique("x") == ["b"]
    assert ds.take(0).unique("x") == []
    with pytest.raises(
        ArrowJaxError, match=r"column 'l' has type list.*can be compared"
    ):
        ds.unique("l")
    with pytest.raises(ArrowJaxError, match="there is no column 'q'"):
        ds.unique("q")


@pytest.mark.parametrize("rows", [slice(3, 5), [7, 3], slice(0, 1)])
def test_a_view_pickles_its_own_rows_and_what_is_known(rows):
    n = 20_000
    ragged = [[0] * (i % 3 + 1) for i in range(n)]
    ds = Dataset.from_dict({"x": np.arange(n), "r": ragged, "s": ["a" * 9] * n})
    view = ds.select(rows).with_format("numpy")
    sent = pickle.dumps(view)
    assert len(sent) < 5000 < n < len(pickle.dumps(ds))
    again = pickle.loads(sent)
    assert again["x"].tolist() == view["x"].tolist()
    assert again["s"] == view["s"]
    assert again.spec == view.spec
    assert isinstance(again.spec["r"], Ragged)


def test_a_view_of_images_pickles_what_was_found_in_all():
    pixels = [np.zeros((4, 4), np.uint8)] * 2 + [np.zeros((5, 4), np.uint8)]
    ds = Dataset.from_dict({"im": pixels}, {"im": Image()}).with_format("jax")
    again = pickle.loads(pickle.dumps(ds.take(2)))
    assert again.spec == ds.spec
    assert isinstance(again[:]["im"], list)


def sized(*sizes):
    pixels = [np.full((n, 4), n, np.uint8) for n in sizes]
    columns = {"im": pixels, "x": [*range(len(sizes))]}
    return Dataset.from_dict(columns, {"im": Image()})


def test_images_of_a_part_become_what_all_do_whatever_copies_them():
    part = sized(4, 4, 5).with_format("jax").take(2)
    mapped = part.map(lambda batch: {"y": batch["x"]})
    made = {
        "map": mapped,
        "twice": mapped.take(1).map(lambda batch: {"z": batch["x"]}),
        "again": mapped.map(lambda batch: {"z": batch["x"]}),
        "rename": mapped.rename_column("im", "jm").rename_column("jm", "im"),
        "remove": mapped.remove_columns("x"),
        "cast": mapped.cast_column("im", Image(mode="L")),
        "pickle": pickle.loads(pickle.dumps(mapped)),
        "shared": DatasetDict({"a": mapped, "b": mapped.take(1)})["a"],
        "split": mapped.train_test_split(1)
        .map(lambda batch: {"z": batch["x"]})["train"]
        .cast_column("x", Value("int8")),
    }
    for verb, got in made.items():
        assert isinstance(got[:]["im"], list), verb
    alike = sized(4, 4).with_format("jax").take(1).map(lambda b: {"y": b["x"]})
    assert alike[:]["im"].shape == (1, 4, 4)
