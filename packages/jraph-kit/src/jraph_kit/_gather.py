"""Graphs taken by number out of flat columns into padded arrays, without loops.

What depends on single graphs (which rows, by how much indices shift) is computed for
many batches at once; for each batch there are only copies of whole runs of rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jraph
import numpy as np

from jraph_kit._buckets import Shape
from jraph_kit._checks import starts_of
from jraph_kit._host import checked_host, host_graphs


class Gatherer:
    """Takes graphs out of a set of graphs.

    Args:
      graphs: without padding.

    Raises:
      GraphsError: if the rows are not as many as the lengths say, or there are no
        arrays for the ends of edges.
    """

    def __init__(self, graphs: jraph.GraphsTuple) -> None:
        self.graphs = host = checked_host(graphs, "batches", with_ends=True)
        self._node_starts = starts_of(host.n_node)
        self._edge_starts = starts_of(host.n_edge)
        self._fields = {
            name: jax.tree.flatten(getattr(host, name))
            for name in ("nodes", "edges", "globals")
        }

    def take(
        self,
        numbers: np.ndarray,
        cuts: np.ndarray,
        shapes: Sequence[Shape],
        n_devices: int | None,
    ) -> Iterator[jraph.GraphsTuple]:
        """Makes padded batches.

        Args:
          numbers: which graphs, integers [m], those of one batch after the other.
          cuts: where batches start in `numbers`, and the end of the last.
          shapes: of each batch, large enough.
          n_devices: None, or how many batches are stacked into one, all of its shape;
            `cuts` then holds as many for each of `shapes`.

        Yields:
          New NumPy arrays.
        """
        graphs, each = self.graphs, n_devices or 1
        n_node, n_edge = graphs.n_node[numbers], graphs.n_edge[numbers]
        node_starts, edge_starts = starts_of(n_node), starts_of(n_edge)
        node_cuts, edge_cuts = node_starts[cuts], edge_starts[cuts]
        narrow = np.int32 if graphs.senders.dtype == np.int32 else np.int64
        edge_rows = _rows(self._edge_starts, numbers, n_edge, edge_starts)
        rows = {
            "nodes": _rows(self._node_starts, numbers, n_node, node_starts),
            "edges": edge_rows,
            "globals": numbers,
        }
        # From an index through all graphs to one within the batch.
        shift = node_starts[:-1] - np.repeat(node_cuts[:-1], np.diff(cuts))
        shift = (shift - self._node_starts[numbers]).astype(narrow)
        shift = np.repeat(shift, n_edge)
        # Lists: NumPy's scalars are slow to slice with.
        node_cuts, edge_cuts, cuts = (c.tolist() for c in (node_cuts, edge_cuts, cuts))
        ends = [_moved(c, edge_rows, shift) for c in (graphs.senders, graphs.receivers)]
        where = {"nodes": node_cuts, "edges": edge_cuts, "globals": cuts}
        for i, shape in enumerate(shapes):
            sizes = dict(zip(("nodes", "edges", "globals"), shape, strict=True))
            spans = range(i * each, (i + 1) * each)
            fields = {}
            for name, (leaves, structure) in self._fields.items():
                at, size = where[name], sizes[name]
                made = [
                    np.empty((each, size, *leaf.shape[1:]), leaf.dtype)
                    for leaf in leaves
                ]
                for leaf, into in zip(leaves, made, strict=True):
                    for d, k in enumerate(spans):
                        _copy(leaf, rows[name], at[k], at[k + 1], into[d])
                fields[name] = structure.unflatten(_first(made, n_devices))
            made = np.empty((2, each, shape.n_edge), np.int32)
            counts = np.zeros((2, each, shape.n_graph), np.int32)
            for d, k in enumerate(spans):
                start, stop = edge_cuts[k], edge_cuts[k + 1]
                real, n, m = node_cuts[k + 1] - node_cuts[k], stop - start, cuts[k]
                for column, into in zip(ends, made[:, d], strict=True):
                    into[:n] = column[start:stop]
                    into[n:] = real  # the first padding node
                n_real = cuts[k + 1] - m
                counts[0, d, :n_real] = n_node[m : m + n_real]
                counts[1, d, :n_real] = n_edge[m : m + n_real]
                counts[0, d, n_real] = shape.n_node - real
                counts[1, d, n_real] = shape.n_edge - n
            senders, receivers, *lengths = _first([*made, *counts], n_devices)
            yield host_graphs(
                **fields,
                senders=senders,
                receivers=receivers,
                n_node=lengths[0],
                n_edge=lengths[1],
            )


def _first(stacked: list[np.ndarray], n_devices: int | None) -> list[np.ndarray]:
    """The arrays as they are for devices, and without the first axis for none."""
    return stacked if n_devices else [array[0] for array in stacked]


def _rows(
    starts: np.ndarray, numbers: np.ndarray, lengths: np.ndarray, new: np.ndarray
) -> np.ndarray | slice:
    """The rows of graphs, one after the other; a slice where they lie that way."""
    if len(numbers) and (np.diff(numbers) == 1).all():
        return slice(int(starts[numbers[0]]), int(starts[numbers[-1] + 1]))
    rows = np.repeat(starts[numbers] - new[:-1], lengths)
    rows += np.arange(len(rows))
    return rows


def _copy(
    source: np.ndarray, rows: Any, start: int, stop: int, into: np.ndarray
) -> None:
    """Copies rows[start:stop] of the source, and zeros behind them."""
    n = stop - start
    if isinstance(rows, slice):
        into[:n] = source[rows.start + start : rows.start + stop]
    else:
        # "clip" writes straight into the array; "raise" would go through a copy.
        source.take(rows[start:stop], axis=0, out=into[:n], mode="clip")
    into[n:] = 0


def _moved(source: np.ndarray, rows: Any, shift: np.ndarray) -> np.ndarray:
    """Indices of these rows, moved; a new array of the source's dtype."""
    taken = source[rows] if isinstance(rows, slice) else source.take(rows, mode="clip")
    return taken + shift
