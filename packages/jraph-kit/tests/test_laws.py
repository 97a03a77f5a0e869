"""Laws that every network obeys, over a table of them all."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from nets import JRAPH, NAMES, NETS, features, graphs_of, params_of

import jraph_kit as jk
from chex_harness import Laws, Specimen, assert_trees_close

law = pytest.mark.parametrize("name", NAMES)
PARAMS = params_of()


# Compiling is most of what these tests take, and nothing here is run often.
quick_jit = functools.partial(
    jax.jit, compiler_options={"xla_backend_optimization_level": 0}
)


@functools.partial(quick_jit, static_argnames=("name", "layout"))
def _run(graph, params, name, layout=jk.EdgeLayout()):  # noqa: B008
    return features(NETS[name](layout)(params, graph))


def run(name, graph, params=PARAMS, **how):
    return _run(graph, params, name, **how)


def loss(name, params, graph):
    """A number that depends on everything a network gives."""
    return loss_of(NETS[name]()(params, graph))


def loss_of(out):
    return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(features(out)))


@law
def test_a_permutation_of_nodes_and_edges_permutes_outputs(name):
    graphs = graphs_of(1, most=12, seed=1)
    rng = np.random.default_rng(0)
    nodes = rng.permutation(len(graphs.nodes))
    edges = rng.permutation(len(graphs.senders))
    where = np.argsort(nodes)  # node i is now at where[i]
    moved = graphs._replace(
        nodes=graphs.nodes[nodes],
        edges=graphs.edges[edges],
        senders=where[graphs.senders[edges]],
        receivers=where[graphs.receivers[edges]],
    )
    wanted = run(name, graphs)
    wanted |= {"nodes": wanted["nodes"][nodes], "edges": wanted["edges"][edges]}
    assert_trees_close(run(name, moved), wanted, rtol=1e-4, atol=1e-5)


@law
def test_graphs_of_a_batch_do_not_meet(name):
    graphs = graphs_of(4)
    out = jax.device_get(graphs._replace(**run(name, graphs)))
    for one, alone in zip(jk.unbatch(out)[1:2], jk.unbatch(graphs)[1:2], strict=True):
        assert_trees_close(features(one), run(name, alone), rtol=1e-4, atol=1e-5)


@law
def test_padded_rows_never_matter(name):
    graphs = graphs_of(3)
    wanted = run(name, graphs)
    gradient = quick_jit(jax.grad(lambda params: loss(name, params, graphs)))(PARAMS)

    @quick_jit
    def both(batch):
        def cleaned(params):
            graph = jk.zero_out_padding(batch.graphs, n_real=batch.n_real)
            out = NETS[name]()(params, graph)
            return loss_of(jk.zero_out_padding(out, n_real=batch.n_real))

        return NETS[name]()(PARAMS, batch.graphs), jax.grad(cleaned)(PARAMS)

    sizes = len(graphs.nodes), len(graphs.senders)
    batch = jk.pad(graphs, n_node=sizes[0] + 3, n_edge=sizes[1] + 4, n_graph=6)
    for fill in (0.0, np.nan, np.inf):
        rows = [np.full(shape, fill, "float32") for shape in ((3, 4), (4, 3), (3, 2))]
        real = graphs.nodes, graphs.edges, graphs.globals
        nodes, edges, globals_ = map(np.concatenate, zip(real, rows, strict=True))
        filled = {"nodes": nodes, "edges": edges, "globals": globals_}
        spoilt = jk.Batch(batch.graphs._replace(**filled), batch.n_real)
        out, found = both(spoilt)
        kept = features(jk.unpad(jk.Batch(out, batch.n_real)))
        assert_trees_close(kept, wanted, rtol=1e-4, atol=1e-5)
        assert_trees_close(found, gradient, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", JRAPH)
def test_equals_jraphs(name):
    graphs = jax.tree.map(jnp.asarray, graphs_of(4, seed=2))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        wanted = features(quick_jit(JRAPH[name])(PARAMS, graphs))
    assert_trees_close(run(name, graphs), wanted, rtol=1e-4, atol=1e-5)


def specimen(name):
    def args(dtype):
        graphs = graphs_of(3, dtype=dtype)
        return jax.tree.map(jnp.asarray, (params_of(dtype), graphs))

    return Specimen(
        fn=lambda params, graph: features(NETS[name]()(params, graph)),
        args=args,
        rtol=1e-4,
        atol=1e-5,
    )


test_laws = Laws({name: specimen(name) for name in NAMES}).test()


@law
def test_sorted_edges_change_nothing(name):
    graphs = jk.sort_edges(graphs_of(4))
    layout = jk.EdgeLayout(receivers_are_sorted=True)
    found = run(name, graphs, layout=layout)
    assert_trees_close(found, run(name, graphs), rtol=1e-5, atol=1e-6)
    text, plain = (
        str(jax.make_jaxpr(lambda made=made: NETS[name](made)(PARAMS, graphs))())
        for made in (layout, jk.EdgeLayout())
    )
    told = "indices_are_sorted=True"
    if name not in {"DeepSets", "RelationNetwork"}:
        assert text.count(told) > plain.count(told)


@pytest.fixture(scope="module")
def spread_graphs():
    """Graphs whose rows divide by 4: of nodes, edges and graphs."""
    graphs = graphs_of(6, seed=3)
    sizes = [-(-n // 4) * 4 + 4 for n in (len(graphs.nodes), len(graphs.senders))]
    return jk.pad(graphs, n_node=sizes[0], n_edge=sizes[1], n_graph=8).graphs


# The others are GraphNetworks with fewer arguments, or differ in an aggregate.
LESS = {"InteractionNetwork", "GraphNetwork, means", "GraphSAGE", "GraphConvolution"}
SHARDED = [("Explicit", name) for name in NAMES if name not in LESS]
SHARDED += [("Auto", name) for name in ("GraphNetwork, attention", "GIN")]


@pytest.mark.devices(4)
@pytest.mark.parametrize(("kind", "name"), SHARDED)
def test_sharded_graphs_give_the_same(name, kind, devices, spread_graphs):
    axis = (getattr(AxisType, kind),)
    mesh = jax.make_mesh((4,), ("data",), axis_types=axis, devices=devices)
    both = quick_jit(
        lambda params, graph: (
            features(NETS[name]()(params, graph)),
            jax.grad(lambda params: loss(name, params, graph))(params),
        )
    )
    wanted = both(PARAMS, spread_graphs)
    lies = NamedSharding(mesh, P("data"))
    with jax.set_mesh(mesh):
        graphs = jax.device_put(spread_graphs, lies)
        params = jax.device_put(PARAMS, NamedSharding(mesh, P()))
        found = both(params, graphs)
    assert_trees_close(found, wanted, rtol=1e-4, atol=1e-5)
    if kind == "Explicit":
        assert found[0]["nodes"].sharding.is_equivalent_to(lies, 2)
        assert found[0]["edges"].sharding.is_equivalent_to(lies, 2)
