import jax
import pytest

import rlax_agents as ra
from rlax_agents import RECIPES, ArgumentError, recipe

each_recipe = pytest.mark.parametrize(
    "found", RECIPES.values(), ids=[" ".join(names) for names in RECIPES]
)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


@each_recipe
def test_every_recipe_can_be_trained_and_evaluated(found):
    agent, env = found.agent, found.env
    key = jax.random.key(0)
    state = jax.eval_shape(lambda k: ra.init_train(agent, env, k, found.num_envs), key)
    after, metrics = jax.eval_shape(lambda s: ra.train_step(agent, env, s), state)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )
    assert "loss" in metrics
    seen = state.now.observation
    action = jax.eval_shape(agent.exploit, state.agent, seen)
    assert jax.tree.leaves(action)[0].shape[0] == found.num_envs


@each_recipe
def test_environments_split_evenly_over_eight_devices(found):
    assert found.num_envs % 8 == 0


def test_falling_rates_end_at_zero_with_the_run():
    found = recipe("ppo", "cartpole")
    steps = found.updates * found.agent.epochs * found.agent.minibatches
    params = jax.numpy.ones(2)
    _, adam = found.agent.optimizer.init(params)
    moved = []
    for count in (0, steps - 1, steps):
        state = jax.tree.map(
            lambda x, c=count: jax.numpy.int32(c) if x.dtype == "int32" else x, adam
        )
        moved.append(found.agent.optimizer.update(params, ((), state))[0][0])
    assert abs(moved[0]) > 1e-4
    assert 0 < abs(moved[1]) < 1e-5
    assert moved[2] == 0


def test_the_target_in_the_maze_is_near_its_optimum():
    found = recipe("ppo", "gridworld")
    assert found.target == 0.95 * ra.value_iteration(found.env, 1.0).start
    assert 0 < found.target < 1


def test_a_recipe_is_one_object_so_programs_are_compiled_once():
    assert recipe("dqn", "catch") is recipe("dqn", "catch")
    with pytest.raises(TypeError):
        RECIPES["mine", "catch"] = None


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (
            ("poo", "catch"),
            (
                "recipe: agent is 'poo', wanted one of dqn, dqn+bonus, impala, mpo, "
                "ppo; did you mean ppo?"
            ),
        ),
        (
            ("ppo", "CartPol"),
            (
                "recipe: env is 'CartPol', wanted one of cartpole, catch, deepsea, "
                "gridworld, pendulum; did you mean cartpole?"
            ),
        ),
        (
            ("ppo", "xyz"),
            (
                "recipe: env is 'xyz', wanted one of cartpole, catch, deepsea, "
                "gridworld, pendulum"
            ),
        ),
        (
            ("mpo", "deepsea"),
            (
                "recipe: there is none of mpo for deepsea; for deepsea there is dqn "
                "and dqn+bonus"
            ),
        ),
    ],
)
def test_unknown_names_are_told_with_what_there_is(names, says):
    with pytest.raises(ArgumentError) as error:
        recipe(*names)
    assert str(error.value) == says
