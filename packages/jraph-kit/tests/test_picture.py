import numpy as np
import pytest
from PIL import Image

import jraph_kit as jk


def ink(path):
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("L"))
    return pixels.shape, float((pixels < 250).mean())


def test_a_graph_is_drawn(tmp_path, some_graphs):
    graphs = some_graphs(5, most=12, seed=2)
    number = 1 + int(np.argmax(graphs.n_node[1:]))
    assert graphs.n_edge[:number].sum() > 0
    path = tmp_path / "graph.png"
    jk.draw_graph(graphs, path, number=number, values=np.arange(graphs.n_node[number]))
    shape, share = ink(path)
    assert min(shape) > 500
    assert share > 0.01
    alone = jk.unbatch(graphs)[number]
    jk.draw_graph(alone, tmp_path / "one.png", values=np.arange(len(alone.nodes)))
    assert (tmp_path / "one.png").read_bytes() == path.read_bytes()
    empty = jk.from_coo([], [], n_node=0)
    jk.draw_graph(empty, tmp_path / "none.png", title="none")
    assert ink(tmp_path / "none.png")[1] < share


def test_errors_say_what_was_found(tmp_path, some_graphs):
    graphs = some_graphs(2)
    with pytest.raises(jk.GraphsError, match="graph 2 of 2 graphs"):
        jk.draw_graph(graphs, tmp_path / "x.png", number=2)
    with pytest.raises(jk.GraphsError, match=r"values are float64\[1, 1\]"):
        jk.draw_graph(graphs, tmp_path / "x.png", values=np.zeros((1, 1)))
    with pytest.raises(jk.GraphsError, match=r"cannot draw into .*nonsense"):
        jk.draw_graph(graphs, tmp_path / "x.nonsense")
    with pytest.raises(jk.GraphsError, match="500 nodes, and up to 400 can be seen"):
        jk.draw_graph(jk.from_coo([], [], n_node=500), tmp_path / "x.png")


def test_a_path_has_an_ending_and_colours_are_numbers(tmp_path):
    graph = jk.from_coo([0], [1], n_node=2)
    with pytest.raises(jk.GraphsError, match=r"wanted an ending, such as .png"):
        jk.draw_graph(graph, tmp_path / "graph")
    with pytest.raises(jk.GraphsError, match=r"values are <U1\[2\]; wanted numbers"):
        jk.draw_graph(graph, tmp_path / "graph.png", values=["a", "b"])
