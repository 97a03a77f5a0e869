"""Torsos: their first weights, their shapes, and that they are what they say."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import MLP, ActorCritic


def _net(make):
    def run(x):
        return make()(x)

    return hk.without_apply_rng(hk.transform(run))


def test_weights_start_orthogonal_with_gain():
    net = _net(lambda: MLP((8, 8)))
    params = net.init(jax.random.key(0), jnp.ones((1, 8)))
    for layer in params.values():
        np.testing.assert_allclose(layer["w"] @ layer["w"].T, 2 * jnp.eye(8), atol=1e-5)
        assert not layer["b"].any()


def test_the_mlp_computes_what_numpy_does():
    net = _net(lambda: MLP((5, 4), layer_norm=True))
    x = jax.random.normal(jax.random.key(0), (3, 6))
    params = jax.tree.map(np.asarray, net.init(jax.random.key(1), x))
    y = np.asarray(x, np.float64)
    for linear, norm in (("linear", "layer_norm"), ("linear_1", "layer_norm_1")):
        w, b = params[f"mlp/{linear}"]["w"], params[f"mlp/{linear}"]["b"]
        y = y @ w + b
        y = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5)
        y = np.tanh(
            y * params[f"mlp/{norm}"]["scale"] + params[f"mlp/{norm}"]["offset"]
        )
    np.testing.assert_allclose(net.apply(params, x), y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_all_actions_are_about_as_likely_at_first(shared):
    net = _net(lambda: ActorCritic(4, sizes=(16,), shared=shared))
    x = jax.random.normal(jax.random.key(0), (2, 3, 6))
    params = net.init(jax.random.key(1), x)
    logits, value = net.apply(params, x)
    assert logits.shape == (2, 3, 4)
    assert value.shape == (2, 3)
    assert float(jnp.abs(logits).max()) < 0.1
    assert ("actor_critic/critic/linear" in params) != shared


def test_torsos_of_their_own_do_not_share_gradients():
    def value_only(params, x, net):
        return net.apply(params, x).value.sum()

    x = jnp.ones((2, 3))
    for shared in (False, True):
        net = _net(lambda shared=shared: ActorCritic(2, sizes=(4,), shared=shared))
        params = net.init(jax.random.key(0), x)
        gradient = jax.grad(value_only)(params, x, net)
        reaches = bool(jnp.abs(gradient["actor_critic/actor/linear"]["w"]).max() > 0)
        assert reaches == shared
