"""A picture of one graph; needs the extra `picture`."""

from pathlib import Path
from typing import Any

import jraph
import numpy as np

from jraph_kit._adjacency import from_coo, to_coo
from jraph_kit._checks import as_array, starts_of
from jraph_kit._errors import GraphsError, require
from jraph_kit._networkx import to_networkx

_MOST = 400
_INK, _LINE = "#1b4965", "#8a9ba8"


def draw_graph(
    graphs: jraph.GraphsTuple,
    path: str | Path,
    *,
    number: int = 0,
    values: Any = None,
    title: str | None = None,
) -> None:
    """Draws one graph into a file, nodes placed by springs, larger with more edges.

    For a look at data. Edges that have no counterpart the other way get an arrow. A few
    hundred nodes are the most that can be seen.

    Args:
      graphs: one or several, without padding.
      path: of the picture; its ending tells the kind, such as .png or .svg.
      number: which of the graphs.
      values: [n_node], colours nodes; None for one colour.
      title: by default the numbers of nodes and edges.

    Raises:
      GraphsError: if there is no graph of that number, it has more than 400 nodes,
        values do not fit, or the path has no ending that matplotlib knows.
      ImportError: if matplotlib or networkx is not installed.

    Example:
      >>> import jraph_kit, tempfile
      >>> graph = jraph_kit.get_fully_connected_graph(4, 1, add_self_edges=False)
      >>> draw_graph(graph, tempfile.mkdtemp() + "/graph.png")
    """
    if not Path(path).suffix:
        raise GraphsError(f"cannot draw into {path}: wanted an ending, such as .png")
    figures = require("matplotlib.figure", extra="picture")
    networkx = require("networkx", extra="picture")
    if not 0 <= number < len(graphs.n_node):
        raise GraphsError(f"graph {number} of {len(graphs.n_node)} graphs")
    n = int(graphs.n_node[number])
    if n > _MOST:
        raise GraphsError(
            f"graph {number} has {n:,} nodes, and up to {_MOST} can be seen; draw "
            "a part of it"
        )
    first = int(starts_of(np.asarray(graphs.n_node))[number])
    edges = starts_of(np.asarray(graphs.n_edge))[number : number + 2]
    senders, receivers = (ends[slice(*edges)] - first for ends in to_coo(graphs))
    if values is not None:
        values = as_array("values", values)
        if values.shape != (n,) or values.dtype.kind not in "fiub":
            raise GraphsError(
                f"values are {values.dtype}{list(values.shape)}; wanted numbers [{n}]"
            )
    structure = to_networkx(from_coo(senders, receivers, n_node=n)).to_undirected()
    where = networkx.spring_layout(networkx.Graph(structure), seed=0, iterations=200)
    xy = np.array([where[i] for i in range(n)]).reshape(-1, 2)
    figure = figures.Figure(figsize=(6, 6), layout="constrained")
    axes = figure.add_subplot()
    pairs = set(zip(senders.tolist(), receivers.tolist(), strict=True))
    degrees = np.bincount(receivers, minlength=n)
    areas = 60 + 240 * degrees / max(int(degrees.max(initial=0)), 1)
    for u, v in sorted(pairs):
        both = (v, u) in pairs
        if u == v or (both and u > v):
            continue
        arrow = {
            "arrowstyle": "-" if both else "-|>",
            "color": _LINE,
            "linewidth": 1.2,
            "shrinkA": 0,
            "shrinkB": 0 if both else float(np.sqrt(areas[v]) / 2),
        }
        axes.annotate("", xy[v], xy[u], arrowprops=arrow, zorder=1)
    axes.scatter(
        *xy.T,
        s=areas,
        c=_INK if values is None else values,
        cmap=None if values is None else "viridis",
        edgecolors="white",
        linewidths=1.5,
        zorder=2,
    )
    axes.set_title(title or f"{n:,} nodes, {len(senders):,} edges", color=_INK)
    axes.margins(0.08)
    axes.set_aspect("equal")
    axes.axis("off")
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:  # an ending that matplotlib does not know
        raise GraphsError(f"cannot draw into {path}: {error}") from error
