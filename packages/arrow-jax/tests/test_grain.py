import pickle

import numpy as np

from arrow_jax import Dataset, GrainSource, Masked


def test_rows_as_numpy_and_through_a_pickle():
    ds = Dataset.from_dict({"x": np.arange(12).reshape(6, 2), "s": list("abcdef")})
    source = pickle.loads(pickle.dumps(GrainSource(ds.select([4, 2]))))
    assert len(source) == 2
    row = source[np.int64(0)]
    assert row["x"].tolist() == [8, 9]
    assert type(row["x"]) is np.ndarray
    assert row["s"] == "e"
    assert repr(source) == "GrainSource(2 rows of x, s)"


def test_the_columns_and_nulls_of_the_format_hold():
    ds = Dataset.from_dict({"x": [1, None], "y": [1, 2]})
    source = GrainSource(ds.with_format("jax", columns=["x"], nulls="mask"))
    row = source[1]
    assert list(row) == ["x"]
    assert isinstance(row["x"], Masked)
    assert not row["x"].valid
