import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax

from chex_harness import assert_compiles, assert_trees_close
from rlax_agents import ArgumentError, PopArt, PopArtState

RNG = np.random.default_rng(0)
X = RNG.normal(3.0, 5.0, size=(4, 5))
TASK = RNG.integers(0, 3, size=(4, 5))
MASK = RNG.uniform(size=(4, 5)) > 0.3
POPART = PopArt(tasks=3, step_size=0.1)
START = PopArtState(
    *(jnp.asarray(x) for x in ([1.0, -2.0, 0.5], [2.0, 1.0, 3.0], [4.0, 1.0, 9.0]))
)


def f32(x):
    return jnp.asarray(x, jnp.float32)


def i32(x):
    return jnp.asarray(x, jnp.int32)


def truth(state, targets, tasks, step):
    """Running mean and mean square, as the paper writes them, in float64."""
    shift, variance = (
        np.asarray(x, np.float64).copy() for x in (state.shift, state.variance)
    )
    square = variance + shift**2
    for task in range(len(shift)):
        mine = targets[tasks == task]
        if len(mine):
            shift[task] += step * (mine.mean() - shift[task])
            square[task] += step * ((mine**2).mean() - square[task])
    return shift, np.sqrt(square - shift**2)


@pytest.mark.parametrize("masked", [False, True])
def test_statistics_are_those_of_a_loop(masked):
    keep = MASK if masked else np.ones_like(MASK)
    x = np.where(keep, X, np.nan)
    task = np.where(keep, TASK, 77)
    mask_t = jnp.asarray(MASK) if masked else None
    state = POPART.update(START, f32(x), i32(task), mask_t=mask_t)
    shift, scale = truth(START, X[keep], TASK[keep], 0.1)
    np.testing.assert_allclose(state.shift, shift, rtol=1e-5)
    np.testing.assert_allclose(state.scale, scale, rtol=1e-5)


def test_one_target_a_task_is_what_rlax_does():
    x, task = f32([5.0, -1.0, 2.0]), i32([0, 1, 2])
    theirs = rlax.PopArtState(*START[:2], START.variance + START.shift**2)
    layer = {"w": f32(RNG.normal(size=(4, 3))), "b": f32(RNG.normal(size=3))}
    update = rlax.popart(3, 0.1, 1e-4, 1e6)[1]
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        want_layer, want = update(layer, theirs, x, task)
    state = POPART.update(START, x, task)
    assert_trees_close((state.shift, state.scale), (want.shift, want.scale), rtol=1e-5)
    assert_trees_close(POPART.rescale(layer, START, state), want_layer, rtol=1e-4)


def test_rescaling_keeps_every_output():
    # In float64, for what is kept is an identity, and not a bound on rounding.
    with jax.enable_x64(new_val=True):
        layer = {
            "w": jnp.asarray(RNG.normal(size=(4, 3))),
            "b": jnp.asarray(RNG.normal(size=3)),
        }
        inputs, task = (
            jnp.asarray(RNG.normal(size=(7, 4))),
            jnp.asarray(np.tile(np.arange(3), (7, 1))),
        )
        old = jax.tree.map(lambda x: x.astype("float64"), START)
        new = PopArtState(old.shift - 40.0, old.scale * 1e3, old.variance)

        def values(layer, state):
            outputs = inputs @ layer["w"] + layer["b"][None]
            return POPART.unnormalise(state, outputs, task)

        moved = POPART.rescale(layer, old, new)
        np.testing.assert_allclose(values(moved, new), values(layer, old), rtol=1e-12)
        assert not np.allclose(values(layer, new), values(layer, old))


def test_normalising_and_back_is_the_identity():
    x, task = f32(X), i32(TASK)
    normal = POPART.normalise(START, x, task)
    np.testing.assert_allclose(POPART.unnormalise(START, normal, task), x, rtol=1e-5)
    want = (X - np.asarray(START.shift)[TASK]) / np.asarray(START.scale)[TASK]
    np.testing.assert_allclose(normal, want, rtol=1e-5)


def test_large_means_leave_small_deviations_alone():
    popart, x = PopArt(step_size=0.5), f32(1e5 + RNG.choice([-1.0, 1.0], 1000))
    state = jax.lax.fori_loop(0, 60, lambda _, s: popart.update(s, x), popart.init())
    np.testing.assert_allclose(state.scale, 1.0, rtol=2e-2)
    square = float(np.float32((x**2).mean()) - np.float32(x.mean()) ** 2)
    assert abs(square - 1) > 0.5  # what is left of the difference of squares


def test_bounds_hold():
    popart = PopArt(step_size=1.0, scale_min=0.5, scale_max=2.0)
    for spread, want in ((0.0, 0.5), (1.0, 1.0), (50.0, 2.0)):
        state = popart.update(popart.init(), f32([3 - spread, 3 + spread]))
        np.testing.assert_allclose(state.scale, want, rtol=1e-6)


def test_tasks_without_targets_keep_their_statistics():
    state = POPART.update(START, f32([7.0]), i32([1]))
    for now, before in zip(state, START, strict=True):
        assert now[0] == before[0]
        assert now[2] == before[2]
    none = POPART.update(START, f32(X), i32(TASK), mask_t=jnp.zeros_like(MASK))
    assert_trees_close(none, START)
    assert_trees_close(POPART.update(START, f32(X[:0]), i32(TASK[:0])), START)


def test_parts_of_a_batch_count_as_one():
    def of_part(x, task, mask):
        return POPART.update(START, x, task, mask_t=mask, axis_name="parts")

    given = f32(X), i32(TASK), jnp.asarray(MASK)
    parts = jax.jit(jax.vmap(of_part, axis_name="parts"))(*given)
    want = POPART.update(START, *given[:2], mask_t=given[2])
    assert_trees_close(jax.tree.map(lambda x: x[1], parts), want, rtol=1e-5)


def test_the_order_of_targets_does_not_matter():
    order = RNG.permutation(X.size)
    found = POPART.update(START, f32(X.ravel()[order]), i32(TASK.ravel()[order]))
    assert_trees_close(found, POPART.update(START, f32(X), i32(TASK)), rtol=1e-5)


def test_no_gradient_flows_into_the_statistics():
    slope = jax.grad(lambda x: POPART.update(START, x, i32(TASK)).shift.sum())(f32(X))
    assert not slope.any()
    slope = jax.grad(lambda x: POPART.normalise(START, x, i32(TASK)).sum())(f32(X))
    np.testing.assert_allclose(slope, 1 / START.scale[TASK])


def test_state_is_a_pytree_that_compiles_once_and_pickles():
    update = jax.jit(POPART.update)
    state = update(POPART.init(), f32(X), i32(TASK))
    other = f32(X + 1), i32(TASK)
    with assert_compiles(0):
        update(state, *other)
    assert_trees_close(
        state, POPART.update(POPART.init(), f32(X), i32(TASK)), atol=1e-6
    )
    assert pickle.loads(pickle.dumps(POPART)) == POPART
    halves = f32(X).astype(jnp.bfloat16)
    assert POPART.normalise(state, halves, i32(TASK)).dtype == jnp.bfloat16
    assert POPART.update(state, halves, i32(TASK)).shift.dtype == jnp.float32


def test_mistakes_are_named():
    x, layer = f32(X), {"w": jnp.ones((4, 2)), "b": jnp.ones(2)}
    cases = [
        (lambda: PopArt(tasks=0), r"PopArt: tasks is 0, wanted 1 or more"),
        (lambda: PopArt(step_size=2.0), r"step_size is 2, wanted"),
        (lambda: PopArt(scale_min=5.0, scale_max=1.0), r"scale_max is 1, wanted \[5,"),
        (
            lambda: POPART.update(START, i32(TASK), i32(TASK)),
            r"targets has dtype int32",
        ),
        (lambda: POPART.update(START, x), r"task is None, and there are 3 tasks"),
        (
            lambda: POPART.normalise(START, x, i32(TASK) + 1),
            r"task is 3 at .* \[0, 2\]",
        ),
        (
            lambda: POPART.unnormalise(START, x[:, 0], i32(TASK[:, :1])),
            r"task has shape \(4, 1\), .* like values; type task\[\.\.\., 0\]",
        ),
        (
            lambda: POPART.rescale(layer, START, START),
            r"wanted 'w' and 'b' with a last axis",
        ),
        (
            lambda: POPART.rescale({"w": x}, START, START),
            r"layer has \{'w': \(4, 5\)\}",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ArgumentError, match=message):
            call()
