"""Padded batches of 20,000 small graphs: flat columns, and jraph's list of graphs."""

import time
from typing import Any

import jax
import jraph
import numpy as np

import jraph_kit as jk

N, ROUNDS = 20_000, 3


def _graphs(rng: Any) -> Any:
    n_node = rng.integers(10, 31, N)
    n_edge = 2 * n_node

    def normal(rows: Any, width: Any) -> Any:
        return rng.normal(size=(rows, width)).astype("float32")

    ends = [rng.integers(0, np.repeat(n_node, n_edge)) for _ in range(2)]
    return jk.from_columns(
        nodes=(normal(n_node.sum(), 16), n_node),
        edges=(normal(n_edge.sum(), 4), n_edge),
        senders=(ends[0], n_edge),
        receivers=(ends[1], n_edge),
        globals=normal(N, 1),
    )


def run() -> list[dict[str, Any]]:
    """Times both in turn; gives the rows of the table."""
    graphs = _graphs(np.random.default_rng(0))
    parts = jk.unbatch(graphs)
    rows = []
    for order in ("stored", "shuffled"):
        seed = None if order == "stored" else 0
        for batch_size in (32, 128):
            buckets = jk.Buckets.fit(graphs, batch_size=batch_size)
            numbers = np.arange(N)
            if seed is not None:
                np.random.default_rng(seed).shuffle(numbers)

            def ours(buckets: Any = buckets, seed: Any = seed) -> Any:
                return list(map(_touch, jk.batches(graphs, buckets, seed=seed)))

            def theirs(shape: Any = buckets.shapes[-1], numbers: Any = numbers) -> Any:
                some = (parts[i] for i in numbers)
                return list(map(_touch, jraph.dynamically_batch(some, *shape)))

            times = {ours: [], theirs: []}
            for _ in range(ROUNDS):
                for make, found in times.items():
                    start = time.perf_counter()
                    make()
                    found.append(time.perf_counter() - start)
            fast, slow = (N / min(found) for found in times.values())
            rows.append(
                {
                    "task": f"batches of {batch_size} small graphs, {order} order",
                    "figure": "graphs/s: columns, jraph.dynamically_batch; ratio",
                    "values": [round(fast), round(slow), round(fast / slow, 1)],
                    "wanted": "100,000; 10 times",
                    "ok": fast >= 1e5 and fast >= 10 * slow,
                }
            )
    return rows


def _touch(batch: Any) -> Any:
    """Something small to keep of a batch, so that memory is not what is measured."""
    return len(jax.tree.leaves(batch))
