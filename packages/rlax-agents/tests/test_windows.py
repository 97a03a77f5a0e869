import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rlax_agents._windows import Experience, scan_if, to_transition


@pytest.mark.parametrize("seed", range(3))
def test_a_window_is_summed_up_to_where_its_episode_ends(seed):
    rng = np.random.default_rng(seed)
    n, batch = 5, 40
    last = rng.random((n, batch)) < 0.2
    discount = np.where(rng.random((n, batch)) < 0.5, 0.9, 0.9 * ~last)
    window = Experience(
        observation_tm1=rng.normal(size=(n, batch, 3)),
        a_tm1=rng.integers(0, 4, (n, batch)),
        r_t=rng.normal(size=(n, batch)),
        discount_t=discount,
        last_t=last,
        observation_t={"x": rng.normal(size=(n, batch, 2))},
    )
    arrays = [jnp.asarray(x, jnp.float32) for x in (window.r_t, discount)]
    observation_t = {"x": jnp.asarray(window.observation_t["x"], jnp.float32)}
    found = to_transition(
        window._replace(
            observation_tm1=jnp.asarray(window.observation_tm1, jnp.float32),
            a_tm1=jnp.asarray(window.a_tm1, jnp.int32),
            r_t=arrays[0],
            discount_t=arrays[1],
            last_t=jnp.asarray(last),
            observation_t=observation_t,
        )
    )
    for i in range(batch):
        total, weight, t = 0.0, 1.0, 0
        while True:
            total += weight * window.r_t[t, i]
            weight *= discount[t, i]
            if last[t, i] or t == n - 1:
                break
            t += 1
        np.testing.assert_allclose(found.r_t[i], total, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.discount_t[i], weight, rtol=1e-5)
        np.testing.assert_allclose(
            found.observation_t["x"][i], window.observation_t["x"][t, i], rtol=1e-6
        )
    np.testing.assert_allclose(
        found.observation_tm1, window.observation_tm1[0], rtol=1e-6
    )
    np.testing.assert_array_equal(found.a_tm1, window.a_tm1[0])


def test_nothing_is_learned_before_it_is_time():
    def learn(state, key):
        return state + 1, {"loss": jax.random.uniform(key)}

    keys = jax.random.split(jax.random.key(0), 3)
    state, metrics = scan_if(jnp.zeros((), bool), learn, jnp.int32(0), keys)
    assert (int(state), float(metrics["loss"])) == (0, 0.0)
    state, metrics = scan_if(jnp.ones((), bool), learn, jnp.int32(0), keys)
    want = np.mean([jax.random.uniform(key) for key in keys])
    assert int(state) == 3
    np.testing.assert_allclose(metrics["loss"], want, rtol=1e-6)
