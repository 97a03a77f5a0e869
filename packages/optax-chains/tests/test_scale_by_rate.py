import jax.numpy as jnp
import numpy as np
import optax

from optax_chains import scale_by_rate


def test_it_is_optax_with_the_rate_noted():
    def schedule(step):
        return 1.0 / (step + 1)

    ours, theirs = scale_by_rate(schedule), optax.scale_by_learning_rate(schedule)
    u = jnp.array([1.0, -2.0])
    state, other = ours.init(u), theirs.init(u)
    for t in range(4):
        found, state = ours.update(u, state)
        wanted, other = theirs.update(u, other)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(state.learning_rate, 1 / (t + 1), rtol=1e-6)
    assert int(state.count) == 4
