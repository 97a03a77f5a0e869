import jax
import numpy as np
import pytest

from arrow_jax import Dataset, Features, Image, Loader
from arrow_jax._ledger import Ledger


def test_time_is_counted_also_when_something_fails():
    ledger = Ledger()
    with pytest.raises(ZeroDivisionError), ledger.time("read"):
        1 / 0  # noqa: B018
    assert ledger.stats().seconds["read"] > 0
    assert ledger.stats().seconds["decode"] == 0


def test_views_and_copies_are_told_apart():
    ds = Dataset.from_dict(
        {
            "seen": np.arange(64, dtype=np.float32),
            "cast": np.arange(64, dtype=np.float64),
            "t": [[1] * (i % 3) for i in range(64)],
        }
    )
    with iter(Loader(ds, 16, ragged={"t": 2}, prefetch=0)) as run:
        for _ in run:
            pass
        stats = run.stats()
    assert stats.batches == 4
    assert stats.viewed == {"seen": 64 * 4}
    assert stats.copied == {"cast": 64 * 4, "t": 64 * 4 * 2 + 64 * 4}
    with iter(Loader(ds, 16, ragged={"t": 2}, shuffle=True, prefetch=0)) as run:
        next(run)
        assert run.stats().viewed == {}
        assert run.stats().copied["seen"] == 16 * 4


def test_images_are_decoded():
    ds = Dataset.from_dict(
        {"im": np.zeros((8, 4, 4), np.uint8)}, Features({"im": Image()})
    )
    with iter(Loader(ds, 4)) as run:
        jax.block_until_ready(next(run))
        seconds = run.stats().seconds
    assert seconds["decode"] > 0
    assert seconds["transfer"] > 0
    assert seconds["wait"] == run.wait_seconds > 0
