import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from chex_harness import assert_spec

BATCH = {"x": jnp.zeros((4, 6, 3)), "y": np.zeros(4, np.int32), "n": jnp.float32(1)}


def test_names_are_bound_over_the_tree():
    spec = {"x": "float32[B T 3]", "y": "B", "n": ()}
    assert assert_spec(BATCH, spec) == {"B": 4, "T": 6}


def test_a_name_of_two_sizes_says_where_each_is():
    with pytest.raises(AssertionError, match=r"axis 0 is T=4, and \['x'\] axis 1 T=6"):
        assert_spec(BATCH, {"n": "", "x": "B T 3", "y": "T"})


def test_every_leaf_that_differs_is_listed():
    with pytest.raises(AssertionError) as caught:
        assert_spec(BATCH, {"x": "i32[B T C]", "y": "B", "n": "weak f32[]"})
    assert str(caught.value).splitlines() == [
        "2 of 3 leaves are not as specified:",
        "  ['n'] is float32[], wanted weak f32[]: its type is not weak",
        "  ['x'] is float32[4 6 3], wanted i32[B T C]: the dtype is float32",
    ]


@pytest.mark.parametrize(
    "spec",
    [
        "...",
        "... 3",
        "4 ...",
        "_ _ 3",
        (4, ..., 3),
        "4,6,3",
        (None, None, 3),
        (np.int64(4), "_", "C"),
        "B S1 half",
        "f32[B h1 c1]",
    ],
)
def test_forms_that_hold(spec):
    assert_spec(BATCH["x"], spec)


@pytest.mark.parametrize(
    "spec", ["... 4", "_ _", ("B", "B", 3), "4 6 3 ... 1 1", "bf16[...]"]
)
def test_forms_that_do_not(spec):
    with pytest.raises(AssertionError, match="the leaf is float32"):
        assert_spec(BATCH["x"], spec)


def test_a_weak_type_is_not_that_of_a_struct():
    struct = jax.ShapeDtypeStruct((), jnp.float32)
    assert_spec(jnp.float32(1), struct)
    with pytest.raises(AssertionError, match="its type is weak"):
        assert_spec(jnp.asarray(1.0), struct)


@pytest.mark.devices(8)
def test_a_struct_with_a_sharding_wants_it(mesh):
    rows = NamedSharding(mesh, PartitionSpec("data"))
    struct = jax.ShapeDtypeStruct((8,), jnp.float32, sharding=rows)
    assert_spec(jax.device_put(jnp.zeros(8), rows), struct)
    with pytest.raises(AssertionError, match="its sharding is SingleDevice"):
        assert_spec(jnp.zeros(8), struct)


def test_it_runs_inside_jit_and_on_abstract_trees():
    @jax.jit
    def f(x):
        assert_spec(x, "f32[B _]")
        return x

    assert_spec(jax.eval_shape(f, jnp.zeros((2, 3))), "f32[2 3]")
    with pytest.raises(AssertionError, match="1 axes"):
        f(jnp.zeros(2))


def test_tuples_of_arrays_are_not_shapes():
    pair = (jnp.zeros(2), jnp.zeros((2, 3)))
    assert assert_spec(pair, ("B", ("B", "C"))) == {"B": 2, "C": 3}


def test_another_structure_names_the_leaves():
    with pytest.raises(AssertionError, match=r"the tree has \['n'\], \['x'\], \['y'\]"):
        assert_spec(BATCH, {"x": "B"})


@pytest.mark.parametrize("spec", ["float32[B", 3, None])
def test_what_is_no_spec_is_said(spec):
    with pytest.raises(ValueError, match="is not a spec"):
        assert_spec(jnp.zeros(2), spec)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("float32", r"'float32' is a dtype, .* write 'float32\[\.\.\.\]'"),
        ("B f32", "'f32' is a dtype"),
        ("bf16", "'bf16' is a dtype"),
        ("float8_e4m3fn", "is a dtype"),
        ("int", "'int' is a dtype"),
        (("B", "bool"), "'bool' is a dtype"),
        ("... B ...", r"more than one '\.\.\.'"),
        ((..., "B", ...), r"more than one '\.\.\.'"),
        ((-1,), r"\(-1,\) is not a spec: -1 is no size .* '_' for any size"),
        ("-1", "'-1' is no size"),
        ("B+1", r"'B\+1' is no size and no name"),
        ("*", r"'\*' is no size and no name"),
        (("B T",), "'B T' is no size and no name"),
        ((2.0,), "2.0 is no size"),
        ((True,), "True is no size"),
        ("f32[B f32]", "'f32' is a dtype"),
    ],
)
def test_what_would_be_read_as_a_name_is_refused(spec, text):
    with pytest.raises(ValueError, match=text):
        assert_spec(jnp.ones(3, int), spec)


def test_none_is_any_size_each_time():
    assert assert_spec(jnp.zeros((2, 3)), (None, None)) == {}
    with pytest.raises(AssertionError, match="it has 1 axes, 2 wanted"):
        assert_spec(jnp.zeros(2), (None, None))


def test_keys_have_dtypes():
    keys = jax.random.split(jax.random.key(0, impl="threefry2x32"), 3)
    assert assert_spec(keys, "key<fry>[B]") == {"B": 3}
    assert_spec(keys[0], "key<fry>[]")
    with pytest.raises(AssertionError, match="the dtype is key<fry>"):
        assert_spec(keys, "key<rbg>[B]")
