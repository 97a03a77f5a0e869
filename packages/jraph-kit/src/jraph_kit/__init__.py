"""Graphs of any size in jitted, sharded networks, from flat columns to a loss.

The data structure is `jraph.GraphsTuple`. Functions that carry jraph's names take
jraph's arguments and do what jraph's documentation says, on today's jax.
"""

from jraph_kit._adjacency import (
    from_coo,
    from_csr,
    from_dense,
    to_coo,
    to_csr,
    to_dense,
)
from jraph_kit._attention import GAT, GATv2
from jraph_kit._batch import Batch, batch, pad, unbatch, unpad
from jraph_kit._buckets import Buckets, Shape
from jraph_kit._checks import validate
from jraph_kit._columns import from_columns, to_columns
from jraph_kit._convolutions import GIN, GraphConvolution, GraphSAGE
from jraph_kit._csr_store import CSRStore
from jraph_kit._devices import (
    Spread,
    edge_sharded,
    graph_parallel,
    node_sharded,
    spread_edges,
    spread_nodes,
)
from jraph_kit._edges import add_self_edges, sort_edges
from jraph_kit._errors import GraphsError, OversizeError
from jraph_kit._extremes import (
    partition_softmax,
    segment_logsumexp,
    segment_max,
    segment_max_or_constant,
    segment_min,
    segment_min_or_constant,
    segment_softmax,
)
from jraph_kit._fully_connected import get_fully_connected_graph
from jraph_kit._graph_network import (
    DeepSets,
    GraphNetwork,
    InteractionNetwork,
    RelationNetwork,
)
from jraph_kit._layout import EdgeLayout
from jraph_kit._losses import (
    edge_loss,
    graph_loss,
    masked_mean,
    node_loss,
    partition_means,
)
from jraph_kit._mpnn import MPNN
from jraph_kit._networkx import from_networkx, to_networkx
from jraph_kit._packing import Batches, Waste, batches
from jraph_kit._padding import (
    get_edge_padding_mask,
    get_graph_padding_mask,
    get_node_padding_mask,
    with_zero_out_padding_outputs,
    zero_out_padding,
)
from jraph_kit._picture import draw_graph
from jraph_kit._sampling import NeighbourSampler, Sample
from jraph_kit._segments import (
    segment_mean,
    segment_normalize,
    segment_sum,
    segment_variance,
)

__all__ = [
    "GAT",
    "GIN",
    "MPNN",
    "Batch",
    "Batches",
    "Buckets",
    "CSRStore",
    "DeepSets",
    "EdgeLayout",
    "GATv2",
    "GraphConvolution",
    "GraphNetwork",
    "GraphSAGE",
    "GraphsError",
    "InteractionNetwork",
    "NeighbourSampler",
    "OversizeError",
    "RelationNetwork",
    "Sample",
    "Shape",
    "Spread",
    "Waste",
    "add_self_edges",
    "batch",
    "batches",
    "draw_graph",
    "edge_loss",
    "edge_sharded",
    "from_columns",
    "from_coo",
    "from_csr",
    "from_dense",
    "from_networkx",
    "get_edge_padding_mask",
    "get_fully_connected_graph",
    "get_graph_padding_mask",
    "get_node_padding_mask",
    "graph_loss",
    "graph_parallel",
    "masked_mean",
    "node_loss",
    "node_sharded",
    "pad",
    "partition_means",
    "partition_softmax",
    "segment_logsumexp",
    "segment_max",
    "segment_max_or_constant",
    "segment_mean",
    "segment_min",
    "segment_min_or_constant",
    "segment_normalize",
    "segment_softmax",
    "segment_sum",
    "segment_variance",
    "sort_edges",
    "spread_edges",
    "spread_nodes",
    "to_columns",
    "to_coo",
    "to_csr",
    "to_dense",
    "to_networkx",
    "unbatch",
    "unpad",
    "validate",
    "with_zero_out_padding_outputs",
    "zero_out_padding",
]
