"""The data-parallel gradients by jit, pmap and shard_map: the same numbers.

Old code has pmap; moved into shard_map as it stands it is wrong by the number of
devices, and silently.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from chex_harness import assert_trees_close
from mnist_gan import _game
from mnist_gan._recipes import RECIPES
from optax_chains import own_gradients

RECIPE = RECIPES["reference"]
N, BATCH = 8, 16


def mean_over_devices(tree):
    return jax.tree.map(functools.partial(jax.lax.pmean, axis_name="data"), tree)


@pytest.fixture(scope="module")
def setup():
    rng = np.random.default_rng(0)
    real = rng.uniform(-1, 1, (BATCH, 28, 28, 1)).astype(np.float32)
    z = rng.normal(size=(2, BATCH, RECIPE.latents)).astype(np.float32)
    params = jax.jit(lambda: _game.init(RECIPE, 0))().params
    gradients = own_gradients(_game.losses_of(RECIPE, _game.networks(RECIPE)))

    def compute(params, batch):
        return [gradient(params, batch) for gradient in gradients]

    batch = _game.Batch(real, z[0], z[1])
    return compute, params, batch, jax.jit(compute)(params, batch)


@pytest.mark.devices(8)
def test_pmap_has_the_gradients_of_jit(devices, setup):
    compute, params, batch, wanted = setup
    split = jax.tree.map(lambda x: x.reshape(N, BATCH // N, *x.shape[1:]), batch)
    step = jax.pmap(
        lambda p, b: mean_over_devices(compute(p, b)),
        axis_name="data",
        in_axes=(None, 0),
        devices=devices,
    )
    found = jax.tree.map(lambda x: x[0], step(params, split))
    assert_trees_close(found, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.devices(8)
def test_shard_map_has_them_when_the_parameters_are_made_to_vary(mesh, setup):
    compute, params, batch, wanted = setup

    def step(p, b):
        varying = jax.tree.map(lambda x: jax.lax.pcast(x, "data", to="varying"), p)
        return mean_over_devices(compute(varying, b))

    step = jax.shard_map(
        step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=True
    )
    assert_trees_close(jax.jit(step)(params, batch), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.devices(8)
def test_the_pmap_idiom_in_shard_map_is_wrong_by_the_number_of_devices(mesh):
    """Why the step is jitted, and not written with shard_map."""

    def loss(w, x):
        return jnp.mean(w * x)

    idiom = jax.shard_map(
        lambda w, x: jax.lax.pmean(jax.grad(loss)(w, x), "data"),
        mesh=mesh,
        in_specs=(P(), P("data")),
        out_specs=P(),
    )
    x = jnp.arange(16.0)
    np.testing.assert_allclose(idiom(1.0, x), N * jax.grad(loss)(1.0, x), rtol=1e-6)
