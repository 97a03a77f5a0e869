import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents import ArgumentError, boltzmann, epsilon_greedy, gaussian_noise, ucb

N = 20_000
# 0.999 quantile of chi square, by degrees of freedom.
CRITICAL = {1: 10.8, 2: 13.8, 3: 16.3, 4: 18.5}


def assert_drawn_with(probabilities, drawn):
    counts = np.bincount(np.ravel(drawn), minlength=len(probabilities))
    expected = np.asarray(probabilities) * counts.sum()
    assert (counts[expected == 0] == 0).all()
    some = expected > 0
    statistic = ((counts - expected)[some] ** 2 / expected[some]).sum()
    assert statistic < CRITICAL[some.sum() - 1], (counts, expected)


def rows(q):
    return jnp.broadcast_to(jnp.array(q), (N, len(q)))


@pytest.mark.parametrize(
    ("q", "epsilon", "probabilities"),
    [
        ([0.0, 3.0, 1.0, 2.0], 0.2, [0.05, 0.85, 0.05, 0.05]),
        ([1.0, 3.0, 3.0, 2.0], 0.4, [0.1, 0.4, 0.4, 0.1]),
        ([3.0, 3.0, 3.0], 0.5, [1 / 3, 1 / 3, 1 / 3]),
        ([1.0, 3.0, 3.0, 2.0], 0.0, [0, 0.5, 0.5, 0]),
        ([1.0, 3.0, 3.0, 2.0], 1.0, [0.25] * 4),
    ],
)
def test_epsilon_greedy_draws_with_its_probabilities(q, epsilon, probabilities):
    drawn = epsilon_greedy(jax.random.key(1), rows(q), epsilon)
    assert (drawn.shape, drawn.dtype) == ((N,), jnp.int32)
    assert_drawn_with(probabilities, drawn)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_boltzmann_draws_with_its_probabilities(temperature):
    q = np.array([0.0, 1.0, -0.5, 1.0, -np.inf])
    weights = np.exp(q / temperature)
    drawn = boltzmann(jax.random.key(0), rows(q.astype(np.float32)), temperature)
    assert_drawn_with(weights / weights.sum(), drawn)


def test_boltzmann_without_temperature_draws_one_of_the_best():
    drawn = boltzmann(jax.random.key(0), rows([1.0, 3.0, 3.0]), 0.0)
    assert_drawn_with([0, 0.5, 0.5], drawn)


def test_each_row_has_its_own_epsilon_and_temperature():
    q_t = jnp.zeros((2, 3, 4)).at[..., 2].set(1.0)
    one = jnp.zeros((2, 3)).at[0, 0].set(1.0)
    for draw in (epsilon_greedy, boltzmann):
        drawn = jax.jit(jax.vmap(lambda k, draw=draw: draw(k, q_t, one)))(
            jax.random.split(jax.random.key(0), 50)
        )
        assert (drawn[:, 0, 0] != 2).any()
        assert (drawn.reshape(50, 6)[:, 1:] == 2).all()


def test_ucb_is_its_formula():
    rng = np.random.default_rng(0)
    q_t = rng.normal(size=(50, 5)).astype(np.float32)
    counts = rng.integers(1, 30, (50, 5))
    t, c = counts.sum(1), rng.uniform(0, 3, 50)
    bound = q_t + c[:, None] * np.sqrt(np.log(t)[:, None] / counts)
    chosen = ucb(jax.random.key(0), q_t, counts, t, c)
    assert chosen.tolist() == bound.argmax(1).tolist()
    assert len(set(chosen.tolist())) == 5


def test_ucb_takes_untried_actions_first_at_random():
    counts = jnp.broadcast_to(jnp.array([5, 0, 0]), (N, 3))
    drawn = ucb(jax.random.key(0), rows([9.0, 0.0, 1.0]), counts, 5, 1.0)
    assert_drawn_with([0, 0.5, 0.5], drawn)


def test_gaussian_noise_has_its_scale_and_bounds():
    a_t = jnp.full((N, 2), 0.5)
    noisy = gaussian_noise(jax.random.key(0), a_t, jnp.array([[0.1, 0.3]]))
    noise = np.asarray(noisy - a_t)
    np.testing.assert_allclose(noise.mean(0), 0, atol=0.01)
    np.testing.assert_allclose(noise.std(0), [0.1, 0.3], rtol=0.03)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.03
    clipped = gaussian_noise(jax.random.key(0), a_t, 1.0, low=0.0, high=0.8)
    assert (float(clipped.min()), float(clipped.max())) == (0, np.float32(0.8))
    half = gaussian_noise(jax.random.key(0), a_t.astype(jnp.bfloat16), 0.1)
    assert half.dtype == jnp.bfloat16


def test_jit_and_eager_agree_and_64_bits_change_nothing():
    q_t, a_t = jnp.arange(12.0).reshape(3, 4) % 5, jnp.zeros((3, 2))
    counts = jnp.ones((3, 4), jnp.int32)

    def draw(key):
        return (
            epsilon_greedy(key, q_t, 0.5),
            boltzmann(key, q_t, 1.0),
            ucb(key, q_t, counts, 3, 1.0),
            gaussian_noise(key, a_t, 1.0),
        )

    eager, jitted = draw(jax.random.key(0)), jax.jit(draw)(jax.random.key(0))
    for a, b in zip(eager, jitted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    with jax.enable_x64(True):  # noqa: FBT003 (jax's own signature)
        wide = jax.eval_shape(draw, jax.random.key(0))
    assert [w.dtype for w in wide] == [e.dtype for e in eager]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda k: epsilon_greedy(k, jnp.zeros(3), 1.5),
            r"epsilon is 1.5, wanted \[0, 1",
        ),
        (lambda k: epsilon_greedy(k, jnp.zeros(3), -0.1), "epsilon is -0.1"),
        (lambda k: epsilon_greedy(k, jnp.zeros(3, int), 0.1), "q_t has dtype int32"),
        (
            lambda k: epsilon_greedy(k, jnp.float32(3), 0.1),
            r"q_t has shape \(\), wanted",
        ),
        (
            lambda k: epsilon_greedy(k, jnp.array([jnp.nan]), 0.1),
            r"q_t is nan at \[0\]",
        ),
        (
            lambda k: epsilon_greedy(k, jnp.zeros((2, 3)), jnp.zeros(3)),
            r"epsilon has shape \(3,\), wanted \(2,\)",
        ),
        (
            lambda k: boltzmann(k, jnp.zeros(3), -1.0),
            "temperature is -1, wanted 0 or mo",
        ),
        (
            lambda k: ucb(k, jnp.zeros(3), jnp.zeros(2), 1, 1.0),
            r"counts has shape \(2,\)",
        ),
        (
            lambda k: ucb(k, jnp.zeros(3), jnp.zeros(3), 0, 1.0),
            "t is 0, wanted 1 or more",
        ),
        (
            lambda k: gaussian_noise(k, jnp.zeros(3), -1.0),
            "scale is -1, wanted 0 or more",
        ),
        (
            lambda k: gaussian_noise(k, jnp.zeros(3), jnp.ones(2)),
            r"scale has shape \(2,\)",
        ),
    ],
)
def test_bad_arguments_raise(call, text):
    with pytest.raises(ArgumentError, match=text):
        call(jax.random.key(0))
