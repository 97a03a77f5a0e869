"""Every number of every public function is checked, and says what to type."""

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import optax_chains as oc
from optax_chains import Players
from optax_chains._checks import (
    ANY,
    BOUNDED,
    CHANCE,
    DECAY,
    MOMENTUM,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    check_chains,
    check_counts,
    check_key,
    check_like,
    check_numbers,
    scalar_of,
)

KEY = jax.random.key(0)
X = jnp.arange(6.0).reshape(3, 2)
CHAIN = optax.sgd(0.1)
GAME = (
    Players(CHAIN, CHAIN),
    oc.own_gradients(Players(lambda p: p.gen, lambda p: p.disc)),
)
RUN = {"sampling_rate": 0.1, "steps": 2, "delta": 1e-5, "accountant": "rdp"}


def estimate(estimator):
    return lambda **kw: estimator(jnp.sum, X[0], lambda m: oc.Normal(m, m), KEY, **kw)


def control(**kw):
    return oc.control_variates_jacobians(
        jnp.sum,
        oc.moving_average_baseline(),
        oc.score_function_jacobians,
        X[0] + 1,
        lambda mean: oc.Normal(mean, jnp.ones(2)),
        key=KEY,
        **({"num_samples": 2} | kw),
    )


def private(*, microbatch_size=None, **kw):
    fine = {"clip_norm": 1.0, "noise_multiplier": 1.0, "expected_batch_size": 3}
    gradient = oc.dp_sgd(
        lambda p, x: jnp.sum(p * x), microbatch_size=microbatch_size, **(fine | kw)
    )
    return gradient(X[0], X, KEY)


CALLS = {
    "accumulate": lambda **kw: oc.accumulate(CHAIN, **kw),
    "adamw_cosine": lambda **kw: oc.adamw_cosine(**({"steps": 9} | kw)),
    "clip_adaptive": lambda **kw: oc.clip_adaptive(**({"ratio": 0.1} | kw)),
    "clip_by_global": oc.clip_by_global,
    "clip_by_layer": oc.clip_by_layer,
    "control_variates_jacobians": control,
    "dp_sgd": private,
    "epsilon": lambda **kw: oc.epsilon(**(RUN | {"noise_multiplier": 1.0} | kw)),
    "fisher_diag": lambda **kw: oc.fisher_diag(
        lambda p, x: jnp.sum(p * x), X[0], X, **kw
    ),
    "gan_adam": oc.gan_adam,
    "gauss_newton_cg": oc.gauss_newton_cg,
    "hessian_diag": lambda **kw: oc.hessian_diag(lambda x: jnp.sum(x**3), X, **kw),
    "hessian_diag_hutchinson": lambda **kw: oc.hessian_diag_hutchinson(
        lambda x: jnp.sum(x**3), X, key=KEY, **kw
    ),
    "lamb_large_batch": lambda **kw: oc.lamb_large_batch(
        **({"batch_size": 8, "steps": 9} | kw)
    ),
    "lazy": lambda **kw: oc.lazy(
        oc.two_player, *GAME, penalties=Players(None, None), **kw
    ),
    "lookahead": lambda **kw: oc.lookahead(oc.two_player(*GAME), **kw),
    "measure_valued_jacobians": estimate(oc.measure_valued_jacobians),
    "moving_average_baseline": oc.moving_average_baseline,
    "natural_gradient": oc.natural_gradient,
    "noise_multiplier_for": lambda **kw: oc.noise_multiplier_for(
        **(RUN | {"target_epsilon": 1.0} | kw)
    ),
    "pathwise_jacobians": estimate(oc.pathwise_jacobians),
    "rmsprop": oc.rmsprop,
    "scale_by_rate": oc.scale_by_rate,
    "score_function_jacobians": estimate(oc.score_function_jacobians),
    "several_disc_steps": lambda **kw: oc.several_disc_steps(*GAME, **kw),
    "sgd_momentum": oc.sgd_momentum,
    "with_ema": lambda **kw: oc.with_ema(CHAIN, **({"decay": 0.9} | kw)),
}
# What decides shapes or lengths, or is computed before jax is.
STATIC = {
    "at_once",
    "base_warmup",
    "batch_size",
    "base_batch_size",
    "coefficient_samples",
    "delta",
    "microbatch_size",
    "n",
    "num_samples",
    "sampling_rate",
    "start",
    "steps",
    "target_epsilon",
    "warmup_steps",
}


def numbers_of(name):
    """(argument, whether it is a count) of a function, by its annotations."""
    for argument, parameter in inspect.signature(getattr(oc, name)).parameters.items():
        kind = str(parameter.annotation)
        if argument == "mask":
            continue
        if argument == "learning_rate" or re.search(r"\bfloat\b", kind):
            yield argument, False
        elif parameter.annotation is int or re.search(r"\bint\b", kind):
            yield argument, True


FUNCTIONS = [n for n in oc.__all__ if not isinstance(getattr(oc, n), type)]
NUMBERS = [(n, *found) for n in FUNCTIONS for found in numbers_of(n)]


def test_every_function_with_a_number_is_called_here():
    assert {name for name, *_ in NUMBERS} == set(CALLS)


@pytest.mark.parametrize(("name", "argument", "count"), NUMBERS)
def test_a_number_that_cannot_be_is_refused(name, argument, count):
    bad = [True, np.True_, "1", b"1", 1j, np.nan, np.array([1, 2]), jnp.ones((), bool)]
    bad += [2.5, -1, 1.0, "x"] if count else [-np.inf, np.float32(np.nan)]
    bad += [] if argument == "coefficient" else [-2.0]
    bad += [0] if count and argument not in ("start", "warmup_steps") else []
    where = "scale_by_rate" if argument == "learning_rate" else name
    for value in bad:
        with pytest.raises((TypeError, ValueError), match=rf"^{where}: {argument} is "):
            CALLS[name](**{argument: value})


@pytest.mark.parametrize(("name", "argument", "count"), NUMBERS)
def test_a_traced_number_passes_or_is_told_how_not_to_be(name, argument, count):
    def call(value):
        CALLS[name](**{argument: value})
        return value

    before = STATIC | ({"noise_multiplier"} if name == "epsilon" else set())
    value = jnp.asarray(1 if count else 0.5)
    if argument not in before:
        jax.eval_shape(call, value)
        return
    cure = (
        f"static_args='{argument}' in optax.inject_hyperparams"
        if name in ("adamw_cosine", "lamb_large_batch", "with_ema")
        else f"static_argnames='{argument}' in jax.jit"
    )
    wanted = f"{name}: {argument} is traced, .* type a Python number, or {cure}"
    with pytest.raises(TypeError, match=wanted):
        jax.eval_shape(call, value)


# Range -> the least and the largest that pass, and what is just beyond.
ENDS = {
    ANY: ((-1e3, 0.0, 1e3), (-np.inf, np.inf)),
    POSITIVE: ((1e-3, np.inf), (0.0, -1e-3)),
    BOUNDED: ((0.1, 1e3), (0.0, np.inf)),
    NOT_NEGATIVE: ((0.0, 1e3), (-1e-30, np.inf)),
    DECAY: ((0.0, 1 - 1e-9), (-1e-30, 1.0)),
    MOMENTUM: ((-1 + 1e-9, 0.0, 1 - 1e-9), (-1.0, 1.0)),
    SHARE: ((1e-3, 1.0), (0.0, 1 + 1e-9)),
    CHANCE: ((1e-9, 1 - 1e-3), (0.0, 1.0)),
}
RANGES = {
    **dict.fromkeys(["b1", "b2", "decay", "tolerance"], DECAY),
    **dict.fromkeys(["momentum", "gan_adam.b1"], MOMENTUM),
    **dict.fromkeys(["max_norm", "ratio", "max_kl"], POSITIVE),
    **dict.fromkeys(["clip_norm", "expected_batch_size", "target_epsilon"], BOUNDED),
    **dict.fromkeys(["sampling_rate", "step"], SHARE),
    **dict.fromkeys(["learning_rate", "peak", "end", "base", "eps"], NOT_NEGATIVE),
    **dict.fromkeys(["weight_decay", "damping", "base_warmup"], NOT_NEGATIVE),
    "noise_multiplier": NOT_NEGATIVE,
    "delta": CHANCE,
    "coefficient": ANY,
}
LEAST = {"start": 0, "warmup_steps": 0, "coefficient_samples": 2}  # else 1


@pytest.mark.parametrize(("name", "argument", "count"), NUMBERS)
def test_the_ends_of_the_ranges(name, argument, count):
    if count:
        least = LEAST.get(argument, 1)
        passes, refused = (least,), (least - 1,)
    else:
        wanted = RANGES.get(f"{name}.{argument}", RANGES.get(argument))
        passes, refused = ENDS[wanted]
    for value in passes:
        CALLS[name](**{argument: value})
    for value in refused:
        with pytest.raises(ValueError, match=rf": {argument} is {value}; type "):
            CALLS[name](**{argument: value})


def test_all_ranges_are_used():
    assert {*RANGES.values()} == {*ENDS}


@pytest.mark.parametrize(("name", "argument"), [n[:2] for n in NUMBERS if n[2]])
@pytest.mark.parametrize("kind", [np.int64, jnp.int32, np.array])
def test_counts_of_any_kind_pass(name, argument, kind):
    CALLS[name](**{argument: kind(3)})


def test_numbers_of_any_kind_pass():
    for value in (
        1,
        0.5,
        np.float32(0.5),
        np.array(0.5),
        jnp.float32(0.5),
        jnp.int8(1),
    ):
        check_numbers("f", NOT_NEGATIVE, x=value)
    for value in (1, np.int8(1), np.array(1), jnp.int32(1)):
        check_counts("f", n=value)


def test_known_numbers_are_checked_while_others_are_traced():
    known = jnp.float32(-1)

    @jax.jit
    def f(x):
        check_numbers("f", NOT_NEGATIVE, x=x, known=known)
        return x

    with pytest.raises(ValueError, match=r"known is -1\.0; type 0 or more"):
        f(1.0)


def test_what_is_no_chain_is_refused():
    check_chains("f", chain=CHAIN)
    with pytest.raises(TypeError, match="f: chain is a dict, wanted a chain; type one"):
        check_chains("f", chain={})
    for wrap in (oc.report, oc.skip_nonfinite):
        with pytest.raises(TypeError, match=f"{wrap.__name__}: chain is None, want"):
            wrap(None)


@pytest.mark.parametrize("key", [KEY, jax.random.PRNGKey(0)])
def test_one_key_of_either_form_is_a_key(key):
    check_key("f", key)
    jax.eval_shape(lambda key: check_key("f", key), key)
    with pytest.raises(TypeError, match=r"f: key is .*\[2.*\], wanted one key"):
        check_key("f", jax.random.split(key))


def test_trees_of_other_shapes_are_refused():
    check_like("f", "a", {"x": 1.0, "y": None}, "b", {"x": jnp.ones(()), "y": None})
    for found, wanted, message in [
        (
            {"x": X},
            {},
            r"f: a has 'x' of shape \(3, 2\), b has no 'x'; take it out of a",
        ),
        ({}, {"x": X}, r"f: a has no 'x', b has 'x' of .*; add it to a, as zeros"),
        ({"x": X}, {"x": X[0]}, r"b has 'x' .*; hand over a of the shapes of b"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_like("f", "a", found, "b", wanted)


@pytest.mark.parametrize(
    ("function", "cure"),
    [
        (lambda x: x, "lambda x: jnp.sum(function(x))"),
        (lambda x: (x, x), "lambda x: jnp.sum(function(x)[0])"),
        (lambda x: [{"loss": x[0]}], "lambda x: jnp.sum(function(x)[0]['loss'])"),
    ],
)
def test_the_advice_for_what_is_no_scalar_works(function, cure):
    with pytest.raises(ValueError, match=re.escape(f"; type {cure}, or make one call")):
        scalar_of("f", function)(X[0])
    scalar_of("f", eval(cure, {"jnp": jnp, "function": function}))(X[0])


def test_of_nothing_a_scalar_is_asked_for():
    with pytest.raises(ValueError, match=r"gives nothing .* \(\); return one$"):
        scalar_of("f", lambda x: None)(X[0])


def test_a_scalar_passes_whatever_it_is():
    for value in (1.0, True, np.float32(1), jnp.ones(())):
        assert scalar_of("f", lambda x: x)(value) is value
