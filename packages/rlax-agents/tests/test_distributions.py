import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError, Categorical, DiagonalGaussian, TanhGaussian

RNG = np.random.default_rng(0)
LOGITS, OTHER = RNG.normal(size=(2, 3, 4, 5))
MEAN, OTHER_MEAN = RNG.normal(size=(2, 3, 4, 2))
SCALE, OTHER_SCALE = RNG.uniform(0.3, 2.0, size=(2, 3, 4, 2))


def f32(x):
    return jnp.asarray(x, jnp.float32)


CATEGORICAL = Categorical(f32(LOGITS)), Categorical(f32(OTHER))
GAUSSIAN = (
    DiagonalGaussian(f32(MEAN), f32(SCALE)),
    DiagonalGaussian(f32(OTHER_MEAN), f32(OTHER_SCALE)),
)
TANH = TanhGaussian(*GAUSSIAN[0]), TanhGaussian(*GAUSSIAN[1])
every = pytest.mark.parametrize(
    ("pi", "other"), [CATEGORICAL, GAUSSIAN, TANH], ids=["logits", "normal", "tanh"]
)


def test_categorical_is_that_of_scipy():
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)
    q = np.exp(OTHER) / np.exp(OTHER).sum(-1, keepdims=True)
    pi, other = CATEGORICAL
    a = RNG.integers(0, 5, (3, 4))
    want = np.log(np.take_along_axis(p, a[..., None], -1))[..., 0]
    np.testing.assert_allclose(pi.log_prob(jnp.asarray(a, jnp.int32)), want, rtol=1e-5)
    np.testing.assert_allclose(pi.entropy(), stats.entropy(p, axis=-1), rtol=1e-5)
    np.testing.assert_allclose(pi.kl(other), stats.entropy(p, q, axis=-1), rtol=1e-4)
    np.testing.assert_array_equal(pi.mode(), LOGITS.argmax(-1))


def test_gaussian_is_that_of_scipy():
    pi, other = GAUSSIAN
    a = RNG.normal(size=MEAN.shape)
    normal = stats.norm(MEAN, SCALE)
    np.testing.assert_allclose(pi.log_prob(f32(a)), normal.logpdf(a).sum(-1), rtol=1e-4)
    np.testing.assert_allclose(pi.entropy(), normal.entropy().sum(-1), rtol=1e-4)
    x = MEAN[..., None] + SCALE[..., None] * np.linspace(-12, 12, 20001)
    normal = stats.norm(MEAN[..., None], SCALE[..., None])
    gap = normal.logpdf(x) - stats.norm(
        OTHER_MEAN[..., None], OTHER_SCALE[..., None]
    ).logpdf(x)
    kl = np.trapezoid(normal.pdf(x) * gap, x).sum(-1)
    np.testing.assert_allclose(pi.kl(other), kl, rtol=1e-4)
    np.testing.assert_array_equal(pi.mode(), pi.mean)


def test_tanh_densities_are_those_of_the_change_of_variables():
    pi, other = TANH
    x = RNG.normal(size=MEAN.shape)
    a = np.tanh(x)
    want = (stats.norm(MEAN, SCALE).logpdf(x) - np.log(1 - a**2)).sum(-1)
    np.testing.assert_allclose(pi.log_prob(f32(a)), want, rtol=1e-4, atol=1e-4)
    assert_trees_close(pi.kl(other), GAUSSIAN[0].kl(GAUSSIAN[1]))
    assert_trees_close(pi.mode(), jnp.tanh(pi.mean))


def test_tanh_entropies_are_integrals():
    scale = np.asarray([0.01, 0.3, 0.69, 0.71, 1.0, 3.0, 30.0])[:, None]
    mean = np.asarray([0.0, 0.7, -3.0]) + 0 * scale
    scale = scale + 0 * mean
    x = mean[..., None] + scale[..., None] * np.linspace(-12, 12, 20_001)
    slope = 2 * (np.log(2) - np.abs(x) - np.log1p(np.exp(-2 * np.abs(x))))
    normal = stats.norm(mean[..., None], scale[..., None])
    want = normal.entropy()[..., 0] + np.trapezoid(normal.pdf(x) * slope, x)
    pi = TanhGaussian(f32(mean)[..., None], f32(scale)[..., None])

    @jax.jit
    def entropy(pi):
        return pi.entropy().sum(), pi.entropy()

    slopes, found = jax.jit(jax.grad(entropy, has_aux=True))(pi)
    np.testing.assert_allclose(found, want, atol=1e-4)
    for slope in slopes:
        assert np.isfinite(slope).all()


@every
def test_policies_are_pytrees_of_the_protocol(pi, other):
    assert isinstance(pi, ra.Policy)
    doubled = jax.jit(lambda pi: jax.tree.map(lambda x: 2 * x, pi))(pi)
    assert type(doubled) is type(pi)
    assert_trees_close(jax.jit(lambda p, q: p.kl(q))(pi, other), pi.kl(other))


@every
def test_a_policy_does_not_diverge_from_itself(pi, other):
    np.testing.assert_allclose(pi.kl(pi), 0, atol=1e-6)
    assert (pi.kl(other) > 0).all()


@every
def test_samples_have_the_entropy(pi, other):
    keys = jax.random.split(jax.random.key(0), 4000)

    @jax.jit
    def draw(pi, other, keys):
        a = jax.vmap(pi.sample)(keys)
        return jax.vmap(pi.log_prob)(a), jax.vmap(other.log_prob)(a)

    log_prob, others = draw(pi, other, keys)
    np.testing.assert_allclose(-log_prob.mean(0), pi.entropy(), atol=0.1)
    gaps = np.asarray(log_prob - others)
    spread = gaps.std(0) / np.sqrt(len(keys))
    assert (np.abs(gaps.mean(0) - pi.kl(other)) < 5 * spread + 1e-3).all()


@every
def test_dtypes_are_kept(pi, other):
    pi, other = jax.tree.map(lambda x: x.astype(jnp.bfloat16), (pi, other))
    assert pi.entropy().dtype == pi.kl(other).dtype == jnp.bfloat16
    a = pi.sample(jax.random.key(0))
    assert pi.log_prob(a).dtype == jnp.bfloat16
    assert a.dtype == (jnp.int32 if isinstance(pi, Categorical) else jnp.bfloat16)


@every
def test_gradients_are_finite_differences(pi, other):
    a = pi.sample(jax.random.key(1))

    def total(step):
        moved = jax.tree.map(lambda x: x * (1 + step), pi)
        return (moved.log_prob(a) + moved.entropy() - moved.kl(other)).mean()

    h, total = 1e-2, jax.jit(total)
    want = (total(h) - total(-h)) / (2 * h)
    np.testing.assert_allclose(jax.grad(total)(0.0), want, rtol=1e-2, atol=1e-3)


def test_actions_that_cannot_be_taken_do_no_harm():
    pi = Categorical(f32([[0.0, -np.inf, 0.0]]))
    np.testing.assert_allclose(pi.entropy(), np.log(2), rtol=1e-6)
    assert pi.kl(pi)[0] == 0
    assert pi.log_prob(jnp.asarray([1])) == -np.inf
    assert Categorical(f32([[0.0, 0.0, 0.0]])).kl(pi)[0] == np.inf
    slopes = jax.jit(jax.grad(lambda pi: (pi.entropy() + pi.kl(pi)).sum()))(pi)
    for gradient in slopes:
        assert np.isfinite(gradient).all()
    drawn = jax.jit(jax.vmap(pi.sample))(jax.random.split(jax.random.key(0), 100))
    assert set(np.unique(drawn)) == {0, 2}


def test_actions_at_the_bounds_have_finite_densities():
    pi = TanhGaussian(f32([[0.0]]), f32([[1.0]]))
    total = jax.jit(jax.value_and_grad(lambda pi, a: pi.log_prob(a).sum()))
    for a in (-1.0, 1.0):
        log_prob, slopes = total(pi, f32([[a]]))
        assert np.isfinite(log_prob)
        assert all(np.isfinite(x).all() for x in slopes)


def test_mistakes_are_named():
    pi, gaussian, tanh = CATEGORICAL[0], GAUSSIAN[0], TANH[0]
    cases = [
        (
            lambda: pi.log_prob(jnp.ones((3, 4))),
            r"Categorical.log_prob: a has dtype float32",
        ),
        (
            lambda: pi.log_prob(jnp.full((3, 4), 5)),
            r"a is 5 at \[0, 0\], wanted \[0, 4\]",
        ),
        (lambda: pi.log_prob(jnp.zeros((4, 3), int)), r"a has shape .* swapped"),
        (
            lambda: pi.kl(Categorical(f32(np.ones((3, 4, 2))))),
            r"other has shape \(3, 4, 2\)",
        ),
        (
            lambda: gaussian.log_prob(jnp.ones((3, 4))),
            r"a has shape \(3, 4\), wanted \(3, 4, 2\) like mean",
        ),
        (
            lambda: DiagonalGaussian(gaussian.mean, -gaussian.scale).entropy(),
            r"scale is -.*above 0; type jax.nn.softplus\(scale\)",
        ),
        (
            lambda: tanh.log_prob(2 + 0 * tanh.mean),
            r"TanhGaussian.log_prob: a is 2 at .* wanted \[-1, 1\]",
        ),
        (
            lambda: Categorical(jnp.zeros((3, 2), int)).entropy(),
            r"logits has dtype int32, wanted a float",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ArgumentError, match=message):
            call()
