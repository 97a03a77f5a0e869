import errno
import io
import os
import shutil
import tempfile
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
    full = DiskFull(pattern="*/x", after_bytes=10**6)
    with faulty_files(full, TornWrite(keep_bytes=10**6)):
        file.write_text("one\n")
        with file.open("r+") as both:
            assert both.read() == "one\n"
            both.write("two\n")
        with file.open("ab", buffering=0) as raw:
            raw.write(b"three")
        assert file.read_bytes() == b"one\ntwo\nthree"


def test_everything_is_itself_again():
    before = (open, io.open, os.replace, Path.open)

    def fails():
        assert open is not before[0]
        raise KeyError

    with pytest.raises(KeyError), faulty_files(Denied()):
        fails()
    assert (open, io.open, os.replace, Path.open) == before


def descriptor(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        assert os.write(fd, data) == len(data)
    finally:
        os.close(fd)


def wrapped(path, data):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT), "wb") as file:  # noqa: PTH123
        file.write(data)


def by_fileno(path, data):
    with path.open("wb") as file:
        os.write(file.fileno(), data)


def copied(path, data):
    source = path.with_name("source")
    source.write_bytes(data)
    shutil.copy(source, path)


def temporary(folder, data):
    fd, name = tempfile.mkstemp(prefix="one", dir=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    return name


def named(folder, data):
    with tempfile.NamedTemporaryFile(prefix="one", dir=folder, delete=False) as file:
        file.write(data)
        return file.name


WAYS = [descriptor, wrapped, by_fileno, copied]


@pytest.mark.parametrize("write", WAYS)
def test_writes_by_descriptor_and_copies_meet_the_faults(tmp_path, write):
    file, data = tmp_path / "file.a", bytes(range(100))
    full = DiskFull(pattern="*.a", after_bytes=60)
    with pytest.raises(OSError, match="No space left"), faulty_files(full):
        write(file, data)
    assert file.read_bytes() == data[:60]
    file.unlink()
    with faulty_files(TornWrite(pattern="*.a", keep_bytes=7)):
        write(file, data)
    assert file.read_bytes() == data[:7]
    file.unlink()
    denied = faulty_files(Denied(pattern="*.a"))
    with pytest.raises(PermissionError, match="Permission denied"), denied:
        write(file, data)
    assert not file.exists()


@pytest.mark.parametrize("make", [temporary, named])
def test_a_temporary_file_meets_the_faults_of_its_own_name(tmp_path, make):
    with faulty_files(TornWrite(pattern="*/one*", keep_bytes=3)):
        name = make(tmp_path, b"12345")
    assert Path(name).read_bytes() == b"123"


def test_a_descriptor_that_was_used_before_is_another_file(tmp_path):
    with faulty_files(TornWrite(pattern="*.a", keep_bytes=0)):
        fd = os.open(tmp_path / "x.a", os.O_WRONLY | os.O_CREAT)
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.dup2(writer, fd)  # closes the file, unseen
        os.write(fd, b"through")
        assert os.read(reader, 9) == b"through"
    for each in (reader, writer, fd):
        os.close(each)


def test_tofile_is_the_blind_spot_that_is_told(tmp_path):
    file = tmp_path / "x.a"
    with faulty_files(TornWrite(pattern="*.a", keep_bytes=8)):
        np.ones(4).tofile(file)
    assert file.stat().st_size == 32
    with pytest.raises(PermissionError), faulty_files(Denied(pattern="*.a")):
        np.ones(4).tofile(file)
    assert "ndarray.tofile" in faulty_files.__doc__


@pytest.mark.parametrize(
    "fault",
    [
        DiskFull(pattern="*.a"),
        TornWrite(pattern="*.a"),
        Denied(pattern="*.b"),
        Slow(pattern="*.a", seconds=0),
    ],
)
def test_a_fault_that_nothing_met_is_told(tmp_path, fault):
    beside = tmp_path / "file.b"
    beside.write_text("old")
    wanted = pytest.raises(AssertionError, match="met no file")
    with wanted as caught, faulty_files(fault, Slow(pattern="*.b", seconds=0)):
        beside.read_text()
        if isinstance(fault, DiskFull | TornWrite):
            beside.rename(tmp_path / "file.a")  # is no write
    assert repr(fault) in str(caught.value)
    assert "*.b', seconds" not in str(caught.value)


def test_a_fault_that_nothing_met_does_not_hide_an_error():
    with pytest.raises(ZeroDivisionError), faulty_files(DiskFull(pattern="*.a")):
        1 / 0  # noqa: B018
