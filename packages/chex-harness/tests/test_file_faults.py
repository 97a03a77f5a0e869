import errno

import pytest

from chex_harness import Denied, DiskFull, Slow, TornWrite


@pytest.mark.parametrize(
    ("fault", "acts"),
    [
        (DiskFull(pattern="*.a"), {"write"}),
        (TornWrite(pattern="*.a"), {"write"}),
        (Denied(pattern="*.a"), {"write", "move"}),
        (Denied(pattern="*.a", reading=True), {"read", "write", "move"}),
        (Slow(pattern="*.a"), {"read", "write", "move"}),
    ],
)
def test_a_fault_meets_what_it_is_about_and_remembers(fault, acts):
    for act in ("read", "write", "move"):
        assert not fault.meets("/x/file.b", act)
        assert not fault.meets(3, act)
    assert not fault.met
    found = {act for act in ("read", "write", "move") if fault.meets("/x/file.a", act)}
    assert found == acts
    assert fault.met


def test_bytes_are_counted_over_all_files():
    torn = TornWrite(keep_bytes=5)
    assert [len(torn.keep(memoryview(b"123"))) for _ in range(3)] == [3, 2, 0]
    full = DiskFull(after_bytes=3)
    assert len(full.keep(memoryview(b"123"))) == 3
    full.raise_after()
    assert len(full.keep(memoryview(b"1"))) == 0
    with pytest.raises(OSError, match="No space left") as caught:
        full.raise_after()
    assert caught.value.errno == errno.ENOSPC
