"""Batches of few shapes from a set of graphs, in stored or shuffled order."""

import dataclasses
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, overload

import jraph
import numpy as np

from jraph_kit._batch import Batch
from jraph_kit._buckets import Buckets, Shape
from jraph_kit._checks import check_count
from jraph_kit._errors import GraphsError, OversizeError
from jraph_kit._gather import Gatherer

# Indices of so many rows are computed together, 8 bytes each.
_ROWS_AT_ONCE = 1 << 17


class Waste(NamedTuple):
    """The share of padding in the batches of one epoch, each from 0 to 1.

    Attributes:
      nodes: of node rows.
      edges: of edge rows.
      graphs: of graphs.
      total: of node and edge rows together, which is what `Buckets.fit` keeps low.
    """

    nodes: float
    edges: float
    graphs: float
    total: float


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Batches(Sequence[Batch]):
    """The batches of one epoch, made when they are asked for.

    `batches[i]` is always the same, so an epoch is taken up again at any batch.

    Attributes:
      shapes: the shapes in use, and so the traces of a jitted step.
      shape_of_batches: that of each batch, in order.
      waste: the share of padding.

    Example:
      >>> import jraph_kit
      >>> graphs = jraph_kit.get_fully_connected_graph(3, 4, np.ones((12, 2)))
      >>> found = batches(graphs, Buckets.fit(graphs, batch_size=2))
      >>> len(found), found.waste.total < 1, int(found[1].n_real)
      (2, True, 2)
    """

    _gatherer: Gatherer
    _order: np.ndarray
    _starts: np.ndarray
    _shape_of: np.ndarray
    _table: tuple[Shape, ...]
    _n_devices: int | None

    def __repr__(self) -> str:
        """What there is, without the graphs."""
        shapes = [tuple(shape) for shape in self.shapes]
        return (
            f"<{len(self)} batches of {len(self._order):,} graphs, of the shapes "
            f"{shapes}, {self.waste.total:.1%} padding>"
        )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes that occur, ascending."""
        return tuple(self._table[i] for i in np.unique(self._shape_of))

    @property
    def shape_of_batches(self) -> tuple[Shape, ...]:
        """The shape of each batch, in order."""
        return tuple(self._table[i] for i in self._shape_of)

    @property
    def waste(self) -> Waste:
        """The share of padding over all batches."""
        room = np.array(self._table)[self._shape_of].sum(axis=0)
        room = room * (self._n_devices or 1)
        graphs = self._gatherer.graphs
        real = (graphs.n_node.sum(), graphs.n_edge.sum(), len(self._order))
        parts = [_share(a, b) for a, b in zip(real, room, strict=True)]
        return Waste(*parts, total=_share(real[0] + real[1], room[0] + room[1]))

    def __len__(self) -> int:
        return len(self._shape_of)

    @overload
    def __getitem__(self, i: int) -> Batch: ...
    @overload
    def __getitem__(self, i: slice) -> list[Batch]: ...
    def __getitem__(self, i: Any) -> Any:
        """Makes batch i, or a list of batches."""
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = self._place(i)
        return next(self._make(i, i + 1))

    def _place(self, i: int) -> int:
        i, n = operator.index(i), len(self)
        if not -n <= i < n:
            raise IndexError(f"batch {i} of {n}")
        return i % n

    def _make(self, start: int, stop: int) -> Iterator[Batch]:
        each = self._n_devices or 1
        cuts = self._starts[start * each : stop * each + 1]
        numbers = self._order[cuts[0] : cuts[-1]]
        shapes = [self._table[k] for k in self._shape_of[start:stop]]
        made = self._gatherer.take(numbers, cuts - cuts[0], shapes, self._n_devices)
        n_real = np.diff(cuts).astype(np.int32).reshape(-1, each)
        for graphs, real in zip(made, n_real, strict=True):
            yield Batch(graphs, real if self._n_devices else real[0])

    def graph_numbers(self, i: int) -> np.ndarray:
        """Which graphs batch i holds, in order; over all devices where there are some.

        Args:
          i: the batch; negative ones count from the end.

        Returns:
          Integers, positions in the set of graphs.
        """
        i, each = self._place(i), self._n_devices or 1
        start, stop = self._starts[i * each], self._starts[(i + 1) * each]
        return self._order[start:stop]

    def __iter__(self) -> Iterator[Batch]:
        rows = np.array([shape.n_edge + shape.n_node for shape in self._table])
        ends = np.cumsum(rows[self._shape_of]) * (self._n_devices or 1)
        start = 0
        while start < len(self):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + _ROWS_AT_ONCE)))
            yield from self._make(start, stop)
            start = stop


def _share(real: Any, room: Any) -> float:
    return float(1 - real / room) if room else 0.0


def batches(
    graphs: jraph.GraphsTuple,
    buckets: Buckets,
    *,
    seed: int | None = None,
    epoch: int = 0,
    n_devices: int | None = None,
    oversize: Literal["error", "own"] = "error",
) -> Batches:
    """Packs graphs into padded batches of at most `len(buckets.shapes)` shapes.

    Graphs are taken in order until there are `buckets.batch_size` of them or the next
    would not fit into the largest shape; the batch then takes the smallest shape that
    holds it. Rows are gathered from the flat columns: no Python runs per node, edge or
    graph. Each graph is in one batch, none is dropped.

    Args:
      graphs: a set of graphs without padding, as `from_columns` makes it.
      buckets: the shapes.
      seed: shuffles by this and `epoch`; None keeps the stored order.
      epoch: which of the orders of that seed.
      n_devices: gives every leaf a first axis of this length, one padded batch each, of
        one shape; for `graph_parallel`. The last may hold batches without real graphs.
      oversize: what becomes of graphs that fit into no shape: an error that names one,
        or one more shape that holds any of them, alone in its batch.

    Returns:
      The batches, as NumPy arrays, with their shapes and their waste.

    Raises:
      OversizeError: if a graph fits into no shape and `oversize` is "error".
      GraphsError: if an option is out of range, rows do not add up, or an edge ends at
        no node. That edges stay within their graph is left to `validate`.

    Example:
      >>> import jraph_kit
      >>> graphs = jraph_kit.get_fully_connected_graph(3, 5, np.ones((15, 2)))
      >>> buckets = Buckets.fit(graphs, batch_size=2)
      >>> found = batches(graphs, buckets, seed=0)
      >>> len(found), len(found.shapes), found[0].graphs.nodes.shape
      (3, 2, (8, 2))
    """
    if oversize not in ("error", "own"):
        raise GraphsError(f"oversize is {oversize!r}; wanted 'error' or 'own'")
    if n_devices is not None:
        check_count("n_devices", n_devices)
    if seed is not None:
        check_count("seed", seed, least=0)
    check_count("epoch", epoch, least=0)
    if not isinstance(buckets, Buckets):
        raise GraphsError(
            f"buckets is a {type(buckets).__name__}; wanted Buckets, as Buckets.fit "
            "chooses them"
        )
    gatherer = Gatherer(graphs)
    n_node = gatherer.graphs.n_node.astype(np.int64)
    n_edge = gatherer.graphs.n_edge.astype(np.int64)
    table = buckets.shapes
    largest = table[-1]
    over = (n_node >= largest.n_node) | (n_edge > largest.n_edge)
    if over.any():
        if oversize == "error":
            worst = int(np.argmax(over))
            raise OversizeError(
                f"graph {worst} has {n_node[worst]} nodes and {n_edge[worst]} edges, "
                f"and the largest bucket has room for {largest.n_node - 1} and "
                f"{largest.n_edge} ({int(over.sum())} such graphs); fit the buckets to "
                "these sizes, or say oversize='own'"
            )
        room = (n_node[over].max() + 1, n_edge[over].max())
        own = np.maximum(largest, (*room, 2)) if n_devices else (*room, 2)
        table = (*table, Shape(*map(int, own)))
    order = np.arange(len(n_node))
    if seed is not None:
        np.random.default_rng([epoch, seed]).shuffle(order)
    n_node, n_edge, over = n_node[order], n_edge[order], over[order]
    starts = _pack(n_node, n_edge, over, largest, buckets.batch_size)
    counts = np.diff(starts)
    nodes, edges = (np.diff(np.append(0, c.cumsum())[starts]) for c in (n_node, n_edge))
    shape_of = buckets.index(nodes, edges, counts)
    if n_devices is not None:
        missing = -len(shape_of) % n_devices
        starts = np.append(starts, np.full(missing, starts[-1]))
        shape_of = np.append(shape_of, np.zeros(missing, int)).reshape(-1, n_devices)
        shape_of = shape_of.max(axis=1)
    return Batches(gatherer, order, starts, shape_of, table, n_devices)


def _pack(
    n_node: np.ndarray,
    n_edge: np.ndarray,
    over: np.ndarray,
    largest: Shape,
    batch_size: int,
) -> np.ndarray:
    """Where each batch starts among the graphs, and the end of the last."""
    nodes, edges = (np.append(0, c.cumsum()) for c in (n_node, n_edge))
    most = min(batch_size, largest.n_graph - 1)
    starts = [0]
    while starts[-1] < len(n_node):
        start = starts[-1]
        if over[start]:  # fits behind no other graph either, so it is alone
            starts.append(start + 1)
            continue
        fit_nodes = np.searchsorted(nodes, nodes[start] + largest.n_node - 1, "right")
        fit_edges = np.searchsorted(edges, edges[start] + largest.n_edge, "right")
        starts.append(min(start + most, fit_nodes - 1, fit_edges - 1))
    return np.array(starts)
