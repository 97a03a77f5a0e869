import jax.numpy as jnp
import numpy as np

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
