import jax
import jax.numpy as jnp
import optax
import pytest
from agents import ENV, POLICY

import rlax_agents as ra
from chex_harness import assert_trees_close
from rlax_agents import ArgumentError

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _strict():
    """Haiku and optax promote, so nothing is strict here."""


def test_one_epoch_of_one_minibatch_is_one_step_on_the_loss():
    env = ra.CartPole(max_steps=9)
    net, sgd = ra.actor_critic(env.action_spec, hidden=(8,)), optax.sgd(0.1)
    options = {"epochs": 1, "minibatches": 1, "unroll_length": 12, "discount": 0.9}
    agent = ra.PPO(env, network=net, optimizer=sgd, entropy_cost=0.03, **options)
    start = ra.init_train(agent, env, KEY, 5)

    params = start.agent.params
    step = jax.jit(jax.vmap(ra.AutoReset(env).step))
    # The rollout, one step at a time, as the loop takes it.
    _, k_act, _ = jax.random.split(start.key, 3)
    envs, now, steps = start.env, start.now, []
    for key in jax.random.split(k_act, 12):
        a, (log_mu, v) = agent.act(start.agent, key, now.observation)
        seen = now.observation
        envs, outcome = step(envs, a)
        true, now = outcome.timestep, outcome.now
        v_t = net.apply(params, true.observation)[1]
        steps.append(
            (seen, a, log_mu, v, v_t, true.reward, true.discount, true.truncated())
        )
    seen, a, log_mu, v, v_t, r_t, discount_t, cut = map(
        jnp.stack, zip(*steps, strict=True)
    )
    assert cut.any()
    adv = ra.gae(r_t, 0.9 * discount_t, v, v_t, lambda_=0.95, truncated_t=cut)

    def loss(params):
        policy, v_tm1 = jax.vmap(net.apply, (None, 0))(params, seen)
        scaled = (adv - adv.mean()) / adv.std()
        return ra.ppo_loss(
            policy, a, log_mu, v_tm1, scaled, adv + v, entropy_cost=0.03
        )[0]

    want = jax.tree.map(
        lambda p, g: p - 0.1 * g, params, jax.jit(jax.grad(loss))(params)
    )
    found = ra.train(agent, env, updates=1, num_envs=5, state=start)
    assert_trees_close(found.state.agent.params, want, atol=1e-5)


def test_minibatches_part_the_steps():
    agent = ra.PPO(
        ENV, network=POLICY, optimizer=optax.sgd(0.0), unroll_length=6, minibatches=3
    )
    whole = ra.PPO(
        ENV, network=POLICY, optimizer=optax.sgd(0.0), unroll_length=6, minibatches=1
    )
    parts = ra.train(agent, ENV, updates=1, num_envs=8, key=KEY).metrics
    once = ra.train(whole, ENV, updates=1, num_envs=8, key=KEY).metrics
    # Nothing moves at a rate of 0, so the mean over the parts is that of the whole.
    for name in ("entropy", "value_loss", "approx_kl"):
        assert parts[name] == pytest.approx(once[name], rel=1e-5, abs=1e-7)


def test_continuous_actions_have_the_shape_of_their_spec():
    env = ra.Pendulum()
    agent = ra.PPO(env, unroll_length=4, minibatches=1, clip_value=0.2)
    trained = ra.train(agent, env, updates=1, num_envs=3, key=KEY)
    action = agent.exploit(trained.state.agent, trained.state.now.observation)
    assert action.shape == (3, 1)
    assert jnp.isfinite(trained.metrics["loss"]).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"unroll_length": 10, "minibatches": 4},
            (
                "PPO: unroll_length is 10, wanted a multiple of minibatches, 4; "
                "type unroll_length=12"
            ),
        ),
        ({"epochs": 0}, "PPO: epochs is 0, wanted 1 or more; type epochs=1"),
        (
            {"clip_epsilon": -1.0},
            "PPO: clip_epsilon is -1, wanted 0 or more; correct it",
        ),
        ({"clip_value": -1.0}, "PPO: clip_value is -1, wanted 0 or more; correct it"),
        ({"discount": 1.5}, "PPO: discount is 1.5, wanted [0, 1]; correct it"),
        ({"lambda_": -1.0}, "PPO: lambda_ is -1, wanted [0, 1]; correct it"),
    ],
)
def test_mistakes_are_named(options, says):
    with pytest.raises(ArgumentError) as error:
        ra.PPO(ENV, **options)
    assert str(error.value) == says
