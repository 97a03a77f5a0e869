import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jraph_kit as jk
from jraph_kit._host import host_graphs, to_host


def test_fields_go_by_name_whatever_jraphs_order():
    graph = jk.from_coo([0], [1], n_node=2)
    again = host_graphs(**graph._asdict())
    assert again.senders is graph.senders
    assert again.receivers is graph.receivers


def test_arrays_on_the_host_are_not_copied():
    here = np.ones(3)
    found = to_host({"here": here, "there": jnp.ones(3), "none": None})
    assert found["here"] is here
    assert isinstance(found["there"], np.ndarray)


def graph(**changed):
    made = jk.from_coo([0, 1], [1, 0], n_node=2, nodes=np.zeros((2, 1)))
    return made._replace(**changed)


ON_HOST = {
    "pad": lambda g: jk.pad(g, n_node=9, n_edge=9, n_graph=9),
    "unpad": lambda g: jk.unpad(jk.Batch(g, 1)),
    "batch": lambda g: jk.batch([g]),
    "unbatch": jk.unbatch,
    "add_self_edges": jk.add_self_edges,
    "sort_edges": jk.sort_edges,
    "to_columns": jk.to_columns,
    "batches": lambda g: jk.batches(g, jk.Buckets([(9, 9, 9)], batch_size=1)),
    "spread_edges": lambda g: jk.spread_edges(g, 2),
    "spread_nodes": lambda g: jk.spread_nodes(g, 2),
}
BAD = {
    "nodes: the lengths of 1 graphs add up to 2": {"nodes": np.zeros((5, 1))},
    "senders: the lengths of 1 graphs add up to 2": {"senders": np.array([0])},
    "globals: the lengths of 1 graphs add up to 1": {"globals": np.zeros((2, 1))},
    "receivers: edge 1 ends at node 2, and there are 2": {
        "receivers": np.array([0, 2])
    },
    "senders: edge 0 ends at node -1": {"senders": np.array([-1, 0])},
    "senders are float64[2]; wanted": {"senders": np.zeros(2)},
    "senders are int64[2, 1]; wanted": {"senders": np.zeros((2, 1), int)},
    "n_node: graph 0 has length -2": {"n_node": np.array([-2])},
    "n_node: lengths are float64[1]": {"n_node": np.array([2.0])},
    "n_node has 1 graphs and n_edge 2": {"n_edge": np.array([1, 1])},
    "senders are None": {"senders": None},
}


@pytest.mark.parametrize("name", ON_HOST)
def test_functions_on_the_host_check_what_they_are_given(name):
    for text, changed in BAD.items():
        with pytest.raises(jk.GraphsError) as caught:
            ON_HOST[name](graph(**changed))
        assert text in str(caught.value)
    for wrong, kind in ((None, "NoneType"), (jk.Batch(graph(), 1), "Batch")):
        if (name, kind) != ("unbatch", "Batch"):
            with pytest.raises(jk.GraphsError, match=f" a {kind}; wanted a"):
                ON_HOST[name](wrong)
    with pytest.raises(jk.GraphsError, match=f"{name} runs on the host; call it outs"):
        jax.jit(ON_HOST[name])(graph())


def test_narrow_lengths_and_ends_are_widened(assert_same):
    one = jk.from_coo([0, 99], [99, 0], n_node=200, nodes=np.zeros((200, 1)))
    names = ("senders", "receivers", "n_node", "n_edge")
    narrow = one._replace(**{n: getattr(one, n).astype("uint8") for n in names})
    three = jk.batch([narrow] * 3)
    assert_same(three, jk.batch([one] * 3))
    lengths = {name: getattr(three, name).astype("uint8") for name in names[2:]}
    for found, wanted in zip(
        jk.unbatch(three._replace(**lengths)), [one] * 3, strict=False
    ):
        assert_same(found, wanted)
    assert jk.add_self_edges(narrow).n_edge.tolist() == [202]
    assert jk.add_self_edges(narrow).senders.max() == 199
    assert jk.pad(narrow, n_node=600, n_edge=2, n_graph=2).graphs.n_node[1] == 400
    assert jk.spread_nodes(narrow, 1).graphs.receivers.tolist() == [0, 99]
    wide = one._replace(receivers=one.receivers.astype("uint64"))
    assert_same(jk.spread_nodes(wide, 2), jk.spread_nodes(one, 2))


def test_bytes_are_in_this_machines_order():
    nodes = np.ones((1, 1), ">f4")
    made = jk.from_coo([0], [0], n_node=1, nodes=nodes)
    assert made.nodes.dtype == np.dtype("float32")
    assert jk.pad(made._replace(nodes=nodes), n_node=2, n_edge=1, n_graph=2).graphs[
        0
    ].dtype == np.dtype("float32")
