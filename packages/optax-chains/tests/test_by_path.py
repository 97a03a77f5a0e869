import dataclasses
import re
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from optax_chains import by_path, freeze


class Layer(NamedTuple):
    w: jax.Array
    b: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Net:
    body: list
    head: dict


def net():
    rng = np.random.default_rng(0)
    body = [Layer(jnp.float32(rng.normal(size=(2, 2))), jnp.array([-0.0, 1.0]))]
    return Net(body, {"mlp/~/linear": {"w": jnp.float32(rng.normal(size=3))}})


def test_groups_move_as_their_chains_would_alone():
    params = net()
    chain = by_path(
        {
            "body/*/w": optax.sgd(1.0),
            re.compile(r"body/\d+/b"): optax.adam(0.1),
            "head/mlp/*": optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(1.0)),
        }
    )
    grads = jax.tree.map(lambda p: p + 1, params)
    updates, _ = chain.update(grads, chain.init(params), params)
    g = grads.body[0].b
    np.testing.assert_array_equal(updates.body[0].w, -grads.body[0].w)
    alone, _ = optax.adam(0.1).update(g, optax.adam(0.1).init(g))
    np.testing.assert_array_equal(updates.body[0].b, alone)
    head = grads.head["mlp/~/linear"]["w"]
    clipped = -0.1 * head / jnp.linalg.norm(head)  # by this group's norm alone
    np.testing.assert_allclose(updates.head["mlp/~/linear"]["w"], clipped, rtol=1e-6)


def test_frozen_parameters_keep_every_bit_and_have_no_state():
    params = net()
    chain = by_path({"body/*": freeze()}, rest=optax.adamw(0.1, weight_decay=0.5))
    state = chain.init(params)
    held = {leaf.shape for leaf in jax.tree.leaves(state)}
    assert held == {(), (3,)}  # counters, and the moments of the head
    after = params
    for bad in (1.0, jnp.nan):
        grads = jax.tree.map(lambda p: jnp.full_like(p, bad), after)  # noqa: B023
        updates, state = chain.update(grads, state, after)
        after = optax.apply_updates(after, updates)
    for a, b in zip(
        jax.tree.leaves(after.body), jax.tree.leaves(params.body), strict=True
    ):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_frozen_gradients_cost_nothing():
    """Under jit, by XLA's count, the layers that are frozen are not differentiated."""

    def loss(params, x):
        for i in range(4):
            x = jnp.tanh(x @ params[f"layer_{i}"])
        return jnp.sum(x)

    def flops(chain):
        def step(params, state, x):
            updates, state = chain.update(jax.grad(loss)(params, x), state, params)
            return optax.apply_updates(params, updates), state

        lowered = jax.jit(step).lower(params, chain.init(params), jnp.ones((8, 16)))
        return lowered.compile().cost_analysis()["flops"]

    params = {f"layer_{i}": jnp.ones((16, 16)) for i in range(4)}
    full = flops(optax.sgd(0.1))
    frozen = flops(by_path({"layer_[012]": freeze()}, rest=optax.sgd(0.1)))
    # Products a layer: forward, by x, by w; the first needs no gradient by x.
    assert frozen / full == pytest.approx(
        (4 + 1) / (4 + 4 + 3), rel=0.06
    )  # elementwise work too


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"body/*": freeze()}, r"'head/mlp/~/linear/w' matches none of .* 'body/\*'"),
        (
            {"*": freeze(), "*/w": freeze()},
            r"'body/0/w' matches 2 patterns, '\*', '\*/w'; narrow",
        ),
        (
            {"*": freeze(), "haed/*": freeze()},
            r"'haed/\*' matches no parameter; the paths are 'body/0/w', 'body/0/b'",
        ),
    ],
)
def test_a_path_without_one_group_is_named(groups, message):
    with pytest.raises(ValueError, match=message):
        by_path(groups).init(net())


def test_two_patterns_that_read_the_same_are_refused():
    with pytest.raises(ValueError, match=r"two groups read 'a.b'"):
        by_path({"a.b": freeze(), re.compile("a.b"): freeze()})


@pytest.mark.parametrize(
    ("groups", "rest", "message"),
    [
        ([("*", freeze())], None, r"groups is a list, wanted a mapping; type \{"),
        ({3: freeze()}, None, "the pattern 3 is no text; type a glob"),
        ({b"*": freeze()}, None, r"the pattern b'\*' is no text; type a glob"),
        ({re.compile(b"a"): freeze()}, None, "is no text; type a glob"),
        (
            {"*": None},
            None,
            r"groups\['\*'\] is None, wanted a chain; type one",
        ),
        ({"*": 0.1}, None, r"groups\['\*'\] is 0.1, wanted a chain; type one"),
        ({"*": freeze()}, 3, "rest is 3, wanted a chain"),
    ],
)
def test_what_is_no_group_is_refused(groups, rest, message):
    with pytest.raises(TypeError, match=message):
        by_path(groups, rest=rest)


def test_it_works_behind_a_mask_and_inside_itself():
    params = {"a": jnp.ones(()), "b": {"c": jnp.ones(()), "d": jnp.ones(())}}
    inner = by_path({"b/c": freeze(), "*a": freeze()}, rest=optax.sgd(1.0))
    chain = by_path({"b/*": inner}, rest=optax.sgd(2.0))
    updates, _ = chain.update(params, chain.init(params))
    assert jax.tree.map(float, updates) == {"a": -2.0, "b": {"c": -0.0, "d": -1.0}}


def test_in_a_group_of_another_a_pattern_may_match_nothing():
    """As the docstring says: it cannot see what the outer one hides."""
    inner = by_path({"a/w": optax.sgd(1.0), "b/w": optax.sgd(1.0)})
    params = {n: {"w": jnp.ones(1)} for n in "ab"}
    state = by_path({"a/*": inner, "b/*": freeze()}).init(params)
    assert set(state.inner_states["a/*"].inner_state.inner_states) == {"a/w", "b/w"}
