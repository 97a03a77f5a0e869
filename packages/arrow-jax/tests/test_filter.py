import contextlib

import jax
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from arrow_jax import (
    ArrowJaxError,
    Dataset,
    NullsError,
    ShapeError,
)


def nulls_beside():
    return Dataset.from_dict({"x": [1, 2, 3], "n": [1, None, 3]})


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


def test_of_a_table_a_null_is_no():
    ds = Dataset.from_dict({"x": [1, None, 3]}).with_format("arrow")
    kept = ds.filter(lambda table: pc.greater(table["x"], 1)).with_format(None)
    assert kept["x"] == [3]


@pytest.mark.filterwarnings("error")
def test_a_function_runs_in_the_width_of_the_format():
    with jax.enable_x64(True):  # noqa: FBT003  (jax's own signature)
        ds = Dataset.from_dict({"x": [2**40, 2]}).with_format("jax")
    assert ds.filter(lambda b: b["x"] > 5).with_format(None)["x"] == [2**40]
    doubled = ds.map(lambda b: {"x": b["x"] * 2}).with_format(None)
    assert doubled["x"] == [2**41, 4]
