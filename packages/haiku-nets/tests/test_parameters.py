import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from haiku_nets import ParameterRow, count_parameters, parameter_table


def _forward(x):
    return hk.nets.MLP([3, 1])(x)


_MLP = hk.transform(_forward)
_ROWS = [
    ParameterRow("mlp/~/linear_0", "b", (3,), np.dtype("float32"), 3),
    ParameterRow("mlp/~/linear_0", "w", (2, 3), np.dtype("float32"), 6),
    ParameterRow("mlp/~/linear_1", "b", (1,), np.dtype("float32"), 1),
    ParameterRow("mlp/~/linear_1", "w", (3, 1), np.dtype("float32"), 3),
]


def test_real_and_abstract_parameters_give_the_same_rows():
    key, x = jax.random.key(0), jnp.ones((1, 2))
    assert parameter_table(_MLP.init(key, x)) == _ROWS
    assert parameter_table(jax.eval_shape(_MLP.init, key, x)) == _ROWS


def test_the_count_is_the_sum_of_the_rows():
    params = _MLP.init(jax.random.key(0), jnp.ones((1, 2)))
    assert count_parameters(params) == sum(row.count for row in _ROWS) == 13


def test_a_scalar_counts_one_and_an_empty_tree_nothing():
    params = {"scale": {"s": jnp.ones((), jnp.bfloat16)}}
    assert parameter_table(params) == [
        ParameterRow("scale", "s", (), jnp.dtype("bfloat16"), 1)
    ]
    assert count_parameters(params) == 1
    assert parameter_table({}) == []
    assert count_parameters({}) == 0


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ([1.0], "params is list"),
        ({"linear": np.ones(3)}, r"params\['linear'\] is ndarray"),
        ({"linear": {"w": "no"}}, r"params\['linear'\]\['w'\] is str"),
    ],
)
def test_what_is_not_parameters_is_named(wrong, where):
    with pytest.raises(TypeError, match=where + ".*wanted Haiku parameters"):
        parameter_table(wrong)
