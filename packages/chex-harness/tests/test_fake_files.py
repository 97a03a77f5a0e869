import errno
import io
import os
from pathlib import Path

import numpy as np
import pytest

from chex_harness import Denied, DiskFull, FakeClock, Slow, TornWrite, faulty_files


def save(folder, data):
    """What a careful program does: write beside, then move into place."""
    folder.mkdir(exist_ok=True)
    temporary = folder / "state.tmp"
    with temporary.open("wb") as file:
        np.save(file, data)
    os.replace(temporary, folder / "state.npy")  # noqa: PTH105


def test_a_full_disk_leaves_the_beginning_and_the_old_file(tmp_path):
    save(tmp_path, np.zeros(100))
    full = DiskFull(pattern="*.tmp", after_bytes=200)
    with pytest.raises(OSError, match="No space left") as caught, faulty_files(full):
        save(tmp_path, np.ones(100))
    assert caught.value.errno == errno.ENOSPC
    assert np.load(tmp_path / "state.npy").sum() == 0
    assert (tmp_path / "state.tmp").stat().st_size == 200


def test_a_torn_write_says_nothing(tmp_path):
    with faulty_files(TornWrite(pattern="*", keep_bytes=500)):
        save(tmp_path / "new", np.ones(100))
    with pytest.raises(ValueError, match=r"reshape|read"):
        np.load(tmp_path / "new" / "state.npy")


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_text("x"),
        lambda path: open(path, "a").close(),  # noqa: PTH123
        lambda path: io.open(path, "w+b").close(),  # noqa: UP020
        lambda path: path.rename(path.with_suffix(".b")),
        lambda path: path.unlink(),
        lambda path: (path.parent / "denied").mkdir(),
    ],
)
def test_denied_is_denied_for_every_way_to_write(tmp_path, write):
    file = tmp_path / "file.a"
    file.write_text("old")
    with faulty_files(Denied(pattern=f"{tmp_path}/*")):
        with pytest.raises(PermissionError, match="Permission denied"):
            write(file)
        assert file.read_text() == "old"
    with faulty_files(Denied(reading=True)), pytest.raises(PermissionError):
        file.read_text()


def test_a_slow_disk_takes_time(tmp_path):
    with FakeClock().install() as clock, faulty_files(Slow(pattern="*.a", seconds=3)):
        (tmp_path / "file.a").write_text("x")
        (tmp_path / "file.b").write_text("x")
    assert clock.slept == [3]


def test_other_files_and_modes_work(tmp_path):
    file = tmp_path / "x"
    with faulty_files(DiskFull(pattern="*.ckpt"), TornWrite(keep_bytes=10**6)):
        file.write_text("one\n")
        with file.open("r+") as both:
            assert both.read() == "one\n"
            both.write("two\n")
        with file.open("ab", buffering=0) as raw:
            raw.write(b"three")
        assert file.read_bytes() == b"one\ntwo\nthree"


def test_everything_is_itself_again():
    before = (open, io.open, os.replace, Path.open)
    with faulty_files(Denied()):
        assert open is not before[0]
    assert (open, io.open, os.replace, Path.open) == before
