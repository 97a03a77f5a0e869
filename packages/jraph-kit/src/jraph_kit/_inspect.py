"""`python -m jraph_kit inspect`: what a file of graphs holds, and buckets for it."""

import argparse
import sys
from collections.abc import Sequence

import jraph
import numpy as np

from jraph_kit._buckets import Buckets
from jraph_kit._errors import GraphsError
from jraph_kit._packing import batches
from jraph_kit._parquet import read_structure
from jraph_kit._picture import draw_graph

_BARS = " ▏▎▍▌▋▊▉█"
_WIDTH = 32


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
      arguments: those behind the program's name; by default those of the process.

    Returns:
      The exit code: 0, or 2 where it cannot be done as asked.
    """
    parser = argparse.ArgumentParser(prog="python -m jraph_kit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    inspect = commands.add_parser(
        "inspect",
        help="sizes of graphs, buckets, waste",
        description="Sizes, buckets and padding of Parquet files with a graph a row.",
    )
    inspect.add_argument("paths", nargs="+", metavar="FILE", help="Parquet files")
    inspect.add_argument(
        "--batch-size", type=int, default=32, metavar="N", help="graphs of a batch"
    )
    inspect.add_argument(
        "--max-shapes", type=int, default=8, metavar="N", help="the most shapes"
    )
    inspect.add_argument(
        "--waste",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="accepted share of padding, 0 to 1",
    )
    inspect.add_argument(
        "--nodes",
        metavar="COLUMN",
        help="the number of nodes, or a list of them; by default n_node, num_nodes, "
        "nodes, node_feat or x, if there is one",
    )
    inspect.add_argument(
        "--senders",
        default="senders",
        metavar="COLUMN",
        help="list of edges' starts; where there is none, edge_index holds both lists",
    )
    inspect.add_argument(
        "--receivers", default="receivers", metavar="COLUMN", help="list of edges' ends"
    )
    inspect.add_argument("--picture", metavar="FILE", help="draws a graph")
    inspect.add_argument("--graph", type=int, default=0, metavar="I", help="which")
    found = parser.parse_args(arguments)
    try:
        _inspect(found)
    except (GraphsError, ImportError, OSError) as error:
        sys.stderr.write(f"jraph_kit: {error}\n")
        return 2
    return 0


def _inspect(found: argparse.Namespace) -> None:
    graphs = read_structure(
        found.paths,
        nodes=found.nodes,
        senders=found.senders,
        receivers=found.receivers,
    )
    n = len(graphs.n_node)
    if not n:
        raise GraphsError(f"there are no graphs in {', '.join(found.paths)}")
    if not 0 <= found.graph < n:
        raise GraphsError(f"--graph {found.graph}, and there are {n} graphs")
    buckets = Buckets.fit(
        graphs,
        batch_size=found.batch_size,
        max_shapes=found.max_shapes,
        waste=found.waste,
    )
    lines = [*_sizes(graphs), "", *_histogram(graphs), "", *_buckets(graphs, buckets)]
    if found.picture:
        draw_graph(graphs, found.picture, number=found.graph)
        lines += ["", f"graph {found.graph} is drawn in {found.picture}"]
    sys.stdout.write("\n".join([*lines, ""]))


def _sizes(graphs: jraph.GraphsTuple) -> list[str]:
    columns = {"nodes": np.asarray(graphs.n_node), "edges": np.asarray(graphs.n_edge)}
    heads = "".join(f"{name:>9}" for name in ("least", "5 %", "half", "95 %", "most"))
    lines = [
        f"{len(graphs.n_node):,} graphs",
        f"{'':8}{heads}{'mean':>9}{'all':>14}",
    ]
    for name, sizes in columns.items():
        marks = np.quantile(sizes, [0, 0.05, 0.5, 0.95, 1]).round().astype(int)
        cells = "".join(f"{mark:>9,}" for mark in marks)
        total = int(sizes.sum(dtype=np.int64))
        lines.append(f"{name:8}{cells}{sizes.mean():>9.1f}{total:>14,}")
    return lines


def _histogram(graphs: jraph.GraphsTuple) -> list[str]:
    """Bars of how many graphs have so many nodes, ten ranges of equal ratio."""
    sizes = np.asarray(graphs.n_node)
    low, high = max(1, int(sizes.min())), max(1, int(sizes.max())) + 1
    cuts = np.unique(np.geomspace(low, high, 11).round().astype(int))
    cuts[0] = min(cuts[0], int(sizes.min()))
    counts, _ = np.histogram(sizes, cuts)
    lines = []
    for start, stop, count in zip(cuts, cuts[1:], counts, strict=False):
        label = f"{start:,} to {stop - 1:,}" if stop - 1 > start else f"{start:,}"
        eighths = round(8 * _WIDTH * count / max(int(counts.max()), 1))
        bar = _BARS[8] * (eighths // 8) + _BARS[eighths % 8].strip()
        lines.append(f"{label:>16} nodes {bar:{_WIDTH}} {count:>9,}")
    return lines


def _buckets(graphs: jraph.GraphsTuple, buckets: Buckets) -> list[str]:
    epoch = batches(graphs, buckets, seed=0)
    sizes = [tuple(batch) for batch in epoch.shape_of_batches]
    largest = np.array([graphs.n_node.max() + 1, graphs.n_edge.max()], np.int64)
    room = len(graphs.n_node) * int(largest.sum())
    real = int(graphs.n_node.sum(dtype=np.int64) + graphs.n_edge.sum(dtype=np.int64))
    lines = [
        f"buckets for batches of {buckets.batch_size}",
        f"{'nodes':>12}{'edges':>12}{'graphs':>8}{'batches':>9}",
    ]
    for shape in buckets.shapes:
        n_node, n_edge, n_graph = shape
        share = sizes.count(tuple(shape)) / max(len(sizes), 1)
        lines.append(f"{n_node:>12,}{n_edge:>12,}{n_graph:>8,}{share:>9.0%}")
    plain = [tuple(shape) for shape in buckets.shapes]
    nodes, edges, _, both = epoch.waste
    return [
        *lines,
        f"padding: {nodes:.1%} of nodes, {edges:.1%} of edges, {both:.1%} of both",
        f"(every graph padded to the largest: {1 - real / max(room, 1):.1%} of both)",
        f"Buckets({plain}, batch_size={buckets.batch_size})",
    ]
