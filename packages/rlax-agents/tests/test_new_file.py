import os

import pytest

from rlax_agents._new_file import new_file


def test_a_file_is_there_once_it_is_whole(tmp_path):
    path = tmp_path / "a"
    with new_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("when", ["writing", "syncing"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, when):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    if when == "syncing":
        monkeypatch.setattr(os, "fsync", fail)

    def write():
        with new_file(path) as file:
            file.write(b"new")
            if when == "writing":
                fail()

    with pytest.raises(OSError, match="No space left"):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_it_has_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    with new_file(tmp_path / "a"):
        pass
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), new_file(tmp_path / "no/a"):
        pass
