"""Against softmaxes over the senders of each node, written with loops."""

import numpy as np
import pytest

import jraph_kit as jk


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    adjacency = rng.random((6, 6)) < 0.5
    adjacency[:, 2] = False
    x = rng.normal(size=(6, 2, 3)).astype("float32")  # two heads
    return jk.from_dense(adjacency, nodes=x), adjacency, x


def attended(adjacency, x, logit):
    wanted = np.zeros_like(x)
    for v in range(6):
        senders = np.flatnonzero(adjacency[:, v])
        for head in range(2) if len(senders) else []:
            logits = np.array([logit(x[u, head], x[v, head]) for u in senders])
            weights = np.exp(logits) / np.exp(logits).sum()
            wanted[v, head] = weights @ x[senders, head]
    return wanted


def test_gat(case):
    graph, adjacency, x = case
    net = jk.GAT(
        lambda n: n, lambda s, r, e: (s - 2 * r).sum(-1, keepdims=True), lambda n: n
    )
    wanted = attended(adjacency, x, lambda u, v: (u - 2 * v).sum())
    np.testing.assert_allclose(net(graph).nodes, wanted, rtol=1e-4, atol=1e-5)


def test_gat_v2_has_the_nonlinearity_inside(case):
    graph, adjacency, x = case

    def logit(u, v):
        z = u - 2 * v
        return np.where(z > 0, z, 0.2 * z).sum()

    net = jk.GATv2(
        lambda n: n,
        lambda n: -2 * n,
        lambda z, e: z.sum(-1, keepdims=True),
        lambda n: n,
    )
    wanted = attended(adjacency, x, logit)
    np.testing.assert_allclose(net(graph).nodes, wanted, rtol=1e-4, atol=1e-5)


def test_heads_go_side_by_side_through_a_leaky_relu(case):
    graph, _, _ = case
    queries = (lambda n: n), (lambda s, r, e: s[..., :1])
    plain = jk.GAT(*queries, lambda n: n)(graph).nodes
    joined = jk.GAT(*queries)(graph).nodes
    wanted = np.where(plain > 0, plain, 0.01 * plain).reshape(6, 6)
    np.testing.assert_allclose(joined, wanted, rtol=1e-5)


def test_nodes_see_themselves_with_self_edges(case):
    _, adjacency, x = case
    looped = jk.add_self_edges(
        jk.from_dense(adjacency & ~np.eye(6, dtype=bool), nodes=x)
    )
    net = jk.GAT(lambda n: n, lambda s, r, e: s[..., :1] * 0, lambda n: n)
    both = adjacency | np.eye(6, dtype=bool)
    wanted = np.einsum("uv,uhf->vhf", both / both.sum(0), x)
    np.testing.assert_allclose(net(looped).nodes, wanted, rtol=1e-5, atol=1e-6)


def test_no_nodes_give_none():
    none = jk.from_coo([], [], n_node=0, nodes=np.zeros((0, 2, 3)))
    net = jk.GAT(lambda x: x, lambda s, r, e: s[..., :1])
    assert net(none).nodes.shape == (0, 6)
