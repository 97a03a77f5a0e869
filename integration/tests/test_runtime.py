import signal

import jax
import pytest

from mnist_gan import _runtime
from mnist_gan._errors import UserError
from mnist_gan._interrupts import Interrupts

SLURM = {"SLURM_NTASKS": "4", "SLURM_PROCID": "1"}


@pytest.mark.parametrize(
    ("environment", "asks"),
    [
        ({}, False),
        (SLURM, True),
        ({"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, False),
        ({"SLURM_NTASKS": "4"}, False),  # salloc without srun
        ({"OMPI_COMM_WORLD_SIZE": "2"}, True),
        ({"TPU_WORKER_HOSTNAMES": "localhost"}, False),
        ({"TPU_WORKER_HOSTNAMES": "a,b", "TPU_WORKER_ID": "1"}, True),
        ({"MEGASCALE_COORDINATOR_ADDRESS": "a:8080"}, True),
    ],
)
def test_the_environment_says_whether_there_may_be_others(tmp_path, environment, asks):
    assert _runtime.asks(environment, tmp_path) == asks


@pytest.mark.parametrize("chip", ["accel0", "vfio/0"])
def test_a_tpu_is_asked_whether_it_is_one_of_several(tmp_path, chip):
    (tmp_path / chip).parent.mkdir(exist_ok=True)
    (tmp_path / chip).touch()
    assert _runtime.asks({}, tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("a:1", 2, None), "go together"),
        ((None, 2, 0), "go together"),
        (("here", 2, 0), "wanted HOST:PORT"),
        (("a:http", 2, 0), "wanted HOST:PORT"),
        (("a:1", 2, 2), "the last is 1"),
    ],
)
def test_options_that_do_not_fit(options, words):
    with pytest.raises(UserError, match=words):
        _runtime.initialize(_runtime.Join(*options), {})


def test_one_process_has_nobody_to_wait_for():
    interrupted = Interrupts()
    with _runtime.runtime(_runtime.Join(), interrupted) as found:
        assert found.hosts.count == 1
        assert found.hosts.first
        assert not found.stops(1)
        interrupted.received = signal.SIGINT
        assert found.stops(2)
        assert found.hosts.gather("x", "mine", seconds=0) == ["mine"]
        assert found.hosts.share("x", "mine", seconds=0) == "mine"
    assert not jax.distributed.is_initialized()
