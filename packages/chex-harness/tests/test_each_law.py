"""Every law holds for a specimen that is right, and fails for one that is not."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from chex_harness import LAWS, Specimen

pytestmark = pytest.mark.devices(8)


def batch(dtype):
    w = jnp.linspace(0.5, 1.5, 8, dtype=dtype)
    return w, jnp.linspace(-1, 1, 64, dtype=dtype).reshape(8, 8)


def step(w, x):
    """One step of gradient descent."""

    def loss(w):
        return jnp.mean(jnp.square(x @ w))

    return w - jnp.asarray(0.1, w.dtype) * jax.grad(loss)(w)


def specimen(fn=step, args=batch, **options):
    shared = {"carry": 1, "rows": (1,), "grad": (0,), "init": jnp.zeros_like}
    shared |= {"init_args": lambda: (W,), **options}
    return Specimen(fn=fn, args=args, **shared)


W = jnp.ones(3)


def lies(fn):
    """A function that is another one when it is traced."""
    return lambda w, x: fn(w, x) + (1 if isinstance(w, jax.core.Tracer) else 0)


@jax.custom_batching.custom_vmap
def not_batched(w):
    return w


@not_batched.def_vmap
def _(size, batched, w):
    return w[::-1], True


class Unpicklable:
    """A node whose outline holds a lock."""

    def __init__(self, w, lock):
        self.w, self.lock = w, lock


jax.tree_util.register_pytree_node(
    Unpicklable,
    lambda node: ((node.w,), node.lock),
    lambda lock, leaves: Unpicklable(leaves[0], lock),
)
LOCK = threading.Lock()


def moved(w, x):
    copies = NamedSharding(
        jax.make_mesh((8,), ("data",), (jax.sharding.AxisType.Auto,)), PartitionSpec()
    )
    return jax.lax.with_sharding_constraint(step(w, x), copies)


def index_of_device(w, x):
    """Looks at what it should not see: how many devices there are."""
    mesh = jax.sharding.get_abstract_mesh()
    return step(w, x) * (1 if mesh.empty else 2)


BROKEN = {
    "jit_equals_eager": (specimen(lies(step)), "elements"),
    "vmap_equals_a_loop": (
        specimen(lambda w, x: not_batched(step(w, x))),
        "8 of 16|16 of 16",
    ),
    "dtype_is_kept": (
        specimen(lambda w, x: step(w, x) * np.float32(1)),
        "of bfloat16 arguments, out is float32",
    ),
    "promotion_is_strict": (
        specimen(lambda w, x: step(w, x) * jnp.arange(8)),
        "promotion",
    ),
    "second_call_compiles_nothing": (
        specimen(lambda w, x: step(w, x).astype(jnp.bfloat16)),
        "counted 2",
    ),
    "init_works_abstractly": (
        specimen(init=lambda w: jnp.zeros(3 if isinstance(w, jax.core.Tracer) else 2)),
        "is float32",
    ),
    "sharding_is_kept": (specimen(moved), "replicated over 8 devices"),
    "it_pickles": (
        specimen(
            lambda node, x: step(node.w, x),
            lambda dtype: (Unpicklable(batch(dtype)[0], LOCK), batch(dtype)[1]),
        ),
        "pickle",
    ),
    "gradient_is_finite": (
        specimen(lambda w, x: jnp.sqrt(w - w) + step(w, x)),
        "not finite: .* from",
    ),
    "auto_mesh_agrees": (specimen(index_of_device), "elements"),
    "explicit_mesh_agrees": (specimen(index_of_device), "elements"),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_law_holds_for_what_is_right(law):
    LAWS[law][0](specimen())


@pytest.mark.parametrize("law", LAWS)
def test_a_law_fails_for_what_is_broken(law):
    broken, told = BROKEN[law]
    with pytest.raises(Exception, match=told):
        LAWS[law][0](broken)


def test_a_leaf_without_a_gradient_is_named():
    row = specimen(
        lambda p, x: step(p["w"], x),
        lambda dtype: ({"w": batch(dtype)[0], "b": jnp.ones(2)}, batch(dtype)[1]),
    )
    with pytest.raises(AssertionError, match=r"by args\[0\]\['b'\] is 0 everywhere"):
        LAWS["gradient_is_finite"][0](row)


def test_a_law_that_says_nothing_fails():
    row = Specimen(
        fn=lambda w: w * 2, args=lambda dtype: (jnp.ones(3, dtype),), carry=1
    )
    with pytest.raises(AssertionError, match="make the arguments larger"):
        LAWS["sharding_is_kept"][0](row)


def test_keys_are_arguments_too():
    row = Specimen(
        fn=lambda key, x: x + jax.random.normal(key, x.shape, x.dtype),
        args=lambda dtype: (jax.random.key(0), jnp.ones(8, dtype)),
    )
    for law in ("it_pickles", "vmap_equals_a_loop", "second_call_compiles_nothing"):
        LAWS[law][0](row)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"rows": (2,)}, r"rows has the position 2, and there are 2 arguments"),
        ({"grad": (5,)}, r"grad has the position 5"),
        ({"carry": 3}, "carry is 3, and there are 2 arguments"),
    ],
)
def test_positions_are_those_of_arguments(row, told):
    with pytest.raises(ValueError, match=told):
        LAWS["jit_equals_eager"][0](specimen(**row))


@pytest.mark.parametrize(
    ("fn", "told"),
    [
        (lambda x: None, "the result holds no arrays"),
        (lambda x: x * jnp.nan, "the result is NaN everywhere"),
        # Both sides would be compiled.
        (jax.jit(lambda x: x * (2 if isinstance(x, jax.core.Tracer) else 1)), "leaf"),
    ],
)
def test_there_is_something_to_compare(fn, told):
    row = Specimen(fn=fn, args=lambda dtype: (jnp.arange(1, 9, dtype=dtype),))
    with pytest.raises(AssertionError, match=told):
        LAWS["jit_equals_eager"][0](row)


def test_rows_of_integers_differ():
    @jax.custom_batching.custom_vmap
    def first_for_all(x):
        return x * 2

    @first_for_all.def_vmap
    def rule(size, batched, x):
        return jnp.broadcast_to(x[0] * 2, x.shape), True

    row = Specimen(fn=first_for_all, args=lambda _: (jnp.arange(1, 9),))
    with pytest.raises(AssertionError, match="element"):
        LAWS["vmap_equals_a_loop"][0](row)
    row = Specimen(fn=jnp.square, args=lambda _: (jnp.int32(3),))
    with pytest.raises(AssertionError, match="both rows are the same"):
        LAWS["vmap_equals_a_loop"][0](row)


def test_a_gradient_by_integers_alone_says_nothing():
    row = Specimen(fn=lambda a: a * 2.0, args=lambda _: (jnp.arange(3),), grad=(0,))
    told = r"no leaf of the arguments grad=\(0,\) is floating.*leave grad out"
    with pytest.raises(AssertionError, match=told):
        LAWS["gradient_is_finite"][0](row)
    row = Specimen(fn=jnp.argmax, args=lambda _: (jnp.ones(3),), grad=(0,))
    with pytest.raises(AssertionError, match=r"no output is floating.*leave grad out"):
        LAWS["gradient_is_finite"][0](row)


def test_what_explicit_axes_refuse_says_what_to_type():
    row = Specimen(fn=lambda x: x.T @ x, args=lambda _: (jnp.ones((8, 8)),), rows=(0,))
    told = "out_sharding.*without={'explicit_mesh_agrees': 'why'}"
    with pytest.raises(AssertionError, match=f"(?s){told}"):
        LAWS["explicit_mesh_agrees"][0](row)


@pytest.mark.parametrize("law", ["auto_mesh_agrees", "explicit_mesh_agrees"])
def test_rows_that_devices_do_not_divide_are_told(law):
    row = Specimen(fn=jnp.sin, args=lambda _: (jnp.ones((3, 2)),), rows=(0,))
    told = r"args\[0\], has the shape \[3, 2\].*first axis that 8 devices divide"
    with pytest.raises(AssertionError, match=told):
        LAWS[law][0](row)
