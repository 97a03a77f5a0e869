"""Neighbourhoods sampled from a large graph, as padded graphs of one shape."""

import dataclasses
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jraph_kit._batch import Batch
from jraph_kit._checks import as_indices, check_count, starts_of
from jraph_kit._csr_store import CSRStore
from jraph_kit._draws import draw_uniform, draw_weighted
from jraph_kit._errors import GraphsError
from jraph_kit._host import host_graphs, to_host


class Sample(NamedTuple):
    """A neighbourhood: a pytree of NumPy arrays, always of the same shapes.

    Attributes:
      batch: one graph of all sampled nodes and edges, and its padding. The seeds are
        its first nodes. Edges go from what was sampled to what it was sampled for.
      seed_mask: bool [n_node], True for seeds.
      node_ids: integers [n_node], each node's number in the store; 0 for padding.
      edge_ids: integers [n_edge], each edge's number in the graph that was stored; 0
        for padding.
    """

    batch: Batch
    seed_mask: Any
    node_ids: Any
    edge_ids: Any


@dataclasses.dataclass(frozen=True, eq=False)
class NeighbourSampler:
    """Samples the neighbours of nodes, and theirs, a number of each.

    A batch of seeds gets `fanouts[0]` neighbours each, those `fanouts[1]` each, and so
    on: as many as a network has layers. Neighbours are the nodes that send to a node,
    drawn without putting back; where there are fewer, all are taken. Each node is in a
    sample once, and its neighbours are drawn once.

    Everything is drawn from (seed, epoch, step), so any step is made again by asking
    for it: an epoch is taken up at step 17 by `epoch(nodes, start=17)`.

    Attributes:
      store: the graph.
      fanouts: how many neighbours for each hop.
      batch_size: seeds of a sample.
      features: [n_node, ...] or a pytree of such, whose rows the samples' nodes get;
        may be a memory map.
      seed: of all randomness.
      weighted: whether edges are drawn by the store's weights.

    Raises:
      GraphsError: if a number is out of range, features have another number of rows,
        or weights are wanted and the store has none.

    Example:
      >>> store = CSRStore.from_edges([0, 1, 2], [1, 2, 0], n_node=3)
      >>> sampler = NeighbourSampler(store, fanouts=(1,), batch_size=2)
      >>> sample = sampler.sample([2, 1])
      >>> sample.node_ids[:3].tolist(), sample.batch.graphs.receivers[:2].tolist()
      ([2, 1, 0], [0, 1])

    References:
      Hamilton et al., Inductive representation learning on large graphs, 2017,
      algorithm 2, https://arxiv.org/abs/1706.02216
    """

    store: CSRStore
    fanouts: Sequence[int]
    batch_size: int
    features: Any = None
    seed: int = 0
    weighted: bool = False

    def __post_init__(self) -> None:
        """Checks the numbers."""
        if not isinstance(self.fanouts, Iterable):
            raise GraphsError(
                f"fanouts is {self.fanouts!r}; wanted a number for each hop, such as "
                "(10, 5)"
            )
        fanouts = [
            check_count(f"fanouts[{hop}]", fanout)
            for hop, fanout in enumerate(self.fanouts)
        ]
        object.__setattr__(self, "fanouts", tuple(fanouts))
        check_count("batch_size", self.batch_size)
        check_count("seed", self.seed, least=0)
        if self.weighted and self.store.weights is None:
            raise GraphsError(
                "weighted sampling, and the store has no weights; give "
                "CSRStore.from_edges(..., weights=...)"
            )
        for leaf in jax.tree.leaves(self.features):
            if np.shape(leaf)[:1] != (self.store.n_node,):
                raise GraphsError(
                    f"features have shape {list(np.shape(leaf))}, and the store has "
                    f"{self.store.n_node} nodes; wanted arrays with a row for each"
                )

    @property
    def _hops(self) -> list[int]:
        """The most new nodes of each hop; Python's integers, as products grow."""
        sizes = [self.batch_size, *self.fanouts]
        return list(itertools.accumulate(map(int, sizes), operator.mul))

    @property
    def n_node(self) -> int:
        """Nodes of every sample, padding included."""
        return min(sum(self._hops), self.store.n_node) + 1

    @property
    def n_edge(self) -> int:
        """Edges of every sample, padding included."""
        widest = max(self.fanouts, default=0) * self.store.n_node
        return min(sum(self._hops[1:]), widest, len(self.store.senders))

    def steps(self, nodes: Any) -> int:
        """How many samples an epoch over these nodes has."""
        return -(-len(nodes) // self.batch_size)

    def epoch(self, nodes: Any, *, epoch: int = 0, start: int = 0) -> Iterator[Sample]:
        """Samples around all of some nodes, in an order of this epoch.

        Args:
          nodes: integers, the seeds, such as all training nodes.
          epoch: which order and which neighbours.
          start: the first step, to go on from.

        Yields:
          `steps(nodes)` samples, less those before `start`; the last may have fewer
          seeds.

        Raises:
          GraphsError: if a node comes twice or is out of range; with the first sample.
        """
        check_count("epoch", epoch, least=0)
        check_count("start", start, least=0)
        nodes = self._numbers(nodes)
        order = np.random.default_rng([0, epoch, self.seed]).permutation(nodes)
        for step in range(start, self.steps(order)):
            seeds = order[step * self.batch_size : (step + 1) * self.batch_size]
            yield self.sample(seeds, epoch=epoch, step=step)

    def sample(self, seeds: Any, *, epoch: int = 0, step: int = 0) -> Sample:
        """Samples around given nodes.

        Args:
          seeds: integers, up to `batch_size` different nodes.
          epoch: chooses the neighbours, with `step` and the sampler's seed.
          step: see `epoch`.

        Returns:
          A sample, of the shapes that all samples have.

        Raises:
          GraphsError: if there are too many seeds, one twice, or one out of range.
        """
        check_count("epoch", epoch, least=0)
        check_count("step", step, least=0)
        nodes = self._numbers(seeds)
        if len(nodes) > self.batch_size:
            raise GraphsError(
                f"there are {len(nodes)} seeds; wanted up to {self.batch_size}, the "
                "batch size"
            )
        n_seed, front = len(nodes), np.arange(len(nodes))
        rng = np.random.default_rng([1, step, epoch, self.seed])
        edges: list[np.ndarray] = []
        receivers: list[np.ndarray] = []
        for fanout in self.fanouts:
            rows, drawn = self._draw(rng, nodes[front], fanout)
            edges.append(drawn)
            receivers.append(front[rows])
            new = np.setdiff1d(self.store.senders[drawn], nodes)
            front = np.arange(len(nodes), len(nodes) + len(new))
            nodes = np.concatenate([nodes, new])
        none = np.zeros(0, np.int64)
        drawn, into = (np.concatenate([none, *parts]) for parts in (edges, receivers))
        by_id = np.argsort(nodes)
        out = by_id[np.searchsorted(nodes, self.store.senders[drawn], sorter=by_id)]
        return self._padded(nodes, n_seed, drawn, out, into)

    def _numbers(self, seeds: Any) -> np.ndarray:
        """Seeds as int64 [n]: nodes of the store, each once."""
        found, n = as_indices("seeds", seeds), self.store.n_node
        if found.ndim != 1 or found.dtype.kind not in "iu":
            raise GraphsError(
                f"seeds are {found.dtype}{list(found.shape)}; wanted the numbers of "
                "nodes, of a mask np.flatnonzero(mask)"
            )
        wrong = (found < 0) | (found >= n)
        if wrong.any():
            raise GraphsError(
                f"seed {found[np.argmax(wrong)]} is no node; the store has {n}"
            )
        values, counts = np.unique(found, return_counts=True)
        if len(values) != len(found):
            raise GraphsError(f"seed {values[counts > 1][0]} comes more than once")
        return found.astype(np.int64)

    def _draw(
        self, rng: np.random.Generator, nodes: np.ndarray, fanout: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each of some nodes a few edges: their row in `nodes`, and their place."""
        starts = np.asarray(self.store.indptr[nodes])
        degrees = self.store.indptr[nodes + 1] - starts
        if (degrees < 0).any() or (starts < 0).any():
            raise GraphsError(
                "the store's indptr does not ascend: its files are damaged; write them "
                "again with CSRStore.save"
            )
        if self.weighted and self.store.weights is not None:
            shift = np.repeat(starts - starts_of(degrees)[:-1], degrees)
            weights = self.store.weights[np.arange(len(shift)) + shift]
            rows, places = draw_weighted(rng, degrees, fanout, weights)
        else:
            rows, places = draw_uniform(rng, degrees, fanout)
        drawn = starts[rows] + places
        senders = self.store.senders[drawn]
        if ((senders < 0) | (senders >= self.store.n_node)).any():
            raise GraphsError(
                f"the store has senders that are none of its {self.store.n_node} nodes:"
                " its files are damaged; write them again with CSRStore.save"
            )
        return rows, drawn

    def _padded(
        self,
        nodes: np.ndarray,
        n_seed: int,
        drawn: np.ndarray,
        senders: np.ndarray,
        receivers: np.ndarray,
    ) -> Sample:
        n, m = len(nodes), len(drawn)
        n_node, n_edge = self.n_node, self.n_edge

        def padded(values: np.ndarray, room: int, fill: int = 0) -> np.ndarray:
            out = np.full((room, *values.shape[1:]), fill, values.dtype)
            out[: len(values)] = values
            return out

        taken = to_host(jax.tree.map(lambda leaf: leaf[nodes], self.features))
        graphs = host_graphs(
            nodes=jax.tree.map(lambda leaf: padded(leaf, n_node), taken),
            edges=None,
            senders=padded(senders.astype(np.int32), n_edge, n),
            receivers=padded(receivers.astype(np.int32), n_edge, n),
            globals=None,
            n_node=np.array([n, n_node - n], np.int32),
            n_edge=np.array([m, n_edge - m], np.int32),
        )
        ids = self.store.senders.dtype
        return Sample(
            batch=Batch(graphs, np.int32(1)),
            seed_mask=np.arange(n_node) < n_seed,
            node_ids=padded(nodes.astype(ids), n_node),
            edge_ids=padded(np.asarray(self.store.edge_ids[drawn]), n_edge),
        )
