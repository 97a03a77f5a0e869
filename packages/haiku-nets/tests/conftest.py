import jax
import numpy as np
import pytest

import chex_harness


@pytest.fixture(autouse=True)
def _strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def assert_close():
    """Trees agree to a share of each leaf's largest value, as rounding of sums does."""

    def check(found, wanted, *, to):
        def scaled(a, b):
            scale = max(1.0, float(np.abs(np.asarray(b, np.float64)).max(initial=0)))
            return np.asarray(a, np.float64) / scale

        chex_harness.assert_trees_close(
            jax.tree.map(scaled, found, wanted),
            jax.tree.map(scaled, wanted, wanted),
            rtol=0,
            atol=to,
        )
        same = jax.tree.map(
            lambda a, b: (a.dtype, a.shape) == (b.dtype, b.shape), found, wanted
        )
        assert all(jax.tree.leaves(same))

    return check


@pytest.fixture
def derivatives():
    """Values, both gradients, and second derivatives in both orders of one network."""

    def of(net, params, x):
        def loss(params, x):
            return jax.numpy.sum(jax.numpy.tanh(net.apply(params, x)))

        def penalty(params, x):
            grad = jax.grad(loss, argnums=1)(params, x)
            return jax.numpy.sum(grad * grad)

        def first(params, x):
            return jax.grad(loss, argnums=(0, 1))(params, x)

        direction = jax.tree.map(jax.numpy.cos, (params, x))
        return {
            "value": net.apply(params, x),
            "first": first(params, x),
            "reverse over reverse": jax.grad(penalty, argnums=(0, 1))(params, x),
            "forward over reverse": jax.jvp(first, (params, x), direction)[1],
            "forward": jax.jvp(net.apply, (params, x), direction)[1],
        }

    # Compiling is most of what these tests take, and nothing here is run twice.
    return jax.jit(
        of,
        static_argnums=0,
        compiler_options={"xla_backend_optimization_level": 0},
    )
