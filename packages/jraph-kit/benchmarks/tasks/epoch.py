"""One epoch over 10,000 graphs of 5 to 200 nodes: buckets, and padding to the largest.

The same jitted training step, on the same graphs, in turn.
"""

import time
from typing import Any

import haiku as hk
import jax
import numpy as np
import optax

import jraph_kit as jk
from jraph_kit import haiku as graph_nets

N, BATCH, PADDED = 10_000, 32, 40


def _graphs(rng: Any, sizes: Any) -> Any:
    n_node = {
        "skewed": lambda: np.exp(rng.uniform(np.log(5), np.log(200.99), N)).astype(int),
        "uniform": lambda: rng.integers(5, 201, N),
    }[sizes]()
    n_edge = n_node * rng.integers(2, 9, N)
    ends = [rng.integers(0, np.repeat(n_node, n_edge)) for _ in range(2)]
    return jk.from_columns(
        nodes=(rng.normal(size=(n_node.sum(), 16)).astype("float32"), n_node),
        senders=(ends[0], n_edge),
        receivers=(ends[1], n_edge),
        globals=rng.normal(size=(N, 1)).astype("float32"),
    )


def _gin(graph: Any) -> Any:
    for _ in range(2):
        graph = graph_nets.GIN([64, 64])(graph)
    return graph_nets.DeepSets([64], [64, 1])(graph._replace(globals=None)).globals


def _mpnn(graph: Any) -> Any:
    net = graph_nets.MPNN(32, steps=2, readout_sizes=[32, 1])
    return net(graph._replace(globals=None)).globals


NETS = {"MPNN": _mpnn, "GIN": _gin}


def _rate(net: Any, graphs: Any, buckets: Any, most: Any) -> Any:
    """Graphs a second of an epoch, its waste, and the number of compilations."""
    net = hk.without_apply_rng(hk.transform(net))
    chain = optax.adam(1e-3)
    found = jk.batches(graphs, buckets, seed=0)
    traces = []

    def loss(params: Any, batch: Any) -> Any:
        error = net.apply(params, batch.graphs) - batch.graphs.globals
        return jk.graph_loss(error**2, batch)

    @jax.jit
    def step(params: Any, state: Any, batch: Any) -> Any:
        traces.append(1)
        updates, state = chain.update(jax.grad(loss)(params, batch), state)
        return optax.apply_updates(params, updates), state

    params = jax.jit(net.init)(jax.random.key(0), found[0].graphs)
    state = chain.init(params)
    seen = set()
    for i, batch in enumerate(found):  # compile every shape before the clock starts
        shape = batch.graphs.nodes.shape, batch.graphs.senders.shape
        if shape not in seen:
            seen.add(shape)
            jax.block_until_ready(step(params, state, batch))
        if i > most:
            break
    start, n = time.perf_counter(), 0
    for i, batch in enumerate(found):
        if i >= most:
            break
        params, state = step(params, state, batch)
        n += int(batch.n_real)
    jax.block_until_ready(params)
    return n / (time.perf_counter() - start), found.waste, len(traces)


def run() -> list[dict[str, Any]]:
    """Times both; gives the rows of the table."""
    rows = []
    for sizes in ("skewed", "uniform"):
        graphs = _graphs(np.random.default_rng(0), sizes)
        buckets = jk.Buckets.fit(graphs, batch_size=BATCH)
        largest = int(graphs.n_node.max()), int(graphs.n_edge.max())
        room = BATCH * largest[0] + 1, BATCH * largest[1], BATCH + 1
        for name, net in NETS.items():
            rate, waste, traces = _rate(net, graphs, buckets, N)
            padded, full, _ = _rate(net, graphs, jk.Buckets((room,), BATCH), PADDED)
            rows.append(
                {
                    "task": f"epoch of {N:,} graphs of {sizes} sizes, {name}",
                    "figure": "graphs/s: buckets, padded to the largest; ratio",
                    "values": [round(rate), round(padded), round(rate / padded, 1)],
                    "wanted": "5 times",
                    "ok": rate >= 5 * padded,
                }
            )
        rows.append(
            {
                "task": f"epoch of {N:,} graphs of {sizes} sizes",
                "figure": "compilations; padding of nodes and edges together; the same "
                "padded to the largest",
                "values": [traces, round(waste.total, 3), round(full.total, 3)],
                "wanted": "8; 0.25",
                "ok": traces <= 8 and waste.total < 0.25,
            }
        )
    return rows
