import copy
import pickle

import jax
import pytest

from arrow_jax._lazy import LazyBatch


def batch():
    asked = []
    made = LazyBatch(["x", "y"], lambda name: asked.append(name) or name * 2)
    return made, asked


def test_a_column_is_decoded_at_its_first_use_and_once():
    made, asked = batch()
    assert "x" in made
    assert (len(made), list(made), asked) == (2, ["x", "y"], [])
    assert made["x"] == made["x"] == "xx"
    assert asked == ["x"]
    assert repr(made) == "{'x': 'xx', 'y': '...'}"
    assert dict(made) == {"x": "xx", "y": "yy"}


def test_it_is_changed_like_a_dict():
    made, asked = batch()
    other = made | {"z": 1}
    made["x"] = 0
    del made["y"]
    assert made.known == {"x": 0}
    assert list(made) == ["x"]
    assert asked == []
    assert other == {"x": "xx", "y": "yy", "z": 1}
    assert {"a": 0} | batch()[0] == {"a": 0, "x": "xx", "y": "yy"}
    with pytest.raises(KeyError, match="there is no column 'q'; there are"):
        made["q"]


def test_jax_takes_it_for_the_dict_of_its_columns():
    made = LazyBatch(["x", "y"], {"x": 1.0, "y": 2.0}.get)
    assert jax.jit(lambda b: b["x"] + b["y"])(made) == 3
    assert jax.tree.map(lambda leaf: -leaf, made) == {"x": -1, "y": -2}


def test_a_copy_is_changed_alone():
    for copied in (copy.copy, lambda made: made.copy()):
        made, asked = batch()
        other = copied(made)
        other["x"] = 0
        del other["y"]
        assert (list(made), made.known, asked) == (["x", "y"], {}, [])
        assert made["x"] == "xx"


def test_it_travels_as_the_dict_of_its_columns():
    made = LazyBatch(["x", "y"], lambda name: name * 2)
    for travelled in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert type(travelled) is dict
        assert travelled == {"x": "xx", "y": "yy"}
