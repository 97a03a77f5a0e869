import subprocess
import sys

import jax
import pytest
from agents import AGENTS, ENV

import rlax_agents as ra
from rlax_agents._devices import DevicesError, choose_devices
from rlax_agents._train import place


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


def test_devices_are_simulated_on_a_cpu():
    program = (
        "from rlax_agents._devices import choose_devices; print(choose_devices(3, 6))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "'data': 3" in done.stdout or "(3,)" in done.stdout


def test_one_device_needs_no_mesh():
    assert choose_devices(1, 5) is None


@pytest.mark.devices(8)
def test_the_first_devices_are_taken(devices):
    mesh = choose_devices(2, 8)
    assert mesh.devices.tolist() == jax.devices()[:2]
    assert mesh.axis_names == ("data",)


@pytest.mark.devices(8)
def test_a_state_is_split_by_environments_and_the_rest_is_on_all(devices):
    agent, mesh = AGENTS["dqn"], choose_devices(2, 8)
    state = jax.jit(lambda key: ra.init_train(agent, ENV, key, 8))(jax.random.key(0))
    placed = place(state, agent, mesh)
    for leaf in jax.tree.leaves((placed.env, placed.now, placed.episodes)):
        assert leaf.addressable_shards[0].data.shape[0] == 4
    assert placed.agent.replay.items.r_t.sharding.spec == jax.P(None, "data")
    for leaf in jax.tree.leaves((placed.agent.params, placed.key, placed.updates)):
        assert leaf.sharding.is_fully_replicated
    assert place(state, agent, None) is state


@pytest.mark.devices(8)
@pytest.mark.parametrize(
    ("count", "num_envs", "says"),
    [
        (3, 64, "--devices 3 do not divide 64 environments; type --envs 66"),
        (64, 64, "--devices 64: found 8 of kind cpu; type --devices 8 or fewer"),
    ],
)
def test_what_cannot_be_is_said(devices, count, num_envs, says):
    with pytest.raises(DevicesError) as error:
        choose_devices(count, num_envs)
    assert str(error.value) == says
