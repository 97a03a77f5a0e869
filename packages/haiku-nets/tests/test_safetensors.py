"""Parameters come back from a file as they were, and misfits are named."""

import json
import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import load_safetensors, save_safetensors

_PARAMS = {
    "mlp/~/linear_0": {
        "w": jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3),
        "b": jnp.float32(1.5),
    },
    "other": {
        "empty": jnp.zeros((0, 3)),
        "eight": jnp.ones(3, jnp.float8_e4m3fn),
        "mask": jnp.array([True, False]),
        "count": jnp.uint32(2**32 - 1),
    },
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "params.safetensors"
    save_safetensors(path, _PARAMS, metadata={"trained on": "digits"})
    return path


def test_parameters_come_back_to_the_bit(file):
    found = load_safetensors(file, like=_PARAMS)
    assert jax.tree.structure(found) == jax.tree.structure(_PARAMS)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(_PARAMS), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_the_layout_is_that_of_the_format(file):
    # Read by hand: 8 bytes of length, JSON, then the bytes.
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + length])
    assert head["__metadata__"] == {"trained on": "digits"}
    b = head["mlp/~/linear_0/b"]
    assert (b["dtype"], b["shape"]) == ("F32", [])
    start, end = b["data_offsets"]
    body = data[8 + length :]
    assert struct.unpack("<f", body[start:end]) == (1.5,)


def test_transposed_and_sharded_arrays_are_stored_in_order(tmp_path, devices):
    mesh = jax.make_mesh((8,), ("data",), devices=devices)
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    x = jnp.arange(16.0).reshape(8, 2)
    turned = np.arange(6.0, dtype=np.float32).reshape(2, 3).T
    path = tmp_path / "a.safetensors"
    save_safetensors(path, {"m": {"x": jax.device_put(x, spread), "t": turned}})
    found = load_safetensors(path)["m"]
    np.testing.assert_array_equal(found["x"], x)
    np.testing.assert_array_equal(found["t"], turned)


def test_what_does_not_fit_is_listed(file):
    like = {
        "mlp/~/linear_0": {"w": jnp.ones((2, 3)), "c": jnp.ones(1)},
        "other": _PARAMS["other"],
    }
    with pytest.raises(ValueError, match="does not fit the model") as caught:
        load_safetensors(file, like=like)
    assert str(caught.value).splitlines()[1:] == [
        "  mlp/~/linear_0/b: is not in the model",
        "  mlp/~/linear_0/c: is missing",
        "  mlp/~/linear_0/w: is bfloat16[2, 3], the model has float32[2, 3]",
    ]


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04", b"\xff" * 64, b"\x08" + b"\0" * 7 + b"{}"]
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a safetensors file"):
        load_safetensors(path)


def test_a_file_cut_short_is_refused(file):
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is not a safetensors file"):
        load_safetensors(file)


def test_a_name_without_module_is_refused(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "x.safetensors"
    save_file({"weight": np.ones(2)}, path)
    with pytest.raises(ValueError, match="holds 'weight', wanted names such as"):
        load_safetensors(path)


def test_64_bits_are_not_narrowed_silently(tmp_path):
    path = tmp_path / "x.safetensors"
    save_safetensors(path, {"m": {"n": np.arange(3)}})
    with pytest.raises(ValueError, match="switch jax_enable_x64 on"):
        load_safetensors(path)


@pytest.mark.parametrize(
    ("params", "metadata", "error", "complaint"),
    [
        ({"w": np.ones(2)}, None, TypeError, r"found params\['w'\] of type ndarray"),
        ({"m": {"a/b": np.ones(2)}}, None, ValueError, "wanted a name without a slash"),
        ({"m": {"": np.ones(2)}}, None, ValueError, "wanted a name without a slash"),
        ({"m": {3: np.ones(2)}}, None, ValueError, "found the parameter 3 of 'm'"),
        ({"m": {}, "n": {"w": np.ones(2)}}, None, ValueError, "no parameter in 'm'"),
        (
            {"m": {"z": np.ones(2, complex)}},
            None,
            ValueError,
            "m/z of dtype complex128",
        ),
        ({"m": {"i": jnp.ones(2, jnp.int4)}}, None, ValueError, "m/i of dtype int4"),
        ({}, {"steps": 3}, TypeError, r"pass \{'steps': '3'\}"),
    ],
)
def test_what_cannot_be_stored_is_refused(tmp_path, params, metadata, error, complaint):
    path = tmp_path / "x.safetensors"
    with pytest.raises(error, match=complaint):
        save_safetensors(path, params, metadata=metadata)
    assert not list(tmp_path.iterdir())


def test_keys_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"store jax\.random\.key_data"):
        save_safetensors(tmp_path / "x", {"m": {"key": jax.random.key(0)}})


def test_without_the_extra_the_error_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install 'haiku-nets\[safetensors\]'"):
        load_safetensors(tmp_path / "x")


@pytest.mark.parametrize("metadata", [None, {}, {"trained on": "nothing"}])
def test_an_empty_tree_comes_back(tmp_path, metadata):
    path = tmp_path / "empty.safetensors"
    save_safetensors(path, {}, metadata=metadata)
    assert load_safetensors(path, like={}) == {}


def test_numbers_of_python_are_stored_as_jax_has_them(tmp_path):
    path = tmp_path / "x.safetensors"
    save_safetensors(path, {"m": {"n": 3, "x": 0.1, "on": True, "list": [1, 2]}})
    found = load_safetensors(path)["m"]
    assert {k: (str(v.dtype), v.tolist()) for k, v in found.items()} == {
        "n": ("int32", 3),
        "x": ("float32", pytest.approx(0.1)),
        "on": ("bool", True),
        "list": ("int32", [1, 2]),
    }
    like = {"m": {"n": 0, "x": 0.0, "on": False, "list": [0, 0]}}
    assert load_safetensors(path, like=like)["m"].keys() == found.keys()
    wanted = r"m/n: is int32\[\], the model has float32\[\]"
    with pytest.raises(ValueError, match=wanted):
        load_safetensors(path, like={"m": like["m"] | {"n": 0.5}})
    with pytest.raises(ValueError, match=r"m/n with 2147483648 in it, .* no int32 for"):
        save_safetensors(path, {"m": {"n": 2**31}})


@pytest.mark.parametrize(
    ("like", "found"),
    [
        (jnp.ones(2), "ArrayImpl"),
        ({"w": jnp.ones(2)}, "dict with ArrayImpl in it"),
        ({"m": {"w": "1.0"}}, "dict with dict in it"),
        ({"m": {"w": {}}}, "dict with dict in it"),
        ({"m": {"w": None}}, "dict with dict in it"),
    ],
)
def test_a_model_that_is_none_is_refused(file, like, found):
    wanted = rf"found like of type {found}.*, wanted module path -> name -> array: pass"
    with pytest.raises(TypeError, match=wanted):
        load_safetensors(file, like=like)
