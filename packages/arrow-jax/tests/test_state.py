import json

import numpy as np
import pyarrow as pa

from arrow_jax._order import Order, Position
from arrow_jax._state import make_manifest, make_state, read_state

SCHEMA = pa.schema({"x": pa.int64(), "s": pa.string()})


def test_a_state_survives_json_and_stays_small():
    manifest = make_manifest(SCHEMA, ["x"], np.arange(10**6))
    order = Order(10**6, None, "drop", 3)
    state = make_state(Position(2, 5), order, 3, manifest)
    text = json.dumps(state)
    assert len(text) < 300
    assert read_state(json.loads(text), order, 3, manifest) == Position(2, 5)


def test_the_manifest_tells_selections_apart():
    a = make_manifest(SCHEMA, ["x"], np.array([0, 1, 2]))
    b = make_manifest(SCHEMA, ["x"], np.array([0, 2, 1]))
    assert a["view"] != b["view"]
    assert make_manifest(SCHEMA, ["x"], range(3))["view"] == "0:3"
    assert a["columns"] == {"x": "int64"}


def test_without_a_shuffle_the_seed_does_not_matter():
    manifest = make_manifest(SCHEMA, ["x"], range(9))
    order = Order(9, 1, "mask", None)
    state = make_state(Position(0, 3), order, 1, manifest)
    assert read_state(state, order, 2, manifest) == Position(0, 3)
