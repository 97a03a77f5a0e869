"""Checkpoints: everything that a run needs to go on as if it had never stopped."""

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

from mnist_gan._checksums import checksums
from mnist_gan._errors import UserError, is_lost_collective
from mnist_gan._game import TrainState

_KEPT = 2
_FULL = ("no space left", "file too large", "quota")
_LINE = 200  # characters of another library's message
_SUMS = "checksums"  # beside the loader's position


class Checkpoint(NamedTuple):
    """What one checkpoint holds.

    Attributes:
      state: parameters, optimizer states, key and step.
      data: the loader's position.
    """

    state: TrainState
    data: dict[str, Any]


@jax.jit
def _copy(state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
    return jax.tree.map(jnp.copy, state), checksums(state)


class Checkpoints:
    """The checkpoints below a folder, by step: the last two, and in a run one more.

    Orbax writes beside and renames, so a checkpoint is whole or not there. Saving goes
    on while the next steps run, on a copy: a step that is donated its inputs must not
    run while they are read. With several processes each writes what it holds, and all
    make the same calls.

    This is orbax's checkpointer and not its manager: when writing fails in one process,
    the manager waits there for the others, who wait for that one, before it says so.

    Args:
      folder: where they are, a path or an address such as `gs://bucket/run`; made by
        the first `save`.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = folder
        self._place = folder.absolute() if isinstance(folder, Path) else folder
        self._writer = ocp.AsyncCheckpointer(
            ocp.CompositeCheckpointHandler(),
            async_options=ocp.AsyncOptions(post_finalization_callback=self._prune),
        )

    def save(self, checkpoint: Checkpoint) -> None:
        """Starts to write a checkpoint for the state's step.

        Args:
          checkpoint: what to write.

        Raises:
          UserError: if it cannot be written, or the one before could not; those before
            are still whole.
        """
        self._wait()
        state, sums = _copy(checkpoint.state)
        data = checkpoint.data | {_SUMS: _numbers(sums)}
        arguments = ocp.args.Composite(
            state=ocp.args.StandardSave(state), data=ocp.args.JsonSave(data)
        )
        step = int(checkpoint.state.step)
        with self._explained(f"of step {step:,}"):
            if jax.process_index() == 0:
                self._path(step).parent.mkdir(parents=True, exist_ok=True)
            self._writer.save(self._path(step), args=arguments)

    def check(self) -> None:
        """Raises as `save` does if what that started has failed here; does not wait."""
        with self._explained("begun last"):
            self._writer.check_for_errors()

    def finish(self) -> None:
        """Waits until what `save` has started is on disk; raises as it does."""
        self._wait()
        if jax.process_index() == 0:
            with self._explained("begun last"):
                self._prune()

    def _wait(self) -> None:
        with self._explained("begun last"):
            self._writer.wait_until_finished()

    def _prune(self) -> None:
        # Orbax calls this beside the training, before it gives the newest its name.
        for old in self._all()[:-_KEPT]:
            old.path.rmtree()

    def _all(self) -> list[Any]:
        found = ocp.path.step.standard_name_format().find_all(self._place)
        return sorted(found, key=lambda one: one.step)

    def _path(self, step: int) -> Any:
        names = ocp.path.step.standard_name_format()
        return ocp.path.step.build_step_path(self._place, names, step)

    @contextlib.contextmanager
    def _explained(self, which: str) -> Generator[None]:
        try:
            yield
        except (ValueError, OSError, RuntimeError) as error:
            if is_lost_collective(error):  # another process is gone, not the disk
                raise
            reason = _first_line(error)
            full = any(words in reason.lower() for words in _FULL)
            raise UserError(
                f"{self._folder}: the checkpoint {which} could not be written "
                f"({reason}); {'make room' if full else 'put that right'}, and go on "
                "from the one before with --resume"
            ) from error

    def latest_step(self) -> int | None:
        """The step of the last whole checkpoint, or None."""
        return next((one.step for one in reversed(self._all())), None)

    def restore(self, like: TrainState, sharding: Any) -> Checkpoint:
        """Reads the last whole checkpoint.

        Args:
          like: the shapes and dtypes to expect, as `jax.eval_shape` gives them.
          sharding: where each array is to lie, one for all or a tree of them, whatever
            devices and processes it was written from; None for jax's default device.

        Returns:
          The checkpoint.

        Raises:
          UserError: if there is none, or it cannot be read or holds something else.
        """
        step = self.latest_step()
        if step is None:
            raise UserError(f"{self._folder}: has no checkpoint yet")
        sharding = sharding or jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        if isinstance(sharding, jax.sharding.Sharding):
            one = sharding
            sharding = jax.tree.map(lambda _: one, like)
        target = jax.tree.map(
            lambda leaf, own: jax.ShapeDtypeStruct(
                leaf.shape, leaf.dtype, sharding=own
            ),
            like,
            sharding,
        )
        arguments = ocp.args.Composite(
            state=ocp.args.StandardRestore(target), data=ocp.args.JsonRestore()
        )
        try:
            restored = self._writer.restore(self._path(step), args=arguments)
            state, data = restored["state"], dict(restored["data"])
            _compare(data.pop(_SUMS, {}), _numbers(jax.jit(checksums)(state)))
            _check_step(int(state.step), step)
        except Exception as error:  # orbax raises that very type, too
            if is_lost_collective(error):
                raise
            raise UserError(
                f"{self._folder}/{step}: the checkpoint cannot be read "
                f"({_first_line(error)}); delete that folder to go on from the one "
                "before"
            ) from error
        return Checkpoint(state, data)

    def close(self) -> None:
        """Lets go of the folder."""
        self._writer.close()


def remove_unfinished(folder: Path | str) -> None:
    """Removes the checkpoints that killed processes left half-written.

    Args:
      folder: as `Checkpoints` takes it; nobody may be writing there.
    """
    for unfinished in ocp.utils.tmp_checkpoints(folder):
        unfinished.get().rmtree()


def load_last(run: Path | str, folder: Path | str, like: TrainState) -> TrainState:
    """Reads the state of a run's last whole checkpoint, to look at it.

    Args:
      run: the run's folder, for messages.
      folder: where its checkpoints are.
      like: the shapes and dtypes to expect, as `jax.eval_shape` gives them.

    Returns:
      The state, on jax's default device.

    Raises:
      UserError: if there is no checkpoint yet, or it cannot be read.
    """
    if isinstance(folder, Path) and not folder.is_dir():  # and is not made by looking
        raise UserError(f"{run}: has no checkpoint yet")
    checkpoints = Checkpoints(folder)
    try:
        if checkpoints.latest_step() is None:
            raise UserError(f"{run}: has no checkpoint yet")
        return checkpoints.restore(like, None).state
    finally:
        checkpoints.close()


def _numbers(sums: dict[str, jax.Array]) -> dict[str, int]:
    own = {name: found.addressable_data(0) for name, found in sums.items()}
    return {name: int(number) for name, number in jax.device_get(own).items()}


def _compare(written: dict[str, int], read: dict[str, int]) -> None:
    others = [name for name in written if read.get(name) != written[name]]
    if others:
        raise ValueError(f"{others[0]} has other bits than were written")


def _check_step(found: int, named: int) -> None:
    if found != named:
        raise ValueError(f"it is of step {found}")


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0].partition(" See full TensorStore details")[0]
    # What failed stands in front, and why at the end.
    return line if len(line) <= _LINE else f"{line[:100]} ... {line[-100:]}"
