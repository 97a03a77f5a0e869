"""Against sums over a dense adjacency, written with loops."""

import jax
import numpy as np
import pytest

import jraph_kit as jk


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    adjacency = rng.random((6, 6)) < 0.4
    adjacency[:, 2] = False  # nobody sends to node 2
    x = rng.normal(size=(6, 3)).astype("float32")
    return jk.from_dense(adjacency, nodes=x), adjacency.astype(float), x


@pytest.mark.parametrize("loops", [True, False])
def test_gcn_is_the_normalised_product(case, loops):
    graph, a, x = case
    a = a + loops * np.eye(6)
    out_degree, in_degree = (np.maximum(a.sum(axis), 1) for axis in (1, 0))
    wanted = (a / np.sqrt(out_degree)[:, None] / np.sqrt(in_degree)).T @ x
    found = jk.GraphConvolution(lambda x: x, add_self_edges=loops)(graph).nodes
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    plain = jk.GraphConvolution(
        lambda x: x, add_self_edges=loops, symmetric_normalization=False
    )(graph)
    np.testing.assert_allclose(plain.nodes, a.T @ x, rtol=1e-5, atol=1e-6)


def test_self_edges_with_another_aggregate(case):
    graph, a, x = case
    found = jk.GraphConvolution(
        lambda x: x, jk.segment_max, add_self_edges=True, symmetric_normalization=False
    )(graph).nodes
    wanted = [np.max(x[(a[:, v] > 0) | (np.arange(6) == v)], 0) for v in range(6)]
    np.testing.assert_array_equal(found, wanted)
    layout = jk.EdgeLayout(axis_name="data")
    with pytest.raises(jk.GraphsError, match=r"call jraph_kit\.add_self_edges"):
        jk.GraphConvolution(
            lambda x: x, jk.segment_max, add_self_edges=True, layout=layout
        )


@pytest.mark.devices(4)
def test_self_edges_of_sharded_edges(case, devices):
    graph, _, _ = case
    graph = jk.pad(graph, n_node=8, n_edge=20, n_graph=2).graphs
    net = jk.GraphConvolution(lambda x: x, jk.segment_mean, add_self_edges=True)
    kind = (jax.sharding.AxisType.Explicit,)
    mesh = jax.make_mesh((4,), ("data",), axis_types=kind, devices=devices)
    with jax.set_mesh(mesh):
        rows = jax.sharding.NamedSharding(mesh, jax.P("data"))
        lies = jax.device_put(
            {k: getattr(graph, k) for k in ("nodes", "senders", "receivers")}, rows
        )
        found = jax.jit(net)(graph._replace(**lies)).nodes
        assert found.sharding.is_equivalent_to(rows, 2)
    np.testing.assert_allclose(found, net(graph).nodes, rtol=1e-5)


def test_gin_is_a_weighted_sum(case):
    graph, a, x = case
    found = jk.GIN(lambda x: 2 * x, epsilon=0.5)(graph).nodes
    np.testing.assert_allclose(found, 2 * (1.5 * x + a.T @ x), rtol=1e-5, atol=1e-5)


def test_graph_sage_is_a_mean_beside_the_node(case):
    graph, a, x = case
    found = jk.GraphSAGE(lambda x, m: x - m, message_fn=lambda x: 2 * x)(graph).nodes
    mean = 2 * (a / np.maximum(a.sum(0), 1)).T @ x
    np.testing.assert_allclose(found, x - mean, rtol=1e-5, atol=1e-5)
    unit = jk.GraphSAGE(lambda x, m: 1e-3 * (x - m), normalize=True)(graph).nodes
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_integers_are_taken_as_floats(case, dtype):
    graph, _, x = case
    whole = np.abs(x * 100).astype(dtype)
    for make in (
        lambda: jk.GraphConvolution(lambda x: x, add_self_edges=True),
        lambda: jk.GIN(lambda x: x, epsilon=0.5),
        lambda: jk.GraphSAGE(lambda x, m: x, normalize=True),
    ):
        found = make()(graph._replace(nodes=whole)).nodes
        wanted = make()(graph._replace(nodes=whole.astype("float32"))).nodes
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_lengths_beyond_narrow_floats(case, dtype):
    rows = np.zeros((6, 3), "float32")
    rows[1] = 300, 400, 0
    nodes = np.asarray(jax.numpy.asarray(rows, dtype))
    net = jk.GraphSAGE(lambda x, m: x, normalize=True)
    found = net(case[0]._replace(nodes=nodes)).nodes
    assert found.dtype == dtype
    wanted = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    np.testing.assert_allclose(found.astype("float32"), wanted, rtol=1e-2)


def test_ends_of_bytes_do_not_wrap():
    ends = np.arange(90, dtype="uint8"), np.arange(90, dtype="uint8")[::-1]
    nodes = np.arange(300, dtype="float32")[:, None]
    graph = jk.from_coo(*ends, n_node=300, nodes=nodes)
    net = jk.GraphConvolution(lambda x: x, jk.segment_mean, add_self_edges=True)
    for dtype in ("uint8", "int8"):
        narrow = [x.astype(dtype) for x in ends]
        found = net(graph._replace(senders=narrow[0], receivers=narrow[1])).nodes
        np.testing.assert_array_equal(found, net(graph).nodes)
