"""Every network with small plain functions inside, and jraph's where it has the same.

`NETS[name](layout)` is a function (params, graph) -> graph; `JRAPH[name]()` likewise.
"""

import functools

import jax
import jax.numpy as jnp
import jraph
import numpy as np

import jraph_kit as jk

N, E, G = 4, 3, 2  # features of nodes, edges and graphs


def params_of(dtype="float32", seed=0):
    """One matrix for each use; those of equal shapes differ."""
    rng = np.random.default_rng(seed)
    shapes = {
        "edge": (E + 2 * N + G, E),
        "edge_enr": (E + 2 * N, E),
        "edge_rel": (2 * N, E),
        "node": (N + 2 * E + G, N),
        "node_int": (N + E, N),
        "node_set": (N + G, N),
        "node_only": (N, N),
        "node_other": (N, N),
        "node_two": (2 * N, N),
        "global": (N + E + G, G),
        "global_rel": (E, G),
        "global_set": (N, G),
        "logit": (N, 1),
        "logit_two": (2 * N + E, 1),
        "message": (2 * N + E, N),
    }
    return {
        name: jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[0]), dtype)
        for name, shape in shapes.items()
    }


def dense(params, name, *inputs):
    return jnp.tanh(jnp.concatenate(inputs, axis=-1) @ params[name])


def _of(kit, name, params, **how):
    """The network `name` of a kit: jraph_kit, or jraph."""
    f = functools.partial(dense, params)
    heads = (lambda x: x.reshape(x.shape[0], 2, -1)) if name.startswith("GAT") else None

    def per_head(x, edges=None):
        del edges
        weights = params["logit"].reshape(1, 2, -1)
        return jnp.sum(x * weights, axis=-1, keepdims=True)

    made = {
        "GraphNetwork": lambda: kit.GraphNetwork(
            lambda e, s, r, g: f("edge", e, s, r, g),
            lambda n, s, r, g: f("node", n, s, r, g),
            lambda n, e, g: f("global", n, e, g),
            **how,
        ),
        "GraphNetwork, means": lambda: kit.GraphNetwork(
            lambda e, s, r, g: f("edge", e, s, r, g),
            lambda n, s, r, g: f("node", n, s, r, g),
            lambda n, e, g: f("global", n, e, g),
            kit.segment_mean,
            kit.segment_mean,
            kit.segment_mean,
            **how,
        ),
        "GraphNetwork, attention": lambda: kit.GraphNetwork(
            lambda e, s, r, g: f("edge", e, s, r, g),
            lambda n, s, r, g: f("node", n, s, r, g),
            attention_logit_fn=lambda e, s, r, g: f("logit_two", e, s, r),
            attention_reduce_fn=lambda e, w: e * w,
            **how,
        ),
        "InteractionNetwork": lambda: kit.InteractionNetwork(
            lambda e, s, r: f("edge_enr", e, s, r),
            lambda n, r: f("node_int", n, r),
            **how,
        ),
        "RelationNetwork": lambda: kit.RelationNetwork(
            lambda s, r: f("edge_rel", s, r), lambda e: f("global_rel", e), **how
        ),
        "DeepSets": lambda: kit.DeepSets(
            lambda n, g: f("node_set", n, g), lambda n: f("global_set", n), **how
        ),
        "GraphConvolution": lambda: kit.GraphConvolution(
            lambda n: f("node_only", n), **how
        ),
        "GraphConvolution, self": lambda: kit.GraphConvolution(
            lambda n: f("node_only", n), add_self_edges=True, **how
        ),
        "GAT": lambda: kit.GAT(
            lambda n: heads(f("node_only", n)),
            lambda s, r, e: per_head(s - 2 * r),
            **how,
        ),
        "GATv2": lambda: kit.GATv2(
            lambda n: heads(f("node_only", n)),
            lambda n: heads(f("node_other", n)),
            per_head,
            **how,
        ),
        "GIN": lambda: kit.GIN(lambda n: f("node_only", n), epsilon=0.25, **how),
        "GraphSAGE": lambda: kit.GraphSAGE(lambda n, m: f("node_two", n, m), **how),
        "GraphSAGE, pooled": lambda: kit.GraphSAGE(
            lambda n, m: f("node_two", n, m),
            message_fn=lambda n: f("node_other", n),
            aggregate_nodes_fn=kit.segment_max,
            normalize=True,
            **how,
        ),
        "MPNN": lambda: kit.MPNN(
            lambda v, u, e: f("message", v, u, e),
            lambda h, m: f("node_two", h, m),
            lambda h: f("global_set", h),
            steps=2,
            **how,
        ),
    }
    return made[name]()


NAMES = [
    "GraphNetwork",
    "GraphNetwork, means",
    "GraphNetwork, attention",
    "InteractionNetwork",
    "RelationNetwork",
    "DeepSets",
    "GraphConvolution",
    "GraphConvolution, self",
    "GAT",
    "GATv2",
    "GIN",
    "GraphSAGE",
    "GraphSAGE, pooled",
    "MPNN",
]


def _kit(name):
    def make(layout=jk.EdgeLayout()):  # noqa: B008
        return lambda params, graph: _of(jk, name, params, layout=layout)(graph)

    return make


NETS = {name: _kit(name) for name in NAMES}
# jraph's GCN cannot be traced with strict promotion; the test switches that off.
JRAPH = {
    name: (lambda params, graph, name=name: _of(jraph, name, params)(graph))
    for name in NAMES
    if hasattr(jraph, name.split(",")[0]) and not name.endswith("means")
}


def graphs_of(n=5, seed=0, *, most=6, dtype="float32"):
    """Graphs with nodes, edges and globals; some nodes get no edge."""
    rng = np.random.default_rng(seed)
    n_node = rng.integers(1, most + 1, n)
    n_edge = rng.integers(0, 3 * most, n)
    ends = [rng.integers(0, np.repeat(n_node, n_edge)) for _ in range(2)]

    def normal(rows, width):
        return rng.normal(size=(int(rows), width)).astype("float32")

    graphs = jk.from_columns(
        nodes=(normal(n_node.sum(), N), n_node),
        edges=(normal(n_edge.sum(), E), n_edge),
        senders=(ends[0], n_edge),
        receivers=(ends[1], n_edge),
        globals=normal(n, G),
    )
    cast = jax.tree.map(
        lambda x: np.asarray(jnp.asarray(x, dtype)) if x.dtype.kind == "f" else x,
        graphs,
    )
    return jax.tree.map(np.asarray, cast)


def features(graph):
    """What networks change."""
    return {"nodes": graph.nodes, "edges": graph.edges, "globals": graph.globals}
