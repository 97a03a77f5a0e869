import jax
import numpy as np
import pytest

from arrow_jax import DeviceError, Masked
from arrow_jax._device import device_name, find_device, mode, put, without_mesh


def test_devices_go_by_either_name():
    for device in jax.devices():
        assert find_device(str(device)) is device
        assert find_device(f"cpu:{device.id}") is device
        assert device_name(device) == str(device)
    with pytest.raises(
        DeviceError, match=r"device 'cpu:99' is not one of this process"
    ):
        find_device("cpu:99")


def test_only_arrays_are_put_and_order_stays():
    tree = {
        "z": np.ones(2),
        "a": ["text", b"\0", None],
        "n": Masked({"b": np.int8(3)}, []),
    }
    got = put(tree, None)
    assert list(got) == ["z", "a", "n"]
    assert got["a"] == ["text", b"\0", None]
    assert got["n"].values["b"].dtype == np.int8
    assert isinstance(got["z"], jax.Array)


def test_the_mode_is_set_only_for_the_block():
    assert not jax.config.jax_enable_x64
    with mode(x64=True, default_device=jax.devices()[4]):
        array = jax.device_put(np.ones(1))
        assert array.dtype == np.float64
        assert array.devices() == {jax.devices()[4]}
    assert not jax.config.jax_enable_x64
    assert jax.device_put(np.ones(1)).devices() == {jax.devices()[0]}


def test_a_mesh_is_hidden_only_for_the_block():
    mesh = jax.make_mesh((8,), ("data",))
    same = jax.jit(lambda x: x)
    with jax.set_mesh(mesh):
        with without_mesh():
            assert same(np.ones(2)).devices() == {jax.devices()[0]}
        assert same(np.ones(2)).devices() == {*jax.devices()}
    with without_mesh():
        assert same(np.ones(2)).devices() == {jax.devices()[0]}
