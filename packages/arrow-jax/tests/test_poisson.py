import math
import re

import numpy as np
import pytest

from arrow_jax import ArrowJaxError, Dataset, Loader, Poisson, mix
from arrow_jax._poisson import PoissonOrder
from arrow_jax._step import Position


def test_every_row_is_drawn_by_itself_with_the_same_probability():
    order = PoissonOrder(400, None, 0.1, 3)
    at, drawn = Position(), []
    for _ in range(2000):
        step = order.step(at, 200)
        rows, at = order.drawn(at), step.after
        hit = np.zeros(400, bool)
        hit[rows] = True
        assert step.draft.n_real == len(rows)
        assert (np.diff(rows) > 0).all()
        drawn.append(hit)
    drawn = np.array(drawn)
    # Each is a sum of independent draws: within five standard deviations.
    deviation = (0.1 * 0.9) ** 0.5
    assert abs(drawn.mean(0) - 0.1).max() < 5 * deviation / 2000**0.5
    sizes = drawn.sum(1)
    assert abs(sizes.mean() - 40) < 5 * (400 * 0.09 / 2000) ** 0.5
    assert abs(sizes.var() / (400 * 0.09) - 1) < 5 * (2 / 2000) ** 0.5
    together = np.cov(drawn[:, :50].T.astype(float))
    np.fill_diagonal(together, 0)
    assert abs(together).max() < 5 * 0.09 / 2000**0.5


def test_seeds_and_epochs_draw_differently_and_rate_one_draws_all():
    def rows(seed, epoch):
        return PoissonOrder(100, None, 0.3, seed).drawn(Position(epoch)).tolist()

    assert rows(0, 0) == rows(0, 0)
    assert len({tuple(rows(s, e)) for s in range(3) for e in range(3)}) == 9
    assert len(PoissonOrder(100, None, 1.0, 0).drawn(Position())) == 100


def test_a_batch_is_padded_and_says_so():
    ds = Dataset.from_dict({"x": np.arange(100)})
    loader = Loader(ds, 30, sampling=Poisson(0.1, capacity=30), epochs=2)
    batches = list(loader)
    assert len(batches) == len(loader) == 20
    assert loader.spec["valid"].shape == (30,)
    for batch in batches:
        n = int(batch["valid"].sum())
        assert batch["valid"].tolist() == [True] * n + [False] * (30 - n)


def test_an_empty_draw_is_a_batch_of_padding():
    ds = Dataset.from_dict({"x": [5]})
    batches = list(Loader(ds, 2, sampling=Poisson(0.2)))
    assert [int(b["valid"].sum()) for b in batches].count(0) > 0
    assert all(b["x"].tolist() == [5, 5] for b in batches)


def test_a_batch_that_is_too_small_raises_and_says_what_is_enough():
    ds = Dataset.from_dict({"x": np.arange(100)})
    loader = Loader(ds, 5, sampling=Poisson(0.04), epochs=None)
    with pytest.raises(
        ArrowJaxError, match=r"drew [0-9]+ rows at rate 0.04, batch_size=5"
    ) as raised:
        for _ in loader:
            pass
    enough = int(re.search(r"([0-9]+) is enough for all but one", str(raised.value))[1])
    tail = [math.comb(100, k) * 0.04**k * 0.96 ** (100 - k) for k in range(101)]
    assert sum(tail[enough + 1 :]) < 1e-9
    assert enough < 40


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sampling": 0.1}, r"sampling=0.1: wanted Poisson\(rate\)"),
        (
            {"sampling": Poisson(0.1, 64)},
            r"batch_size=8 and Poisson\(capacity=64\) differ",
        ),
        ({"sampling": Poisson(0.1), "shuffle": True}, "draws every batch by itself"),
        ({"sampling": Poisson(0.1), "last": "drop"}, "draws every batch by itself"),
    ],
)
def test_options_that_make_no_sense(options, text):
    ds = Dataset.from_dict({"x": np.arange(10)})
    with pytest.raises(ArrowJaxError, match=text):
        Loader(ds, 8, **options)
    with pytest.raises(ArrowJaxError, match="not for a mix"):
        Loader(mix([ds], [1]), 8, sampling=Poisson(0.1))


@pytest.mark.parametrize("rate", [0, -1, 1.5])
def test_rates_that_are_none(rate):
    with pytest.raises(ArrowJaxError, match=r"wanted one in \(0, 1\]"):
        Poisson(rate)
