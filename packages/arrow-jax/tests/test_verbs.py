import contextlib

import jax
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from arrow_jax import (
    ArrowJaxError,
    ClassLabel,
    Dataset,
    Features,
    NullsError,
    Ragged,
    ShapeError,
    Value,
)


def test_filter_by_an_expression_takes_null_as_no():
    ds = Dataset.from_dict({"a": [3, None, 1, 2], "row": [0, 1, 2, 3]})
    assert ds.filter(pc.field("a") > 1)["row"] == [0, 3]
    assert ds.select([3, 2, 1, 0]).filter(pc.field("a") > 1)["row"] == [3, 0]


def test_filter_by_a_function_of_a_batch():
    ds = Dataset.from_dict({"row": [*range(7)]})
    assert ds.filter(lambda b: b["row"] % 3 == 1, batch_size=2)["row"] == [1, 4]
    assert len(ds.take(0).filter(lambda b: b["row"] > 0)) == 0


def test_filter_gives_the_function_the_format_that_was_set():
    ds = Dataset.from_dict({"a": [3, None]})
    with pytest.raises(NullsError, match=r"column 'a', row 1.*nulls="):
        ds.filter(lambda b: b["a"] > 1)
    valid = ds.with_format("numpy", nulls="mask").filter(lambda b: b["a"].valid)
    assert valid.with_format("jax")["a"].tolist() == [3]


def test_filter_wants_one_boolean_a_row():
    ds = Dataset.from_dict({"a": [*range(5)]})
    wrong = r"rows 0 to 1: the function returned int64\[2\], wanted bool\[2\]"
    with pytest.raises(ShapeError, match=wrong):
        ds.filter(lambda b: b["a"], batch_size=2)
    with pytest.raises(ShapeError, match=r"rows 4 to 4.*wanted bool\[1\]"):
        ds.filter(lambda _: np.ones(2, bool), batch_size=2)


def test_map_keeps_dtypes_and_the_other_columns():
    features = Features({"label": ClassLabel(["no", "yes"])})
    ds = Dataset.from_dict({"x": [2**53, 1, 2], "label": [0, 1, 0]}, features)
    got = ds.map(lambda b: {"y": b["x"] + 1, "t": np.ones((len(b["x"]), 2, 3), "f2")})
    assert got.column_names == ["x", "label", "y", "t"]
    assert got["y"] == [2**53 + 1, 2, 3]
    assert got.source.table.schema.field("y").type == pa.int64()
    assert got.features["label"] == features["label"]
    assert got.with_format("numpy")["t"].dtype == np.float16


def test_map_replaces_a_column_and_runs_in_batches():
    sizes = []

    def add(batch):
        sizes.append(len(batch["x"]))
        return {"x": batch["x"].astype(np.float32) / 2}

    ds = Dataset.from_dict({"x": [*range(5)]}).map(add, batch_size=2)
    assert sizes == [2, 2, 1]
    assert ds.with_format("numpy")["x"].tolist() == [0, 0.5, 1, 1.5, 2]
    assert ds.with_format("numpy")["x"].dtype == np.float32


def test_map_in_the_jax_format_and_with_features():
    ds = Dataset.from_dict({"x": [1, 2]}).with_format("jax", columns=["x"])
    got = ds.map(lambda b: {"y": b["x"] * 2}, features={"y": Value("int8")})
    assert got.format.kind == "jax"
    assert got.column_names == ["x", "y"]
    assert got["y"].dtype == np.int8


def test_map_takes_ragged_and_works_on_views():
    ds = Dataset.from_dict({"x": [1, 2, 3]}).select([2, 0])
    got = ds.map(lambda b: {"r": Ragged(np.tile(b["x"][:, None], 3), b["x"])})
    assert got["r"] == [[3, 3, 3], [1]]
    assert got["x"] == [3, 1]


def test_map_says_what_is_wrong_with_a_batch():
    ds = Dataset.from_dict({"x": [1, 2, 3]})
    with pytest.raises(ShapeError, match="rows 0 to 2: the function returned 1 rows"):
        ds.map(lambda _: {"y": [1]})
    with pytest.raises(ShapeError, match=r"rows 2 to 2(?s:.*)y: double(?s:.*)y: int64"):
        ds.map(lambda b: {"y": b["x"] if len(b["x"]) > 1 else b["x"] / 2}, batch_size=2)


def test_code_written_for_datasets_may_say_batched():
    ds = Dataset.from_dict({"x": [1, 2]})
    assert ds.map(lambda b: {"x": b["x"] * 2}, batched=True)["x"] == [2, 4]
    assert ds.filter(lambda b: b["x"] > 1, batched=True)["x"] == [2]
    for verb in (ds.map, ds.filter):
        with pytest.raises(ArrowJaxError, match=r"\(batched=False\): .* jax.vmap"):
            verb(lambda row: row, batched=False)


@pytest.mark.parametrize("column", [[1, 2, 3], [[1], [2, 3], []], [[1, 2]] * 3])
def test_a_function_that_writes_into_its_batch_leaves_the_dataset_alone(column):
    def scaled(batch):
        parts = batch["x"] if isinstance(batch["x"], list) else [batch["x"]]
        for part in parts:
            np.multiply(part, 10, out=part)
        return {"y": batch["x"]}

    table = pa.table({"x": column})
    ds = Dataset.from_arrow(table)
    ds.map(scaled)
    ds.filter(lambda batch: np.ones(len(scaled(batch)["y"]), bool))
    assert ds["x"] == column
    assert table["x"].to_pylist() == column


def test_views_of_the_dataset_refuse_to_be_written_to():
    table = pa.table({"x": [1, 2, 3]})
    view = Dataset.from_arrow(table).with_format("numpy")[:]["x"]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 7
    assert table["x"].to_pylist() == [1, 2, 3]


def test_a_map_of_no_rows_has_the_columns_of_any_map():
    ds = Dataset.from_dict({"x": [1, 2]})
    double = ds.take(0).map(lambda batch: {"y": batch["x"] * 2.0})
    assert double.column_names == ["x", "y"]
    assert double.to_arrow()["y"].type == pa.float64()
    assert len(double) == 0


def test_what_jax_narrowed_is_stored_as_wide_as_it_was():
    table = pa.table({"x": [1, 2], "f": [0.5, 1.5], "s": pa.array([1, 2], pa.int32())})
    ds = Dataset.from_arrow(table).with_format("jax")
    same = ds.map(lambda batch: batch).to_arrow()
    assert same.schema.types == table.schema.types
    assert same.to_pydict() == table.to_pydict()


def nulls_beside():
    return Dataset.from_dict({"x": [1, 2, 3], "n": [1, None, 3]})


def test_nulls_in_columns_that_a_function_leaves_alone_stop_nothing():
    for ds in (nulls_beside(), nulls_beside().with_format("jax")):
        got = ds.map(lambda batch: {"y": batch["x"] * 2}).with_format(None)
        assert got[:] == {"x": [1, 2, 3], "n": [1, None, 3], "y": [2, 4, 6]}
        assert ds.filter(lambda b: b["x"] > 1).with_format(None)["n"] == [None, 3]
        assert ds.map(lambda batch: batch).with_format(None)["n"] == [1, None, 3]
        for function in (
            lambda batch: {"y": batch["n"]},
            lambda batch: {**batch},
            lambda batch: {"y": jax.tree.map(lambda a: a + 1, batch)["x"]},
        ):
            with pytest.raises(NullsError, match="column 'n', row 1"):
                ds.map(function)


def test_a_function_may_set_columns_of_its_batch_and_return_it():
    def change(batch):
        batch["y"] = batch["x"] + 1
        return batch

    got = nulls_beside().map(change)
    assert got[:] == {"x": [1, 2, 3], "n": [1, None, 3], "y": [2, 3, 4]}
    assert nulls_beside().map(lambda b: b | {"y": b["x"]})["y"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (None, r"returned nothing \(None\), wanted a dict"),
        ([1], "returned a list, wanted a dict of columns, such as"),
        ({"y": 1}, "column 'y' is 1, wanted one value a row"),
        ({"y": "abc"}, "column 'y' is 'abc', wanted one value a row"),
        ({"y": np.float32(1)}, r"column .y. is np.float32\(1.0\), wanted one value"),
        ({"y": [1, 2], "z": [1]}, "column 'z' has 1 rows, column 'y' has 2"),
    ],
)
def test_what_is_no_dict_of_columns_is_refused_by_name(made, found):
    with pytest.raises(ShapeError, match=found):
        nulls_beside().map(lambda _: made)


def test_a_function_that_makes_no_columns_changes_none():
    seen = []
    got = nulls_beside().map(lambda b: seen.append(len(b["x"])) or {}, batch_size=2)
    assert seen == [2, 1]
    assert got[:] == nulls_beside()[:]


def test_what_a_column_becomes_outlives_the_map_of_a_part():
    ds = Dataset.from_dict({"x": [[1, 2], [3, 4], [5]], "s": ["a", "b", "c"]})
    part = ds.take(2).map(lambda batch: {"y": np.zeros(2)})
    assert isinstance(part.spec["x"], Ragged)
    whole = ds.map(lambda batch: {"y": np.zeros(3)})
    assert isinstance(whole.take(1).map(lambda b: {"z": b["y"]}).spec["x"], Ragged)


def test_a_filter_that_names_no_column_says_which_there_are():
    with pytest.raises(ArrowJaxError, match=r"'zz'.*there are \['x', 'n'\]"):
        nulls_beside().filter(pc.field("zz") > 1)
    structs = Dataset.from_dict({"s": {"a": [1, 2]}})
    assert structs.filter(pc.field("s", "a") > 1)["s"] == [{"a": 2}]
    with pytest.raises(ArrowJaxError, match=r"'s.q'; there are \['s'\]"):
        structs.filter(pc.field("s", "q") > 1)
    with pytest.raises(ArrowJaxError, match=r"\(x == \"a\"\) can't be computed: "):
        nulls_beside().filter(pc.field("x") == "a")
    with pytest.raises(ArrowJaxError, match="is int64, wanted one that is true or"):
        nulls_beside().filter(pc.field("x") + 1)
    with pytest.raises(ArrowJaxError, match="filter got a str, wanted an Arrow expr"):
        nulls_beside().filter("x > 1")


@contextlib.contextmanager
def default_pool(pool):
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    yield
    pa.set_memory_pool(before)


def test_an_expression_copies_no_column_it_does_not_name():
    lists = pa.array([[i] * 1000 for i in range(1000)])
    ds = Dataset.from_arrow(pa.table({"x": range(1000), "lists": lists}))
    for view in (ds, ds.shuffle(seed=0)):
        pool = pa.proxy_memory_pool(pa.default_memory_pool())
        with default_pool(pool):
            kept = view.filter(pc.field("x") < 900)
        assert pool.max_memory() < 100_000
        assert sorted(kept["x"]) == [*range(900)]


def test_rows_outside_a_view_are_not_asked():
    ds = Dataset.from_dict({"x": [1, 2, 0]}).select([1, 0])
    assert ds.filter(pc.scalar(4) / pc.field("x") > 2)["x"] == [1]


def test_a_filter_may_name_columns_that_the_format_hides():
    ds = nulls_beside().with_format("jax", columns=["x"])
    assert ds.filter(pc.field("n") == 3)["x"].tolist() == [3]
    assert len(ds.take(0).filter(pc.field("n") == 3)) == 0
    with pytest.raises(ArrowJaxError, match="'zz'"):
        ds.select([2, 0]).filter(pc.field("zz") == 3)


def test_in_the_arrow_format_a_function_is_given_tables():
    def doubled(table):
        return table.set_column(0, "x", pc.multiply(table["x"], 2))

    got = nulls_beside().with_format("arrow").map(doubled).with_format(None)
    assert got[:] == {"x": [2, 4, 6], "n": [1, None, 3]}
    ds = (
        nulls_beside()
        .with_format("arrow")
        .filter(lambda table: np.asarray(table["x"]) > 1)
    )
    assert ds.with_format(None)["n"] == [None, 3]
