import jax
import jax.numpy as jnp
import pytest
from agents import ENV

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


def test_continuous_actions():
    env = ra.Pendulum()
    agent = ra.MPO(
        env,
        policy_network=ra.stochastic_policy(env.action_spec, hidden=(8,)),
        critic_network=ra.action_critic(hidden=(8,)),
        batch_size=8,
        samples=4,
        capacity=20,
        min_steps=8,
        target_period=3,
    )
    step = jax.jit(ra.train_step, static_argnums=(0, 1))
    state = jax.jit(lambda key: ra.init_train(agent, env, key, 2))(KEY)
    start = state.agent
    state, _ = step(agent, env, state)
    assert_trees_close(state.agent.params, start.params, atol=0)  # it waits
    state, metrics = step(agent, env, state)
    assert int(state.agent.steps) == 4
    for name in ("critic_loss", "kl_mean", "kl_scale", "temperature"):
        assert jnp.isfinite(metrics[name])
    assert (metrics["critic_loss"] > 0) & (metrics["kl_mean"] >= 0)
    for part in ("policy", "critic"):
        old, new = getattr(start.target, part), getattr(state.agent.target, part)
        assert not jax.tree.all(
            jax.tree.map(lambda a, b: bool((a == b).all()), old, new)
        )
    action, _ = agent.act(state.agent, KEY, state.now.observation)
    assert (action.shape, action.dtype) == ((2, 1), jnp.float32)


def test_the_critic_sees_the_action_that_the_environment_takes():
    env = ra.Pendulum()
    agent = ra.MPO(env)
    params = agent.init(KEY, 1).params
    seen = jnp.ones((3, 3))
    far = agent._judge(params, seen, jnp.full((1, 3, 1), 50.0))
    bound = agent._judge(params, seen, jnp.full((1, 3, 1), 2.0))
    inside = agent._judge(params, seen, jnp.full((1, 3, 1), 1.0))
    assert_trees_close(far, bound, atol=0)
    assert (inside != bound).any()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"samples": 0}, "MPO: samples is 0, wanted 1 or more; type samples=1"),
        ({"capacity": 3}, "MPO: capacity is 3, wanted 100 or more; type capacity=100"),
        ({"epsilon": -1.0}, "MPO: epsilon is -1, wanted 0 or more; correct it"),
        ({"discount": 1.1}, "MPO: discount is 1.1, wanted [0, 1]; correct it"),
    ],
)
def test_mistakes_are_named(options, says):
    with pytest.raises(ArgumentError) as error:
        ra.MPO(ENV, **options)
    assert str(error.value) == says


def test_actions_keep_their_width_under_x64():
    env = ra.Pendulum()
    with jax.enable_x64(new_val=True):
        agent = ra.MPO(env)
        state = jax.eval_shape(lambda key: agent.init(key, 2), KEY)
        seen = jax.ShapeDtypeStruct((2, 3), jnp.float32)
        for act in (
            lambda state, seen: agent.act(state, KEY, seen)[0],
            agent.exploit,
        ):
            action = jax.eval_shape(act, state, seen)
            assert (action.shape, action.dtype) == ((2, 1), jnp.float32)
        jax.eval_shape(
            lambda key: ra.train_step(agent, env, ra.init_train(agent, env, key, 2)),
            KEY,
        )
