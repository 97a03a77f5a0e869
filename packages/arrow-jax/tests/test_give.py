import pyarrow as pa

from arrow_jax import Dataset

TABLE = pa.table({"a": [1, 2, 3], "s": ["x", None, "z"]})


def test_index_views_as_tables_keep_the_schema():
    said = {b"huggingface": b'{"info": {"features": {}}}', b"own": b"kept"}
    ds = Dataset.from_arrow(TABLE.replace_schema_metadata(said)).with_format("arrow")
    got = ds.select([2, 0])[:]
    assert got.schema.metadata == said
    assert got.to_pydict() == {"a": [3, 1], "s": ["z", "x"]}


def test_a_slice_as_a_table_copies_nothing():
    got = Dataset.from_arrow(TABLE).with_format("arrow")[1:]
    inside = got["a"].chunk(0).buffers()[1].address
    assert inside == TABLE["a"].chunk(0).buffers()[1].address


def test_rows_of_every_kind_have_no_axis():
    ds = Dataset.from_arrow(TABLE)
    assert ds.with_format("numpy", columns=["a"])[1]["a"].shape == ()
    assert ds.with_format("jax")[1] == {"a": 2, "s": None}
