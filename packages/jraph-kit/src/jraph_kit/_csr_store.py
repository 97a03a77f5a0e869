"""A large graph on disk or in memory: for each node, the nodes that send to it."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jraph_kit._adjacency import to_coo
from jraph_kit._checks import (
    as_indices,
    check_count,
    check_ends,
    check_total,
    index_dtype,
)
from jraph_kit._errors import GraphsError

_FORMAT = {"format": "jraph_kit.CSRStore", "version": 1}


class CSRStore(NamedTuple):
    """A graph by receivers, for sampling neighbourhoods; arrays may lie on disk.

    Attributes:
      indptr: int64 [n_node + 1], where each node's incoming edges start.
      senders: integers [n_edge], where they come from, by receiver.
      edge_ids: integers [n_edge], their numbers in the graph that was stored.
      weights: float32 [n_edge], positive, or None for equal ones.

    Example:
      >>> store = CSRStore.from_edges([0, 1, 0], [1, 2, 2], n_node=3)
      >>> store.senders[store.indptr[2] : store.indptr[3]].tolist()
      [1, 0]
    """

    indptr: np.ndarray
    senders: np.ndarray
    edge_ids: np.ndarray
    weights: np.ndarray | None = None

    @property
    def n_node(self) -> int:
        """The number of nodes."""
        return len(self.indptr) - 1

    @classmethod
    def from_edges(
        cls, senders: Any, receivers: Any, *, n_node: int, weights: Any = None
    ) -> "CSRStore":
        """Stores a graph given by the two ends of each edge.

        Args:
          senders: integers [n_edge] in [0, n_node).
          receivers: integers [n_edge] in [0, n_node).
          n_node: the number of nodes.
          weights: [n_edge], positive: how often an edge is drawn, compared with the
            others of its receiver. None for equal ones.

        Returns:
          The store, in memory.

        Raises:
          GraphsError: if an edge ends outside the graph, or a weight is not positive
            and finite.
        """
        ends = {
            "senders": as_indices("senders", senders),
            "receivers": as_indices("receivers", receivers),
        }
        check_count("n_node", n_node, least=0)
        n_edge = len(ends["senders"])
        if len(ends["receivers"]) != n_edge:
            raise GraphsError(
                f"there are {n_edge} senders and {len(ends['receivers'])} receivers"
            )
        for name, found in ends.items():
            check_ends(name, found, np.array([n_edge]), np.array([n_node]))
        order = np.argsort(ends["receivers"], kind="stable")
        indptr = np.zeros(n_node + 1, np.int64)
        np.cumsum(np.bincount(ends["receivers"], minlength=n_node), out=indptr[1:])
        if weights is not None:
            try:
                with np.errstate(over="ignore"):
                    weights = np.asarray(weights, np.float32)
            except (TypeError, ValueError) as error:
                raise GraphsError(f"weights: {error}; wanted numbers") from error
            if weights.shape != (n_edge,):
                raise GraphsError(
                    f"weights have shape {list(weights.shape)}; wanted [{n_edge}], one "
                    "for each edge"
                )
            wrong = ~((weights > 0) & np.isfinite(weights))
            if wrong.any():
                edge = int(np.argmax(wrong))
                raise GraphsError(
                    f"weights: edge {edge} has {weights[edge]}; wanted positive, "
                    "finite float32; leave out edges that are never to be drawn"
                )
            weights = weights[order]
        return cls(
            indptr=indptr,
            senders=ends["senders"][order].astype(index_dtype(n_node)),
            edge_ids=order.astype(index_dtype(n_edge)),
            weights=weights,
        )

    @classmethod
    def from_graph(cls, graph: Any, *, weights: Any = None) -> "CSRStore":
        """Stores a `GraphsTuple`.

        Args:
          graph: one or several; nodes count through all of them.
          weights: as for `from_edges`.

        Returns:
          The store, in memory.
        """
        senders, receivers = to_coo(graph)
        n_node = int(np.sum(graph.n_node))
        return cls.from_edges(senders, receivers, n_node=n_node, weights=weights)

    def save(self, folder: str | Path) -> None:
        """Writes the store as `.npy` files; what is there is replaced.

        Files that are mapped, by this store or another process, are left to those who
        read them: new ones take their names.

        Args:
          folder: is made if it is not there.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "store.json").unlink(missing_ok=True)
        for name, array in self._asdict().items():
            if array is not None:
                part = folder / f"{name}.part.npy"
                np.save(part, array)
                part.replace(folder / f"{name}.npy")
        facts = _FORMAT | {"weights": self.weights is not None}
        # Last: a folder with this file is whole.
        (folder / "store.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, folder: str | Path) -> "CSRStore":
        """Opens a store without reading it: arrays are mapped from their files.

        Args:
          folder: that `save` wrote.

        Returns:
          The store.

        Raises:
          GraphsError: if the folder holds no whole store. What the arrays hold is not
            read here; samplers check the rows that they read.
        """
        folder = Path(folder)
        facts = _read(folder, "store.json", lambda path: json.loads(path.read_bytes()))
        if facts not in [_FORMAT | {"weights": some} for some in (False, True)]:
            raise GraphsError(f"{folder}/store.json has {facts}; wanted {_FORMAT}")
        names = cls._fields if facts["weights"] else cls._fields[:-1]
        load = functools.partial(np.load, mmap_mode="r")
        store = cls(*(_read(folder, f"{name}.npy", load) for name in names))
        for name in names[1:]:
            check_total(name, store.indptr[-1:], len(getattr(store, name)))
        return store


def _read(folder: Path, name: str, read: Callable[[Path], Any]) -> Any:
    try:
        return read(folder / name)
    except (EOFError, OSError, ValueError) as error:
        raise GraphsError(
            f"{folder} holds no graph store ({error}); write one with "
            "CSRStore.save(folder)"
        ) from error
