"""Which sizes to pad batches to: few, as each is a compilation, and near what comes.

A batch takes the smallest shape that holds it. Sizes of batches are drawn from the data
set; a dynamic program then finds the shapes with the least padding.
"""

import dataclasses
import itertools
import numbers
from typing import Any, NamedTuple

import jraph
import numpy as np

from jraph_kit._checks import check_count, check_lengths, check_same_lengths
from jraph_kit._errors import GraphsError

_DRAWS = 4096
_LEVELS = 256


class Shape(NamedTuple):
    """What a padded batch holds, padding included.

    Attributes:
      n_node: nodes, of which one at least is padding.
      n_edge: edges.
      n_graph: graphs, of which one at least is padding.
    """

    n_node: int
    n_edge: int
    n_graph: int


@dataclasses.dataclass(frozen=True)
class Buckets:
    """The shapes that batches are padded to.

    Make one with `fit`, or write the shapes down yourself.

    Attributes:
      shapes: ascending in nodes, edges and graphs alike.
      batch_size: the most graphs in a batch.
      expected_waste: the share of padding in nodes and edges that `fit` expects.

    Raises:
      GraphsError: if shapes do not ascend, or one has no room for padding.

    Example:
      >>> buckets = Buckets.fit(([3, 9, 4, 30] * 25, [6, 20, 8, 90] * 25), batch_size=8)
      >>> len(buckets.shapes) <= 8 and buckets.expected_waste < 0.2
      True
    """

    shapes: tuple[Shape, ...]
    batch_size: int
    expected_waste: float = float("nan")

    def __post_init__(self) -> None:
        """Checks the order of the shapes."""
        for i, shape in enumerate(self.shapes):
            if len(shape) != len(Shape._fields):
                raise GraphsError(
                    f"shapes[{i}] is {shape}; wanted (n_node, n_edge, n_graph)"
                )
            for name, value in zip(Shape._fields, shape, strict=True):
                check_count(f"shapes[{i}].{name}", value, least=0)
        shapes = tuple(Shape(*map(int, shape)) for shape in self.shapes)
        object.__setattr__(self, "shapes", shapes)
        check_count("batch_size", self.batch_size)
        if not shapes:
            raise GraphsError("there are no shapes; wanted 1 or more")
        if shapes[0].n_node < 1 or shapes[0].n_edge < 0 or shapes[0].n_graph < 2:
            raise GraphsError(
                f"{shapes[0]} is too small; wanted 1 node, 0 edges and 2 graphs or "
                "more, as padding is a graph with a node"
            )
        for small, large in itertools.pairwise(shapes):
            if any(a > b for a, b in zip(small, large, strict=True)):
                raise GraphsError(
                    f"{small} comes before {large} and does not fit into it; wanted "
                    "shapes that ascend in nodes, edges and graphs alike"
                )

    @classmethod
    def fit(
        cls,
        sizes: jraph.GraphsTuple | tuple[Any, Any],
        *,
        batch_size: int = 32,
        max_shapes: int = 8,
        waste: float = 0.2,
        shuffled: bool = True,
        multiple: int = 8,
    ) -> "Buckets":
        """Chooses shapes for batches of a data set's graphs.

        Takes the fewest shapes whose padding is expected to stay below `waste`, and
        `max_shapes` where that is too few; then `expected_waste` says what is left.
        The largest shape holds every graph. The cost of a shape is its nodes plus its
        edges. For one ordering of the sizes the choice is the best there is; it is the
        best of four orderings (by nodes, by edges, by their sum, by the larger rank).

        Args:
          sizes: the graphs, or their `n_node` and `n_edge`, integers [n_graph] each.
          batch_size: the most graphs in a batch.
          max_shapes: the most shapes, and so compilations of a jitted step.
          waste: the accepted share of padding in nodes and edges, from 0 to 1.
          shuffled: whether batches will be drawn at random; otherwise they are runs of
            the stored order.
          multiple: nodes and edges are rounded up to multiples of this.

        Returns:
          The buckets; the same for the same arguments.

        Raises:
          GraphsError: if there are no graphs, or a number is out of range.
        """
        n_node, n_edge = _sizes(sizes)
        check_count("batch_size", batch_size)
        check_count("max_shapes", max_shapes)
        check_count("multiple", multiple)
        if not isinstance(waste, numbers.Real) or not 0 <= waste <= 1:
            raise GraphsError(f"waste is {waste!r}; wanted a share from 0 to 1")
        if not len(n_node):
            raise GraphsError("there are no graphs to fit buckets to")
        drawn = _draw(n_node, n_edge, batch_size, shuffled=shuffled)
        nodes, edges = (np.argsort(np.argsort(column)) for column in drawn.T[:2])
        keys = (
            drawn[:, 0],
            drawn[:, 1],
            drawn[:, 0] + drawn[:, 1],
            np.maximum(nodes, edges),
        )
        fits = (_fit(drawn[np.argsort(k)], max_shapes, multiple) for k in keys)
        real = int(drawn[:, :2].sum())
        best: tuple[int, float, list[Shape]] | None = None
        for costs, choices in fits:
            wastes = [1 - real / cost for cost in costs]
            enough = [k for k, share in enumerate(wastes) if share <= waste]
            k = enough[0] if enough else len(wastes) - 1
            found = (k if enough else max_shapes, wastes[k], choices[k])
            best = found if best is None or found[:2] < best[:2] else best
        assert best is not None  # noqa: S101 (there are keys)
        # Rounding up may have made some alike.
        return cls(tuple(dict.fromkeys(best[2])), batch_size, max(best[1], 0.0))

    def index(self, n_node: Any, n_edge: Any, n_graph: Any) -> np.ndarray:
        """Finds the smallest shape for batches of given sizes.

        Args:
          n_node: real nodes of each batch.
          n_edge: real edges of each batch.
          n_graph: real graphs of each batch.

        Returns:
          Indices into `shapes`; `len(shapes)` for what fits into none.
        """
        room = np.array(self.shapes) - np.array([1, 0, 1])
        wanted = (n_node, n_edge, n_graph)
        found = [
            np.searchsorted(room[:, i], np.asarray(size))
            for i, size in enumerate(wanted)
        ]
        return np.max(np.broadcast_arrays(*found), axis=0)


def _sizes(sizes: Any) -> tuple[np.ndarray, np.ndarray]:
    pair = sizes
    if isinstance(sizes, jraph.GraphsTuple):
        pair = (sizes.n_node, sizes.n_edge)
    lengths = isinstance(pair, tuple | list | np.ndarray) and len(pair) == 2
    if not lengths or isinstance(pair[0], jraph.GraphsTuple):
        raise GraphsError(
            f"sizes are a {type(sizes).__name__}; wanted a GraphsTuple without "
            "padding, or the pair (n_node, n_edge); join a list of graphs with batch"
        )
    n_node, n_edge = check_lengths("n_node", pair[0]), check_lengths("n_edge", pair[1])
    if len(n_node) != len(n_edge):
        check_same_lengths("n_node", n_node, "n_edge", n_edge)
    return n_node, n_edge


def _draw(
    n_node: np.ndarray, n_edge: np.ndarray, batch_size: int, *, shuffled: bool
) -> np.ndarray:
    """Sizes of batches as epochs make them: [draws, (nodes, edges, graphs)].

    Whole epochs, so every graph is in a batch, and the largest size holds each.
    """
    n = len(n_node)
    starts = np.arange(0, n, batch_size)
    counts = np.diff(starts, append=n)
    rng = np.random.default_rng(0)
    epochs = -(-_DRAWS // len(starts)) if shuffled else 1
    # All shuffles of one graph, or of graphs in one batch, are alike.
    epochs = 1 if batch_size == 1 or len(starts) == 1 else min(epochs, 256)
    drawn = []
    for _ in range(epochs):
        order = rng.permutation(n) if shuffled else slice(None)
        totals = [np.add.reduceat(column[order], starts) for column in (n_node, n_edge)]
        drawn.append(np.stack([*totals, counts], axis=1))
    return np.concatenate(drawn)


def _fit(
    drawn: np.ndarray, max_shapes: int, multiple: int
) -> tuple[list[int], list[list[Shape]]]:
    """The least cost with 1, 2, ... shapes, and those shapes, for sizes in this order.

    A shape that ends at level j holds all levels up to j, so it is the running maximum
    there, and padding b levels to it costs their number times its size.
    """
    ends = np.unique(
        np.linspace(0, len(drawn), min(_LEVELS, len(drawn)) + 1).astype(int)
    )
    most = np.maximum.accumulate(drawn, axis=0)[ends[1:] - 1]
    shapes = most + np.array([1, 0, 1])
    shapes[:, :2] = -(-shapes[:, :2] // multiple) * multiple
    size = shapes[:, 0] + shapes[:, 1]
    n = len(shapes)
    # pay[i, j]: levels i + 1 to j are padded to level j.
    pay = (ends[1:][None, :] - ends[:-1][:, None]) * size[None, :]
    never = np.iinfo(np.int64).max // 4
    pay = np.where(np.arange(n)[:, None] <= np.arange(n)[None, :], pay, never)
    best = pay[0]
    back, costs, choices = [np.zeros(n, int)], [int(best[-1])], [[n - 1]]
    for _ in range(1, min(max_shapes, n)):
        # One shape more: the others end at level i - 1.
        total = np.concatenate([[never], best[:-1]])[:, None] + pay
        back.append(np.argmin(total, axis=0))
        best = np.min(total, axis=0)
        chosen = [n - 1]
        for step in reversed(back[1:]):
            chosen.append(int(step[chosen[-1]]) - 1)
        costs.append(int(best[-1]))
        choices.append(chosen[::-1])
    return costs, [[Shape(*map(int, shapes[j])) for j in chosen] for chosen in choices]
