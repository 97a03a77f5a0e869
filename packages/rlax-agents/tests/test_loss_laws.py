"""Laws that every loss obeys, over a table of them all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from loss_cases import CASES, arrays_of, batch, spoil

from chex_harness import assert_compiles, assert_trees_close
from rlax_agents import ArgumentError

law = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
MASK = jnp.asarray(batch()["mask_t"])
WEIGHTS = jnp.asarray(batch()["weights"], jnp.float32)


def jitted(case):
    """One program for the loss and its gradient, of one's own for each case."""

    def loss(floats, rest, options):
        merged = [{**floats, **rest}[name] for name in case.names]
        return case.loss(*merged, **options)

    return jax.jit(jax.value_and_grad(loss, has_aux=True))


STEPS = {name: jitted(case) for name, case in CASES.items()}


def run(case, arrays, **options):
    """The loss, its metrics, and the gradients by name, by the compiled program."""
    step = next(STEPS[name] for name, other in CASES.items() if other is case)
    floats = {n: x for n, x in arrays.items() if jnp.issubdtype(x.dtype, jnp.floating)}
    rest = {n: x for n, x in arrays.items() if n not in floats}
    (loss, metrics), gradients = step(floats, rest, options)
    return loss, metrics, gradients


@law
def test_jit_equals_eager_and_compiles_once(case):
    arrays, others = arrays_of(case), arrays_of(case, seed=3)
    loss, metrics = case.loss(*arrays.values(), weights=WEIGHTS, mask_t=MASK)
    found, logged, _ = run(case, arrays, weights=WEIGHTS, mask_t=MASK)
    with assert_compiles(0):
        run(case, others, weights=WEIGHTS, mask_t=MASK)
    assert_trees_close((found, logged), (loss, metrics), atol=1e-5)


@law
def test_losses_and_metrics_are_float32_scalars(case):
    found = run(case, arrays_of(case), weights=WEIGHTS, mask_t=MASK)
    for leaf in jax.tree.leaves(found[:2]):
        assert leaf.shape == ()
        assert leaf.dtype == jnp.float32
        assert not leaf.weak_type
    assert all(isinstance(name, str) for name in found[1])


@law
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_summed_in_float32(case, dtype):
    arrays = arrays_of(case, dtype=dtype)
    rounded = {
        n: x.astype(jnp.float32) if x.dtype == dtype else x for n, x in arrays.items()
    }
    shapes = jax.eval_shape(lambda *xs: case.loss(*xs), *arrays.values())
    assert {leaf.dtype for leaf in jax.tree.leaves(shapes)} == {jnp.dtype("float32")}
    if dtype == "bfloat16" and "x_tm1" not in case.names:  # whose tanh is rounded, too
        found = case.loss(*arrays.values())[0]
        assert_trees_close(found, case.loss(*rounded.values())[0], atol=1e-5)


@law
def test_gradients_flow_through_what_is_learned_alone(case):
    gradients = run(case, arrays_of(case), weights=WEIGHTS, mask_t=MASK)[2]
    moved = {n for n, g in gradients.items() if np.asarray(g).any()}
    assert moved == set(case.learns)


# The gradient of V-trace is none of its value: its ratios and targets are stopped.
@pytest.mark.parametrize("name", [name for name in CASES if name != "impala"])
def test_gradients_are_finite_differences(name):
    case = CASES[name]
    # In float64, so that what is compared is the rule and not the rounding.
    with jax.enable_x64(True):
        arrays = {
            n: jnp.asarray(
                batch(5)[n], None if n[0] != "a" or n == "adv_tm1" else "int32"
            )
            for n in case.names
        }
        learned = {n: arrays[n] for n in case.learns}
        rng = np.random.default_rng(1)
        ways = {n: jnp.asarray(rng.normal(size=x.shape)) for n, x in learned.items()}

        def loss(step):
            moved = {n: x + step * ways[n] for n, x in learned.items()}
            merged = {**arrays, **moved}
            return case.loss(*(merged[n] for n in case.names), mask_t=MASK)[0]

        slope = jax.grad(loss)(0.0)
        h = 1e-6
        want = (loss(h) - loss(-h)) / (2 * h)
    np.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-8)


@law
def test_masked_steps_never_matter(case):
    arrays = arrays_of(case)
    spoilt = {n: spoil(x, MASK) for n, x in arrays.items()}
    weights = spoil(WEIGHTS, MASK)
    want = run(case, arrays, weights=WEIGHTS, mask_t=MASK)
    found = run(case, spoilt, weights=weights, mask_t=MASK)
    assert_trees_close(found, want, atol=0)
    for gradient in found[2].values():
        assert not np.asarray(gradient)[~np.asarray(MASK)].any()
    eager = case.loss(*spoilt.values(), weights=weights, mask_t=MASK)
    assert_trees_close(eager, want[:2], atol=1e-5)


@law
def test_a_mask_is_the_batch_without_the_steps(case):
    arrays = arrays_of(case)
    keep = jnp.zeros_like(MASK).at[:, :2].set(True)
    found = run(case, arrays, weights=WEIGHTS, mask_t=keep)
    short = {n: x[:, :2] for n, x in arrays.items()}
    want = case.loss(*short.values(), weights=WEIGHTS[:, :2])
    assert_trees_close(found[:2], want, atol=1e-5)


@law
def test_nothing_unmasked_is_no_loss(case):
    arrays = {n: spoil(x, jnp.zeros_like(MASK)) for n, x in arrays_of(case).items()}
    none = jnp.zeros_like(MASK)
    loss, metrics, gradients = run(case, arrays, weights=WEIGHTS, mask_t=none)
    assert loss == 0
    assert_trees_close(metrics, jax.tree.map(jnp.zeros_like, metrics), atol=0)
    assert_trees_close(gradients, jax.tree.map(jnp.zeros_like, gradients), atol=0)


@law
def test_permuting_the_batch_keeps_the_loss_and_permutes_gradients(case):
    arrays, order = arrays_of(case), np.asarray([2, 0, 1])
    loss, metrics, gradients = run(case, arrays, weights=WEIGHTS, mask_t=MASK)
    found = run(
        case,
        {n: x[:, order] for n, x in arrays.items()},
        weights=WEIGHTS[:, order],
        mask_t=MASK[:, order],
    )
    want = loss, metrics, {n: g[:, order] for n, g in gradients.items()}
    assert_trees_close(found, want, atol=1e-5)
    if case.errors is not None:
        errors = case.errors(*arrays.values(), mask_t=MASK)
        moved = case.errors(
            *(x[:, order] for x in arrays.values()), mask_t=MASK[:, order]
        )
        assert errors.shape == MASK.shape
        assert_trees_close(moved, errors[:, order], atol=1e-5)


@law
def test_weights_are_factors_of_steps(case):
    arrays, one = arrays_of(case), jnp.ones_like(WEIGHTS)
    want = run(case, arrays, weights=one, mask_t=MASK)
    found = run(case, arrays, weights=2 * one, mask_t=MASK)
    np.testing.assert_allclose(found[0], 2 * want[0], rtol=1e-5)
    plain = case.loss(*arrays.values(), mask_t=MASK)
    assert_trees_close(plain, want[:2], atol=1e-5)


@law
def test_errors_keep_the_dtype_and_are_nought_at_masked_steps(case):
    if case.errors is None:
        assert not any(
            name.startswith(("q_", "v_t")) and "q" in name for name in case.names
        )
        return
    arrays = arrays_of(case, dtype="bfloat16")
    assert case.errors(*arrays.values()).dtype == jnp.bfloat16
    spoilt = {n: spoil(x, MASK) for n, x in arrays_of(case).items()}
    errors = case.errors(*spoilt.values(), mask_t=MASK)
    assert not np.asarray(errors)[~np.asarray(MASK)].any()
    assert np.isfinite(errors).all()
    assert np.asarray(errors)[np.asarray(MASK)].any()


@law
def test_sharded_batches_give_the_same_loss(case):
    mesh = jax.make_mesh((1,), ("batch",), (jax.sharding.AxisType.Auto,))
    arrays = arrays_of(case)
    spread = jax.device_put(arrays, NamedSharding(mesh, P(None, "batch")))
    want = run(case, arrays, weights=WEIGHTS, mask_t=MASK)
    found = run(case, spread, weights=WEIGHTS, mask_t=MASK)
    assert_trees_close(found, want, atol=1e-5)


@law
def test_integers_where_floats_belong_raise(case):
    arrays = arrays_of(case)
    for name in arrays:
        if name.startswith(("a_", "x_")):
            continue
        wrong = {**arrays, name: jnp.ones(arrays[name].shape, jnp.int32)}
        with pytest.raises(ArgumentError, match=r"has dtype int32, wanted a float"):
            case.loss(*wrong.values())


@law
def test_swapped_time_and_batch_raise(case):
    arrays = arrays_of(case)
    for name in arrays:
        if len(arrays) == 1:
            break
        wrong = {**arrays, name: jnp.swapaxes(arrays[name], 0, 1)}
        with pytest.raises(ArgumentError, match=r"swap|wanted"):
            case.loss(*wrong.values())
    with pytest.raises(ArgumentError, match=r"mask_t has shape .* swapped"):
        case.loss(*arrays.values(), mask_t=MASK.T)


@law
def test_a_column_against_a_vector_raises(case):
    arrays = {n: x[0] for n, x in arrays_of(case).items()}
    case.loss(*arrays.values())
    if len(arrays) == 1:
        return
    for name, array in arrays.items():
        if array.ndim == 1:
            wrong = {**arrays, name: array[:, None]}
            with pytest.raises(ArgumentError, match=r"wanted"):
                case.loss(*wrong.values())
    with pytest.raises(
        ArgumentError, match=r"weights has shape .*type weights\[..., 0\]"
    ):
        case.loss(*arrays.values(), weights=WEIGHTS[0][:, None])


@law
def test_negative_weights_raise(case):
    with pytest.raises(
        ArgumentError, match=r"weights is -1 at \[0, 0\], wanted 0 or more"
    ):
        case.loss(*arrays_of(case).values(), weights=-jnp.ones_like(WEIGHTS))
