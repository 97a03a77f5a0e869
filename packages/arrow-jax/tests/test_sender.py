import jax
import numpy as np
import pytest

from arrow_jax import Dataset, Loader, _placement, _sender
from arrow_jax._sender import send, sender_of


@pytest.fixture(autouse=True)
def compiled_at_once(monkeypatch):
    monkeypatch.setattr(_sender, "PAYS_AFTER", 2)
    sender_of.cache_clear()
    yield
    sender_of.cache_clear()


ARRAYS = [
    *(np.arange(5, dtype=np.float32) + i for i in range(11)),
    *(np.arange(5) % 2 == i % 2 for i in range(4)),
    np.arange(4, dtype=np.int8),
    np.zeros((200, 200), np.float32),
    np.zeros((0, 3), np.float32),
]


def test_what_is_packed_is_not_sent_again(monkeypatch):
    put, counts = jax.device_put, []
    monkeypatch.setattr(
        jax,
        "device_put",
        lambda arrays, to: counts.append(len(arrays)) or put(arrays, to),
    )
    for _ in range(3):
        send(ARRAYS, None)
    assert counts == [len(ARRAYS), len(ARRAYS), 3]


@pytest.mark.devices(2)
@pytest.mark.parametrize("nth", [None, 1])
def test_what_comes_out_is_the_same_before_and_after_it_compiles(nth, devices):
    device = None if nth is None else devices[nth]
    wanted = jax.device_put(ARRAYS, device)
    for _ in range(4):
        found = send(ARRAYS, device)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            assert one.committed == other.committed
            assert one.devices() == other.devices()
            np.testing.assert_array_equal(one, other)


def test_one_compile_for_each_shape_of_a_call():
    for _ in range(2):
        send(ARRAYS, None)
    assert sender_of(_kind(), None).split._cache_size() == 0  # too early to pay
    for _ in range(4):
        send(ARRAYS, None)
    ((sender),) = [s for s in [sender_of(_kind(), None)] if s.n_sent]
    assert sender.n_sent == 6
    # Eight floats, the three that are left, and four masks.
    assert sender.split._cache_size() == 3


def _kind():
    floats = np.dtype(np.float32), (5,), 11
    return floats, (np.dtype(bool), (5,), 4)


def test_a_loader_of_many_columns_gives_the_same_throughout(monkeypatch):
    columns = {f"c{i}": np.arange(60) * i for i in range(5)}
    ds = Dataset.from_dict(columns)
    sent = []
    monkeypatch.setattr(
        _placement, "send", lambda *args: sent.append(args[1]) or send(*args)
    )
    for options in ({}, {"sharding": str(jax.devices()[0])}):
        for n, batch in enumerate(Loader(ds, 6, shuffle=True, **options)):
            assert all((batch[f"c{i}"] == batch["c1"] * i).all() for i in range(5)), n
            assert batch["c0"].committed == bool(options)
    assert sent == [None] * 10 + [jax.devices()[0]] * 10
