import logging
import threading

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from chex_harness import CheckError, assert_trees_close, check, checked

X = jnp.array([1.0, 2, -3, 4, 5, -6, 7, 8])


def double(x):
    check(x > 0, "x must be positive", x=x, twice=2 * x)
    return x * 2


def per_row(fn):
    return lambda x: fn(x.reshape(4, 2)).reshape(8)


WAYS = {
    "eager": (double, "2 failed, the first at [2]: x = -3.0, twice = -6.0"),
    "jit": (jax.jit(double), "2 failed, the first at [2]: x = -3.0"),
    "vmap": (per_row(jax.vmap(double)), "2 failed, the first at [1, 0]: x = -3.0"),
    "jit vmap": (jax.jit(per_row(jax.vmap(double))), "2 failed, the first at [1, 0]"),
    "vmap vmap": (per_row(jax.vmap(jax.vmap(double))), "2 failed, the first at [1, 0]"),
    "grad": (jax.grad(lambda x: double(x).sum()), "2 failed, the first at [2]"),
    "vmap grad": (
        per_row(jax.vmap(jax.grad(lambda x: double(x).sum()))),
        "2 failed, the first at [1, 0]",
    ),
    "scan": (
        per_row(lambda x: jax.lax.scan(lambda c, y: (c, double(y)), 0, x)[1]),
        "1 failed, the first at [1]: x = -6.0",
    ),
    "remat": (jax.jit(jax.checkpoint(double)), "2 failed, the first at [2]"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_is_told_with_its_values(way):
    fn, told = WAYS[way]
    with pytest.raises(CheckError, match="x must be positive") as caught:
        checked(fn)(X)
    assert told in str(caught.value)
    assert_trees_close(checked(fn)(abs(X)), fn(abs(X)))


@pytest.mark.devices(4)
@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
@pytest.mark.parametrize("jitted", [True, False])
def test_it_works_on_meshes(kind, jitted, devices):
    kinds = (getattr(AxisType, kind),)
    mesh = jax.make_mesh((4,), ("data",), kinds, devices=devices)
    x = jax.device_put(X, NamedSharding(mesh, P("data")))
    spec = {"mesh": mesh, "in_specs": P("data"), "out_specs": P("data")}
    blocks = jax.shard_map(double, **spec)
    grad = jax.grad(lambda x: blocks(x).sum())
    with jax.set_mesh(mesh):
        for fn in [double, blocks, *([grad] if jitted else [])]:
            run = checked(jax.jit(fn) if jitted else fn)
            with pytest.raises(CheckError, match=r"x = -3.0"):
                run(x)
            run(abs(x))


def test_an_error_of_the_function_comes_through():
    @checked
    def f(x):
        raise KeyError(x)

    with pytest.raises(KeyError):
        f(1)


def test_one_call_does_not_hear_of_another(caplog):
    jitted = jax.jit(double)
    with caplog.at_level(logging.ERROR, "chex_harness"):
        jitted(X)
        checked(jitted)(abs(X))
    assert "check failed outside checked(): x must be positive" in caplog.text


def test_inner_calls_and_threads_keep_theirs():
    @checked
    def outer(x):
        with pytest.raises(CheckError):
            checked(double)(x)
        return x

    outer(X)
    failed = []

    def work(x, count):
        for _ in range(5):
            try:
                checked(double)(x)
            except CheckError:
                failed.append(count)

    threads = [threading.Thread(target=work, args=a) for a in [(X, 1), (abs(X), 2)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [1] * 5


def test_conditions_and_values_are_checked_when_traced():
    with pytest.raises(TypeError, match="cond is float32, wanted bool"):
        check(X, "m")
    with pytest.raises(ValueError, match=r"y has the shape \[3\]"):
        check(X > 0, "m", y=jnp.ones(3))


def test_a_call_inside_a_call_leaves_the_outer_its_own():
    def outer(x):
        y = checked(jnp.abs)(x)
        check(y > 10, "y")
        return y

    for _ in range(2):  # nothing stale is left
        with pytest.raises(CheckError, match=r"^y: 2 failed"):
            checked(outer)(jnp.ones(2))


def test_a_condition_without_elements_holds():
    def f(x):
        check(x > 0, "m", x=x)
        return x

    checked(f)(jnp.zeros((0, 3)))
    checked(jax.jit(f))(jnp.zeros(0))
    checked(jax.vmap(f))(jnp.zeros((2, 0)))
    checked(jax.jit(jax.vmap(f)))(jnp.zeros((0, 3)))
    with pytest.raises(ValueError, match="does not broadcast"):
        check(jnp.ones(0, bool), "m", y=jnp.ones(3))
