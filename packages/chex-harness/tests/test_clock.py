import time

import pytest

from chex_harness import FakeClock


def test_it_stands_still_until_it_is_moved():
    clock = FakeClock(now=10)
    assert (clock.time(), clock.monotonic()) == (10, 0)
    clock.advance(5)
    clock.sleep(1)
    assert (clock.time(), clock.perf_counter(), clock.slept) == (16, 6, [1])
    assert (clock.time_ns(), clock.monotonic_ns()) == (16 * 10**9, 6 * 10**9)


def test_installed_it_is_the_time_module():
    real = time.time, time.sleep
    with FakeClock(now=0).install() as clock:
        time.sleep(1e6)
        assert time.time() == time.perf_counter() == clock.monotonic() == 1e6
    assert (time.time, time.sleep) == real


def test_it_cannot_go_back():
    with pytest.raises(ValueError, match="cannot go back"):
        FakeClock().advance(-1)
    with pytest.raises(ValueError, match="non-negative"):
        FakeClock().sleep(-1)
