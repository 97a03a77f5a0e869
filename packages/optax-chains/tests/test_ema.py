import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from optax_chains import Players, by_path, ema_params, freeze, with_ema


@pytest.mark.parametrize("debias", [False, True])
@pytest.mark.parametrize("start", [0, 3])
def test_it_is_the_weighted_sum_written_out(debias, start):
    """Weights decay^(t - i) (1 - decay), of the parameters after steps start + 1 on."""
    d = 0.8
    chain = with_ema(optax.sgd(0.1), d, debias=debias, start=start)
    params = jnp.float32(2)
    state, seen = chain.init(params), [2.0]
    for t in range(8):
        assert float(ema_params(state)) == wanted(seen, d, debias, start)
        updates, state = chain.update(jnp.float32(t), state, params)
        params = optax.apply_updates(params, updates)
        seen.append(float(params))


def wanted(seen, d, debias, start):
    t = len(seen) - 1
    if t <= start:
        return pytest.approx(seen[-1], rel=1e-5)
    weights = [d ** (t - i) * (1 - d) for i in range(start + 1, t + 1)]
    total = sum(w * p for w, p in zip(weights, seen[start + 1 :], strict=True))
    if debias:
        return pytest.approx(total / (1 - d ** (t - start)), rel=1e-5)
    return pytest.approx(total + d ** (t - start) * seen[start], rel=1e-5)


def test_the_average_of_bfloat16_parameters_is_float32():
    """0.999 of the way in bfloat16 would never leave where it started."""
    chain = with_ema(optax.sgd(0.0), 0.999)
    state = chain.init(jnp.zeros(1, jnp.bfloat16))
    one = jnp.ones(1, jnp.bfloat16)
    step = jax.jit(chain.update)
    for _ in range(100):
        _, state = step(one, state, one)
    np.testing.assert_allclose(ema_params(state), [1 - 0.999**100], rtol=1e-4)
    assert ema_params(state, like=one).dtype == jnp.bfloat16


def test_decay_may_be_a_schedule():
    chain = with_ema(optax.sgd(0.0), lambda t: t / (t + 1.0), debias=True)
    state, seen = chain.init(jnp.float32(0)), [3.0, 5.0, 10.0]
    for x in seen:
        _, state = chain.update(jnp.float32(0), state, jnp.float32(x))
    np.testing.assert_allclose(ema_params(state), np.mean(seen))  # all weigh the same


def test_it_is_found_in_nested_states():
    params = {"a": jnp.ones(1), "b": jnp.ones(1)}
    chain = by_path({"a": with_ema(optax.sgd(0.1), 0.9), "b": freeze()})
    state = Players(gen=chain.init(params), disc=optax.adam(0.1).init(params))
    assert float(jax.tree.leaves(ema_params(state))[0][0]) == 1.0


def test_none_and_two_averages_are_refused():
    state = with_ema(optax.sgd(1.0), 0.9).init(jnp.ones(1))
    with pytest.raises(ValueError, match="holds 0 averages; wrap the chain"):
        ema_params(optax.sgd(1.0).init(jnp.ones(1)))
    with pytest.raises(ValueError, match="2 averages, at 'gen', 'disc'; hand over"):
        ema_params(Players(state, state))


def test_parameters_are_asked_for():
    chain = with_ema(optax.sgd(1.0), 0.9)
    with pytest.raises(ValueError, match=r"got no params.*type update\(updates, state"):
        chain.update(jnp.ones(1), chain.init(jnp.ones(1)))
    with pytest.raises(ValueError, match="start is -1"):
        with_ema(optax.sgd(1.0), 0.9, start=-1)


@pytest.mark.parametrize("debias", [False, True])
def test_of_integers_and_bools_it_holds_the_latest(debias):
    """There is no average of a counter: 2**24 + 1 is no float32 either."""
    chain = with_ema(optax.identity(), 0.9, debias=debias)
    params = {"n": jnp.int32(7), "on": jnp.zeros((), bool), "w": jnp.float32(1)}
    state = chain.init(params)
    assert ema_params(state)["n"].dtype == jnp.int32
    for n in (2**24, 2**24 + 1):
        params = {"n": jnp.int32(n), "on": jnp.ones((), bool), "w": jnp.float32(2)}
        still = jax.tree.map(jnp.zeros_like, params)
        _, state = jax.jit(chain.update)(still, state, params)
    found = ema_params(state, like=params)
    assert (int(found["n"]), bool(found["on"])) == (2**24 + 1, True)
    assert found["n"].dtype == jnp.int32
    np.testing.assert_allclose(found["w"], 2 if debias else 2 - 0.81, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_parameters_may_be_numbers_of_python(wrap):
    chain = with_ema(optax.sgd(0.5), 0.75)
    params = {"a": 1.0, "n": 3, "on": True}
    state = chain.init(params)
    grads = {"a": 4.0, "n": 0, "on": False}
    _, state = wrap(chain.update)(grads, state, params)
    for found in (ema_params(state), ema_params(state, like=params)):
        assert found == {"a": 0.5, "n": 3, "on": True}  # 0.75 * 1 - 0.25 * 1
        kinds = {name: str(x.dtype) for name, x in found.items()}
        assert kinds == {"a": "float32", "n": "int32", "on": "bool"}
