"""Laws that every loss obeys, over a table of them all."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from loss_cases import CASES, arrays_of, batch, spoil

from chex_harness import Laws, Specimen, assert_trees_close
from rlax_agents import ArgumentError

law = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
MASK = jnp.asarray(batch()["mask_t"])
WEIGHTS = jnp.asarray(batch()["weights"], jnp.float32)


@functools.cache
def jitted(case):
    """One program for the loss and its gradient, of one's own for each case."""

    def loss(floats, rest, options):
        merged = [{**floats, **rest}[name] for name in case.names]
        return case.loss(*merged, **options)

    return jax.jit(jax.value_and_grad(loss, has_aux=True))


def run(case, arrays, **options):
    """The loss, its metrics, and the gradients by name, by the compiled program."""
    floats = {n: x for n, x in arrays.items() if jnp.issubdtype(x.dtype, jnp.floating)}
    rest = {n: x for n, x in arrays.items() if n not in floats}
    (loss, metrics), gradients = jitted(case)(floats, rest, options)
    return loss, metrics, gradients


# The harness's second set of arguments is the first times 3/4.
NO_POLICY = {"vmap_equals_a_loop": "a policy times 3/4 is refused"}


def specimen(name, case):
    return Specimen(
        fn=lambda *xs: case.loss(*xs[:-2], weights=xs[-2], mask_t=xs[-1]),
        args=lambda dtype: (*arrays_of(case, dtype=dtype).values(), WEIGHTS, MASK),
        grad=tuple(map(case.names.index, case.learns)),
        dtypes=("float32",),  # halves are summed in it, too
        atol=1e-5,
        without=NO_POLICY if "pi_t" in case.names else {},
    )


test_laws = Laws({name: specimen(name, case) for name, case in CASES.items()}).test()


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
    shapes = jax.eval_shape(case.loss, *arrays_of(case, dtype=dtype).values())
    assert {leaf.dtype for leaf in jax.tree.leaves(shapes)} == {jnp.dtype("float32")}


@law
def test_gradients_flow_through_what_is_learned_alone(case):
    gradients = run(case, arrays_of(case), weights=WEIGHTS, mask_t=MASK)[2]
    moved = {n for n, g in gradients.items() if np.asarray(g).any()}
    assert moved == set(case.learns)


# The gradients of these are none of their values, of which they stop a part: ratios,
# or divergences that multipliers are multiplied by.
STOPPED = {"impala", "mpo", "vmpo"}


@pytest.mark.parametrize("name", sorted(set(CASES) - STOPPED))
def test_gradients_are_finite_differences(name):
    case = CASES[name]
    arrays, rng = arrays_of(case, seed=5), np.random.default_rng(1)
    ways = {n: np.float32(rng.normal(size=arrays[n].shape)) for n in case.learns}

    def loss(step):
        moved = {n: arrays[n] + step * ways[n] for n in ways}
        return run(case, {**arrays, **moved}, weights=WEIGHTS, mask_t=MASK)

    h = 2e-3
    want = (loss(h)[0] - loss(-h)[0]) / (2 * h)
    gradients = loss(0.0)[2]
    slope = sum(np.vdot(gradients[n], ways[n]) for n in ways)
    np.testing.assert_allclose(slope, want, rtol=5e-3, atol=5e-4)


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
    half, all_ = jnp.zeros_like(MASK).at[:, :2].set(True), jnp.ones_like(MASK)
    twice = np.asarray([0, 1, 0, 1])
    found = run(case, arrays, weights=WEIGHTS, mask_t=half)
    want = run(
        case,
        {n: x[:, twice] for n, x in arrays.items()},
        weights=WEIGHTS[:, twice],
        mask_t=all_,
    )
    assert_trees_close(found[:2], want[:2], atol=1e-5)


@law
def test_nothing_unmasked_is_no_loss(case):
    arrays = {n: spoil(x, jnp.zeros_like(MASK)) for n, x in arrays_of(case).items()}
    none = jnp.zeros_like(MASK)
    loss, metrics, gradients = run(case, arrays, weights=WEIGHTS, mask_t=none)
    assert loss == 0
    for name, value in metrics.items():
        assert value == 0 or name.startswith(("alpha_", "temperature")), name
    assert metrics.get("temperature_loss", 0) == 0
    assert_trees_close(gradients, jax.tree.map(jnp.zeros_like, gradients), atol=0)


@law
def test_permuting_the_batch_keeps_the_loss_and_permutes_gradients(case):
    arrays, order = arrays_of(case), np.asarray([2, 0, 3, 1])
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


SCALED = [name for name, case in CASES.items() if case.scales]


@pytest.mark.parametrize("name", SCALED)
def test_weights_are_factors_of_steps(name):
    case = CASES[name]
    arrays, one = arrays_of(case), jnp.ones_like(WEIGHTS)
    want = run(case, arrays, weights=one, mask_t=MASK)
    found = run(case, arrays, weights=2 * one, mask_t=MASK)
    np.testing.assert_allclose(found[0], 2 * want[0], rtol=1e-5)
    plain = case.loss(*arrays.values(), mask_t=MASK)
    assert_trees_close(plain, want[:2], atol=1e-5)


WITH_ERRORS = [name for name, case in CASES.items() if case.errors is not None]


@pytest.mark.parametrize("name", WITH_ERRORS)
def test_errors_keep_the_dtype_and_are_nought_at_masked_steps(name):
    case = CASES[name]
    halves = arrays_of(case, dtype="bfloat16")
    assert jax.eval_shape(case.errors, *halves.values()).dtype == jnp.bfloat16
    spoilt = {n: spoil(x, MASK) for n, x in arrays_of(case).items()}
    errors = case.errors(*spoilt.values(), mask_t=MASK)
    assert not np.asarray(errors)[~np.asarray(MASK)].any()
    assert np.isfinite(errors).all()
    assert np.asarray(errors)[np.asarray(MASK)].any()


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
    assert jax.eval_shape(case.loss, *arrays.values())[0].shape == ()
    if len(arrays) == 1:
        return
    for name, array in arrays.items():
        if array.ndim == 1:
            wrong = {**arrays, name: array[:, None]}
            with pytest.raises(ArgumentError, match=r"wanted"):
                case.loss(*wrong.values())
    if not case.scales:
        return
    with pytest.raises(
        ArgumentError, match=r"weights has shape .*type weights\[..., 0\]"
    ):
        case.loss(*arrays.values(), weights=WEIGHTS[0][:, None])


@pytest.mark.parametrize("name", SCALED)
def test_negative_weights_raise(name):
    case = CASES[name]
    with pytest.raises(
        ArgumentError, match=r"weights is -1 at \[0, 0\], wanted 0 or more"
    ):
        case.loss(*arrays_of(case).values(), weights=-jnp.ones_like(WEIGHTS))


@pytest.mark.devices(4)
@pytest.mark.parametrize("name", ["categorical", "q", "ppo", "impala", "vmpo"])
def test_losses_of_a_batch_over_devices_are_those_of_one(name, devices):
    arrays = arrays_of(CASES[name])
    want = run(CASES[name], arrays, weights=WEIGHTS, mask_t=MASK)
    mesh = jax.make_mesh((4,), ("data",), (AxisType.Explicit,), devices=devices)
    with jax.set_mesh(mesh):
        spread = NamedSharding(mesh, P(None, "data"))
        given = jax.device_put((arrays, WEIGHTS, MASK), spread)
        found = run(CASES[name], given[0], weights=given[1], mask_t=given[2])
    assert_trees_close(found, want, atol=1e-5)
