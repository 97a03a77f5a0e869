import json

import numpy as np
import pyarrow as pa
import pytest

from arrow_jax import ManifestError
from arrow_jax._order import RowOrder
from arrow_jax._source import Source
from arrow_jax._state import make_manifest, make_state, read_state
from arrow_jax._step import Position
from arrow_jax._stream import Sequential, Shuffled

SOURCE = Source.of(pa.table({"x": pa.array([1], pa.int64()), "s": ["a"]}))


def test_a_state_survives_json_and_stays_small():
    manifest = make_manifest(SOURCE, ["x"], np.arange(10**6))
    order = RowOrder(Shuffled(10**6, 3), None, "drop")
    state = make_state(Position(2, 5), order, 8, manifest)
    text = json.dumps(state)
    assert len(text) < 400
    assert read_state(json.loads(text), order, 8, manifest) == Position(2, 5)


def test_the_manifest_tells_selections_apart():
    a = make_manifest(SOURCE, ["x"], np.array([0, 1, 2]))
    b = make_manifest(SOURCE, ["x"], np.array([0, 2, 1]))
    assert a["view"] != b["view"]
    assert make_manifest(SOURCE, ["x"], range(3))["view"] == "0:3"
    assert a["columns"] == {"x": "int64"}


def test_without_a_shuffle_the_seed_does_not_matter():
    manifest = make_manifest(SOURCE, ["x"], range(9))
    order = RowOrder(Sequential(9), 1, "mask")
    state = make_state(Position(0, 3), order, 8, manifest)
    assert read_state(state, order, 8, manifest) == Position(0, 3)


def test_a_list_of_files_that_was_changed_by_hand():
    manifest = make_manifest(SOURCE, ["x"], range(9))
    order = RowOrder(Sequential(9), 1, "mask")
    state = make_state(Position(0, 3), order, 8, manifest)
    for files in ([5], ["a"], [[1], 5], [None]):
        edited = {**state, "manifest": {**manifest, "files": files}}
        with pytest.raises(ManifestError, match="it was changed by hand"):
            read_state(edited, order, 8, manifest)


def test_an_epoch_that_this_loader_does_not_have():
    manifest = make_manifest(SOURCE, ["x"], range(9))
    state = make_state(
        Position(2, 3), RowOrder(Sequential(9), None, "mask"), 8, manifest
    )
    with pytest.raises(ManifestError, match="fewer epochs= than the run, or the state"):
        read_state(state, RowOrder(Sequential(9), 1, "mask"), 8, manifest)
