"""Laws that every chain, game and function obeys, over tables of them all."""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import optax_chains as oc
from chex_harness import Laws, Specimen, assert_trees_close
from optax_chains import Players


def params_of(dtype):
    w = jnp.linspace(-1, 1, 32, dtype=dtype).reshape(16, 2)
    return {"linear": {"w": w, "b": jnp.ones(8, dtype)}}


def loss(params):
    squares = jax.tree.map(lambda x: jnp.sum(x**2), params)
    return jax.tree.reduce(jnp.add, squares)


class Case(NamedTuple):
    """A chain or a game: its state, its step, and parameters for it."""

    init: Callable[[Any], Any]
    step: Callable[[Any, Any], tuple[Any, Any]]
    make: Callable[[str], Any]


def of_chain(chain, **extra):
    def step(params, state):
        updates, state = chain.update(jax.grad(loss)(params), state, params, **extra)
        return optax.apply_updates(params, updates), state

    return Case(chain.init, step, params_of)


def of_both(params, *args):
    return loss(params.gen) - loss(params.disc) * loss(params.gen)


def of_game(make, *args):

    chains = Players(oc.gan_adam(1e-2), oc.gan_adam(1e-3))
    game = make(chains, oc.own_gradients(Players(of_both, of_both)))

    def step(params, state):
        return game.update(params, state, *args)[:2]

    return Case(
        game.init, step, lambda dtype: Players(params_of(dtype), params_of(dtype))
    )


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
law = pytest.mark.parametrize("case", TABLE.values(), ids=TABLE)


STRICT = {
    "clip_adaptive",
    "clip_by_global",
    "clip_by_layer",
    "freeze",
    "gauss_newton_cg",
    "natural_gradient",
    "nested",
    "rmsprop",
    "scale_by_rate",
    "sgd_momentum",
}
_OF_ADAM = {"promotion_is_strict": "optax's Adam raises a Python float to its count"}


def specimen_of_step(name):
    case = TABLE[name]

    def args(dtype):
        params = case.make(dtype)
        return params, jax.jit(case.init)(params)

    return Specimen(
        fn=case.step,
        args=args,
        init=case.init,
        init_args=lambda: (case.make("float32"),),
        carry=2,
        dtypes=(),  # a state may be wider than what is given; see below
        without={} if name in STRICT else _OF_ADAM,
    )


@law
@pytest.mark.parametrize(
    ("dtype", "x64"), [("float32", False), ("bfloat16", True), ("float64", True)]
)
def test_dtypes_are_kept(case, dtype, x64):
    """Of the parameters, and of the state from one step to the next."""
    with jax.enable_x64(x64):
        params = jax.eval_shape(lambda: case.make(dtype))
        assert {str(leaf.dtype) for leaf in jax.tree.leaves(params)} == {dtype}
        state = jax.eval_shape(case.init, params)
        after, next_state = jax.eval_shape(case.step, params, state)
        assert after == params
        assert next_state == state


@law
@pytest.mark.devices(8)
def test_state_follows_the_sharding_of_the_parameters(case, devices):
    kinds = (AxisType.Explicit,)  # of Auto it is a law of the harness
    mesh = jax.make_mesh((8,), ("data",), kinds, devices=devices)
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    with jax.set_mesh(mesh):
        params = jax.device_put(case.make("float32"), sharding)
        after, state = jax.jit(case.step)(params, jax.jit(case.init)(params))
    for leaf in jax.tree.leaves((after, state)):
        if leaf.ndim:
            assert leaf.sharding.is_equivalent_to(sharding, leaf.ndim)


@law
def test_parameters_and_state_may_be_donated(case):
    """No buffer is in them twice, which XLA would refuse."""
    params = jax.tree.map(jnp.copy, case.make("float32"))
    leaves = jax.tree.leaves((params, case.init(params)))
    assert len({leaf.unsafe_buffer_pointer() for leaf in leaves}) == len(leaves)


CHAINS = [name for name, case in TABLE.items() if case.make is params_of]


@pytest.mark.parametrize("name", CHAINS)
def test_optax_tells_parameters_from_counters_in_the_state(name):
    """`optax.tree.map_params`, with which people lay out a state's shardings."""
    case = TABLE[name]
    params = case.make("float32")
    state = case.init(params)
    marked = optax.tree.map_params(
        case.init, lambda _: True, state, transform_non_params=lambda _: False
    )
    shapes = {leaf.shape for leaf in jax.tree.leaves(params)}
    wanted = jax.tree.map(lambda leaf: leaf.shape in shapes, state)
    assert jax.tree.leaves(marked) == jax.tree.leaves(wanted)


class Injected(NamedTuple):
    """Arguments of a chain, and which of them may not be traced."""

    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})
    static: tuple[str, ...] = ()
    extra: Mapping[str, Any] = MappingProxyType({})


INJECTED = {
    "accumulate": Injected((oc.gan_adam(),), {"every": 2}),
    "adamw_cosine": Injected(
        options={"steps": 9, "warmup_steps": 2, "weight_decay": 0.1},
        static=("steps", "warmup_steps", "mask"),
    ),
    "by_path": Injected(({"*/w": oc.gan_adam()},), {"rest": oc.freeze()}),
    "clip_adaptive": Injected((0.1,)),
    "clip_by_global": Injected((0.1,)),
    "clip_by_layer": Injected((0.1,)),
    "freeze": Injected(),
    "gan_adam": Injected((0.1,)),
    "gauss_newton_cg": Injected(extra={"model": lambda params: params, "loss": loss}),
    "lamb_large_batch": Injected(
        options={"batch_size": 8, "steps": 9},
        static=("batch_size", "steps", "base_batch_size", "base_warmup", "mask"),
    ),
    "natural_gradient": Injected(
        options={"max_kl": 0.1},
        extra={
            "model": lambda params: params,
            "kl": lambda old, new: loss(jax.tree.map(jnp.subtract, old, new)),
        },
    ),
    "report": Injected((oc.gan_adam(),)),
    "rmsprop": Injected(options={"centered": True, "momentum": 0.9}),
    "scale_by_rate": Injected((0.1,)),
    "sgd_momentum": Injected((0.1,)),
    "sgd_momentum with decay": Injected((0.1,), {"weight_decay": 0.1}, ("mask",)),
    "skip_nonfinite": Injected((oc.gan_adam(),)),
    "with_ema": Injected((oc.gan_adam(), 0.9), static=("start",)),
}


@pytest.mark.parametrize("name", INJECTED)
def test_hyperparameters_may_be_injected(name):
    """The state made eagerly, the steps compiled; the numbers are the plain chain's."""
    args, options, static, extra = INJECTED[name]
    make = getattr(oc, name.split()[0])
    assert all(f'"{argument}"' in make.__doc__ for argument in static)
    plain = make(*args, **options)
    injected = optax.inject_hyperparams(make, static_args=static)(*args, **options)
    ends = []
    for chain in (plain, injected):
        case = of_chain(chain, **extra)
        params = params_of("float32")
        state, step = chain.init(params), jax.jit(case.step)
        for _ in range(3):
            params, state = step(params, state)
        ends.append(params)
    assert_trees_close(*ends, atol=5e-6)


def test_every_chain_is_injected():
    assert {name.split()[0] for name in INJECTED} == {*CHAINS} - {"nested"}


@pytest.mark.parametrize("name", ["adamw_cosine", "lamb_large_batch", "sgd_momentum"])
def test_a_mask_that_is_taken_for_a_schedule_is_refused(name):
    """It would switch the decay off without a word."""
    _, options, static, _ = INJECTED[name]
    static = tuple(argument for argument in static if argument != "mask")
    make = optax.inject_hyperparams(getattr(oc, name), static_args=static)
    chain = make(**(options | {"weight_decay": 0.1}))
    wanted = f"{name}: mask is False, .*inject_hyperparams.*static_args='mask'"
    with pytest.raises(ValueError, match=wanted):
        chain.init(params_of("float32"))


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


def specimen_of_function(function):
    return Specimen(fn=function, args=lambda _: (SMALL,), dtypes=(), atol=1e-5)


test_laws = Laws(
    {name: specimen_of_step(name) for name in TABLE}
    | {name: specimen_of_function(function) for name, function in FUNCTIONS.items()}
).test()


def test_every_public_function_is_in_a_table():
    functions = {n for n in oc.__all__ if not isinstance(getattr(oc, n), type)}
    assert functions == {*TABLE, *FUNCTIONS, *OTHERS} - {"nested"}
