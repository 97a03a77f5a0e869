"""`GraphsTuple`s of NumPy arrays, which is what a set of graphs on the host is."""

from typing import Any

import jax
import jraph
import numpy as np


def host_graphs(**fields: Any) -> jraph.GraphsTuple:
    """A `GraphsTuple` of fields by name; jraph's types speak of jax arrays only."""
    return jraph.GraphsTuple(**fields)


def to_host(tree: Any) -> Any:
    """The same tree of NumPy arrays; those that are such already are not copied."""
    return jax.tree.map(np.asarray, tree)
