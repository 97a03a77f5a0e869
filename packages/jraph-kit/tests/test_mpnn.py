import numpy as np
import pytest
from nets import graphs_of

import jraph_kit as jk


def test_rounds_of_messages_are_a_loop():
    graphs = graphs_of(3, seed=4)
    net = jk.MPNN(
        lambda v, u, e: u * e[:, :1] - v,
        lambda h, m: 0.5 * h + m,
        lambda h: h[:, :2],
        steps=3,
    )
    h = graphs.nodes.astype(float)
    for _ in range(3):
        m = np.zeros_like(h)
        for u, v, e in zip(graphs.senders, graphs.receivers, graphs.edges, strict=True):
            m[v] += h[u] * e[0] - h[v]
        h = 0.5 * h + m
    out = net(graphs)
    np.testing.assert_allclose(out.nodes, h, rtol=1e-3, atol=1e-2)
    parts = np.split(h[:, :2], np.cumsum(graphs.n_node)[:-1])
    wanted = np.stack([p.sum(0) for p in parts])
    np.testing.assert_allclose(out.globals, wanted, rtol=1e-3, atol=1e-2)


def test_no_readout_leaves_globals_and_no_steps_leave_nodes():
    graphs = graphs_of(2)
    out = jk.MPNN(lambda *a: a[0], lambda h, m: m, steps=0)(graphs)
    assert out.globals is graphs.globals
    assert out.nodes is graphs.nodes
    with pytest.raises(jk.GraphsError, match="steps is -1"):
        jk.MPNN(lambda *a: a[0], lambda h, m: m, steps=-1)
