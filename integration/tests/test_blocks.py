"""A step in blocks is the step, and what cannot be one is refused."""

import dataclasses
import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from chex_harness import assert_trees_close
from mnist_gan import _game
from mnist_gan._blocks import check_blocks, in_blocks
from mnist_gan._checkpoints import Checkpoints
from mnist_gan._devices import place
from mnist_gan._errors import UserError
from mnist_gan._recipes import RECIPES
from mnist_gan._run import Config, RunFolder


def square(params, batch):
    return jax.value_and_grad(lambda w: ((batch["x"] @ w) ** 2).mean())(params)


@pytest.fixture
def batch():
    return {"x": np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)}


@pytest.mark.parametrize("blocks", [1, 4, 12])
def test_a_mean_over_blocks_is_the_mean_over_the_batch(batch, blocks):
    made = in_blocks(square, blocks, place(1).mesh)
    w = np.float32([1, -2, 3])
    x = batch["x"].astype(float)
    value, gradient = jax.jit(made)(w, batch)
    np.testing.assert_allclose(value, np.mean((x @ w) ** 2), rtol=1e-6)
    np.testing.assert_allclose(gradient, 2 * x.T @ (x @ w) / 12, rtol=1e-6)


def test_blocks_are_added_in_their_order(batch):
    """As a loop adds them, to the bit."""
    w = np.float32([1, -2, 3])
    of_block = jax.jit(square)
    total = np.zeros(3, np.float32)
    for rows in batch["x"].reshape(4, 3, 3):
        total += np.asarray(of_block(w, {"x": rows})[1])
    _, gradient = jax.jit(in_blocks(square, 4, place(1).mesh))(w, batch)
    np.testing.assert_array_equal(gradient, total / np.float32(4))


def test_the_gradients_of_the_reference_are_those_without_blocks():
    recipe = RECIPES["reference"]
    params = _game.init(recipe, 0).params
    rng = np.random.default_rng(0)
    real = rng.uniform(-1, 1, (4, 28, 28, 1)).astype(np.float32)
    z = rng.normal(size=(2, 4, recipe.latents)).astype(np.float32)
    losses = _game.losses_of(recipe, _game.networks(recipe))
    for gradient in _game.own_gradients(losses):
        here, there = (
            jax.jit(made)(params, _game.Batch(real, *z))
            for made in (in_blocks(gradient, 2, place(1).mesh), gradient)
        )
        assert_trees_close(here, there, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_that_look_at_the_whole_batch_say_so(name):
    """What half a batch gives is what it gives within the whole, unless `normed`."""
    recipe = RECIPES[name]
    nets = _game.networks(recipe)
    z = np.random.default_rng(0).normal(size=(4, recipe.latents)).astype(np.float32)
    params = _game.init(recipe, 0).params
    fake = nets.gen.apply(params.gen, z)
    apart = [np.abs(nets.gen.apply(params.gen, z[:2]) - fake[:2]).max()]
    logits = nets.disc.apply(params.disc, fake)
    apart.append(np.abs(nets.disc.apply(params.disc, fake[:2]) - logits[:2]).max())
    assert (max(apart) > 1e-2) == recipe.normed
    assert max(apart) > 1e-2 or max(apart) < 1e-5


@pytest.mark.parametrize(
    ("name", "blocks", "batch_size", "n", "said"),
    [
        ("fast", 8, 64, 1, "--blocks 8: recipe fast normalises over the batch as a "),
        ("reference", 6, 64, 1, "divides the batch of 64, .* take --blocks 4"),
        ("reference", 4, 64, 8, "the number of devices, 8, divides; take --blocks 8"),
        ("reference", 100, 64, 8, "take --blocks 64"),
        ("reference", 3, 21, 2, "take a --batch-size that 2 divides"),
    ],
)
def test_blocks_that_cannot_be(name, blocks, batch_size, n, said):
    recipe = RECIPES[name]._replace(blocks=blocks, batch_size=batch_size)
    with pytest.raises(UserError, match=said):
        check_blocks(name, recipe, n)


def test_without_blocks_nothing_is_asked():
    check_blocks("fast", RECIPES["fast"]._replace(batch_size=7), 2)


def test_too_many_blocks_are_refused_before_there_are_as_many_threads(
    call, tmp_path, monkeypatch
):
    monkeypatch.delenv("NPROC", raising=False)
    new = ("--recipe", "reference", "--batch-size", 16, "--blocks", 100_000)
    ended = call("train", "--out", tmp_path / "run", *new)
    assert ended.code == 2
    assert "take --blocks 16" in ended.err
    assert "NPROC" not in os.environ
    assert not (tmp_path / "run").exists()


def test_a_run_of_before_has_no_blocks(tmp_path):
    before = Config("reference", 2, 16, 0, "(shipped)", 100, "0" * 64)
    written = dataclasses.asdict(before)
    del written["blocks"]
    (tmp_path / "config.json").write_text(json.dumps(written))
    assert RunFolder(tmp_path).load() == before
    assert before.blocks == 0


def train(out, *options):
    """By the command, with the devices and threads that it chooses."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("JAX_NUM_CPU_DEVICES", "NPROC")
    }
    command = [sys.executable, "-m", "mnist_gan", "train", "--out", out, *options]
    ended = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=200,
        env=environment,
        check=False,
    )
    return ended.returncode, ended.stderr


def last(out):
    checkpoints = Checkpoints(out / "checkpoints")
    try:
        return checkpoints.restore(
            jax.eval_shape(lambda: _game.init(RECIPES["reference"], 0)), None
        )
    finally:
        checkpoints.close()


def test_a_run_that_moves_to_other_devices_has_the_bits_of_one_that_did_not(tmp_path):
    new = ("--recipe", "reference", "--batch-size", 32, "--blocks", 4)
    stayed, moved = tmp_path / "stayed", tmp_path / "moved"
    assert train(stayed, *new, "--steps", 2, "--devices", 1) == (0, "")
    assert train(moved, *new, "--steps", 1, "--devices", 4) == (0, "")
    refused = train(moved, "--resume", "--blocks", 8)
    assert refused[0] == 2
    assert "with --blocks 4, this is 8; leave --blocks out" in refused[1]
    assert train(moved, "--resume", "--steps", 2, "--devices", 2) == (0, "")
    here, there = last(moved), last(stayed)
    assert here.data == there.data
    assert_trees_close(here.state, there.state, rtol=0)
