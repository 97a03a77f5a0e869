import pytest

from mnist_gan._errors import UserError
from mnist_gan._files import remove_leftovers, write_whole


def test_the_file_is_there_when_it_is_whole(tmp_path):
    path = tmp_path / "a"
    write_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise OSError("the disk is full")

    said = r"/a: cannot be written \(the disk is full\)"  # and not of what is beside it
    with pytest.raises(UserError, match=said):
        write_whole(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_leftovers_of_a_killed_process_go(tmp_path):
    for name in ("a.png", ".a.png.123", ".a.png.x_1", ".b.png.123"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path / "a.png")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".b.png.123", "a.png"]
