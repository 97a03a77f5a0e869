"""A checkpoint that is not what was written is named by all, and the one before is not.

Each damage is done to the newest of two; `--resume` then either says so and leaves the
folder as it is, or goes on from the one before to the bits of a run without damage.
"""

import shutil

import pytest

from chex_harness import assert_trees_close

from .conftest import last, train_in

STEPS = ("--steps", "20")
NEWEST, BEFORE = 10, 5


def files(checkpoint):
    return sorted(file for file in checkpoint.rglob("*") if file.is_file())


def largest(checkpoint):
    return max(files(checkpoint / "state"), key=lambda file: file.stat().st_size)


def overwrite_all(checkpoint):
    for file in files(checkpoint / "state"):
        file.write_bytes(b"{")


def truncate(checkpoint):
    """The largest file, which holds weights, ends in its middle."""
    file = largest(checkpoint)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip_a_bit(checkpoint):
    file = largest(checkpoint)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def lose_the_array_index(checkpoint):
    (checkpoint / "state/manifest.ocdbt").unlink()


def lose_the_metadata(checkpoint):
    (checkpoint / "state/_METADATA").unlink()


def lose_half(checkpoint):
    """As by an `rm -r` that was stopped."""
    for file in files(checkpoint / "state")[::2]:
        file.unlink()


def lose_the_state(checkpoint):
    shutil.rmtree(checkpoint / "state")


def lose_the_position(checkpoint):
    shutil.rmtree(checkpoint / "data")


DAMAGES = [
    *(overwrite_all, truncate, flip_a_bit, lose_the_array_index, lose_the_metadata),
    *(lose_half, lose_the_state, lose_the_position),
]


@pytest.fixture(scope="session")
def continued(trained, tmp_path_factory):
    """A copy of the run that has gone on to step 20."""
    folder = tmp_path_factory.mktemp("continued")
    out = shutil.copytree(trained, folder / "run")
    ended = train_in(folder, "--resume", "--out", out, *STEPS)
    assert ended.codes == [0, 0], ended.said
    return out


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(
            damage, marks=[pytest.mark.nightly] * (damage is not overwrite_all)
        )
        for damage in DAMAGES
    ],
)
def test_a_damaged_checkpoint_is_named_by_all(train, trained, tmp_path, damage):
    out = shutil.copytree(trained, tmp_path / "run")
    damage(out / f"checkpoints/{NEWEST}")
    ended = train("--resume", "--out", out, *STEPS)
    assert ended.codes == [2, 2], ended.said
    told = "".join(ended.said)
    assert f"{out}/checkpoints/{NEWEST}: the checkpoint cannot be read" in told
    assert "Traceback" not in told, told
    assert (out / f"checkpoints/{BEFORE}").is_dir()


@pytest.mark.nightly
def test_without_the_damaged_one_a_run_goes_on_from_the_one_before(
    train, trained, continued, tmp_path
):
    """As the message says; to the bits of a run that was never damaged."""
    out = shutil.copytree(trained, tmp_path / "run")
    shutil.rmtree(out / f"checkpoints/{NEWEST}")
    ended = train("--resume", "--out", out, *STEPS)
    assert ended.codes == [0, 0], ended.said
    here, there = last(out), last(continued)
    assert here.data == there.data
    assert_trees_close(here.state, there.state, rtol=0)


@pytest.mark.nightly
def test_what_a_killed_save_leaves_is_no_checkpoint(
    train, trained, continued, tmp_path
):
    out = shutil.copytree(trained, tmp_path / "run")
    newest = out / f"checkpoints/{NEWEST}"
    newest.rename(newest.with_name(f"{NEWEST}.orbax-checkpoint-tmp"))
    assert int(last(out).state.step) == BEFORE
    ended = train("--resume", "--out", out, *STEPS)
    assert ended.codes == [0, 0], ended.said
    assert_trees_close(last(out).state, last(continued).state, rtol=0)
