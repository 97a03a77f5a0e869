import functools
import pickle
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chex_harness._target import as_numpy, load_module, pickled_result, target


def top_level(x):
    return x + 1


def test_a_top_level_function_travels():
    call = target(functools.partial(top_level, 1), (), {})
    assert call.module == __name__
    assert call.module_file == __file__
    fn, args, kwargs = pickle.loads(call.data)
    assert fn(*args, **kwargs) == 2


def test_an_inner_function_says_where_it_should_be():
    with pytest.raises(TypeError, match="at the top level of a module, not inside"):
        target(lambda: 1, (), {})


def test_an_argument_that_does_not_pickle_is_named():
    with pytest.raises(TypeError, match=r"'lock' of top_level.*Make it inside"):
        target(top_level, (), {"lock": threading.Lock()})


def test_a_file_that_is_not_on_the_path_loads_under_its_name(tmp_path, monkeypatch):
    file = tmp_path / "some_tests.py"
    file.write_text("X = 1\nif __name__ == '__main__': raise SystemExit\n")
    for name in ("some_tests", "__mp_main__"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, name)
    load_module("some_tests", str(file))
    assert sys.modules["some_tests"].X == 1
    main = sys.modules["__main__"]
    monkeypatch.setitem(sys.modules, "__main__", main)
    load_module("__main__", str(file))
    assert sys.modules["__main__"].X == 1


def test_results_come_as_numpy():
    found = as_numpy({"x": jnp.ones(2), "k": jax.random.key(0), "s": "text"})
    assert isinstance(found["x"], np.ndarray)
    assert found["k"].tolist() == [0, 0]
    assert found["s"] == "text"


def test_a_result_that_does_not_pickle_is_named_by_its_path():
    assert pickle.loads(pickled_result("f", {"x": 1})) == {"x": 1}
    with pytest.raises(TypeError, match=r"result\['a'\]\[1\] of f, a lock, cannot be"):
        pickled_result("f", {"a": [1, threading.Lock()]})
    with pytest.raises(TypeError, match=r"result of f, a function, .*Return"):
        pickled_result("f", lambda: 1)


def test_a_module_is_found_below_folders_that_are_no_packages(tmp_path):
    import subprocess
    import sys

    file = tmp_path / "test_x.py"
    file.write_text("def f():\n    return 7\n")
    program = f"""
import pickle
from chex_harness._target import load_module

load_module("no.such.test_x", {str(file)!r})
print(pickle.loads(b"cno.such.test_x\\nf\\n.")())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "7\n", done.stderr
