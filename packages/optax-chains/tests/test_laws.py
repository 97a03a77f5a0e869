"""Laws that every chain and game obeys, over a table of them all."""

import pickle

import jax
import jax.numpy as jnp
import optax
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from chex_harness import assert_compiles, assert_trees_close
from optax_chains import Players, gan_adam, own_gradients, two_player


def params_of(dtype):
    w = jnp.linspace(-1, 1, 16, dtype=dtype)
    return {"w": w, "b": jnp.ones(8, dtype)}


def loss(params):
    squares = jax.tree.map(lambda x: jnp.sum(x**2), params)
    return jax.tree.reduce(jnp.add, squares)


def of_chain(make):
    """A chain as the pair (init, step)."""
    chain = make()

    def step(params, state):
        updates, state = chain.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    return chain.init, step, params_of


def of_game(make):
    def of_both(params):
        return loss(params.gen) - loss(params.disc) * loss(params.gen)

    chains = Players(gan_adam(1e-2), gan_adam(1e-3))
    game = make(chains, own_gradients(Players(of_both, of_both)))

    def step(params, state):
        return game.update(params, state)[:2]

    return game.init, step, lambda dtype: Players(params_of(dtype), params_of(dtype))


TABLE = {"gan_adam": of_chain(gan_adam), "two_player": of_game(two_player)}
law = pytest.mark.parametrize(("init", "step", "make"), TABLE.values(), ids=TABLE)


@law
def test_jit_equals_eager(init, step, make):
    params = make("float32")
    assert_trees_close(
        jax.jit(step)(params, init(params)), step(params, init(params)), atol=1e-7
    )


@law
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_dtypes_are_kept(init, step, make, dtype):
    params = make(dtype)
    after, _ = step(params, init(params))
    assert {leaf.dtype for leaf in jax.tree.leaves(after)} == {jnp.dtype(dtype)}


@law
def test_the_second_step_does_not_compile(init, step, make):
    params = make("float32")
    state = jax.jit(init)(params)

    def fresh(params, state):  # jit's cache belongs to the function
        return step(params, state)

    jitted = jax.jit(fresh)
    with assert_compiles(1):
        jitted(*jitted(params, state))


@law
def test_init_works_on_abstract_parameters(init, step, make):
    params = make("float32")
    abstract = jax.eval_shape(init, params)
    assert jax.tree.structure(abstract) == jax.tree.structure(init(params))


@law
@pytest.mark.devices(8)
def test_state_follows_the_sharding_of_the_parameters(init, step, make, mesh):
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    params = jax.device_put(make("float32"), sharding)
    after, state = step(params, init(params))
    for leaf in jax.tree.leaves((after, state)):
        if leaf.ndim:
            assert leaf.sharding.is_equivalent_to(sharding, leaf.ndim)


@law
def test_the_state_pickles(init, step, make):
    params = make("float32")
    state = init(params)
    again = pickle.loads(pickle.dumps(jax.device_get(state)))
    assert_trees_close(step(params, again), step(params, state))
