import subprocess
import sys

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from nets import features, graphs_of

import jraph_kit as jk
from chex_harness import assert_trees_close
from jraph_kit import haiku as graph_nets

MODULES = {
    "GraphNetwork": lambda **k: graph_nets.GraphNetwork([8, 3], [8, 4], [2], **k),
    "InteractionNetwork": lambda **k: graph_nets.InteractionNetwork([3], [4], **k),
    "RelationNetwork": lambda **k: graph_nets.RelationNetwork([8], [2], **k),
    "DeepSets": lambda **k: graph_nets.DeepSets([8], [2], **k),
    "GraphConvolution": lambda **k: graph_nets.GraphConvolution(5, **k),
    "GIN": lambda **k: graph_nets.GIN([8, 4], **k),
    "GraphSAGE": lambda **k: graph_nets.GraphSAGE(5, normalize=True, **k),
    "GAT": lambda **k: graph_nets.GAT(3, 2, **k),
    "GATv2": lambda **k: graph_nets.GATv2(3, 2, **k),
    "MPNN": lambda **k: graph_nets.MPNN(6, steps=2, readout_sizes=[2], **k),
}
law = pytest.mark.parametrize("name", MODULES)


def transformed(name, **how):
    def net(graph):
        return MODULES[name](**how)(graph)

    return hk.without_apply_rng(hk.transform(net))


def linear(layer, x):
    return x @ layer["w"] + layer["b"][None]


def heads(layer, x):
    return linear(layer, x).reshape(len(x), 2, 3)


def scores(vector, x):
    return jnp.sum(x * vector[None], -1, keepdims=True)


def loops_of(add_self_edges):
    def made(p):
        return jk.GraphConvolution(
            lambda x: linear(p["linear"], x), add_self_edges=add_self_edges
        )

    return made


# What modules make of their parameters: options, and parameters -> network.
BY_HAND = {
    "GraphConvolution": ({}, loops_of(add_self_edges=True)),
    "GraphConvolution, no loops": (
        {"add_self_edges": False},
        loops_of(add_self_edges=False),
    ),
    "GIN": (
        {},
        lambda p: jk.GIN(
            lambda x: linear(p["linear_1"], jax.nn.relu(linear(p["linear_0"], x))),
            epsilon=p["gin"]["epsilon"],
        ),
    ),
    "GraphSAGE": (
        {},
        lambda p: jk.GraphSAGE(
            lambda x, m: linear(p["own"], x) + m @ p["neighbours"]["w"],
            normalize=True,
        ),
    ),
    "GAT": (
        {},
        lambda p: jk.GAT(
            lambda x: heads(p["query"], x),
            lambda s, r, _: jax.nn.leaky_relu(
                scores(p["gat"]["sender"], s) + scores(p["gat"]["receiver"], r), 0.2
            ),
        ),
    ),
    "GATv2": (
        {},
        lambda p: jk.GATv2(
            lambda x: heads(p["sender"], x),
            lambda x: heads(p["receiver"], x),
            lambda x, _: scores(p["ga_tv2"]["score"], x),
        ),
    ),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_modules_are_the_functions_with_their_parameters(case):
    how, by_hand = BY_HAND[case]
    graphs = graphs_of(2)
    net = transformed(case.partition(",")[0], **how)
    rng = np.random.default_rng(0)
    params = jax.tree.map(
        lambda leaf: rng.normal(size=leaf.shape).astype(leaf.dtype),
        jax.eval_shape(net.init, jax.random.key(0), graphs),
    )
    layers = {name.rpartition("/")[2]: leaves for name, leaves in params.items()}
    found = features(net.apply(params, graphs))
    wanted = features(by_hand(layers)(graphs))
    assert_trees_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_the_table_has_every_module():
    assert set(MODULES) == set(graph_nets.__all__)


@law
def test_a_permutation_of_nodes_permutes_outputs(name):
    graphs = graphs_of(1, most=9, seed=1)
    net = transformed(name)
    rng = np.random.default_rng(0)
    params = jax.tree.map(
        lambda leaf: rng.normal(size=leaf.shape).astype(leaf.dtype) / 3,
        jax.eval_shape(net.init, jax.random.key(0), graphs),
    )
    order = rng.permutation(len(graphs.nodes))
    where = np.argsort(order)
    moved = graphs._replace(
        nodes=graphs.nodes[order],
        senders=where[graphs.senders],
        receivers=where[graphs.receivers],
    )
    apply = jax.jit(net.apply, compiler_options={"xla_backend_optimization_level": 0})
    wanted, found = features(apply(params, graphs)), features(apply(params, moved))
    wanted |= {"nodes": wanted["nodes"][order]}
    assert_trees_close(found, wanted, rtol=1e-4, atol=1e-5)


@law
def test_the_layout_reaches_the_network(name):
    graphs = jk.sort_edges(graphs_of(2))
    net = transformed(name, layout=jk.EdgeLayout(receivers_are_sorted=True))
    params = jax.eval_shape(net.init, jax.random.key(0), graphs)
    text = str(jax.make_jaxpr(net.apply)(params, graphs))
    assert "indices_are_sorted=True" in text or name in {"DeepSets", "RelationNetwork"}


def test_a_graph_is_learned():
    """Nodes learn their number of neighbours, which only messages can tell."""
    graphs = graphs_of(8, most=8)
    wanted = np.bincount(graphs.receivers, minlength=len(graphs.nodes)) / 4
    wanted = wanted.astype("float32")
    net = hk.without_apply_rng(
        hk.transform(lambda g: hk.Linear(1)(graph_nets.GIN([16])(g).nodes)[:, 0])
    )
    graphs = graphs._replace(nodes=np.ones_like(graphs.nodes))
    params = net.init(jax.random.key(0), graphs)
    chain = optax.adam(1e-2)

    def loss(params):
        return jk.node_loss((net.apply(params, graphs) - wanted) ** 2, graphs)

    @jax.jit
    def step(params, state):
        updates, state = chain.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, updates), state

    state, before = chain.init(params), loss(params)
    with jax.numpy_dtype_promotion("standard"):  # for optax's counters
        for _ in range(200):
            params, state = step(params, state)
    assert loss(params) < 0.01 * before


def test_flax_nnx_layers_are_update_functions():
    graphs = graphs_of(3)
    edge = nnx.Linear(3 + 2 * 4, 3, rngs=nnx.Rngs(0))
    node = nnx.Linear(4 + 3, 4, rngs=nnx.Rngs(1))

    def net(edge, node, graphs):
        return jk.InteractionNetwork(
            lambda e, s, r: edge(jnp.concatenate([e, s, r], -1)),
            lambda n, r: node(jnp.concatenate([n, r], -1)),
        )(graphs).nodes

    def loss(edge, node):
        return jk.node_loss(net(edge, node, graphs) ** 2, graphs)

    found = nnx.jit(net)(edge, node, graphs)
    assert found.shape == graphs.nodes.shape
    grads = nnx.grad(loss, argnums=(0, 1))(edge, node)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(grads))


@law
def test_features_are_rows_of_floats(name):
    graph = graphs_of(2)
    numbers = np.zeros(len(graph.nodes), "int32")
    net = transformed(name)
    with pytest.raises(
        jk.GraphsError, match=r"wanted \[rows, features\].*x\[:, None\]"
    ):
        jax.eval_shape(net.init, jax.random.key(0), graph._replace(nodes=numbers))
    kinds = {"nodes": numbers[:, None], "edges": None, "globals": None}
    if name != "GIN":  # sums, which are floats
        with pytest.raises(jk.GraphsError, match="features are int32; wanted floats"):
            jax.eval_shape(net.init, jax.random.key(0), graph._replace(**kinds))


def test_without_haiku_the_extra_is_named():
    code = "import sys; sys.modules['haiku'] = None; import jraph_kit.haiku"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    text = "dm-haiku is not installed; type: pip install 'jraph-kit[haiku]'"
    assert text in done.stderr
