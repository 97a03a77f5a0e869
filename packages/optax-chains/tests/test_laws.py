"""Laws that every chain, game and function obeys, over tables of them all."""

import functools
import pickle

import jax
import jax.numpy as jnp
import optax
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import optax_chains as oc
from chex_harness import assert_compiles, assert_trees_close
from optax_chains import Players


def params_of(dtype):
    w = jnp.linspace(-1, 1, 32, dtype=dtype).reshape(16, 2)
    return {"linear": {"w": w, "b": jnp.ones(8, dtype)}}


def loss(params):
    squares = jax.tree.map(lambda x: jnp.sum(x**2), params)
    return jax.tree.reduce(jnp.add, squares)


def of_chain(chain, **extra):
    """A chain as the triple (init, step, params)."""

    def step(params, state):
        updates, state = chain.update(jax.grad(loss)(params), state, params, **extra)
        return optax.apply_updates(params, updates), state

    return chain.init, step, params_of


def of_both(params, *args):
    return loss(params.gen) - loss(params.disc) * loss(params.gen)


def of_game(make, *args):

    chains = Players(oc.gan_adam(1e-2), oc.gan_adam(1e-3))
    game = make(chains, oc.own_gradients(Players(of_both, of_both)))

    def step(params, state):
        return game.update(params, state, *args)[:2]

    return game.init, step, lambda dtype: Players(params_of(dtype), params_of(dtype))


TABLE = {
    "gan_adam": of_chain(oc.gan_adam()),
    "scale_by_rate": of_chain(oc.scale_by_rate(0.1)),
    "adamw_cosine": of_chain(oc.adamw_cosine(0.1, steps=9, warmup_steps=2)),
    "rmsprop": of_chain(oc.rmsprop(centered=True, momentum=0.9)),
    "sgd_momentum": of_chain(oc.sgd_momentum(weight_decay=0.1)),
    "lamb_large_batch": of_chain(oc.lamb_large_batch(batch_size=8, steps=9)),
    "by_path": of_chain(oc.by_path({"*/w": oc.gan_adam()}, rest=optax.sgd(0.1))),
    "freeze": of_chain(oc.freeze()),
    "clip_by_global": of_chain(oc.clip_by_global(0.1)),
    "clip_by_layer": of_chain(oc.clip_by_layer(0.1)),
    "clip_adaptive": of_chain(oc.clip_adaptive(0.1)),
    "skip_nonfinite": of_chain(oc.skip_nonfinite(oc.gan_adam())),
    "accumulate": of_chain(oc.accumulate(oc.gan_adam(), every=2)),
    "with_ema": of_chain(oc.with_ema(oc.gan_adam(), 0.9, debias=True)),
    "report": of_chain(oc.report(oc.gan_adam())),
    "nested": of_chain(
        oc.skip_nonfinite(
            oc.with_ema(
                oc.accumulate(
                    oc.by_path(
                        {"*/b": oc.freeze(), "*/w": oc.report(oc.sgd_momentum())}
                    ),
                    every=2,
                ),
                0.9,
            )
        )
    ),
    "gauss_newton_cg": of_chain(
        oc.gauss_newton_cg(iterations=2),
        model=lambda params: params,
        loss=loss,
    ),
    "natural_gradient": of_chain(
        oc.natural_gradient(iterations=2, max_kl=0.1),
        model=lambda params: params,
        kl=lambda old, new: loss(jax.tree.map(jnp.subtract, old, new)),
    ),
    "two_player": of_game(oc.two_player),
    "alternating": of_game(oc.alternating),
    "several_disc_steps": of_game(
        functools.partial(oc.several_disc_steps, n=2), jnp.ones((2, 3))
    ),
    "extragradient": of_game(oc.extragradient),
    "optimistic": of_game(oc.optimistic),
    "lookahead": of_game(lambda *game: oc.lookahead(oc.two_player(*game), every=2)),
    "lazy": of_game(
        functools.partial(
            oc.lazy,
            oc.two_player,
            penalties=oc.own_gradients(Players(None, of_both)),
            every=2,
        )
    ),
}
law = pytest.mark.parametrize(("init", "step", "make"), TABLE.values(), ids=TABLE)


@law
def test_jit_equals_eager_and_the_second_step_does_not_compile(init, step, make):
    params = make("float32")
    state = jax.jit(init)(params)
    assert_trees_close(state, init(params))

    def fresh(params, state):  # jit's cache belongs to the function
        return step(params, state)

    jitted = jax.jit(fresh)
    with assert_compiles(1):
        after = jitted(params, state)
        jitted(*after)
    assert_trees_close(after, step(params, state), atol=1e-6)


@law
@pytest.mark.parametrize(
    ("dtype", "x64"), [("float32", False), ("bfloat16", True), ("float64", True)]
)
def test_dtypes_are_kept(init, step, make, dtype, x64):
    """Of the parameters, and of the state from one step to the next."""
    with jax.enable_x64(x64):
        params = jax.eval_shape(lambda: make(dtype))
        assert {str(leaf.dtype) for leaf in jax.tree.leaves(params)} == {dtype}
        state = jax.eval_shape(init, params)
        after, next_state = jax.eval_shape(step, params, state)
        assert after == params
        assert next_state == state


@law
def test_init_works_on_abstract_parameters(init, step, make):
    params = make("float32")
    abstract = jax.eval_shape(init, params)
    assert jax.tree.structure(abstract) == jax.tree.structure(init(params))


@law
@pytest.mark.devices(8)
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit], ids=str)
def test_state_follows_the_sharding_of_the_parameters(init, step, make, devices, kind):
    mesh = jax.make_mesh((8,), ("data",), (kind,), devices=devices)
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    with jax.set_mesh(mesh):
        params = jax.device_put(make("float32"), sharding)
        state = jax.jit(init)(params) if kind == AxisType.Explicit else init(params)
        after, state = jax.jit(step)(params, state)
    for leaf in jax.tree.leaves((after, state)):
        if leaf.ndim:
            assert leaf.sharding.is_equivalent_to(sharding, leaf.ndim)


@law
def test_parameters_and_state_may_be_donated(init, step, make):
    """No buffer is in them twice, which XLA would refuse."""
    params = jax.tree.map(jnp.copy, make("float32"))
    leaves = jax.tree.leaves((params, init(params)))
    assert len({leaf.unsafe_buffer_pointer() for leaf in leaves}) == len(leaves)


CHAINS = [name for name, (*_, make) in TABLE.items() if make is params_of]


@pytest.mark.parametrize("name", CHAINS)
def test_optax_tells_parameters_from_counters_in_the_state(name):
    """`optax.tree.map_params`, with which people lay out a state's shardings."""
    init, _, make = TABLE[name]
    params = make("float32")
    state = init(params)
    marked = optax.tree.map_params(
        init, lambda _: True, state, transform_non_params=lambda _: False
    )
    shapes = {leaf.shape for leaf in jax.tree.leaves(params)}
    wanted = jax.tree.map(lambda leaf: leaf.shape in shapes, state)
    assert jax.tree.leaves(marked) == jax.tree.leaves(wanted)


VMAPPED = ["nested", "gauss_newton_cg", "lookahead"]


@pytest.mark.parametrize("name", VMAPPED)
def test_several_runs_at_once_are_as_one_by_one(name):
    init, step, make = TABLE[name]
    runs = [jax.tree.map(lambda p: p * s, make("float32")) for s in (1.0, -0.3)]  # noqa: B023

    def two_steps(params):
        return step(*step(params, init(params)))

    both = jax.jit(jax.vmap(two_steps))(jax.tree.map(lambda *p: jnp.stack(p), *runs))
    alone = [jax.jit(two_steps)(params) for params in runs]
    assert_trees_close(both, jax.tree.map(lambda *p: jnp.stack(p), *alone), atol=1e-6)


@law
def test_the_state_pickles(init, step, make):
    params = make("float32")
    state = init(params)
    again = pickle.loads(pickle.dumps(jax.device_get(state)))
    assert_trees_close(step(params, again), step(params, state))


KEY = jax.random.key(0)
EXAMPLES = jnp.linspace(-1, 1, 12).reshape(4, 3)
SMALL = {"w": jnp.array([0.5, -1.0, 2.0]), "b": jnp.array(0.3)}


def outputs_of(params):
    return jnp.tanh(EXAMPLES @ params["w"] + params["b"])


def loss_of(params, x=EXAMPLES):
    return jnp.sum(jnp.tanh(x @ params["w"] + params["b"]) ** 2)


def gaussian(params):
    return oc.Normal(params["w"], jnp.exp(params["b"]) * jnp.ones(3))


def estimated(estimator):
    return lambda params: estimator(
        lambda x: jnp.sum(jnp.cos(x)), params, gaussian, KEY, num_samples=2
    )


def controlled(control_variate):
    return lambda params: oc.control_variates_jacobians(
        jnp.sum,
        control_variate,
        oc.score_function_jacobians,
        params,
        gaussian,
        key=KEY,
        num_samples=2,
    )


PRIVATE = oc.dp_sgd(loss_of, clip_norm=0.1, noise_multiplier=1.0, expected_batch_size=4)
FUNCTIONS = {
    "hvp": lambda params: oc.hvp(loss_of, params, params),
    "gauss_newton_operator": lambda params: oc.gauss_newton_operator(
        outputs_of, jnp.sum, params
    )(params),
    "gauss_newton_vp": lambda params: oc.gauss_newton_vp(
        outputs_of, lambda y: jnp.sum(y**2), params, params
    ),
    "hessian": lambda params: oc.hessian(loss_of, params),
    "hessian_matrix": lambda params: oc.hessian_matrix(loss_of, params),
    "hessian_diag": lambda params: oc.hessian_diag(loss_of, params),
    "hessian_diag_hutchinson": lambda params: oc.hessian_diag_hutchinson(
        loss_of, params, key=KEY, num_samples=2
    ),
    "fisher_diag": lambda params: oc.fisher_diag(loss_of, params, EXAMPLES),
    "dp_sgd": lambda params: PRIVATE(params, EXAMPLES, KEY),
    "score_function_jacobians": estimated(oc.score_function_jacobians),
    "pathwise_jacobians": estimated(oc.pathwise_jacobians),
    "measure_valued_jacobians": estimated(oc.measure_valued_jacobians),
    "delta_method": controlled(oc.delta_method(jnp.sum)),
    "moving_average_baseline": controlled(oc.moving_average_baseline()),
    "decay_mask": lambda params: jax.tree.map(jnp.asarray, oc.decay_mask(params)),
}
# What works with states and names, and not with arrays that are traced.
OTHERS = {
    "control_variates_jacobians",  # of which the two control variates are rows
    "ema_params",
    "epsilon",
    "migrate",
    "noise_multiplier_for",
    "own_gradients",  # in every game
    "read_report",
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_give_the_same_under_jit_and_compile_once(function):
    def fresh(params):
        return function(params)

    jitted = jax.jit(fresh)
    other = jax.tree.map(lambda x: 0.5 * x, SMALL)
    with assert_compiles(1):
        found = jitted(SMALL)
        jitted(other)
    assert_trees_close(found, function(SMALL), atol=1e-5)


def test_every_public_function_is_in_a_table():
    functions = {n for n in oc.__all__ if not isinstance(getattr(oc, n), type)}
    assert functions == {*TABLE, *FUNCTIONS, *OTHERS} - {"nested"}
