"""Other libraries fed by arrow_jax: `nox -s peers-arrow_jax`, not in every run."""

import grain
import jax
import numpy as np
import tensorflow as tf
import torch

from arrow_jax import Dataset, GrainSource, Loader, collate


def dataset():
    return Dataset.from_dict({"x": np.arange(20).reshape(10, 2), "y": np.arange(10)})


def test_grain_reads_shuffles_and_batches():
    pipeline = grain.MapDataset.source(GrainSource(dataset())).shuffle(seed=3).batch(5)
    batches = [pipeline[i] for i in range(2)]
    rows = sorted(int(y) for b in batches for y in b["y"])
    assert rows == list(range(10))
    assert all((b["x"][:, 0] == 2 * b["y"]).all() for b in batches)


def test_grain_resumes():
    def start():
        source = grain.MapDataset.source(GrainSource(dataset()))
        return iter(source.shuffle(seed=3).to_iter_dataset())

    run = start()
    for _ in range(4):
        next(run)
    state = run.get_state()
    rest = [int(row["y"]) for row in run]
    again = start()
    again.set_state(state)
    assert [int(row["y"]) for row in again] == rest


def test_torch_loads_in_one_process_and_in_spawned_workers():
    ds = dataset().with_format("numpy")
    for options in ({}, {"num_workers": 2, "multiprocessing_context": "spawn"}):
        loader = torch.utils.data.DataLoader(
            ds, batch_size=4, shuffle=True, collate_fn=collate, **options
        )
        batches = list(loader)
        assert sorted(int(y) for b in batches for y in b["y"]) == list(range(10))
        assert all(torch.equal(b["x"][:, 0], 2 * b["y"]) for b in batches)
        assert batches[0]["x"].dtype == torch.int64


def test_tensorflow_takes_batches_by_their_spec():
    loader = Loader(dataset(), 4)
    signature = jax.tree.map(lambda s: tf.TensorSpec(s.shape, s.dtype), loader.spec)
    stream = tf.data.Dataset.from_generator(
        lambda: (jax.tree.map(np.asarray, batch) for batch in loader),
        output_signature=signature,
    )
    rows = [b["y"].numpy()[b["valid"].numpy()] for b in stream]
    assert np.concatenate(rows).tolist() == list(range(10))
