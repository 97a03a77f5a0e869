import jax
import numpy as np

from arrow_jax import Masked, Ragged


def test_they_are_pytrees_that_cross_jit():
    ragged = Ragged(np.ones((2, 3)), np.array([1, 3]))
    masked = Masked(ragged, np.array([True, False]))
    assert len(jax.tree.leaves(masked)) == 3
    out = jax.jit(lambda m: jax.tree.map(lambda x: x, m))(masked)
    assert isinstance(out, Masked)
    assert isinstance(out.values, Ragged)
    assert Ragged._fields == ("values", "lengths")
    assert Masked._fields == ("values", "valid")
