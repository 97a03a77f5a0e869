import gc
import threading
import time

import pytest

from arrow_jax._prefetch import Prefetcher


def ours():
    return [t for t in threading.enumerate() if t.name.startswith("arrow-jax")]


def wait_for(condition):
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end, "it did not happen within 5 s"
        time.sleep(0.005)


def test_items_come_in_order_and_the_thread_ends_with_them():
    items = Prefetcher(iter(range(100)), 3)
    assert list(items) == list(range(100))
    assert not ours()
    assert list(items) == []


def test_no_more_is_made_than_may_wait():
    made = []
    items = Prefetcher((made.append(i) or i for i in range(100)), 2)
    wait_for(lambda: len(made) == 2)
    assert next(items) == 0
    wait_for(lambda: len(made) == 3)
    time.sleep(0.05)
    assert len(made) == 3
    items.close()


def test_closing_in_the_middle_ends_the_thread_and_the_items():
    items = Prefetcher(iter(range(10**9)), 2)
    next(items)
    items.close()
    assert not ours()
    assert list(items) == []
    items.close()


def test_an_error_comes_after_the_items_before_it_and_once():
    def make():
        yield 1
        raise ValueError("row 2 is bad")

    items = Prefetcher(make(), 4)
    assert next(items) == 1
    with pytest.raises(ValueError, match="row 2 is bad"):
        next(items)
    assert not ours()
    with pytest.raises(StopIteration):
        next(items)


def test_an_interrupt_in_the_thread_reaches_the_reader():
    def make():
        raise KeyboardInterrupt
        yield

    items = Prefetcher(make(), 1)
    with pytest.raises(KeyboardInterrupt):
        next(items)
    items.close()
    assert not ours()


def test_a_forgotten_reader_takes_its_thread_along():
    items = Prefetcher(iter(range(10**9)), 2)
    next(items)
    assert ours()
    del items
    gc.collect()
    wait_for(lambda: not ours())


def test_a_slow_maker_is_waited_for():
    def make():
        time.sleep(0.05)
        yield 1

    assert list(Prefetcher(make(), 1)) == [1]


def test_closing_from_another_thread_wakes_the_reader():
    release = threading.Event()

    def make():
        release.wait()
        yield 1

    items = Prefetcher(make(), 1)
    got = []
    reader = threading.Thread(target=lambda: got.extend(items))
    reader.start()
    closer = threading.Thread(target=items.close)
    closer.start()
    reader.join(5)
    woken = not reader.is_alive()
    release.set()
    closer.join(5)
    assert woken
    assert got == []
    assert not ours()
