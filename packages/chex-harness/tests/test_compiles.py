import logging
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from chex_harness import assert_compiles
from chex_harness._compiles import explain


def test_one_shape_is_one_compilation():
    step = jax.jit(lambda x: x * 2)
    x, y = jnp.ones(3), jnp.zeros(3)
    with assert_compiles(1):
        step(x), step(y)
    with assert_compiles(0):
        step(x)


def doubled_by(n):
    def doubled(x, k=2):
        return x * k * n

    return jax.jit(doubled, static_argnames="k")


CALLS = {
    "shape": ((jnp.ones(3),), (jnp.ones(4),), r"now f32\[4\] and before f32\[3\]"),
    "dtype": ((np.ones(3, "f"),), (np.ones(3, "i"),), r"now i32\[3\] and before f32"),
    "weak": ((np.float32(1),), (1.0,), r"weak_type=True\} and before"),
    "static": (
        (np.ones(2, "f"), 1),
        (np.ones(2, "f"), 3),
        r"static argument 1 .*: now 3, before 1|a static argument has another value",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_message_says_why(case):
    first, second, why = CALLS[case]
    step = doubled_by(3)
    with pytest.raises(AssertionError) as caught, assert_compiles(1):
        step(*first), step(*second)
    message = str(caught.value)
    assert "wanted 1 compilation(s), counted 2:" in message
    assert message.count("jit(doubled) for (ShapedArray(") == 2
    assert re.search(why, message), message


LOGGED = """TRACING CACHE MISS at /a/train.py:9:4 (train):
    for step defined at /a/train.py:4
    all previously seen cache keys differ. For the closest previous key:
    """
STEP = (
    "Compiling jit(step) with global shapes and types (ShapedArray(float32[2]),). "
    "Argument mapping: (UnspecifiedValue,)."
)


@pytest.mark.parametrize(
    ("path", "name"), [("[1]['mode']", "'mode'"), ("[0][1]", "1 (counted from 0)")]
)
def test_a_static_argument_is_named_with_its_values_where_jax_logs_them(path, name):
    static = "<class 'jax._src.tree_util.Static'> with pytree metadata Static(val={})"
    now, before = static.format("Mode(a=(1, 2))"), static.format("'old'")
    report = (
        f"{LOGGED}different input pytree:\n    * at input path {path}, now {now} and "
        f"before {before}, so the pytree node metadata does not match"
    )
    report += report[report.index("\n    * at") :]  # two, each on its line
    told = explain([report, STEP])
    told = [line.strip() for line in told.splitlines()]
    line = f"the static argument {name}: now Mode(a=(1, 2)), before 'old'"
    assert told[-2:] == [line, line]
    assert "pytree" not in "".join(told)


def test_where_jax_logs_no_reason_the_text_says_what_it_cannot_tell():
    told = explain([STEP, LOGGED + "cache miss explanation unavailable", STEP])
    assert "jax's log gives no reason" in told
    assert "a static argument has another value (the log does not say which" in told
    assert "unavailable" not in told


@pytest.mark.devices(8)
def test_a_new_sharding_is_said(mesh):
    step = doubled_by(4)
    x = jax.device_put(np.ones(8, "f"), NamedSharding(mesh, PartitionSpec("data")))
    y = jax.device_put(np.ones(8, "f"), NamedSharding(mesh, PartitionSpec()))
    wanted = pytest.raises(AssertionError, match="sharding of an argument was new")
    with wanted as e, assert_compiles(1):
        step(x), step(y)
    assert "'data'" in str(e.value)


def test_a_function_made_anew_is_said():
    x = jnp.ones(2)
    wanted = pytest.raises(AssertionError, match="being re-defined repeatedly")
    with wanted, assert_compiles(1):
        for _ in range(2):
            jax.jit(lambda x: x * 7)(x)


def test_what_was_not_compiled_is_none():
    wanted = pytest.raises(AssertionError, match=r"wanted 2 .*counted 0:\n  none")
    with wanted, assert_compiles(2):
        pass
    assert explain(["something else"]) == ""


def test_an_error_in_the_block_is_not_hidden():
    with pytest.raises(ZeroDivisionError), assert_compiles(1):
        1 / 0  # noqa: B018


def test_nothing_is_left_behind():
    logger = logging.getLogger("jax")
    before = (logger.handlers[:], logger.propagate, jax.config.jax_log_compiles)
    with pytest.raises(AssertionError), assert_compiles(5):
        pass
    assert before == (logger.handlers, logger.propagate, jax.config.jax_log_compiles)
    step, x = jax.jit(lambda x: x * 3), jnp.ones(2)
    with assert_compiles(1):
        step(x)


@pytest.mark.parametrize(
    ("n", "error"), [(-1, ValueError), (1.5, TypeError), ("2", TypeError)]
)
def test_a_count_is_an_int_from_0(n, error):
    told = f"n={n!r}: wanted an int, 0 or more, as in assert_compiles"
    with pytest.raises(error, match=re.escape(told)), assert_compiles(n):
        pass
