import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from optax_chains import dp_sgd

KEY = jax.random.key(0)


def loss(params, example, scale=1.0):
    x, y = example
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    return scale * jnp.sum((hidden - y) ** 2)


def problem(n, dtype="float32"):
    rng = np.random.default_rng(0)
    params = {
        "w": jnp.asarray(rng.normal(size=(3, 2)), dtype),
        "b": jnp.zeros(2, dtype),
    }
    x = rng.normal(size=(n, 3)) * np.geomspace(0.01, 10, n)[:, None]
    return params, (jnp.asarray(x, dtype), jnp.asarray(rng.normal(size=(n, 2)), dtype))


def by_hand(params, batch, clip_norm, valid, expected):
    """Example by example, in NumPy's float64, the gradient worked out on paper."""
    w, b = (np.asarray(params[k], np.float64) for k in ("w", "b"))
    total = {"w": np.zeros_like(w), "b": np.zeros_like(b)}
    for x, y, counts in zip(*map(np.float64, batch), valid, strict=True):
        if not counts:
            continue
        hidden = np.tanh(x @ w + b)
        d = 2 * (hidden - y) * (1 - hidden**2)
        g = {"w": np.outer(x, d), "b": d}
        norm = np.sqrt(sum(np.sum(v**2) for v in g.values()))
        for k, v in g.items():
            total[k] += v * min(1.0, clip_norm / norm)
    return {k: v / expected for k, v in total.items()}


@pytest.mark.parametrize("microbatch_size", [None, 1, 4, 12])
def test_it_is_the_loop_over_examples(microbatch_size):
    params, batch = problem(12)
    valid = np.arange(12) % 4 != 1
    gradient = dp_sgd(
        loss,
        clip_norm=0.7,
        noise_multiplier=0.0,
        expected_batch_size=8.5,
        microbatch_size=microbatch_size,
    )
    value, found = jax.jit(gradient)(params, batch, KEY, valid=jnp.asarray(valid))
    wanted = by_hand(params, batch, 0.7, valid, 8.5)
    for k, g in wanted.items():
        np.testing.assert_allclose(found[k], g, rtol=2e-4, atol=1e-6)
    losses = jax.vmap(loss, (None, 0))(params, batch)
    np.testing.assert_allclose(value, losses[valid].mean(), rtol=1e-5)


CLIPPED = jax.jit(
    dp_sgd(
        lambda params, x: jnp.sum(params * x),
        clip_norm=0.3,
        noise_multiplier=0.0,
        expected_batch_size=1,
    )
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    size=st.sampled_from([1, 30_000]),
    scale=st.floats(1e-20, 1e16),
    seed=st.integers(0, 9),
)
def test_no_example_moves_the_sum_by_more_than_the_bound(size, scale, seed):
    """The norm of one clipped gradient, in float64, is at most clip_norm: no slack."""
    g = jnp.float32(scale * np.random.default_rng(seed).normal(size=(1, size)))
    _, found = CLIPPED(jnp.zeros(size), g, KEY)
    norm = np.linalg.norm(np.float64(found))
    assert norm <= 0.3
    assert norm >= min(np.linalg.norm(np.float64(g)), 0.3) * (1 - 2e-5)


def test_padding_and_broken_examples_count_nothing():
    params, (x, y) = problem(6)
    options = {"clip_norm": 1.0, "noise_multiplier": 0.0, "expected_batch_size": 4}
    gradient = jax.jit(dp_sgd(loss, **options))
    _, wanted = gradient(params, (x[:4], y[:4]), KEY)
    valid = jnp.arange(6) < 4
    for padding in (jnp.nan, jnp.inf, 1e30, 0.0):
        broken = (x.at[4:].set(padding), y.at[4:].set(padding))
        value, found = gradient(params, broken, KEY, valid=valid)
        assert np.isfinite(value)
        for k, g in found.items():
            np.testing.assert_allclose(g, wanted[k], rtol=1e-6)
    _, found = gradient(params, (x.at[4:].set(jnp.nan), y), KEY)  # valid, and broken
    np.testing.assert_allclose(found["w"], wanted["w"], rtol=1e-6)


@pytest.mark.parametrize("n_valid", [0, 3, 8])
def test_noise_does_not_depend_on_how_many_rows_are_real(n_valid):
    gradient = dp_sgd(
        lambda params, x: 0.0 * jnp.sum(params["a"]) * x,
        clip_norm=0.5,
        noise_multiplier=3.0,
        expected_batch_size=6,
        microbatch_size=2,
    )
    params = {"a": jnp.zeros(40_000), "b": jnp.zeros(40_000)}
    valid = jnp.arange(8) < n_valid
    _, found = gradient(params, jnp.ones(8), KEY, valid=valid)
    std = 3.0 * 0.5 / 6
    for g in found.values():
        np.testing.assert_allclose(np.std(g), std, rtol=0.02)
        np.testing.assert_allclose(np.mean(g), 0.0, atol=4 * std / 200)
    assert abs(np.corrcoef(found["a"], found["b"])[0, 1]) < 0.02
    _, other = gradient(params, jnp.ones(8), jax.random.key(1), valid=valid)
    assert abs(np.corrcoef(found["a"], other["a"])[0, 1]) < 0.02


def test_bfloat16_gradients_are_summed_in_float32():
    gradient = dp_sgd(
        lambda params, x: jnp.sum(params * x),
        clip_norm=10.0,
        noise_multiplier=0.0,
        expected_batch_size=1024,
        microbatch_size=2,
    )
    _, found = gradient(jnp.zeros(2, "bfloat16"), jnp.ones((1024, 2), "bfloat16"), KEY)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.float32(found), [1.0, 1.0])


def test_what_is_shared_is_handed_on():
    params, batch = problem(4)
    options = {"clip_norm": 1e9, "noise_multiplier": 0.0, "expected_batch_size": 4}
    gradient = dp_sgd(loss, microbatch_size=2, **options)
    _, once = gradient(params, batch, KEY)
    _, twice = gradient(params, batch, KEY, jnp.float32(2))
    np.testing.assert_allclose(twice["w"], 2 * once["w"], rtol=1e-5)


def test_memory_is_that_of_a_microbatch_of_gradients():
    """Temporaries by XLA's count: m float32 trees and no more than five beside."""
    params = {"w": jnp.zeros((256, 256))}
    tree = 256 * 256 * 4

    def temporaries(m):
        gradient = dp_sgd(
            lambda params, x: jnp.sum(jnp.tanh(x @ params["w"])),
            clip_norm=1.0,
            noise_multiplier=1.0,
            expected_batch_size=64,
            microbatch_size=m,
        )
        compiled = jax.jit(gradient).lower(params, jnp.ones((64, 256)), KEY).compile()
        return compiled.memory_analysis().temp_size_in_bytes / tree

    found = {m: temporaries(m) for m in (1, 8, 64)}
    for m, trees in found.items():
        assert trees <= m + 5, found
    assert found[64] > 8 * found[1]


@pytest.mark.devices(8)
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit], ids=str)
def test_a_sharded_batch_gives_the_same(devices, kind):
    params, batch = problem(32)
    gradient = dp_sgd(
        loss,
        clip_norm=0.5,
        noise_multiplier=1.0,
        expected_batch_size=32,
        microbatch_size=16,
    )
    _, wanted = gradient(params, batch, KEY)
    mesh = jax.make_mesh((8,), ("data",), (kind,), devices=devices)
    with jax.set_mesh(mesh):
        sharded = jax.device_put(batch, NamedSharding(mesh, PartitionSpec("data")))
        valid = jax.device_put(
            jnp.ones(32, bool), NamedSharding(mesh, PartitionSpec("data"))
        )
        everywhere = jax.device_put(params, NamedSharding(mesh, PartitionSpec()))
        _, found = jax.jit(gradient)(everywhere, sharded, KEY, valid=valid)
    for k, g in wanted.items():
        np.testing.assert_allclose(found[k], g, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clip_norm": 0.0}, "clip_norm is 0.0; type a number above 0"),
        ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0; type 0 or more"),
        ({"expected_batch_size": 0}, "expected_batch_size is 0; type a number above"),
        ({"clip_norm": np.inf}, "clip_norm is inf; type a number above 0 that is fin"),
        ({"noise_multiplier": np.inf}, "noise_multiplier is inf; type 0 or more, and"),
        ({"microbatch_size": 0}, "microbatch_size is 0; type 1 or more"),
        ({"microbatch_size": 5}, "is 5, which does not divide the 12 rows .* pad the"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    fine = {"clip_norm": 1.0, "noise_multiplier": 1.0, "expected_batch_size": 8}
    params, batch = problem(12)
    with pytest.raises(ValueError, match=message):
        dp_sgd(loss, **(fine | options))(params, batch, KEY)


def test_a_mask_of_numbers_is_refused():
    """Bit by bit, 2 would be False."""
    gradient = dp_sgd(loss, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=3)
    params, batch = problem(3)
    wanted = "valid has the dtype int32, wanted bool; type valid=valid != 0"
    with pytest.raises(TypeError, match=wanted):
        gradient(params, batch, KEY, valid=jnp.array([1, 2, 0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"valid": jnp.ones(4, bool)},
            r"valid has the shape \(4,\), wanted .*\(3,\)",
        ),
        (
            {"valid": jnp.ones((), bool)},
            r"valid has the shape \(\), wanted one bool",
        ),
        (
            {"valid": jnp.ones((3, 1), bool)},
            r"shape \(3, 1\), wanted one bool",
        ),
        (
            {"batch": {}},
            "dp_sgd: batch has the shapes of no array",
        ),
        (
            {"batch": (jnp.ones((3, 3)), jnp.ones((4, 2)))},
            r"'0' \(3, 3\), '1' \(4",
        ),
        ({"params": {}}, "params has no arrays, wanted one or more; hand over"),
        ({"key": None}, r"key is None, wanted one key; type jax.random.key\(seed\)"),
        ({"key": 3}, "key is 3, wanted one key"),
        ({"key": jax.random.split(KEY, 2)}, r"key is key<fry>\[2\], wanted one key"),
    ],
)
def test_a_call_that_cannot_be_is_refused(change, message):
    gradient = dp_sgd(loss, clip_norm=1.0, noise_multiplier=1.0, expected_batch_size=3)
    params, batch = problem(3)
    arguments = {"params": params, "batch": batch, "key": KEY, "valid": None} | change
    with pytest.raises((TypeError, ValueError), match=message):
        gradient(**arguments)


def test_its_numbers_may_be_traced():
    params, batch = problem(3)

    def grads(clip_norm, noise_multiplier, expected):
        gradient = dp_sgd(
            loss,
            clip_norm=clip_norm,
            noise_multiplier=noise_multiplier,
            expected_batch_size=expected,
        )
        return gradient(params, batch, jax.random.PRNGKey(0))[1]

    wanted, found = grads(0.7, 0.5, 3.0), jax.jit(grads)(0.7, 0.5, 3.0)
    for k, g in wanted.items():
        np.testing.assert_allclose(found[k], g, rtol=1e-4, atol=1e-6)


def test_an_empty_batch_is_noise_or_asks_for_a_microbatch_size():
    options = {"clip_norm": 1.0, "noise_multiplier": 1.0, "expected_batch_size": 3}
    params, batch = problem(0)
    with pytest.raises(ValueError, match="has 0 rows; pad it, or type a microbatch_s"):
        dp_sgd(loss, **options)(params, batch, KEY)
    value, grads = dp_sgd(loss, **options, microbatch_size=4)(params, batch, KEY)
    assert float(value) == 0
    assert all(np.isfinite(g).all() and np.any(g != 0) for g in grads.values())
