import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from nets import NAMES, NETS, features, graphs_of, params_of
from test_laws import loss, loss_of, quick_jit

import jraph_kit as jk
from chex_harness import assert_trees_close

PARAMS = params_of()
WAYS = {
    "edges": (jk.edge_sharded, jk.spread_edges),
    "nodes": (jk.node_sharded, jk.spread_nodes),
}


@functools.cache
def on_one_device(name):
    """Features, and the gradient of their loss."""
    return quick_jit(
        lambda params: (
            features(NETS[name]()(params, GRAPHS)),
            jax.grad(lambda params: loss(name, params, GRAPHS))(params),
        )
    )(PARAMS)


def spread(name, way, mesh):
    """The network over devices, with rows as they were in the graph."""
    sharded, divide = WAYS[way]
    made = divide(GRAPHS, 4)
    order = np.argsort(made.edge_ids)[np.sum(made.edge_ids < 0) :]
    net = sharded(lambda params, g, layout: NETS[name](layout)(params, g), mesh)

    def apply(params, graph):
        out = net(params, graph)
        nodes = out.nodes[: len(GRAPHS.nodes)]
        return out._replace(nodes=nodes, edges=jnp.take(out.edges, order, axis=0))

    return apply, made


GRAPHS = graphs_of(3, most=9, seed=6)
# The others are GraphNetworks with fewer arguments.
SPREAD = [name for name in NAMES if name not in {"InteractionNetwork", "GraphSAGE"}]


@pytest.mark.devices(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SPREAD)
def test_values_and_gradients_are_those_of_one_device(name, way, devices):
    kind = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((4,), ("data",), axis_types=kind, devices=devices)
    net, graphs = spread(name, way, mesh)
    both = quick_jit(
        lambda params: (
            features(net(params, graphs)),
            jax.grad(lambda params: loss_of(net(params, graphs)))(params),
        )
    )
    with jax.set_mesh(mesh):
        found = both(PARAMS)
    assert_trees_close(found, on_one_device(name), rtol=1e-5, atol=1e-5)


@pytest.mark.devices(4)
@pytest.mark.parametrize("way", WAYS)
def test_graphs_are_moved_to_where_an_explicit_mesh_wants_them(way, devices):
    kind = (jax.sharding.AxisType.Explicit,)
    mesh = jax.make_mesh((4,), ("data",), axis_types=kind, devices=devices)
    sharded, divide = WAYS[way]
    net = sharded(lambda params, g, layout: NETS["GIN"](layout)(params, g), mesh)

    def value(params, graphs):
        return jnp.sum(jnp.sin(net(params, graphs).nodes))  # of rows added, 0

    with jax.set_mesh(mesh):
        graphs = jax.device_put(divide(GRAPHS, 4), NamedSharding(mesh, P()))
        found = quick_jit(jax.grad(value))(PARAMS, graphs)
    assert_trees_close(found, on_one_device("GIN")[1], rtol=1e-5, atol=1e-5)


def collectives(function, *args):
    text = jax.jit(function).lower(*args).compile().as_text()
    kinds = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]
    kinds += ["collective-permute"]
    found = {k: len(re.findall(rf" {k}(?:-start)?\(", text)) for k in kinds}
    return {kind: n for kind, n in found.items() if n}


COUNTS = {
    # One sum over nodes; both degrees and the sum; both extremes and the sum.
    ("GIN", "edges"): {"all-reduce": 1},
    ("GraphConvolution", "edges"): {"all-reduce": 2},
    ("GAT", "edges"): {"all-reduce": 3},
    # Senders' features, and nothing else; and the degrees of senders.
    ("GIN", "nodes"): {"all-gather": 1},
    ("GAT", "nodes"): {"all-gather": 1},
    ("GraphConvolution", "nodes"): {"all-gather": 1, "all-reduce": 1},
    # Edges at both ends and for globals, together; of nodes for globals later.
    ("GraphNetwork", "edges"): {"all-reduce": 1},
    ("GraphNetwork", "nodes"): {"all-gather": 1, "all-reduce": 2},
}


@pytest.mark.devices(4)
@pytest.mark.parametrize(("name", "way"), COUNTS, ids=str)
def test_what_moves_between_devices_is_what_is_said(name, way, mesh):
    sharded, divide = WAYS[way]
    net = sharded(lambda params, g, layout: NETS[name](layout)(params, g), mesh)
    graphs = divide(GRAPHS, 4)
    with jax.set_mesh(mesh):
        assert collectives(net, PARAMS, graphs) == COUNTS[name, way]


@pytest.mark.devices(4)
def test_a_batch_a_device_gives_the_loss_of_all_graphs(mesh):
    graphs = graphs_of(14, seed=2)
    buckets = jk.Buckets.fit(graphs, batch_size=4, max_shapes=1)
    (stacked,) = jk.batches(graphs, buckets, n_devices=4)

    def error(params, batch, **how):
        out = NETS["GraphNetwork"]()(params, batch.graphs)
        return jk.graph_loss(jnp.sin(out.globals), batch, **how)

    parallel = jk.graph_parallel(
        lambda params, batch: error(params, batch, axis_name="data"), mesh
    )
    whole = jk.Batch(graphs, np.int32(14))
    wanted = quick_jit(jax.value_and_grad(error))(PARAMS, whole)
    lies = NamedSharding(mesh, P("data"))
    with jax.set_mesh(mesh):
        params = jax.device_put(PARAMS, NamedSharding(mesh, P()))
        stacked = jax.device_put(stacked, lies)
        step = jax.value_and_grad(parallel)
        found = jax.jit(step)(params, stacked)
        # The sum and the count, then the gradients.
        assert collectives(parallel, params, stacked) == {"all-reduce": 1}
        assert set(collectives(step, params, stacked)) == {"all-reduce"}
    assert_trees_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_spread_rows_divide_and_none_is_lost(n):
    for divide in (jk.spread_edges, jk.spread_nodes):
        made = divide(GRAPHS, n)
        rows = len(made.edge_ids)
        assert rows % n == len(made.graphs.nodes) % (
            n if divide is jk.spread_nodes else 1
        )
        kept = made.edge_ids >= 0
        assert sorted(made.edge_ids[kept]) == list(range(len(GRAPHS.senders)))
        ids = made.edge_ids[kept]
        np.testing.assert_array_equal(made.graphs.senders[kept], GRAPHS.senders[ids])
        np.testing.assert_array_equal(made.graphs.edges[kept], GRAPHS.edges[ids])
        first = 0
        if divide is jk.spread_nodes:
            own = len(made.graphs.nodes) // n
            first = np.repeat(np.arange(n) * own, rows // n)[kept]
        ends = made.graphs.receivers[kept] + first
        np.testing.assert_array_equal(ends, GRAPHS.receivers[ids])
        with pytest.raises(jk.GraphsError, match="n_devices is 0"):
            divide(GRAPHS, 0)


def test_no_nodes_and_no_edges_divide_too():
    none = jk.from_coo([], [], n_node=0)
    for divide in (jk.spread_edges, jk.spread_nodes):
        assert len(divide(none, 2).edge_ids) == 0


@pytest.mark.devices(4)
@pytest.mark.parametrize("way", WAYS)
def test_a_graph_spread_in_another_way_is_refused(way, mesh):
    sharded, divide = WAYS[way]
    other = WAYS["nodes" if way == "edges" else "edges"][1]
    net = sharded(lambda _, g, layout: jk.GIN(lambda x: x, layout=layout)(g), mesh)
    for wrong, kind in (
        (GRAPHS, "a GraphsTuple"),
        (divide(GRAPHS, 4).graphs, "a GraphsTuple"),
        (jk.Batch(GRAPHS, 3), "a Batch"),
        (other(GRAPHS, 4), "a Spread of"),
        (divide(GRAPHS, 2), "spread for 2 devices, and the mesh has 4"),
    ):
        with pytest.raises(jk.GraphsError, match=rf"{kind}.*spread_{way}\(graph, 4\)"):
            jax.jit(net)((), wrong)
    if way == "nodes":
        with pytest.raises(jk.GraphsError, match="spread for 8 devices"):
            net((), divide(GRAPHS, 8))
    with pytest.raises(jk.GraphsError, match=r"axis is 'model', .*\('data',\)"):
        sharded(lambda _, g, layout: g, mesh, axis="model")


@pytest.mark.devices(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["GIN", "GraphConvolution", "DeepSets", "GAT"])
def test_networks_without_the_layout_are_refused(way, name, mesh):
    sharded, divide = WAYS[way]
    net = sharded(lambda params, g, _: NETS[name]()(params, g), mesh)
    with pytest.raises(jk.GraphsError, match="layout does not say so; give the netw"):
        jax.eval_shape(net, PARAMS, divide(GRAPHS, 4))


@pytest.mark.devices(4)
def test_as_many_batches_as_devices_are_wanted(mesh):
    graphs = graphs_of(16, seed=2)
    buckets = jk.Buckets.fit(graphs, batch_size=2, max_shapes=1)
    loss = jk.graph_parallel(
        lambda _, b: jk.graph_loss(b.graphs.globals, b, axis_name="data"), mesh
    )
    for n in (8, 2, None):
        batch = jk.batches(graphs, buckets, n_devices=n)[0]
        with pytest.raises(jk.GraphsError, match=r"batches\(..., n_devices=4\)"):
            jax.jit(loss)((), batch)
    with pytest.raises(jk.GraphsError, match="axis is 'model', and the mesh has"):
        jk.graph_parallel(lambda _, b: b, mesh, axis="model")


@pytest.mark.devices(2)
@pytest.mark.parametrize("way", WAYS)
def test_added_edges_spoil_no_gradient(way, mesh):
    """Their logits may be far above those of the node that they are clamped to."""
    graph = jk.from_coo(
        [0, 1, 0], [1, 2, 2], n_node=3, nodes=np.ones((3, 1)), edges=[[2], [2], [3]]
    )
    sharded, divide = WAYS[way]

    def net(w, graph, layout):
        def logits(s, r, e):
            return w * e.astype(s.dtype)

        return jk.GAT(lambda x: x, logits, lambda n: n, layout=layout)(graph)

    run, made = sharded(net, mesh), divide(graph, 2)
    with jax.set_mesh(mesh):
        both = jax.value_and_grad(lambda w: jnp.sum(run(w, made).nodes[1:3]))
        value, slope = quick_jit(both)(jnp.float32(-50))
    assert (float(value), float(slope)) == (2, 0)


def test_a_spread_graph_goes_through_pickle():
    import pickle

    made = jk.spread_nodes(GRAPHS, 2)
    again = pickle.loads(pickle.dumps(made))
    assert jax.tree.structure(again) == jax.tree.structure(made)


@pytest.mark.devices(2)
def test_no_nodes_on_devices(mesh):
    none = jk.spread_nodes(jk.from_coo([], [], n_node=0, nodes=np.zeros((0, 1))), 2)
    net = jk.node_sharded(
        lambda _, g, layout: jk.GIN(lambda x: x, layout=layout)(g), mesh
    )
    with jax.set_mesh(mesh):
        assert jax.jit(net)((), none).nodes.shape == (0, 1)
