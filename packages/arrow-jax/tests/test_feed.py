import numpy as np
import pytest

from arrow_jax import ArrowJaxError, Buckets, Dataset, mix
from arrow_jax._feed import Choices, memory_feed
from arrow_jax._forms import read_forms
from arrow_jax._ledger import Ledger
from arrow_jax._step import Draft


def feed(ds, **options):
    defaults = {"shuffle": False, "seed": 0, "forms": {}, "host": ()}
    return memory_feed(ds, Choices(**(defaults | options), masked=True, x64=False))


def test_the_rows_of_a_view_in_its_order():
    ds = Dataset.from_dict({"x": np.arange(10)}).select([7, 3, 5])
    found = feed(ds)
    batch, _ = found.open(Ledger(), 0).make(Draft(range(3), 3, 3))
    assert batch["x"].tolist() == [7, 3, 5]
    assert found.stream.n == 3
    assert found.manifest()["rows"] == 3


def test_buckets_are_chosen_from_the_rows_of_the_view():
    ds = Dataset.from_dict({"t": [[1], [1, 2], [1] * 9]})
    found = feed(ds.select([0, 1]), forms=read_forms({"t": Buckets(waste=0)}))
    form, lengths = found.block
    assert form.edges == (1, 2)
    assert lengths.tolist() == [1, 2]
    assert found.spec(4)["t"].values.shape == (4, 2)
    assert found.spec(4, 1)["t"].values.shape == (4, 1)


def test_a_mix_is_as_long_as_its_epoch():
    ds = Dataset.from_dict({"x": [1, 2]})
    assert feed(mix([ds, ds], [1, 1], rows=9)).stream.n == 9


def test_nothing_to_load():
    with pytest.raises(ArrowJaxError, match="has no rows"):
        feed(Dataset.from_dict({"x": np.zeros(0)}))
