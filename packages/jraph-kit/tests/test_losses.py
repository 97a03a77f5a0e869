import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jraph_kit as jk

LOSSES = {"nodes": jk.node_loss, "edges": jk.edge_loss, "graphs": jk.graph_loss}
each = pytest.mark.parametrize("kind", LOSSES)


@pytest.fixture(scope="module")
def case():
    """A padded batch; NaN as the loss of padding; what is chosen; the graph of rows."""
    rng = np.random.default_rng(0)
    n_node, n_edge = np.array([3, 1, 4]), np.array([4, 0, 5])
    ends = np.zeros(9, int)
    graphs = jk.from_columns(
        nodes=(np.zeros((8, 1)), n_node),
        senders=(ends, n_edge),
        receivers=(ends, n_edge),
    )
    batch = jk.pad(graphs, n_node=12, n_edge=12, n_graph=4)
    rows = {"nodes": (8, 12), "edges": (9, 12), "graphs": (3, 4)}
    numbers = {"nodes": n_node, "edges": n_edge, "graphs": np.ones(3, int)}
    losses, chosen, owners = {}, {}, {}
    for kind, (real, room) in rows.items():
        losses[kind] = np.full(room, np.nan, "float32")
        losses[kind][:real] = rng.normal(size=real)
        chosen[kind] = rng.random(room) < 0.6
        owners[kind] = np.repeat(np.arange(3), numbers[kind])
    return batch, losses, chosen, owners


@each
def test_means_are_numpys_under_padding(kind, case):
    batch, losses, chosen, owners = case
    real = losses[kind][: len(owners[kind])]
    some = chosen[kind][: len(owners[kind])]
    loss = jax.jit(LOSSES[kind])
    np.testing.assert_allclose(loss(losses[kind], batch), real.mean(), rtol=1e-6)
    found = loss(losses[kind], batch, mask=chosen[kind])
    np.testing.assert_allclose(found, real[some].mean(), rtol=1e-6)
    none = loss(losses[kind], batch, mask=np.zeros_like(chosen[kind]))
    assert float(none) == 0


@pytest.mark.parametrize("kind", ["nodes", "edges"])
def test_means_of_means_of_graphs(kind, case):
    batch, losses, chosen, owners = case
    of, rows = owners[kind], len(owners[kind])
    some = chosen[kind][:rows]
    means = [
        losses[kind][:rows][some & (of == g)].mean()
        for g in range(3)
        if (some & (of == g)).any()
    ]
    found = LOSSES[kind](losses[kind], batch, mask=chosen[kind], per_graph=True)
    np.testing.assert_allclose(found, np.mean(means), rtol=1e-6)


@each
def test_gradients_of_padding_are_zero_not_nan(kind, case):
    batch, losses, chosen, owners = case
    found = jax.grad(lambda x: LOSSES[kind](x, batch, mask=chosen[kind]))(losses[kind])
    rows = np.arange(len(found)) < len(owners[kind])
    wanted = (rows & chosen[kind]) / (rows & chosen[kind]).sum()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@each
def test_graphs_without_padding_are_all_real(kind, case):
    batch, losses, _, owners = case
    graphs = jk.unpad(batch)
    real = losses[kind][: len(owners[kind])]
    np.testing.assert_allclose(LOSSES[kind](real, graphs), real.mean(), rtol=1e-6)


def test_other_axes_are_averaged_and_narrow_floats_summed_in_float32():
    values = jnp.ones((4096, 2), "bfloat16")
    found = jk.masked_mean(values, np.ones(4096, bool))
    assert found.dtype == jnp.float32
    assert float(found) == 1
    parts = jk.partition_means(values, np.zeros(4096, int), 2)
    assert parts.tolist() == [1, 0]


@each
def test_one_loss_a_row_is_wanted(kind, case):
    batch, losses, _, _ = case
    for wrong in (1.0, losses[kind][:1], losses[kind][:-1]):
        with pytest.raises(jk.GraphsError, match="wanted one loss a row, not yet"):
            LOSSES[kind](wrong, batch)
        if kind != "graphs" and np.ndim(wrong):
            with pytest.raises(jk.GraphsError, match="wanted one id for each row"):
                LOSSES[kind](wrong, batch, per_graph=True)


def test_no_rows_have_no_loss():
    none = jk.from_coo([], [], n_node=0, nodes=np.zeros((0, 1)))
    for loss in (jk.node_loss, jk.edge_loss):
        for per_graph in (False, True):
            assert float(loss(np.zeros((0, 2)), none, per_graph=per_graph)) == 0
    assert jk.partition_means(np.zeros((0, 2)), np.zeros(0, int), 2).tolist() == [0, 0]


def test_partition_means_are_numpys():
    rng = np.random.default_rng(1)
    values = rng.normal(size=40).astype("float32")
    parts = rng.integers(-1, 4, 40)
    mask = rng.random(40) < 0.7
    spoilt = np.where(mask & (parts >= 0), values, np.nan)
    found = jk.partition_means(spoilt, parts, 5, mask=mask)
    wanted = [values[mask & (parts == k)].mean() for k in range(4)]
    np.testing.assert_allclose(found, [*wanted, 0], rtol=1e-5)


@each
@pytest.mark.devices(4)
@pytest.mark.parametrize("how", ["jit", "shard_map"])
def test_devices_with_different_counts_have_the_mean_of_all(kind, how, mesh):
    ends = np.zeros(12, int), np.full(12, 1)
    n_node = np.arange(1, 13)
    graphs = jk.from_columns(
        nodes=(np.zeros((78, 1)), n_node), senders=ends, receivers=ends
    )
    # One batch a device, with 3 graphs, but 6, 15, 24 and 33 nodes.
    stacked = jk.batches(graphs, jk.Buckets([(36, 8, 6)], batch_size=3), n_devices=4)[0]
    room = {"nodes": 36, "edges": 8, "graphs": 6}[kind]
    losses = np.random.default_rng(0).normal(size=(4, room)).astype("float32")
    singles = [jax.tree.map(lambda x, d=d: x[d], stacked) for d in range(4)]
    masks = {"nodes": "node_mask", "edges": "edge_mask", "graphs": "graph_mask"}
    real = np.stack([getattr(one, masks[kind]) for one in singles])
    wanted = jax.value_and_grad(
        lambda x: jnp.sum(jnp.where(real, x, 0)) / float(real.sum())
    )

    def mine(losses, batch):
        one = jax.tree.map(lambda x: x[0], (losses, batch))
        return LOSSES[kind](*one, axis_name="data")

    where = P("data")
    spread = jax.shard_map(mine, mesh=mesh, in_specs=(where, where), out_specs=P())
    if how == "jit":  # sharded arrays, and the compiler finds the sums

        def spread(losses, batch):
            return jk.masked_mean(losses.reshape(-1), jnp.asarray(real).reshape(-1))

    lies = NamedSharding(mesh, where)
    with jax.set_mesh(mesh):
        args = jax.device_put((losses, stacked), lies)
        found = jax.jit(jax.value_and_grad(spread))(*args)
    for a, b in zip(found, wanted(losses), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_masks_are_booleans_one_a_row(case):
    batch, losses, _, _ = case
    for mask in ([0.5, 0.5], [2, 0], np.array([1, 0], "int8")):
        with pytest.raises(jk.GraphsError, match=r"mask is .*; wanted booleans, .*> 0"):
            jk.masked_mean([1.0, 3.0], mask)
        with pytest.raises(jk.GraphsError, match=r"mask is .*; wanted booleans"):
            jk.partition_means([1.0, 3.0], [0, 1], 2, mask=mask)
    for kind, loss in LOSSES.items():
        rows = len(losses[kind])
        for mask in ([True], np.ones((rows, 1), bool), np.full(rows, 2)):
            with pytest.raises(jk.GraphsError, match=f"mask is .*; wanted .*{rows}"):
                loss(losses[kind], batch, mask=mask)
    with pytest.raises(
        jk.GraphsError, match=r"mask is bool.*; wanted booleans of shape"
    ):
        jk.partition_means([1.0, 3.0], [0, 1], 2, mask=[True])


def test_parts_of_narrow_integers():
    parts, mask = np.array([0, 255, 255], "uint8"), [True, True, False]
    found = jk.partition_means([1.0, 2.0, 9.0], parts, 256, mask=mask)
    assert (found[0], found[255]) == (1, 2)
    with pytest.raises(jk.GraphsError, match="segment_ids are float32; wanted"):
        jk.partition_means([1.0], np.zeros(1, "float32"), 1)


def test_edges_that_belong_to_no_graph_do_not_count():
    """Those that `spread_nodes` adds lie between the others."""
    graph = jk.from_coo(
        [0, 1, 2, 3, 0],
        [3, 3, 3, 3, 1],
        n_node=4,
        nodes=np.ones((4, 1)),
        edges=np.array([1, 2, 3, 4, 50], "float32"),
    )
    for spread in (jk.spread_nodes(graph, 2), jk.spread_edges(graph, 4)):
        for per_graph in (False, True):
            loss = jax.jit(jk.edge_loss, static_argnames="per_graph")
            found = loss(spread.graphs.edges, spread.graphs, per_graph=per_graph)
            assert float(found) == 12
        kept = jk.zero_out_padding(spread.graphs, n_real=1).edges
        np.testing.assert_array_equal(kept, spread.graphs.edges)


def test_stacked_batches_are_told_apart(some_graphs):
    graphs = some_graphs(5, seed=1)
    stacked = jk.batches(graphs, jk.Buckets.fit(graphs, batch_size=3), n_devices=2)[0]
    text = "several devices, stacked.*graph_parallel or jax.vmap"
    for loss in LOSSES.values():
        with pytest.raises(jk.GraphsError, match=text):
            loss(np.ones((2, 4)), stacked)
    for mask in ("graph_mask", "node_mask", "edge_mask"):
        with pytest.raises(jk.GraphsError, match=text):
            getattr(stacked, mask)
    for host in (jk.unpad, jk.unbatch):
        with pytest.raises(jk.GraphsError, match=text):
            host(stacked)
