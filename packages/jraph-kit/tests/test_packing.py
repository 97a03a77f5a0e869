import hypothesis
import jax
import jax.numpy as jnp
import jraph
import numpy as np
import pytest
from hypothesis import strategies as st

import jraph_kit as jk
from chex_harness import assert_compiles

health = hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
    deadline=None,
    derandomize=True,
    max_examples=40,
)


@health
@hypothesis.given(
    n=st.integers(1, 40),
    seed=st.none() | st.integers(0, 3),
    batch_size=st.integers(1, 9),
    n_devices=st.none() | st.integers(1, 3),
)
def test_every_graph_comes_once_and_whole(  # noqa: PLR0917
    some_graphs, assert_same, n, seed, batch_size, n_devices
):
    graphs = some_graphs(n, seed=n)
    parts = jk.unbatch(graphs)
    buckets = jk.Buckets.fit(graphs, batch_size=batch_size, max_shapes=3, waste=0.0)
    found = jk.batches(graphs, buckets, seed=seed, n_devices=n_devices)
    seen = []
    for i, batch in enumerate(found):
        assert_same(batch, batch)
        singles = [batch]
        if n_devices:
            singles = [
                jax.tree.map(lambda leaf, d=d: leaf[d], batch) for d in range(n_devices)
            ]
        split = [one for single in singles for one in jk.unbatch(single)]
        for single in singles:
            jk.validate(single.graphs)
            shape = tuple(map(len, (single.graphs.nodes, single.graphs.senders)))
            assert shape in [s[:2] for s in found.shapes]
            assert int(single.n_real) <= batch_size
        for one, number in zip(split, found.graph_numbers(i), strict=True):
            assert_same(one, parts[number])
            seen.append(int(number))
    assert sorted(seen) == list(range(n))
    if seed is None:
        assert seen == list(range(n))


def test_packing_is_jraphs_where_there_is_one_shape(some_graphs):
    graphs = some_graphs(60, most=8)
    shape = jk.Shape(40, 90, 9)
    ours = jk.batches(graphs, jk.Buckets((shape,), batch_size=8))
    theirs = list(jraph.dynamically_batch(iter(jk.unbatch(graphs)), *shape))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        for x, y in zip(jax.tree.leaves(a.graphs), jax.tree.leaves(b), strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_jitted_step_is_traced_once_a_shape(some_graphs):
    graphs = some_graphs(400, most=30)
    buckets = jk.Buckets.fit(graphs, batch_size=8, max_shapes=5, waste=0.0)
    found = jk.batches(graphs, buckets, seed=0)
    assert 4 <= len(found.shapes) <= 5

    @jax.jit
    def step(batch):
        return jnp.sum(jnp.where(batch.node_mask[:, None], batch.graphs.nodes, 0))

    with assert_compiles(len(found.shapes)):
        total = [step(batch) for batch in found]
    np.testing.assert_allclose(sum(map(float, total)), graphs.nodes.sum(), rtol=1e-4)


def test_waste_is_counted_from_the_batches(some_graphs):
    graphs = some_graphs(100, most=20)
    for n_devices in (None, 3):
        found = jk.batches(graphs, jk.Buckets.fit(graphs), seed=1, n_devices=n_devices)
        made = list(found)
        real = sum(int(np.sum(b.n_real)) for b in made), len(graphs.nodes)
        room = [
            (b.graphs.n_node.size, b.graphs.nodes[..., 0].size, b.graphs.senders.size)
            for b in made
        ]
        n_graph, n_node, n_edge = np.sum(room, axis=0)
        assert found.waste.graphs == pytest.approx(1 - real[0] / n_graph)
        assert found.waste.nodes == pytest.approx(1 - real[1] / n_node)
        both = real[1] + len(graphs.senders)
        assert found.waste.total == pytest.approx(1 - both / (n_node + n_edge))


def test_epochs_differ_and_a_seed_repeats(some_graphs):
    graphs = some_graphs(50)
    buckets = jk.Buckets.fit(graphs, batch_size=8)

    def order(**options):
        found = jk.batches(graphs, buckets, **options)
        return [int(k) for i in range(len(found)) for k in found.graph_numbers(i)]

    assert order(seed=0) == order(seed=np.uint8(0), epoch=np.int64(0))
    assert order(seed=0) != order(seed=0, epoch=1) != order(seed=1)


def test_batches_are_a_sequence(some_graphs, assert_same):
    graphs = some_graphs(20)
    found = jk.batches(graphs, jk.Buckets.fit(graphs, batch_size=6), seed=0)
    again = jk.batches(graphs, jk.Buckets.fit(graphs, batch_size=6), seed=0)
    assert len({found, found, again}) == 2  # arrays have no equality to compare by
    assert_same(found[-1], found[len(found) - 1])
    assert_same(found[1:3], [found[1], found[2]])
    with pytest.raises(IndexError, match="batch 4 of 4"):
        found[4]


def oversize_pair():
    n_node = np.array([3, 4, 50, 2, 60, 3])
    ends = np.zeros(0, int), np.zeros(6, int)
    nodes = np.arange(float(n_node.sum()), dtype="float32"), n_node
    graphs = jk.from_columns(senders=ends, receivers=ends, nodes=nodes)
    return graphs, jk.Buckets([(9, 4, 4)], batch_size=3)


def test_an_oversize_graph_is_named():
    graphs, buckets = oversize_pair()
    text = r"graph 2 has 50 nodes and 0 edges, .* room for 8 and 4 \(2 such graphs\)"
    with pytest.raises(jk.OversizeError, match=text):
        jk.batches(graphs, buckets)


@pytest.mark.parametrize("n_devices", [None, 2])
def test_oversize_graphs_get_one_more_shape(n_devices, assert_same):
    graphs, buckets = oversize_pair()
    found = jk.batches(graphs, buckets, oversize="own", n_devices=n_devices)
    assert [s.n_node for s in found.shapes] == [9, 61]
    seen = np.concatenate([found.graph_numbers(i) for i in range(len(found))])
    assert seen.tolist() == list(range(6))
    if n_devices is None:
        assert [int(b.n_real) for b in found] == [2, 1, 1, 1, 1]
    parts = []
    for batch in found:
        for d in range(n_devices or 0):
            parts += jk.unbatch(jax.tree.map(lambda leaf, d=d: leaf[d], batch))
        parts += [] if n_devices else jk.unbatch(batch)
    assert_same(jk.batch(parts), graphs)


def test_no_graphs_make_no_batches():
    none = jk.from_columns(senders=([], []), receivers=([], []), n_node=[])
    found = jk.batches(none, jk.Buckets([(9, 4, 4)], batch_size=3))
    assert list(found) == []
    assert found.waste == (0, 0, 0, 0)
    assert found.shapes == ()


def test_options_are_checked(some_graphs):
    graphs = some_graphs(3)
    buckets = jk.Buckets.fit(graphs)
    for wrong in ({"seed": "a"}, {"seed": -1}, {"epoch": -1}, {"epoch": 0.5}):
        ((name, value),) = wrong.items()
        with pytest.raises(jk.GraphsError, match=f"{name} is {value!r}; wanted an int"):
            jk.batches(graphs, buckets, **wrong)
    with pytest.raises(
        jk.GraphsError, match="batches got a list; wanted a GraphsTuple"
    ):
        jk.batches([1], buckets)
    with pytest.raises(jk.GraphsError, match="oversize is 'skip'; wanted"):
        jk.batches(graphs, buckets, oversize="skip")
    for n_devices in (0, 2.0):
        with pytest.raises(jk.GraphsError, match=f"n_devices is {n_devices}"):
            jk.batches(graphs, buckets, n_devices=n_devices)
    with pytest.raises(jk.GraphsError, match="give empty arrays of integers"):
        jk.batches(graphs._replace(senders=None, receivers=None), buckets)


@pytest.mark.parametrize("n_devices", [None, 2])
def test_graph_numbers_count_from_the_end_too(some_graphs, n_devices):
    graphs = some_graphs(9)
    made = jk.batches(
        graphs, jk.Buckets.fit(graphs, batch_size=2), seed=1, n_devices=n_devices
    )
    n = len(made)
    for i in range(n):
        assert made.graph_numbers(i - n).tolist() == made.graph_numbers(i).tolist()
    for i in (n, -n - 1):
        with pytest.raises(IndexError, match=f"batch {i} of {n}"):
            made.graph_numbers(i)
    for get in (made.graph_numbers, made.__getitem__):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted"):
            get(1.5)


def test_buckets_are_wanted(some_graphs):
    with pytest.raises(jk.GraphsError, match="buckets is a NoneType; wanted Buckets"):
        jk.batches(some_graphs(3), None)


def test_an_epoch_says_what_it_is(some_graphs):
    made = jk.batches(some_graphs(5), jk.Buckets([(40, 80, 5)], batch_size=3))
    text = repr(made)
    assert text.startswith("<2 batches of 5 graphs, of the shapes [(40, 80, 5)], ")
