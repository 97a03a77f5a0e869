import pytest

from mnist_gan import _devices
from mnist_gan._errors import UserError


@pytest.mark.parametrize("n", [1, 3, 8])
def test_the_first_n_devices_make_the_mesh(devices, n):
    assert list(_devices.place(n).mesh.devices) == devices[:n]


def test_all_devices_by_default(devices):
    assert _devices.place(None).mesh.size == len(devices)


@pytest.mark.parametrize(
    ("batch_size", "n", "advice"),
    [(64, 7, "--batch-size 63 or 70"), (3, 8, "--batch-size 8 or 16")],
)
def test_a_batch_that_does_not_divide(batch_size, n, advice):
    with pytest.raises(UserError, match=advice):
        _devices.check_batch_size(batch_size, _devices.place(n))


def test_devices_are_named_and_counted():
    assert _devices.describe(_devices.place(1)).startswith("1 CPU device")
    assert _devices.describe(_devices.place(8)).startswith("8 CPU devices")
