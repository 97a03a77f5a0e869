import jax
import numpy as np
import pytest

import jraph_kit as jk
from chex_harness import assert_compiles


@pytest.fixture(scope="module")
def edges():
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 60, (400, 2)), axis=0)
    pairs = pairs[pairs[:, 1] != 7]  # nobody sends to node 7
    return pairs[:, 0], pairs[:, 1]


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(1).normal(size=(60, 3)).astype("float32")


@pytest.fixture(params=[False, True], ids=["uniform", "weighted"])
def sampler(request, edges, features):
    weights = np.random.default_rng(2).random(len(edges[0])) + 0.1
    store = jk.CSRStore.from_edges(*edges, n_node=60, weights=weights)
    return jk.NeighbourSampler(
        store, (3, 2), 4, features=features, seed=5, weighted=request.param
    )


def test_samples_are_parts_of_the_graph(sampler, edges, features):
    senders, receivers = edges
    for sample in sampler.epoch(np.arange(60)):
        jk.validate(sample.batch.graphs)
        graph = jk.unpad(sample.batch)
        n, m = len(graph.nodes), len(graph.senders)
        ids, edge_ids = sample.node_ids[:n], sample.edge_ids[:m]
        assert len(set(ids.tolist())) == n
        assert len(set(edge_ids.tolist())) == m
        np.testing.assert_array_equal(graph.nodes, features[ids])
        np.testing.assert_array_equal(ids[graph.senders], senders[edge_ids])
        np.testing.assert_array_equal(ids[graph.receivers], receivers[edge_ids])


def test_fanouts_hold_by_hop(sampler, edges):
    degree = np.bincount(edges[1], minlength=60)
    sample = sampler.sample([7, 3, 9, 20])
    graph = jk.unpad(sample.batch)
    ids = sample.node_ids[: len(graph.nodes)]
    assert ids[:4].tolist() == [7, 3, 9, 20]
    assert sample.seed_mask.tolist() == [True] * 4 + [False] * (sampler.n_node - 4)
    drawn = np.bincount(graph.receivers, minlength=len(ids))
    hop = np.full(len(ids), 3)
    hop[:4] = 0
    for _ in range(2):
        np.minimum.at(hop, graph.senders, hop[graph.receivers] + 1)
    for fanout, at in ((3, 0), (2, 1)):
        wanted = np.minimum(degree[ids], fanout)
        np.testing.assert_array_equal(drawn[hop == at], wanted[hop == at])
    assert not drawn[hop == 2].any()


def test_an_epoch_has_every_node_once_and_starts_anywhere(sampler, assert_same):
    nodes = np.arange(0, 60, 2)
    samples = list(sampler.epoch(nodes, epoch=3))
    assert len(samples) == sampler.steps(nodes) == 8
    seeds = np.concatenate([s.node_ids[s.seed_mask] for s in samples])
    assert sorted(seeds.tolist()) == nodes.tolist()
    assert_same(list(sampler.epoch(nodes, epoch=3, start=5)), samples[5:])
    others = list(sampler.epoch(nodes, epoch=4))
    assert others[0].node_ids.tolist() != samples[0].node_ids.tolist()


def test_neighbours_differ_between_epochs(sampler):
    first, second = (sampler.sample([3, 9], epoch=e).edge_ids.tolist() for e in (0, 1))
    assert first != second


def test_all_samples_are_of_one_shape(sampler):
    step = jax.jit(lambda sample: sample.batch.graphs.nodes.sum())
    with assert_compiles(1):
        for sample in sampler.epoch(np.arange(60)):
            step(sample)


def test_enough_neighbours_make_the_network_exact(edges, features):
    """With all neighbours drawn, a sample's seeds get what the whole graph gives."""
    graph = jk.from_coo(*edges, n_node=60, nodes=features)
    sampler = jk.NeighbourSampler(
        jk.CSRStore.from_graph(graph), (60, 60), 4, features=features
    )

    def net(graph):
        layer = jk.GraphSAGE(lambda x, m: np.float32(0.5) * x - m)
        return layer(layer(graph)).nodes

    sample = sampler.sample([11, 7, 30])
    found = net(sample.batch.graphs)[:3]
    np.testing.assert_allclose(found, net(graph)[np.array([11, 7, 30])], rtol=1e-4)


def test_the_mean_of_sampled_neighbours_is_that_of_all(edges, features):
    graph = jk.from_coo(*edges, n_node=60, nodes=features)
    sampler = jk.NeighbourSampler(jk.CSRStore.from_graph(graph), (2,), 60)
    wanted = jk.segment_mean(features[graph.senders], graph.receivers, 60)
    found = []
    for step in range(200):
        sample = sampler.sample(np.arange(60), step=step)
        rows = np.asarray(sample.edge_ids)[: int(sample.batch.graphs.n_edge[0])]
        into = graph.receivers[rows]
        sums = np.zeros((60, 3))
        np.add.at(sums, into, features[graph.senders[rows]])
        found.append(sums / np.maximum(np.bincount(into, minlength=60), 1)[:, None])
    error = np.std(found, axis=0) / np.sqrt(200)
    assert (np.abs(np.mean(found, 0) - wanted) <= 4.5 * error + 1e-6).all()


def test_a_mapped_store_and_features_are_read_by_rows(sampler, tmp_path, assert_same):
    sampler.store.save(tmp_path)
    np.save(tmp_path / "x.npy", sampler.features)
    mapped = jk.NeighbourSampler(
        jk.CSRStore.open(tmp_path),
        (3, 2),
        4,
        features=np.load(tmp_path / "x.npy", mmap_mode="r"),
        seed=5,
        weighted=sampler.weighted,
    )
    assert_same(mapped.sample([1, 2]), sampler.sample([1, 2]))


def test_no_hops_are_the_seeds_alone(edges, features):
    store = jk.CSRStore.from_edges(*edges, n_node=60)
    sample = jk.NeighbourSampler(store, (), 2, features=features).sample([4])
    assert sample.batch.graphs.n_node.tolist() == [1, 2]
    assert sample.batch.graphs.senders.shape == (0,)


def test_large_fanouts_do_not_overflow(edges):
    store = jk.CSRStore.from_edges(*edges, n_node=60)
    sampler = jk.NeighbourSampler(store, (10**4,) * 5, np.int32(1))
    assert (sampler.n_node, sampler.n_edge) == (61, len(edges[0]))


def test_errors_say_what_was_found(sampler, edges):
    for seeds, text in (
        ([1, 2, 3, 4, 5], "there are 5 seeds; wanted up to 4"),
        ([1, 60], "seed 60 is no node; the store has 60"),
        ([1, 2, 1], "seed 1 comes more than once"),
        ([1.7], r"seeds are float64\[1\]; wanted the numbers of nodes"),
        (np.array([True, False]), r"seeds are bool\[2\]; .* np.flatnonzero\(mask\)"),
    ):
        with pytest.raises(jk.GraphsError, match=text):
            sampler.sample(seeds)
    store = jk.CSRStore.from_edges(*edges, n_node=60)
    with pytest.raises(jk.GraphsError, match=r"fanouts\[1\] is 0; wanted an"):
        jk.NeighbourSampler(store, [3, 0], 4)
    for wrong in ({"batch_size": 2.5}, {"seed": -1}):
        with pytest.raises(jk.GraphsError, match="wanted an integer"):
            jk.NeighbourSampler(store, **{"fanouts": [3], "batch_size": 4} | wrong)
    for wrong in ({"start": -1}, {"epoch": -1}):
        ((name, _),) = wrong.items()
        with pytest.raises(jk.GraphsError, match=f"{name} is -1; wanted"):
            next(sampler.epoch(np.arange(60), **wrong))
    with pytest.raises(jk.GraphsError, match="seeds are bool"):
        next(sampler.epoch(np.ones(60, bool)))
    with pytest.raises(jk.GraphsError, match=r"features have shape \[3, 1\]"):
        jk.NeighbourSampler(store, [1], 4, features=np.zeros((3, 1)))
    with pytest.raises(jk.GraphsError, match="the store has no weights"):
        jk.NeighbourSampler(store, [1], 4, weighted=True)


def test_fanouts_and_features_are_what_they_should_be():
    store = jk.CSRStore.from_edges([0], [1], n_node=2)
    with pytest.raises(jk.GraphsError, match=r"fanouts is 5; wanted .* \(10, 5\)"):
        jk.NeighbourSampler(store, fanouts=5, batch_size=1)
    with pytest.raises(
        jk.GraphsError, match=r"features have shape \[\], and the store"
    ):
        jk.NeighbourSampler(store, (1,), batch_size=1, features=[[1.0], [2.0]])
