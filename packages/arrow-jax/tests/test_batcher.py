import jax
import numpy as np

from arrow_jax import Dataset, Pad
from arrow_jax._batcher import make_batcher
from arrow_jax._step import Draft


def batcher(ds, **options):
    defaults = {"forms": {}, "host": (), "masked": True, "x64": False}
    return make_batcher(ds, **(defaults | options))


def test_local_rows_are_those_of_the_whole_batch():
    ds = Dataset.from_dict({"x": np.arange(10) * 10}).select([*range(9, -1, -1)])
    made = batcher(ds)
    whole, _ = made.make(Draft(np.array([1, 3, 5, 5]), 3, 4))
    part, _ = made.make(Draft(np.array([1, 3, 5, 5]), 3, 4), np.array([0, 3]))
    assert whole["x"].tolist() == [80, 60, 40, 40]
    assert whole["valid"].tolist() == [True, True, True, False]
    assert part["x"].tolist() == [80, 40]
    assert part["valid"].tolist() == [True, False]
    assert made.make(Draft(range(2, 4), 2, 2), np.array([1]))[0]["x"].tolist() == [60]


def test_the_spec_is_that_of_any_batch():
    ds = Dataset.from_dict({"x": [1.0, 2.0], "r": [[1], [2, 3]], "s": [{"a": 1}] * 2})
    made = batcher(ds.with_format("jax", nulls="mask"), forms={"r": Pad(4)})
    spec = made.spec(2)
    batch, _ = made.make(Draft(range(2), 2, 2))
    assert jax.tree.structure(spec) == jax.tree.structure(batch)
    shapes = jax.tree.map(
        lambda s, b: s.shape == b.shape and s.dtype == b.dtype, spec, batch
    )
    assert all(jax.tree.leaves(shapes))


def test_rows_without_shuffle_are_views_of_arrow_memory():
    ds = Dataset.from_dict({"x": np.arange(100.0, dtype=np.float32)})
    batch, _ = batcher(ds).make(Draft(range(16, 32), 16, 16))
    address = ds.source.table["x"].chunk(0).buffers()[1].address
    assert batch["x"].__array_interface__["data"][0] == address + 64
