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
    Image,
    NullsError,
    Ragged,
    ShapeError,
    Value,
)


def nulls_beside():
    return Dataset.from_dict({"x": [1, 2, 3], "n": [1, None, 3]})


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


def of_many_kinds():
    png = Dataset.from_dict({"im": np.eye(4, dtype=np.uint8)[None]}, {"im": Image()})
    table = pa.table(
        {
            "x": [0.1, 0.2, 0.3],
            "label": [0, 1, 0],
            "when": pa.array([1, 2, 3], pa.timestamp("ms")),
            "code": pa.array(["u", "v", "u"]).dictionary_encode(),
            "large": pa.array(["a", "b", "c"], pa.large_string()),
            "lists": [[1, 2], [3, 4], [5]],
            "tensor": [[0.1], [0.2], [0.3]],
            "im": pa.chunked_array(png.to_arrow()["im"].chunks * 3),
        }
    )
    features = {"label": ClassLabel(["no", "yes"]), "im": Image()}
    return Dataset.from_arrow(table, features)


def set_in(batch):
    for name in batch:
        batch[name]
    batch["y"] = getattr(batch["x"], "values", batch["x"]) * 2
    return batch


FORMS = [
    {},
    {"kind": "numpy"},
    {"kind": "jax", "columns": ["x", "label", "code", "lists", "tensor", "im"]},
    {"kind": "numpy", "nulls": "mask", "columns": ["x", "when", "lists", "im"]},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "function",
    [
        set_in,
        lambda batch: {**batch, "y": batch["x"]},
        lambda batch: set_in(batch.copy()),
        lambda batch: dict(set_in(batch)),
    ],
)
def test_a_column_that_is_handed_on_stays_as_it_is_stored(function, form):
    ds = of_many_kinds()
    got = ds.with_format(**form).map(function, batch_size=2).with_format(None)
    assert got.column_names == [*ds.column_names, "y"]
    assert got.remove_columns("y").features == ds.features
    assert got.to_arrow().drop_columns("y").equals(ds.to_arrow())
    part = ds.take(2).with_format(**form).map(function)
    assert isinstance(part.with_format(None).spec["lists"], Ragged)


def test_so_does_one_of_a_table():
    ds = of_many_kinds().with_format("arrow")
    got = ds.map(lambda table: table.append_column("y", table["x"])).with_format(None)
    assert got.remove_columns("y").features == ds.features
    got = ds.map(lambda t: t.slice(0, 2).to_batches()[0], batch_size=2)
    assert got.features == ds.features


@pytest.mark.parametrize("kind", ["numpy", "jax"])
def test_what_a_function_sets_in_its_batch_is_kept(kind):
    ds = Dataset.from_dict({"x": [1, 2, 3]}).with_format(kind)
    got = ds.map(set_in).with_format(None)
    assert got[:] == {"x": [1, 2, 3], "y": [2, 4, 6]}

    def replace(batch):
        batch["x"] = batch["x"] * 2
        return batch

    assert ds.map(replace).with_format(None)["x"] == [2, 4, 6]


@pytest.mark.parametrize("kind", ["numpy", "jax", "arrow"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_column_may_be_changed_in_some_batches_only(kind, whole):
    def change(batch):
        x = np.asarray(batch["x"])
        if x[0] == 3:
            made = {"x": batch["x"] * 2} if kind != "arrow" else pa.table({"x": x * 2})
            return dict(batch) | made if whole and kind != "arrow" else made
        return batch if whole or kind == "arrow" else {"x": batch["x"]}

    table = pa.table({"x": [1, 2, 3, 4, 5]})
    ds = Dataset.from_arrow(table).with_format(kind)
    got = ds.map(change, batch_size=2).to_arrow()
    assert got["x"].to_pylist() == [1, 2, 6, 8, 5]
    assert got["x"].type == pa.int64()


def test_in_place_changes_of_some_batches_are_kept_too():
    def clip(batch):
        np.minimum(batch["x"], 2, out=batch["x"])
        return batch

    ds = Dataset.from_dict({"x": [1, 2, 3, 4, 5]}).map(clip, batch_size=2)
    assert ds["x"] == [1, 2, 2, 2, 2]


def test_one_that_becomes_something_else_does_so_in_all_batches():
    def change(batch):
        if batch["when"][0] > 1:
            batch["when"] = batch["when"] * 2
        return batch

    got = of_many_kinds().map(change, batch_size=1)
    assert got["when"] == [1, 4, 6]  # the function was given integers

    def halve(batch):
        return {"label": batch["label"] / 2 if batch["label"][0] else batch["label"]}

    left = r"rows 0 to 0: the function left column 'label' as int32, and made double"
    with pytest.raises(ShapeError, match=left):
        of_many_kinds().map(halve, batch_size=1)

    def other(batch):
        return {"z" if batch["label"][0] else "y": [1]}

    with pytest.raises(ShapeError, match=r"1 to 1: .* columns \['z'\], and for the fi"):
        of_many_kinds().map(other, batch_size=1)


def test_a_feature_is_kept_also_for_what_is_handed_on():
    ds = Dataset.from_dict({"x": [1, 2], "z": [0.5, 1]})
    for kind in ("numpy", "jax"):
        for function in (lambda b: b, lambda b: {"x": b["x"]}):
            got = ds.with_format(kind).map(function, features={"x": Value("float32")})
            assert got.to_arrow()["x"].type == pa.float32()
            assert got.to_arrow()["z"].type == pa.float64()
