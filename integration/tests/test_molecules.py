"""The example of molecules: from Parquet to a network, on one device and on eight."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/molecules"


@pytest.fixture(scope="module")
def example():
    """The example's module, whose folder it puts on the path."""
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("train", EXAMPLE / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


@pytest.fixture(scope="module")
def file(example, tmp_path_factory):
    path = tmp_path_factory.mktemp("molecules") / "molecules.parquet"
    example.write_molecules(path, n=300)
    return path


def test_columns_of_the_file_are_the_graphs(example, file):
    graphs, rows = example.read_molecules(file), pq.read_table(file).to_pylist()
    for one, row in zip(example.jk.unbatch(graphs), rows, strict=True):
        assert one.nodes.tolist() == row["atoms"]
        assert one.senders.tolist() == row["senders"]
        assert one.receivers.tolist() == row["receivers"]
        assert one.edges.tolist() == row["bonds"]
        assert one.globals.tolist() == [row["mutagenic"]]


@pytest.mark.devices(8)
def test_eight_devices_have_the_losses_of_one(devices, example, file):
    few = example.jk.batch(example.jk.unbatch(example.read_molecules(file))[:160])
    one, eight = (example.train(few, n_devices=n, epochs=1) for n in (1, 8))
    assert len(one.losses) == 4
    np.testing.assert_allclose(eight.losses, one.losses, rtol=1e-5)


def test_the_rule_is_learned(example, file):
    found = example.train(example.read_molecules(file), n_devices=1, epochs=25)
    assert found.shapes <= 4
    assert found.losses[-1] < found.losses[0] / 2
    assert found.accuracy > 0.85
