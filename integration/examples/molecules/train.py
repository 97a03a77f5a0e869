"""Tells mutagenic molecules from others, from a Parquet file, on one or more devices.

    python train.py [--data FILE] [--devices 8] [--epochs 30]

Arrow's list columns become one `GraphsTuple` without a loop over molecules. Every
device has a padded batch of its own, and what crosses between them is one sum of losses
and one of gradients a step.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import jraph
import numpy as np
import optax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import arrow_jax
import jraph_kit as jk
from jraph_kit import haiku as graph_nets

sys.path.insert(0, str(Path(__file__).parent))
from molecules import ATOMS, BONDS, write_molecules

BATCH = 32


def read_molecules(path: str | Path) -> jraph.GraphsTuple:
    """All molecules of a file: atoms, bonds, and labels as `globals`."""
    table = arrow_jax.read_parquet(path).with_format("arrow")[:]

    def column(name: str) -> tuple[np.ndarray, np.ndarray]:
        lists = table[name].combine_chunks()
        return np.asarray(lists.flatten()), np.asarray(lists.value_lengths())

    return jk.from_columns(
        nodes=column("atoms"),
        edges=column("bonds"),
        senders=column("senders"),
        receivers=column("receivers"),
        globals=np.asarray(table["mutagenic"]),
    )


def logits(graph: jraph.GraphsTuple) -> jax.Array:
    """Two numbers a molecule."""
    atoms = jax.nn.one_hot(graph.nodes, len(ATOMS))
    bonds = jax.nn.one_hot(graph.edges, len(BONDS))
    net = graph_nets.MPNN(32, steps=4, readout_sizes=[64, 32])
    out = net(graph._replace(nodes=atoms, edges=bonds, globals=None))
    return hk.nets.MLP([32, 2])(out.globals / 16)


class Result(NamedTuple):
    """What a run gives.

    Attributes:
      losses: of every step.
      accuracy: on molecules that were not trained on.
      shapes: how many shapes the batches had.
    """

    losses: np.ndarray
    accuracy: float
    shapes: int


def train(graphs: jraph.GraphsTuple, *, n_devices: int, epochs: int) -> Result:
    """Trains on four fifths of the molecules, and tests on the others.

    Args:
      graphs: from `read_molecules`.
      n_devices: how many devices share each batch of 32.
      epochs: how often to go through the molecules.
    """
    parts = jk.unbatch(graphs)
    cut = len(parts) * 4 // 5
    known, unseen = jk.batch(parts[:cut]), jk.batch(parts[cut:])
    each = BATCH // n_devices
    buckets = jk.Buckets.fit(known, batch_size=each, max_shapes=4)
    mesh = jax.make_mesh(
        (n_devices,),
        ("data",),
        axis_types=(AxisType.Auto,),
        devices=jax.devices()[:n_devices],
    )
    spread = NamedSharding(mesh, PartitionSpec("data"))
    net = hk.without_apply_rng(hk.transform(logits))
    chain = optax.adam(3e-3)

    def own_loss(params: Any, batch: jk.Batch) -> jax.Array:
        labels = batch.graphs.globals
        each = optax.softmax_cross_entropy_with_integer_labels(
            net.apply(params, batch.graphs), labels
        )
        return jk.graph_loss(each, batch, axis_name="data")

    loss = jk.graph_parallel(own_loss, mesh)

    @jax.jit
    def step(params: Any, state: Any, batch: jk.Batch) -> Any:
        value, grads = jax.value_and_grad(loss)(params, batch)
        updates, state = chain.update(grads, state)
        return optax.apply_updates(params, updates), state, value

    whole = jk.Buckets.fit(unseen, batch_size=len(unseen.n_node))
    (test,) = jk.batches(unseen, whole)
    params = jax.jit(net.init)(jax.random.key(0), test.graphs)
    params = jax.device_put(params, NamedSharding(mesh, PartitionSpec()))
    state, losses, shapes = chain.init(params), [], set()
    for epoch in range(epochs):
        made = jk.batches(known, buckets, seed=0, epoch=epoch, n_devices=n_devices)
        shapes.update(made.shapes)
        for batch in made:
            params, state, value = step(params, state, jax.device_put(batch, spread))
            losses.append(value)
    right = jnp.argmax(net.apply(jax.device_get(params), test.graphs), -1)
    accuracy = jk.graph_loss(right == test.graphs.globals, test)
    return Result(np.array(jax.device_get(losses)), float(accuracy), len(shapes))


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="FILE")
    parser.add_argument("--devices", type=int, default=1, metavar="N")
    parser.add_argument("--epochs", type=int, default=30, metavar="N")
    options = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", options.devices)
    with tempfile.TemporaryDirectory() as folder:
        path = options.data
        if path is None:
            path = Path(folder) / "molecules.parquet"
            write_molecules(path, n=1000)
        graphs = read_molecules(path)
    found = train(graphs, n_devices=options.devices, epochs=options.epochs)
    sys.stdout.write(
        f"{len(graphs.n_node)} molecules, {options.devices} devices: loss "
        f"{found.losses[0]:.3f} to {found.losses[-8:].mean():.3f}, "
        f"{found.accuracy:.1%} of unseen molecules right, {found.shapes} shapes\n"
    )


if __name__ == "__main__":
    main()
