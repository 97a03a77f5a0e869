import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrow_jax import (
    Dataset,
    DatasetDict,
    List,
    Masked,
    Ragged,
    Value,
    read_parquet,
    write_parquet,
)
from arrow_jax._facts import Facts, facts_of, from_json, merge, to_json
from arrow_jax._source import Source

RAGGED = {"c": [[1, 2], [3], [4, 5]]}


def kept(path):
    return json.loads(pq.read_metadata(path).metadata[b"arrow_jax"])


def test_a_part_of_a_column_is_what_the_whole_is(tmp_path):
    part = Dataset.from_dict(RAGGED).select([0, 2])
    write_parquet(tmp_path / "a.parquet", part)
    read = read_parquet(tmp_path / "a.parquet").with_format("numpy")
    assert [x.tolist() for x in read[:]["c"]] == [[1, 2], [4, 5]]
    assert isinstance(read[:]["c"], list)
    assert read.spec == part.with_format("numpy").spec
    assert kept(tmp_path / "a.parquet") == {
        "c": {"axes": [None], "nulls": [False, False, False]}
    }


def test_a_part_without_rows_keeps_its_row_shape(tmp_path):
    whole = Dataset.from_dict({"c": [[[1, 2]], [[3, 4]]]})
    write_parquet(tmp_path / "a.parquet", whole.take(0))
    read = read_parquet(tmp_path / "a.parquet").with_format("numpy")
    assert read[:]["c"].shape == (0, 1, 2)


def test_a_part_without_nulls_has_the_masks_of_the_whole(tmp_path):
    whole = Dataset.from_dict({"c": [[1, None], [2, 3]]})
    write_parquet(tmp_path / "a.parquet", whole.select([1]))
    read = read_parquet(tmp_path / "a.parquet").with_format("numpy", nulls="mask")
    assert isinstance(read[:]["c"].values, Masked)
    assert read[:]["c"].values.valid.tolist() == [[True, True]]
    # and no null is found where there is none
    assert read.with_format("numpy")["c"].tolist() == [[2, 3]]


def test_batches_are_known_when_the_last_is_written(tmp_path):
    batches = [{"c": [[1, 2]]}, {"c": [[3]]}]
    write_parquet(tmp_path / "a.parquet", iter(batches))
    assert kept(tmp_path / "a.parquet")["c"]["axes"] == [None]


def test_fields_of_structs(tmp_path):
    whole = Dataset.from_dict({"s": {"x": RAGGED["c"], "name": ["a", "b", "c"]}})
    write_parquet(tmp_path / "a.parquet", whole.take(1))
    read = read_parquet(tmp_path / "a.parquet").with_format("numpy")
    assert isinstance(read[:]["s"]["x"], list)
    assert list(kept(tmp_path / "a.parquet")) == ["s.x"]


def test_several_files_are_known_together(tmp_path):
    whole = Dataset.from_dict(RAGGED)
    write_parquet(tmp_path / "a.parquet", whole.select([0]))
    write_parquet(tmp_path / "b.parquet", {"c": [[8, 9]]})
    splits = read_parquet({"a": tmp_path / "a.parquet", "b": tmp_path / "b.parquet"})
    assert isinstance(splits.with_format("numpy")["b"][:]["c"], list)
    assert isinstance(read_parquet(tmp_path).with_format("numpy")[:]["c"], list)


@pytest.mark.parametrize(
    "said",
    [
        b'{"c": {"axes": [3], "nulls": [false, false]}}',  # the data have 2
        b'{"c": {"axes": [null, null], "nulls": [false, false, false, false]}}',
        b'{"c": {"axes": [null], "nulls": [false]}}',
        b'{"c": {"axes": ["x"], "nulls": [false, false]}}',
        b'{"c": 7}',
        b"[]",
        b"{not json",
    ],
)
def test_facts_that_the_data_contradict_are_not_believed(tmp_path, said):
    table = pa.table({"c": [[1, 2], [3, 4]]})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({b"arrow_jax": said})
    read = read_parquet(tmp_path / "a.parquet").with_format("numpy")
    assert read[:]["c"].tolist() == [[1, 2], [3, 4]]


def test_a_dataset_dict_of_datasets_shares_what_is_known():
    splits = DatasetDict(
        {
            "train": Dataset.from_dict(RAGGED).with_format("numpy"),
            "test": Dataset.from_dict({"c": [[7, 8], [9, 9]]}).select([1]),
        }
    )
    assert isinstance(splits["test"].with_format("numpy")[:]["c"], list)
    assert splits["test"]["c"] == [[9, 9]]
    assert splits["train"].format.kind == "numpy"
    assert [x.tolist() for x in splits["train"]["c"]] == RAGGED["c"]


sizes = st.lists(st.integers(0, 2), max_size=3)


def facts(axes):
    n_ragged = axes.count(None)
    return Facts(tuple(axes), (False,) * (n_ragged + 2))


@given(st.integers(0, 3), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_facts_survive_a_file(n_ragged, axes):
    known = {"c": facts([*[None] * n_ragged, *axes[n_ragged:]])}
    assert from_json(to_json(known)) == known


@given(
    st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=2),
    st.data(),
)
def test_merged_facts_are_those_of_the_parts_together(shapes, data):
    rows = [np.zeros(shape).tolist() for shape in shapes]
    cut = data.draw(st.integers(1, len(rows) - 1))
    type_ = pa.list_(pa.list_(pa.float64()))

    def of(some):
        source = Source.of(pa.table({"c": pa.array(some, type_)}))
        return facts_of(source.numbers(("c",)).chunks[0])

    merged = merge([{"c": of(rows[:cut])}, {"c": of(rows[cut:])}])["c"]
    whole = of(rows)
    # nothing is said of the length of lists where there are none, so it can be less
    assert all(
        m is None or m == w for m, w in zip(merged.axes, whole.axes, strict=True)
    )


def test_fields_with_dots_in_their_names_keep_their_facts(tmp_path):
    rows = [{"a.b": [1, 2], "a": {"b": [1]}}, {"a.b": [1, 2], "a": {"b": [1, 2]}}]
    column = pa.array(rows)
    ds = Dataset.from_arrow(pa.table({"s.t": column, "s": column.field("a")}))
    write_parquet(tmp_path / "part.parquet", ds.take(1))
    assert read_parquet(tmp_path / "part.parquet").spec == ds.spec
    renamed = read_parquet(tmp_path / "part.parquet").rename_column("s.t", "u.v")
    assert renamed.spec["u.v"] == ds.spec["s.t"]


@pytest.mark.parametrize("kind", ["jax", "numpy"])
def test_facts_outlive_every_verb_that_copies_a_part(kind):
    ds = Dataset.from_dict({"x": [[1], [2], [3, 4], [500]], "k": [1, 2, 3, 4]})
    part = ds.take(2).with_format(kind)
    made = {
        "map": part.map(lambda batch: {"y": batch["k"]}),
        "cast": part.cast_column("x", List(Value("int8"))),
        "filter": part.filter(lambda batch: batch["k"] > 0),
        "rename": part.rename_column("k", "l"),
        "twice": part.map(lambda b: {"y": b["k"]}).take(1).map(lambda b: {"z": b["k"]}),
    }
    for verb, got in made.items():
        assert isinstance(got.spec["x"], Ragged), verb
    again = made["map"].cast_column("x", List(Value("int16")))
    assert isinstance(again.spec["x"], Ragged)
