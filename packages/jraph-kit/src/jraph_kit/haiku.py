"""The networks as Haiku modules, with perceptrons inside; needs the extra `haiku`.

Each is the function of the same name in `jraph_kit` with Haiku layers as its update
functions, and short enough to copy and change.

Example:
  >>> import haiku as hk, jax, jax.numpy as jnp, jraph_kit
  >>> from jraph_kit import haiku as graph_nets
  >>> net = hk.without_apply_rng(hk.transform(lambda g: graph_nets.GraphSAGE(8)(g)))
  >>> graph = jraph_kit.get_fully_connected_graph(3, 1, jnp.ones((3, 2)))
  >>> params = net.init(jax.random.key(0), graph)
  >>> net.apply(params, graph).nodes.shape
  (3, 8)
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jraph

import jraph_kit as jk

try:
    import haiku as hk
except ModuleNotFoundError as error:
    raise ImportError(
        "dm-haiku is not installed; type: pip install 'jraph-kit[haiku]'"
    ) from error

__all__ = [
    "GAT",
    "GIN",
    "MPNN",
    "DeepSets",
    "GATv2",
    "GraphConvolution",
    "GraphNetwork",
    "GraphSAGE",
    "InteractionNetwork",
    "RelationNetwork",
]

_Sizes = Sequence[int]


def _mlp(sizes: _Sizes, name: str) -> Callable[..., jax.Array]:
    """A perceptron of all arrays that it is called with, side by side, without None."""
    return _of_features(hk.nets.MLP(sizes, name=name))


def _of_features(layer: Callable[[Any], jax.Array]) -> Callable[..., jax.Array]:
    def update(*inputs: Any) -> jax.Array:
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(inputs)]
        if flat := [list(leaf.shape) for leaf in leaves if leaf.ndim < 2]:
            wanted = "[rows, features]; of one number a row type x[:, None]"
            raise jk.GraphsError(f"features have shape {flat[0]}; wanted {wanted}")
        x = jnp.concatenate(leaves, axis=-1)
        if not jnp.issubdtype(x.dtype, jnp.floating):
            wanted = (
                "floats; of quantities type x.astype(float), of kinds jax.nn.one_hot"
            )
            raise jk.GraphsError(f"features are {x.dtype}; wanted {wanted}")
        return layer(x)

    return update


class _Layer(hk.Module):
    """A module that knows how edges lie."""

    def __init__(self, *, layout: jk.EdgeLayout, name: str | None) -> None:
        super().__init__(name=name)
        self.layout: jk.EdgeLayout = layout


class GraphNetwork(_Layer):
    """`jraph_kit.GraphNetwork` with a perceptron for each update.

    Args:
      edge_sizes: layers of the edge update; None leaves edges as they are.
      node_sizes: layers of the node update, or None.
      global_sizes: layers of the global update, or None.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        edge_sizes: _Sizes | None,
        node_sizes: _Sizes | None,
        global_sizes: _Sizes | None = None,
        *,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self._sizes = {
            "edges": edge_sizes,
            "nodes": node_sizes,
            "globals": global_sizes,
        }

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the network."""
        edge, node, whole = (
            None if sizes is None else _mlp(sizes, name)
            for name, sizes in self._sizes.items()
        )
        return jk.GraphNetwork(edge, node, whole, layout=self.layout)(graph)


class InteractionNetwork(_Layer):
    """`jraph_kit.InteractionNetwork` with a perceptron for each update.

    Args:
      edge_sizes: layers of the edge update.
      node_sizes: layers of the node update.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        edge_sizes: _Sizes,
        node_sizes: _Sizes,
        *,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self._sizes = edge_sizes, node_sizes

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the network."""
        edge, node = (
            _mlp(*pair) for pair in zip(self._sizes, ("edges", "nodes"), strict=True)
        )
        return jk.InteractionNetwork(edge, node, layout=self.layout)(graph)


class RelationNetwork(_Layer):
    """`jraph_kit.RelationNetwork` with a perceptron for each update.

    Args:
      edge_sizes: layers that pairs of nodes go through.
      global_sizes: layers that their sum goes through.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        edge_sizes: _Sizes,
        global_sizes: _Sizes,
        *,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self._sizes = edge_sizes, global_sizes

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the network."""
        edge, whole = (
            _mlp(*pair) for pair in zip(self._sizes, ("edges", "globals"), strict=True)
        )
        return jk.RelationNetwork(edge, whole, layout=self.layout)(graph)


class DeepSets(_Layer):
    """`jraph_kit.DeepSets` with a perceptron for each update.

    Args:
      node_sizes: layers that nodes go through.
      global_sizes: layers that their sum goes through.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        node_sizes: _Sizes,
        global_sizes: _Sizes,
        *,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self._sizes = node_sizes, global_sizes

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the network."""
        node, whole = (
            _mlp(*pair) for pair in zip(self._sizes, ("nodes", "globals"), strict=True)
        )
        return jk.DeepSets(node, whole, layout=self.layout)(graph)


class GraphConvolution(_Layer):
    """`jraph_kit.GraphConvolution` with a linear layer.

    Args:
      output_size: features of the new nodes.
      add_self_edges: whether nodes see themselves, as in the paper; the function's
        default is jraph's, False.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        output_size: int,
        *,
        add_self_edges: bool = True,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self.output_size: int = output_size
        self.add_self_edges: bool = add_self_edges

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the layer."""
        return jk.GraphConvolution(
            _of_features(hk.Linear(self.output_size)),
            add_self_edges=self.add_self_edges,
            layout=self.layout,
        )(graph)


class GIN(_Layer):
    """`jraph_kit.GIN` with a perceptron and a learned epsilon.

    Args:
      sizes: layers of the perceptron.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        sizes: _Sizes,
        *,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self.sizes: _Sizes = sizes

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the layer."""
        epsilon = hk.get_parameter("epsilon", (), init=jnp.zeros)
        net = _mlp(self.sizes, "nodes")
        return jk.GIN(net, epsilon=epsilon, layout=self.layout)(graph)


class GraphSAGE(_Layer):
    """`jraph_kit.GraphSAGE` with a linear layer of nodes and of neighbours.

    Args:
      output_size: features of the new nodes.
      normalize: whether they are scaled to length 1.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        output_size: int,
        *,
        normalize: bool = False,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self.output_size: int = output_size
        self.normalize: bool = normalize

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the layer."""
        own = _of_features(hk.Linear(self.output_size, name="own"))
        others = _of_features(
            hk.Linear(self.output_size, with_bias=False, name="neighbours")
        )
        # A mean of projections is the projection of a mean, and has fewer features.
        return jk.GraphSAGE(
            lambda x, neighbours: own(x) + neighbours,
            message_fn=others,
            normalize=self.normalize,
            layout=self.layout,
        )(graph)


def _heads(size: int, heads: int, name: str) -> Callable[[jax.Array], jax.Array]:
    linear = _of_features(hk.Linear(size * heads, name=name))
    return lambda x: linear(x).reshape(x.shape[0], heads, size)


def _scores(x: jax.Array, name: str) -> jax.Array:
    """A learned vector of each head, times its features: [rows, heads, 1]."""
    scale = 1 / x.shape[-1] ** 0.5
    init = hk.initializers.RandomNormal(scale)
    vector = hk.get_parameter(name, x.shape[1:], x.dtype, init=init)
    return jnp.sum(x * vector[None], axis=-1, keepdims=True)


class GAT(_Layer):
    """`jraph_kit.GAT` with linear queries; give it graphs with self edges.

    Args:
      output_size: features of each head; the new nodes have those of all heads.
      n_heads: how many.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        output_size: int,
        n_heads: int = 1,
        *,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self.output_size: int = output_size
        self.n_heads: int = n_heads

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the layer."""

        def logits(sent: jax.Array, received: jax.Array, edges: Any) -> jax.Array:
            del edges
            both = _scores(sent, "sender") + _scores(received, "receiver")
            return jax.nn.leaky_relu(both, 0.2)

        query = _heads(self.output_size, self.n_heads, "query")
        return jk.GAT(query, logits, layout=self.layout)(graph)


class GATv2(GAT):
    """`jraph_kit.GATv2` with linear layers; give it graphs with self edges.

    Args:
      output_size: features of each head; the new nodes have those of all heads.
      n_heads: how many.
      layout: how edges lie.
      name: the module's name.
    """

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the layer."""
        return jk.GATv2(
            _heads(self.output_size, self.n_heads, "sender"),
            _heads(self.output_size, self.n_heads, "receiver"),
            lambda x, _: _scores(x, "score"),
            layout=self.layout,
        )(graph)


class MPNN(_Layer):
    """`jraph_kit.MPNN` with a perceptron for messages and a GRU for nodes.

    Args:
      size: features of nodes and messages; nodes are first brought to it.
      steps: rounds of messages.
      readout_sizes: layers of what is summed up into `globals`; None for no readout.
      layout: how edges lie.
      name: the module's name.
    """

    def __init__(
        self,
        size: int,
        *,
        steps: int = 3,
        readout_sizes: _Sizes | None = None,
        layout: jk.EdgeLayout = jk.EdgeLayout(),  # noqa: B008 (frozen)
        name: str | None = None,
    ) -> None:
        super().__init__(layout=layout, name=name)
        self.size: int = size
        self.steps: int = steps
        self.readout_sizes: _Sizes | None = readout_sizes

    def __call__(self, graph: jraph.GraphsTuple) -> jraph.GraphsTuple:
        """Applies the network."""
        gru = hk.GRU(self.size)
        sizes = self.readout_sizes
        net = jk.MPNN(
            _mlp([self.size, self.size], "messages"),
            lambda h, m: gru(m, h)[0],
            None if sizes is None else _mlp(sizes, "readout"),
            steps=self.steps,
            layout=self.layout,
        )
        embed = _of_features(hk.Linear(self.size, name="embed"))
        return net(graph._replace(nodes=embed(graph.nodes)))
