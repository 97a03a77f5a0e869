"""Checkpoints of a state of two numbers, in one process."""

import contextlib
import errno
import os
import time

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp
import pytest

from mnist_gan._checkpoints import Checkpoint, Checkpoints, remove_unfinished
from mnist_gan._errors import UserError
from mnist_gan._game import TrainState
from optax_chains import Players


def state_at(step):
    w, key = {"w": jnp.full(2, float(step))}, jax.random.key(0)
    return TrainState(Players(w, w), Players(w, w), w, key, jnp.int32(step))


def check_for_a_minute(checkpoints):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        checkpoints.check()
        time.sleep(0.01)


@pytest.fixture
def checkpoints(tmp_path):
    with contextlib.closing(Checkpoints(tmp_path / "run/checkpoints")) as opened:
        yield opened


@pytest.fixture
def full(monkeypatch):
    """A checkpoint cannot be given its name; the reason stands behind many words."""

    def fail(*_, **__):
        raise OSError(f"cannot rename {'a long name' * 30}: no room")

    monkeypatch.setattr(os, "rename", fail)
    monkeypatch.setattr(os, "replace", fail)


def test_the_last_two_are_kept(checkpoints, tmp_path):
    assert checkpoints.latest_step() is None
    like = jax.eval_shape(lambda: state_at(0))
    with pytest.raises(UserError, match="has no checkpoint yet"):
        checkpoints.restore(like, None)
    for step in (1, 2, 3, 100):
        checkpoints.save(Checkpoint(state_at(step), {"position": step}))
    checkpoints.finish()
    names = {path.name for path in (tmp_path / "run/checkpoints").iterdir()}
    assert names == {"3", "100"}
    assert checkpoints.latest_step() == 100
    found = checkpoints.restore(like, None)
    assert found.data == {"position": 100}
    assert found.state.average["w"].tolist() == [100, 100]


def test_what_fails_behind_the_start_is_said_by_check(checkpoints, request):
    """And not first by the next save, nor after a wait for anybody."""
    checkpoints.save(Checkpoint(state_at(1), {}))
    checkpoints.finish()
    checkpoints.check()
    request.getfixturevalue("full")
    checkpoints.save(Checkpoint(state_at(2), {}))
    with pytest.raises(
        UserError, match=r"begun last could not .*: no room\); put that"
    ):
        check_for_a_minute(checkpoints)
    assert checkpoints.latest_step() == 1


@pytest.mark.parametrize("call", ["save", "finish"])
def test_what_fails_behind_the_start_is_said_by_the_next_call(checkpoints, full, call):
    checkpoints.save(Checkpoint(state_at(1), {}))
    arguments = [Checkpoint(state_at(2), {})] if call == "save" else []
    with pytest.raises(UserError, match="begun last could not be written"):
        getattr(checkpoints, call)(*arguments)
    assert checkpoints.latest_step() is None


def test_a_full_disk_wants_room(checkpoints, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "rename", fail)
    monkeypatch.setattr(os, "replace", fail)
    checkpoints.save(Checkpoint(state_at(1), {}))
    with pytest.raises(UserError, match=r"No space left on device.*; make room"):
        checkpoints.finish()


def test_a_folder_with_the_number_of_another_step_is_refused(checkpoints, tmp_path):
    checkpoints.save(Checkpoint(state_at(7), {}))
    checkpoints.finish()
    folder = tmp_path / "run/checkpoints"
    (folder / "7").rename(folder / "9")
    with pytest.raises(UserError, match=r"s/9: .* \(it is of step 7\); delete"):
        checkpoints.restore(jax.eval_shape(lambda: state_at(0)), None)


def test_what_is_half_written_is_removed_and_nothing_else(checkpoints, tmp_path):
    folder = tmp_path / "run/checkpoints"
    remove_unfinished(folder)  # which is not there yet
    checkpoints.save(Checkpoint(state_at(7), {}))
    checkpoints.finish()
    (folder / "notes").mkdir()
    (folder / "8.orbax-checkpoint-tmp/state").mkdir(parents=True)
    (folder / "9.orbax-checkpoint-tmp-1234").mkdir()
    remove_unfinished(folder)
    assert {path.name for path in folder.iterdir()} == {"7", "notes"}


def test_a_disk_that_is_full(call, small, tmp_path, monkeypatch):
    """Orbax reports it as a ValueError of tensorstore's."""

    def fail(*args, **kwargs):
        raise ValueError("RESOURCE_EXHAUSTED: no space left on device\nmore lines")

    monkeypatch.setattr(ocp.AsyncCheckpointer, "save", fail)
    arguments = ["--data", small, "--steps", "2", "--batch-size", "8"]
    said = call("train", *arguments, "--out", tmp_path / "out", "--devices", "1")
    assert said.code == 2
    [line] = [line for line in said.err.splitlines() if "step 2" in line]
    assert "(RESOURCE_EXHAUSTED: no space left on device); make room" in line
