"""Rules on paths: who gets which sharding, that states follow, and what is refused."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from haiku_nets import (
    BatchNormGenerator,
    DCGANDiscriminator,
    ReferenceDiscriminator,
    partition,
    partition_like,
)

PARAMS = {
    "mlp/~/linear_0": {"w": jnp.ones((4, 8)), "b": jnp.ones(8)},
    "head": {"w": jnp.ones((8, 4)), "b": jnp.ones(4)},
}
RULES = {
    "mlp/*/w": P(None, "model"),
    "mlp/*/b": P("model"),
    "head/w": P("model"),
    "head/b": P(),
}


@pytest.fixture(params=["Auto", "Explicit"])
def mesh(request, devices):
    kinds = (getattr(jax.sharding.AxisType, request.param),) * 2
    return jax.make_mesh((2, 4), ("data", "model"), kinds, devices=devices)


def specs(shardings):
    return jax.tree.map(lambda s: s.spec, shardings)


def test_each_parameter_has_the_spec_of_its_rule(mesh):
    found = partition(PARAMS, RULES, mesh)
    assert specs(found) == {
        "mlp/~/linear_0": {"w": P(None, "model"), "b": P("model")},
        "head": {"w": P("model"), "b": P()},
    }
    placed = jax.device_put(PARAMS, found)
    assert placed["head"]["w"].addressable_shards[0].data.shape == (2, 4)


def test_abstract_parameters_do(mesh):
    abstract = jax.eval_shape(lambda: PARAMS)
    assert partition(abstract, RULES, mesh) == partition(PARAMS, RULES, mesh)


CHAINS = {
    "adam": optax.adam(1e-3),
    "chain": optax.chain(optax.clip_by_global_norm(1.0), optax.lamb(1e-3)),
    "momentum": optax.sgd(1e-3, momentum=0.9),
    "accumulated": optax.MultiSteps(optax.adam(1e-3), 2),
    "masked": optax.masked(optax.adam(1e-3), {"mlp/~/linear_0": True, "head": False}),
    "by label": optax.partition(
        {"a": optax.adam(1e-3), "b": optax.set_to_zero()},
        {"mlp/~/linear_0": "a", "head": "b"},
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_states_of_chains_follow_their_parameters(mesh, name):
    if name == "accumulated":
        chain = CHAINS[name].gradient_transformation()
    else:
        chain = CHAINS[name]
    shardings = partition(PARAMS, RULES, mesh)
    state = jax.eval_shape(chain.init, PARAMS)
    found = partition_like(state, PARAMS, shardings)
    by_shape = {(4, 8): P(None, "model"), (8, 4): P("model"), (8,): P("model")}
    for leaf, sharding in zip(
        jax.tree.leaves(state), jax.tree.leaves(found), strict=True
    ):
        assert sharding.spec == by_shape.get(leaf.shape, P())
    made = jax.jit(chain.init, out_shardings=found)(PARAMS)
    assert all(
        x.sharding.is_equivalent_to(s, x.ndim)
        for x, s in zip(jax.tree.leaves(made), jax.tree.leaves(found), strict=True)
    )


def test_factored_moments_are_replicated(mesh):
    chain = optax.adafactor(1e-3, min_dim_size_to_factor=2)
    shardings = partition(PARAMS, RULES, mesh)
    state = jax.eval_shape(chain.init, PARAMS)
    found = partition_like(state, PARAMS, shardings)
    shapes = {s.shape for s in jax.tree.leaves(state)}
    assert (4,) in shapes  # a row of a factored moment: not of any parameter's shape
    leaves = jax.tree.leaves_with_path(state)
    for (path, leaf), sharding in zip(leaves, jax.tree.leaves(found), strict=True):
        if str(path[-1]) == "['w']" and leaf.ndim < 2:
            assert sharding.spec == P(), path


def test_a_sharded_step_gives_what_one_device_gives(devices):
    mesh = jax.sharding.Mesh(np.reshape(devices, (2, 4)), ("data", "model"))
    chain = optax.adam(1e-2)

    def loss(params, x):
        hidden = jnp.tanh(x @ params["mlp/~/linear_0"]["w"])
        return jnp.mean(jnp.square(hidden @ params["head"]["w"]))

    def step(params, state, x):
        updates, state = chain.update(jax.grad(loss)(params, x), state, params)
        return optax.apply_updates(params, updates), state

    x = jax.random.normal(jax.random.key(0), (2, 4))
    shardings = partition(PARAMS, RULES, mesh)
    of_state = partition_like(jax.eval_shape(chain.init, PARAMS), PARAMS, shardings)
    with jax.numpy_dtype_promotion("standard"):  # which optax relies on
        wanted = jax.jit(step)(PARAMS, chain.init(PARAMS), x)
        placed = jax.device_put((PARAMS, chain.init(PARAMS)), (shardings, of_state))
        found = jax.jit(step, out_shardings=(shardings, of_state))(*placed, x)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ({"mlp/*": P()}, r"'head/b' matches no rule of 'mlp/\*'; add 'head/b': P"),
        (
            {"*": P(), "head/*": P()},
            r"'head/b' matches 2 rules, '\*', 'head/\*'; narrow",
        ),
        (
            {"*": P(), "tail/w": P()},
            "the rule 'tail/w' matches no parameter; the paths",
        ),
        (
            {"*/b": P(), "*/w": P(None, None, "data")},
            r"'head/w' has shape \(8, 4\) and",
        ),
        ({"*/b": P(), "*/w": P("x")}, "is split along 'x', and the mesh has the axes"),
        (
            {"*/b": P(), "*/w": P(None, ("data", "model"))},
            r"axis 1 of 'head/w', shape \(8, 4\), does not divide into 8 parts",
        ),
    ],
)
def test_rules_that_do_not_serve_are_refused(mesh, rules, complaint):
    with pytest.raises(ValueError, match=complaint):
        partition(PARAMS, rules, mesh)


def test_shardings_of_something_else_are_refused(mesh):
    with pytest.raises(ValueError, match="wanted that of the parameters"):
        partition_like({}, PARAMS, {"w": jax.sharding.NamedSharding(mesh, P())})


def test_a_bare_array_is_a_tree_too(mesh):
    params = jnp.ones((8, 4))
    shardings = partition(params, {"*": P("model")}, mesh)
    state = optax.adam(1e-3).init(params)
    found = partition_like(state, params, shardings)
    assert [s.spec for s in jax.tree.leaves(found)] == [P(), P("model"), P("model")]


def test_a_part_of_one_parameter_is_not_taken_for_another(mesh):
    params = {"a": {"w": jnp.ones((128, 8))}, "w": jnp.ones(8)}
    shardings = partition(params, {"a/w": P(), "w": P("model")}, mesh)
    state = {"v_row": {"a": {"w": jnp.ones(8)}, "w": jnp.ones(8)}}
    found = partition_like(state, params, shardings)["v_row"]
    assert (found["a"]["w"].spec, found["w"].spec) == (P(), P("model"))


@pytest.mark.parametrize(
    ("spec", "cure"),
    [
        (None, r"PartitionSpec\(\)"),
        ("model", r"PartitionSpec\('model'\)"),
        (("data", None), r"PartitionSpec\(\*\('data', None\)\)"),
        (3, r"PartitionSpec\(3\)"),
    ],
)
def test_a_rule_that_is_no_spec_is_refused(mesh, spec, cure):
    with pytest.raises(TypeError, match=rf"the rule '\*' has .*wanted .*; type {cure}"):
        partition(PARAMS, {"*": spec}, mesh)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (P(P.UNCONSTRAINED), "axis 0 of 'w' is left unconstrained, wanted its place"),
        (P("model", "model"), "'w' is split along 'model' twice by .*; take one out"),
        (P(("data", "data")), "'w' is split along 'data' twice"),
    ],
)
def test_a_spec_that_no_array_has_is_refused(mesh, spec, complaint):
    # Explicit meshes of some versions of jax refuse the spec where it is made.
    with pytest.raises(ValueError, match=complaint):
        partition({"w": jnp.ones((8, 8))}, {"*": spec}, mesh)


def test_a_rule_that_is_a_sharding_is_told_its_spec(mesh):
    sharding = NamedSharding(mesh, P("model"))
    with pytest.raises(TypeError, match=r"wanted a Part.*; type sharding\.spec for"):
        partition(PARAMS, {"*": sharding}, mesh)
    params = {"w": jnp.ones(8)}
    assert partition(params, {"*": sharding.spec}, mesh) == {"w": sharding}


def test_a_mesh_that_is_none_is_refused():
    with pytest.raises(TypeError, match=r"mesh is None, wanted .*Mesh; type") as caught:
        partition(PARAMS, RULES, None)
    code = str(caught.value).partition("; type ")[2].rstrip(".")
    mesh = eval(code, {"jax": jax})
    assert mesh.shape == {"data": jax.device_count()}


def test_numbers_of_python_are_replicated(mesh):
    params = {"step": 3, "w": jnp.ones((4, 8))}
    shardings = partition(params, {"step": P(), "w": P("data")}, mesh)
    assert specs(shardings) == {"step": P(), "w": P("data")}
    state = {"mu": params, "rate": 0.1}
    found = specs(partition_like(state, params, shardings))
    assert found == {"mu": {"step": P(), "w": P("data")}, "rate": P()}
    with pytest.raises(ValueError, match=r"'step' has shape \(\) and the rule"):
        partition(params, {"step": P("data"), "w": P()}, mesh)


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (ReferenceDiscriminator, (4, 28, 28, 1)),
        (lambda: DCGANDiscriminator((4, 8), logits=4), (4, 28, 28, 1)),
        (BatchNormGenerator, (4, 20)),
    ],
    ids=["reference", "dcgan", "generator"],
)
def test_networks_with_split_weights(module, shape, mesh):
    """On explicit axes as on others, in the way that the README says."""

    def run(x):
        return module()(x)

    def slope(apply):
        return jax.jit(jax.value_and_grad(lambda p, x: jnp.mean(apply(p, x) ** 2)))

    net = hk.without_apply_rng(hk.transform(run))
    x = jax.random.normal(jax.random.key(0), shape)
    params = jax.jit(net.init)(jax.random.key(1), x)
    rules = {
        f"{module}/{name}": P(
            *[None] * (w.ndim - 1), None if w.shape[-1] % 4 else "model"
        )
        for module, weights in params.items()
        for name, w in weights.items()
    }
    placed = jax.device_put(params, partition(params, rules, mesh))
    rows = jax.device_put(x, NamedSharding(mesh, P("data")))
    apply = jax.sharding.auto_axes(net.apply, out_sharding=P("data"))
    wanted, slopes = slope(net.apply)(params, x)
    with jax.set_mesh(mesh):
        found, split = slope(apply)(placed, rows)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), split, slopes
    )
