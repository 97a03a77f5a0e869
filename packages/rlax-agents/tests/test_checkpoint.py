import json
import zipfile
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agents import AGENTS, ENV

import rlax_agents as ra
from rlax_agents import ArgumentError, CheckpointError, load_state, save_state
from rlax_agents._checkpoint import _DTYPES


class Pair(NamedTuple):
    left: object
    right: object


def example():
    return Pair(
        {"a/b": jnp.float32([1.5, -0.0, jnp.nan]), "a": {"b": jnp.int8(-3)}},
        [
            jax.random.key(7),
            jax.random.split(jax.random.key(1, impl="rbg"), 3),
            jnp.array([[1.25], [jnp.inf]], jnp.bfloat16),
            jnp.array([True, False]),
            np.arange(6, dtype=np.int64).reshape(2, 3).T,
            np.float64(0.1),
            jnp.zeros((0, 4), jnp.float8_e4m3fn),
            jnp.array([-8, 7], jnp.int4),
            None,
        ],
    )


def bits(leaf):
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf).tobytes()


def assert_same(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert isinstance(a, jax.Array) == isinstance(b, jax.Array)
        assert bits(a) == bits(b)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state.npz"


def test_every_bit_comes_back(file):
    save_state(file, example())
    assert_same(load_state(file, example()), example())


def test_a_lone_array_and_an_empty_tree(file):
    for state in (jnp.ones(3), {}):
        save_state(file, state)
        assert_same(load_state(file, state), state)


def test_numpy_reads_the_leaves_by_their_path(file):
    save_state(file, example())
    with np.load(file, allow_pickle=False) as arrays:
        assert arrays[".left['a']['b']"] == -3
        assert arrays[".right[2]"].dtype == np.uint16


def test_the_same_state_gives_the_same_bytes(file):
    save_state(file, example())
    before = file.read_bytes()
    save_state(file, example())
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", ["ppo", "categorical", "bonus"])
def test_the_state_of_training_comes_back_by_its_shapes(file, name):
    def init(key):
        return ra.init_train(AGENTS[name], ENV, key, 4)

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        state = jax.jit(init)(jax.random.key(3))
        save_state(file, state)
        like = jax.eval_shape(init, jax.random.key(0))
    assert_same(load_state(file, like), state)


@pytest.mark.devices(8)
def test_arrays_go_where_those_of_like_are(file, mesh):
    spread = jax.NamedSharding(mesh, jax.P(mesh.axis_names[0]))
    x = jax.device_put(jnp.arange(16), spread)
    save_state(file, {"x": x})
    for like in (x, jax.ShapeDtypeStruct((16,), jnp.int32, sharding=spread)):
        found = load_state(file, {"x": like})
        assert found["x"].sharding == spread
        assert_same(found, {"x": x})
    assert not load_state(file, {"x": jnp.arange(16)})["x"].committed


X = {"x": jnp.ones((2, 3))}


@pytest.mark.parametrize(
    ("like", "says"),
    [
        (
            {"y": jnp.ones((2, 3))},
            "the file has no leaf ['y'], and what was asked for ",
        ),
        ({}, "what was asked for has no leaf ['x'], and the file has; they are states"),
        ({"x": jnp.ones((3, 2))}, "the leaf ['x'] has shape (2, 3), wanted (3, 2)"),
        (
            {"x": jnp.ones((2, 3), jnp.bfloat16)},
            "the leaf ['x'] has dtype float32, wanted bfloat16",
        ),
        ({"x": jax.random.key(0)}, "the leaf ['x'] has dtype float32, wanted key<fry>"),
    ],
)
def test_another_state_is_refused_by_the_leaf_that_differs(file, like, says):
    save_state(file, X)
    with pytest.raises(CheckpointError) as error:
        load_state(file, like)
    assert str(error.value).startswith(f"{file}: {says}")


def test_another_kind_of_key_is_refused(file):
    save_state(file, jax.random.key(0, impl="rbg"))
    with pytest.raises(
        CheckpointError, match=r"leaf \. has dtype key<rbg>, wanted key<"
    ):
        load_state(file, jax.random.key(0))


def flip_a_byte_of_data(file):
    content = bytearray(file.read_bytes())
    content[content.index(np.float32([1, 1]).tobytes())] ^= 1
    file.write_bytes(content)


def drop_a_leaf(file):
    with zipfile.ZipFile(file) as archive:
        kept = archive.read("dtypes.npy")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("dtypes.npy", kept)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-30]),
        lambda file: file.write_bytes(b""),
        lambda file: np.savez(file, x=np.ones((2, 3))),
        flip_a_byte_of_data,
        drop_a_leaf,
    ],
    ids=["cut", "empty", "foreign", "flipped", "dropped"],
)
def test_a_damaged_file_is_named(file, damage):
    save_state(file, X)
    damage(file)
    with pytest.raises(CheckpointError, match=r"state\.npz: .*damaged"):
        load_state(file, X)


def test_no_bit_of_a_file_can_make_it_raise_anything_else(file):
    state = {"w": jnp.arange(3.0)}
    save_state(file, state)
    whole = file.read_bytes()
    for at in range(len(whole)):
        for bit in (0, 3, 6):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << bit
            file.write_bytes(damaged)
            try:
                found = load_state(file, state)
            except CheckpointError:
                continue
            # Dates and the like are not compared; numbers are.
            assert found["w"].tolist() == [0, 1, 2]


def test_what_is_no_array_is_refused(file):
    with pytest.raises(ArgumentError) as error:
        save_state(file, {"n": 3})
    assert str(error.value) == (
        "save_state: the leaf ['n'] is of type int, wanted an array; type "
        "numpy.asarray of it if it is a number"
    )
    assert not file.exists()


@pytest.mark.parametrize(
    ("dtypes", "stored"),
    [
        ({"['w']": "float32"}, np.int32([1, 2])),
        ({"['w']": "float32"}, np.float64([1, 2])),
        ({"['w']": "float32"}, np.array([1, 2], ">f4")),
        ({"['w']": 3}, np.float32([1, 2])),
        ({"['w']": "key:bogus"}, np.float32([1, 2])),
        (3, np.float32([1, 2])),
        ([], np.float32([1, 2])),
    ],
)
def test_a_file_that_says_one_thing_and_holds_another(file, dtypes, stored):
    said = np.array(json.dumps(dtypes))
    np.savez(file, **{"['w']": stored, _DTYPES: said})
    with pytest.raises(CheckpointError, match="damaged"):
        load_state(file, {"w": jnp.zeros(2)})
