"""What a private run promises: each digit clipped, noise added, padding unseen."""

import json

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.stats

from chex_harness import assert_trees_close
from mnist_gan import _batches, _game, _private, _secret, _train
from mnist_gan._devices import place
from mnist_gan._digits import load
from mnist_gan._errors import UserError
from mnist_gan._recipes import RECIPES
from mnist_gan._report_page import write_report
from mnist_gan._run import Config, RunFolder
from optax_chains import Players

ROWS = 24


def make(latents):
    return jnp.tanh(hk.Linear(28 * 28)(latents)).reshape(-1, 28, 28, 1)


def judge(images):
    return hk.Linear(2)(jnp.tanh(hk.Linear(4)(hk.Flatten()(images))))


def small(**options):
    privacy = _private.Privacy(clip_norm=0.05, noise_multiplier=0.0)
    return RECIPES["private"]._replace(
        batch_size=16,
        generator=lambda: make,
        discriminator=lambda: judge,
        privacy=privacy._replace(**options),
    )


def drawn(rng, valid=17):
    images = rng.integers(0, 256, (ROWS, 28, 28), np.uint8)
    return _batches.Drawn(images, np.arange(ROWS) < valid)


def gradient_of(recipe, params, seen, latents, key=None):
    batch = _game.Batch(
        _game.scale(jnp.asarray(seen.images)), latents, latents, key, seen.valid
    )
    gradient = _game._private(recipe, recipe.privacy, _game.networks(recipe))
    return jax.jit(gradient)(params, batch)[1]


def test_the_gradient_is_the_sum_of_clipped_ones_of_a_loop():
    recipe, rng = small(), np.random.default_rng(0)
    nets, seen = _game.networks(recipe), drawn(rng)
    params = _game.init(recipe, 0).params
    latents = jax.random.normal(jax.random.key(1), (ROWS, recipe.latents))
    found = gradient_of(recipe, params, seen, latents, jax.random.key(2))
    fake, real = nets.gen.apply(params.gen, latents), _game.scale(seen.images)

    def loss(disc, i):
        logits = nets.disc.apply(disc, jnp.stack([real[i], fake[i]]))
        return -jax.nn.log_softmax(logits)[jnp.arange(2), jnp.array([1, 0])].sum()

    total = jax.tree.map(np.zeros_like, params.disc)
    shortened = 0
    for i in range(17):
        one = jax.grad(loss)(params.disc, i)
        norm = np.sqrt(sum(float((g**2).sum()) for g in jax.tree.leaves(one)))
        shortened += norm > 0.05
        factor = np.float32(min(1, 0.05 / norm))
        total = jax.tree.map(lambda a, g, f=factor: a + f * np.asarray(g), total, one)
    assert shortened == 17
    wanted = jax.tree.map(lambda g: g / 16, total)
    assert_trees_close(found, wanted, rtol=1e-4, atol=1e-6)


def test_a_digit_more_moves_the_sum_by_the_clip_at_most():
    recipe, rng = small(), np.random.default_rng(1)
    params = _game.init(recipe, 0).params
    latents = jax.random.normal(jax.random.key(1), (ROWS, recipe.latents))
    seen, key = drawn(rng), jax.random.key(2)
    less = seen._replace(valid=np.arange(ROWS) < 16)
    a, b = (gradient_of(recipe, params, s, latents, key) for s in (seen, less))
    gap = jax.tree.map(lambda x, y: 16 * (x - y), a, b)
    norm = np.sqrt(sum(float((g**2).sum()) for g in jax.tree.leaves(gap)))
    assert 0.049 < norm <= 0.05


def test_the_noise_is_as_strong_as_it_says():
    recipe = small(noise_multiplier=8.0)
    params = _game.init(recipe, 0).params
    latents = jax.random.normal(jax.random.key(1), (ROWS, recipe.latents))
    seen = drawn(np.random.default_rng(2))
    a, b = (
        gradient_of(recipe, params, seen, latents, jax.random.key(k)) for k in (3, 4)
    )
    gaps = [np.ravel(x - y) for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True)]
    found = np.concatenate(gaps).std() / np.sqrt(2)  # of 3,146 numbers: to 1.3 %
    np.testing.assert_allclose(found, 8.0 * 0.05 / 16, rtol=0.05)


def test_padding_is_not_seen():
    recipe, rng = small(), np.random.default_rng(3)
    seen = drawn(rng)
    other = seen.images.copy()
    other[17:] = 255 - other[17:]
    update = jax.jit(_game.update(recipe, place(1).mesh))
    state = _game.init(recipe, 0)
    a = update(state, [seen])
    b = update(state, [seen._replace(images=other)])
    jax.tree.map(np.testing.assert_array_equal, a[0].params, b[0].params)
    np.testing.assert_array_equal(a[1].disc, b[1].disc)


def test_the_generator_sees_no_real_digit():
    recipe = small()
    params = _game.init(recipe, 0).params
    loss = _game.losses_of(recipe, _game.networks(recipe)).gen

    def gradient(real):
        latents = jnp.ones((4, recipe.latents))
        of_gen = jax.grad(lambda gen: loss(Players(gen, params.disc), batch))
        batch = _game.Batch(real, latents, latents)
        return of_gen(params.gen)

    dark = gradient(jnp.full((4, 28, 28, 1), -1.0))
    bright = gradient(jnp.full((4, 28, 28, 1), 1.0))
    jax.tree.map(np.testing.assert_array_equal, dark, bright)


def test_several_steps_in_one_dispatch_are_those_steps():
    recipe, rng = small(noise_multiplier=1.0), np.random.default_rng(5)
    update = jax.jit(_game.update(recipe, place(1).mesh))
    batches = [drawn(rng) for _ in range(3)]
    one, losses = _game.init(recipe, 0), []
    for batch in batches:
        one, loss = update(one, [batch])
        losses.append(loss.disc[0])
    three, together = update(_game.init(recipe, 0), batches)
    assert_trees_close(three.params, one.params, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(together.disc, losses, rtol=1e-4)


def test_the_noise_of_two_steps_differs():
    recipe = small(noise_multiplier=1.0)
    state = _game.init(recipe, 0)
    seen = drawn(np.random.default_rng(6))
    update = jax.jit(_game.update(recipe, place(1).mesh))
    once = update(state, [seen])[0]
    again = update(state._replace(key=once.key), [seen])[0]
    leaves = [jax.tree.leaves(s.params.disc)[0] for s in (once, again)]
    assert not np.array_equal(*leaves)


def test_batches_are_draws_of_the_rate_that_the_account_counts_on():
    digits = load(None).dataset
    recipe = RECIPES["private"]
    with _batches.open_loader(recipe, digits, seed=3, sharding=None) as loader:
        batches = iter(loader)
        counts = [int(next(batches)["valid"].sum()) for _ in range(40)]
        assert loader.spec["image"].shape == (224, 28, 28)
    # Means of 40 numbers with the variance 126: to 1.8, and deviations to 1.3.
    assert abs(np.mean(counts) - 128) < 7
    assert 7 < np.std(counts) < 16


def test_epsilon_is_that_of_the_account_by_moments_or_a_little_less():
    privacy = _private.Privacy(1.0, noise_multiplier=1.1)
    found = _private.spent(privacy, batch_size=256, rows=60_000, steps=14_000)
    assert 2.2 < found < 2.6  # 2.6 by the moments of Mironov et al.
    assert _private.spent(privacy, batch_size=256, rows=60_000, steps=0) == 0


def test_the_statement_says_what_is_given_away_and_what_to_keep():
    privacy = _private.Privacy(1.0, noise_multiplier=1.1)
    config = Config("private", 14_000, 256, 0, "x", 60_000, "y")
    account = _private.account(privacy, config, steps=14_000)
    assert 2.2 < account["epsilon"] < 2.7
    assert account["sampling_rate"] == 256 / 60_000
    assert _private.statement(account) == (
        f"private: epsilon {account['epsilon']:.2f} at delta 5.5e-06 after 14,000 "
        "steps, for one digit added or left out. It holds for samples.png, "
        "samples.parquet and privacy.json. Keep all else in the folder to yourself, "
        "and secret.key above all."
    )
    weak = _private.statement(account | {"epsilon": 20.4})
    assert "left out. Above 10 that promises little: take more digits, or fewer" in weak


def test_fewer_than_one_batch_in_a_thousand_million_is_too_large():
    """By the exact tail of the binomial distribution."""
    for mean in (1, 8, 11, 30, 52, 64, 100, 128, 256, 1000):
        for rows in (max(mean, 40), 10_000, 60_000):
            too_large = scipy.stats.binom.sf(_private.capacity(mean), rows, mean / rows)
            assert too_large < 1e-9


@pytest.mark.devices(5)
def test_rows_that_do_not_divide_are_refused(devices):
    del devices
    with pytest.raises(UserError, match="padded to 224, which do not divide over 5"):
        _batches.check_divides(RECIPES["private"], place(5))


def test_a_private_recipe_asks_for_nothing_that_would_leak():
    for name, recipe in RECIPES.items():
        if recipe.privacy:
            assert not recipe.paired, name
            assert recipe.penalty is None, name


def test_a_run_says_what_it_gives_away_and_goes_on_with_its_secret(
    call, config, tmp_path, monkeypatch
):
    monkeypatch.setitem(RECIPES, "private", small(noise_multiplier=1.0))
    out = tmp_path / "run"
    options = ("--recipe", "private", "--devices", 1, "--out", out)
    first = call("train", "--steps", 2, *options)
    assert first.code == 0, first.err
    assert "2 steps of 16 digits on average, on 1 CPU" in first.out
    privacy = RECIPES["private"].privacy
    epsilon = _private.spent(privacy, batch_size=16, rows=10_000, steps=2)
    assert f"epsilon {epsilon:.2f} at delta 4.0e-05 after 2 steps" in first.out
    assert json.loads((out / "privacy.json").read_text())["epsilon"] == epsilon
    secret = out / "secret.key"
    kept, before = secret.read_text(), config(out)
    assert len(kept) == 33
    assert secret.stat().st_mode & 0o777 == 0o600
    assert before["sha256"] != load(None).sha256

    secret.write_text("hunter2")
    refused = call("train", "--resume", "--steps", 3, "--out", out)
    assert refused.code == 2
    assert "secret.key: holds no secret (hunter2), and a private run" in refused.err
    secret.unlink()
    refused = call("train", "--resume", "--steps", 3, "--out", out)
    assert "holds no secret (No such file or directory)" in refused.err

    secret.write_text(kept)
    written = secret.stat().st_mtime_ns
    again = call("train", "--resume", "--steps", 3, "--out", out)
    assert again.code == 0, again.err
    assert config(out) == before | {"steps": 3}
    assert secret.read_text() == kept
    assert secret.stat().st_mtime_ns == written  # a torn write would end the run
    assert json.loads((out / "privacy.json").read_text())["steps"] == 3
    judged = call("evaluate", out, "--n", 200)
    assert _private.KEEP in judged.out, judged.err
    assert _private.KEEP in write_report(RunFolder(out)).read_text()
    done = call("train", "--resume", "--steps", 3, "--out", out)
    assert done.code == 2
    assert "epsilon" not in done.out  # which would be of no run


def test_a_seed_decides_the_first_weights_and_nothing_else(call, tmp_path, monkeypatch):
    """Whoever finds it in the weights does not know the noise, nor the draws."""
    monkeypatch.setitem(RECIPES, "private", small())
    losses, folders = [], [tmp_path / "a", tmp_path / "b"]
    for out in folders:
        options = ("--recipe", "private", "--devices", 1, "--seed", 7)
        assert call("train", "--steps", 2, *options, "--out", out).code == 0
        table = pq.read_table(out / "metrics.parquet")
        losses.append(table["disc_loss"].to_pylist())
    assert losses[0][0] != losses[1][0]
    secrets = [(out / "secret.key").read_text() for out in folders]
    assert len({_secret.draws_seed(secret) for secret in secrets}) == 2
    assert len({_secret.key_data(secret).tobytes() for secret in secrets}) == 2


def test_a_resumed_run_is_the_run_that_was_not_stopped(call, tmp_path, monkeypatch):
    monkeypatch.setitem(RECIPES, "private", small(noise_multiplier=1.0))
    options = ("--recipe", "private", "--devices", 1, "--seed", 7)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert call("train", "--steps", 4, *options, "--out", whole).code == 0
    secret = (whole / "secret.key").read_text().strip()
    monkeypatch.setattr(_train, "new_secret", lambda: secret)
    assert call("train", "--steps", 2, *options, "--out", parts).code == 0
    resumed = ("--resume", "--steps", 4, "--devices", 1, "--out", parts)
    assert call("train", *resumed).code == 0
    losses = [
        pq.read_table(run / "metrics.parquet")["disc_loss"] for run in (whole, parts)
    ]
    assert losses[0].equals(losses[1])
    samples = [(run / "samples.parquet").read_bytes() for run in (whole, parts)]
    assert samples[0] == samples[1]
