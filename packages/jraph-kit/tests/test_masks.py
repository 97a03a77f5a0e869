import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jraph_kit as jk
from jraph_kit._masks import edge_graph_numbers, edge_mask, graph_mask


def test_edges_are_real_where_their_senders_are(some_graphs):
    graphs = some_graphs(5, seed=1)
    numbers = np.repeat(np.arange(5), graphs.n_edge)
    np.testing.assert_array_equal(edge_graph_numbers(graphs), numbers)
    for n_real in range(6):
        np.testing.assert_array_equal(edge_mask(graphs, n_real), numbers < n_real)


def test_narrow_lengths_and_ends_do_not_wrap():
    ends = np.array([0, 99], "uint8")
    graph = jk.from_coo([0, 99], [99, 0], n_node=200, nodes=np.zeros((200, 1)))
    three = jk.batch([graph] * 3)._replace(n_node=np.full(3, 200, "uint8"))
    np.testing.assert_array_equal(jk.Batch(three, 2).node_mask, np.arange(600) < 400)
    assert edge_mask(graph._replace(senders=ends, receivers=ends), 1).all()


def test_what_counts_graphs_is_an_integer(some_graphs):
    graphs = some_graphs(2)
    for n_real in (1.0, np.array([1, 1]), True):
        with pytest.raises(jk.GraphsError, match=r"n_real is .*; wanted an integer"):
            graph_mask(graphs, n_real)
    with pytest.raises(jk.GraphsError, match="senders are None; where there are no"):
        edge_mask(graphs._replace(senders=None), 1)


def test_masks_and_losses_with_x64(some_graphs):
    """Strict promotion is on in all tests; with x64 sums of int32 are int64."""
    graphs = some_graphs(3, seed=1)
    batch = jk.pad(graphs, n_node=20, n_edge=40, n_graph=4)
    wanted = batch.node_mask, batch.edge_mask, batch.graph_mask

    @jax.jit
    def all_of(b):
        masks = b.node_mask, b.edge_mask, b.graph_mask
        told = jk.get_edge_padding_mask(b.graphs)
        return masks, told, jk.edge_loss(jnp.ones(40), b, per_graph=True)

    with jax.enable_x64(new_val=True):
        found, told, loss = all_of(batch)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(told, wanted[1])
    assert float(loss) == 1


@pytest.mark.devices(2)
def test_numbers_of_edges_lie_as_the_edges_do(devices, some_graphs):
    kind = (jax.sharding.AxisType.Explicit,)
    mesh = jax.make_mesh((2,), ("x",), axis_types=kind, devices=devices)
    graphs = jk.pad(some_graphs(3, seed=1), n_node=20, n_edge=40, n_graph=4).graphs
    wanted = edge_graph_numbers(graphs)
    with jax.set_mesh(mesh):
        for ends, lengths in (("x", None), (None, "x"), ("x", "x")):
            lies = [jax.NamedSharding(mesh, jax.P(axis)) for axis in (ends, lengths)]
            senders = jax.device_put(graphs.senders, lies[0])
            n_node = jax.device_put(graphs.n_node, lies[1])
            moved = graphs._replace(senders=senders, n_node=n_node)
            found = jax.jit(edge_graph_numbers)(moved)
            assert found.sharding.is_equivalent_to(lies[0], 1)
            np.testing.assert_array_equal(found, wanted)
