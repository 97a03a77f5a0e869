import jax.numpy as jnp
import pytest

from chex_harness import Specimen


def test_it_is_a_frozen_row():
    row = Specimen(fn=jnp.sin, args=lambda dtype: (jnp.ones(2, dtype),))
    assert row.init_args() == ()
    with pytest.raises(AttributeError):
        row.carry = 3
