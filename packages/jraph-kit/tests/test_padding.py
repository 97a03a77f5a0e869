import jax
import jax.numpy as jnp
import jraph
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jraph_kit as jk

MASKS = ["get_node_padding_mask", "get_edge_padding_mask", "get_graph_padding_mask"]
each = pytest.mark.parametrize("name", MASKS)


def sizes(graphs):
    return len(graphs.nodes), len(graphs.senders), len(graphs.n_node)


@each
@pytest.mark.parametrize("seed", range(4))
def test_masks_of_padded_graphs_are_jraphs(name, seed, some_graphs):
    graphs = some_graphs(5, seed=seed)
    n = sizes(graphs)
    padded = jraph.pad_with_graphs(graphs, n[0] + 2, n[1] + seed, n[2] + 3)
    found = jax.jit(getattr(jk, name))(padded)
    np.testing.assert_array_equal(found, getattr(jraph, name)(padded))


@each
def test_masks_of_unpadded_graphs_keep_the_last_graph(name, some_graphs):
    three, one = some_graphs(3), some_graphs(1, seed=1)
    assert getattr(jk, name)(three, n_real=3).all()
    assert getattr(jk, name)(one, n_real=1).all()


@each
@pytest.mark.parametrize("edge", [(0, 1), (1, 0), (1, 1)])
def test_a_last_graph_with_an_edge_that_padding_has_not_is_real(name, edge):
    """Of graphs [1, 2]: padding's edges are loops of its first node."""
    ends = [([0, 0, end], [1, 2]) for end in edge]
    graphs = jk.from_columns(
        nodes=(np.zeros((3, 1)), [1, 2]), senders=ends[0], receivers=ends[1]
    )
    mask = jax.jit(getattr(jk, name))
    assert mask(graphs).all()
    empty = jk.from_columns(senders=([], [0]), receivers=([], [0]), n_node=[0])
    more = jk.batch([graphs, empty._replace(nodes=np.zeros((0, 1), "float32"))])
    np.testing.assert_array_equal(mask(more), getattr(jk, name)(more, n_real=2))
    padded = jk.pad(graphs, n_node=5, n_edge=6, n_graph=4)
    np.testing.assert_array_equal(
        mask(padded.graphs), getattr(jk, name)(padded.graphs, n_real=2)
    )


@each
def test_what_could_be_padding_is_taken_for_it(name):
    """A last graph without edges but loops of its first node, or without any."""
    for loops in ([], [0]):
        ends = [0, *loops], [1, len(loops)]
        graphs = jk.from_columns(
            nodes=(np.zeros((3, 1)), [1, 2]), senders=ends, receivers=ends
        )
        np.testing.assert_array_equal(
            getattr(jk, name)(graphs), getattr(jk, name)(graphs, n_real=1)
        )
    sets = graphs._replace(senders=None, receivers=None)
    assert jk.get_graph_padding_mask(sets).tolist() == [True, False]


def test_zero_out_padding_sets_nan_to_zero(some_graphs):
    graphs = some_graphs(4)
    n = sizes(graphs)
    batch = jk.pad(graphs, n_node=n[0] + 2, n_edge=n[1] + 2, n_graph=n[2] + 2)
    dirty = jax.tree.map(
        lambda x, rows: np.where(
            np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 1)) < rows,
            x,
            np.nan if x.dtype.kind == "f" else 9,
        ),
        (batch.graphs.nodes, batch.graphs.edges, batch.graphs.globals),
        (n[0], {"kind": n[1], "length": n[1]}, n[2]),
    )
    nodes, edges, globals_ = dirty
    spoilt = batch.graphs._replace(nodes=nodes, edges=edges, globals=globals_)
    for n_real in (None, batch.n_real):
        clean = jax.jit(jk.zero_out_padding)(spoilt, n_real=n_real)
        for a, b in zip(
            jax.tree.leaves(clean), jax.tree.leaves(batch.graphs), strict=True
        ):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_zero_out_padding_leaves_none_alone():
    graph = jk.from_coo([0], [1], n_node=2)
    assert jk.zero_out_padding(graph, n_real=1).nodes is None


def test_wrapped_networks_have_zero_padding(some_graphs):
    graphs = some_graphs(3)
    n = sizes(graphs)
    batch = jk.pad(graphs, n_node=n[0] + 2, n_edge=n[1], n_graph=n[2] + 1)

    def net(graph):
        """Adds one."""
        return graph._replace(nodes=graph.nodes + 1)

    wrapped = jk.with_zero_out_padding_outputs(net)
    assert wrapped.__doc__ == "Adds one."
    assert not wrapped(batch.graphs).nodes[-2:].any()
    whole = wrapped(graphs, n_real=3).nodes
    np.testing.assert_array_equal(whole, graphs.nodes + 1)


@pytest.mark.devices(4)
def test_padding_of_sharded_graphs(mesh, some_graphs):
    batch = jk.pad(some_graphs(3), n_node=32, n_edge=64, n_graph=8)
    lies = NamedSharding(mesh, P("data"))
    with jax.set_mesh(mesh):
        graphs = jax.device_put(batch.graphs, lies)
        found = jax.jit(jk.zero_out_padding)(graphs, n_real=batch.n_real)
        for a, b in zip(
            jax.tree.leaves(found), jax.tree.leaves(batch.graphs), strict=True
        ):
            np.testing.assert_array_equal(a, b)
        assert found.nodes.sharding.is_equivalent_to(lies, 2)
        assert jnp.sum(jax.jit(jk.get_edge_padding_mask)(graphs)) == int(
            batch.edge_mask.sum()
        )
