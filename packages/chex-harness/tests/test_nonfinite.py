from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from chex_harness import find_nonfinite

HERE = Path(__file__).name


def line_of(marker):
    text = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(text, 1) if f"# {marker}" in line)


def inner(x):
    y = jnp.log(x)  # the log
    return y * 2


def test_a_finite_result_is_none():
    assert find_nonfinite(jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0)), X) is None


X = jnp.array([1.0, -1.0, 3.0])


def scanned(x):
    return jax.lax.scan(lambda c, y: (c + inner(y), y), 0.0, x)[0]


def whiled(x):
    return jax.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, inner(c[1])), (0, x)
    )[1]


def branched(x):
    return jax.lax.cond(x.sum() > 0, inner, lambda x: x, x)


@jax.custom_jvp
def custom(x):
    return inner(x)


custom.defjvp(lambda p, t: (custom(*p), t[0]))


@jax.custom_vjp
def custom_vjp(x):
    return inner(x)


custom_vjp.defvjp(lambda x: (custom_vjp(x), x), lambda x, g: (g,))

PLACES = {
    "plain": (inner, ""),
    "jit": (jax.jit(inner), "jit(inner)"),
    "scan": (scanned, "scan[1]"),
    "jit of scan": (jax.jit(scanned), "jit(scanned)/scan[1]"),
    "while": (whiled, "while[0]"),
    "cond": (branched, "cond[1]"),
    "custom_jvp": (custom, "custom_jvp_call"),
    "custom_vjp": (custom_vjp, "custom_vjp_call"),
    "remat": (jax.checkpoint(jax.jit(inner)), "remat2/jit(inner)"),
    "vmap": (jax.vmap(inner), ""),
}


@pytest.mark.parametrize("name", PLACES)
def test_it_is_found_wherever_it_is(name):
    fn, path = PLACES[name]
    found = find_nonfinite(fn, X)
    assert (
        found.kind,
        found.primitive,
        found.path.replace("checkpoint", "remat2"),
    ) == ("nan", "log", path)
    assert f"{HERE}:{line_of('the log')} (inner)" in found.source
    assert "-1" in found.inputs[0]
    assert str(found).startswith("nan from log")


def test_a_gradient_is_searched_too():
    found = find_nonfinite(jax.grad(lambda x: jnp.sum(jnp.sqrt(x))), jnp.zeros(2))
    assert found.kind == "inf"
    assert HERE in found.source


def test_a_nan_from_an_infinity_tells_both():
    def f(x):
        big = jnp.exp(x)
        return big / big

    found = find_nonfinite(f, jnp.float32(1000))
    assert (found.kind, found.primitive) == ("nan", "div")
    assert (found.infinity.kind, found.infinity.primitive) == ("inf", "exp")
    assert "; the inf from exp" in str(found)


def test_an_argument_and_a_constant_are_said():
    found = find_nonfinite(lambda p: p["x"] + 1, {"x": jnp.array([np.nan])})
    assert (found.primitive, found.source) == ("argument", "args[0]['x']")
    constant = jnp.array([jnp.inf, 1.0])
    found = find_nonfinite(lambda x: x + constant, jnp.ones(2))
    assert found.primitive == "constant"


@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_an_output_that_is_written_as_a_number_is_a_constant(kind):
    number = float(kind)
    found = find_nonfinite(lambda x: number, 1.0)
    assert (found.kind, found.primitive, found.path) == (kind, "constant", "")
    assert str(found) == f"{kind} from constant, at a constant of the function"
    found = find_nonfinite(lambda x: {"a": x, "b": number, "c": 2.0}, 1.0)
    assert (found.kind, found.primitive) == (kind, "constant")
    branch = find_nonfinite(
        lambda x: jax.lax.cond(x > 0, lambda x: number, lambda x: x, x), 1.0
    )
    assert branch.kind == kind


def test_what_is_made_is_told_before_what_is_written():
    found = find_nonfinite(lambda x: (np.nan, jnp.log(x)), -1.0)
    assert found.primitive == "log"


def counted(n, x):
    """`n` times less 1, and then the logarithm, which is of a negative number late."""

    def body(state):
        n, x = state
        return n - 1, x - 1 + 0 * jnp.log(x)

    return jax.lax.while_loop(lambda state: state[0] > 0, body, (n, x))[1]


def test_a_batched_while_is_followed_example_by_example():
    f = jax.vmap(counted)
    n = jnp.array([1, 3, 2])
    assert find_nonfinite(f, n, jnp.array([0.5, 3.5, 2.5])) is None
    found = find_nonfinite(f, n, jnp.array([0.5, 1.5, 2.5]))
    assert (found.kind, found.primitive, found.path) == ("nan", "log", "while[2]")
    twice = jax.vmap(jax.vmap(counted))
    found = find_nonfinite(twice, n[None], jnp.array([[0.5, 1.5, 2.5]]))
    assert (found.primitive, found.path) == ("log", "while[2]")
    assert find_nonfinite(f, n, jnp.full((3, 2), 3.5)) is None


def test_masks_that_do_no_harm_are_passed_over():
    def attention(x):
        masked = jnp.where(jnp.arange(3) < 2, x, -jnp.inf)
        return jnp.sqrt(jnp.min(x) - 5) + jax.nn.softmax(masked)

    assert find_nonfinite(attention, X).primitive == "sqrt"


def test_a_scan_backwards_counts_iterations_as_they_run():
    def f(x):
        return jax.lax.scan(lambda c, y: (c + jnp.log(y), y), 0.0, x, reverse=True)[0]

    assert find_nonfinite(f, jnp.array([1.0, -1.0, 1.0, 1.0])).path == "scan[2]"


@pytest.mark.devices(8)
def test_a_shard_map_is_one_operation(mesh):
    f = jax.shard_map(jnp.log, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
    assert find_nonfinite(f, -jnp.ones(8)).primitive == "shard_map"


def test_donated_arguments_live_on():
    x = jnp.array([1.0, -1.0])
    step = jax.jit(lambda x: jnp.log(x) + 1, donate_argnums=0)
    assert find_nonfinite(lambda x: step(x) + x, x).primitive == "log"
    assert find_nonfinite(step, x).path == "jit(<lambda>)"
    assert not x.is_deleted()
