import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains._microbatches import sum_over_microbatches


@pytest.mark.parametrize("size", [None, 1, 3, 6])
def test_every_row_is_in_one_microbatch(size):
    seen = []

    def squares(rows):
        seen.append(rows["x"].shape)
        return jnp.sum(rows["x"] ** 2, 0)

    x = jnp.arange(12.0).reshape(6, 2)
    found = sum_over_microbatches(squares, {"x": x}, size=size, zero=jnp.zeros(2))
    np.testing.assert_array_equal(found, np.sum(np.square(x), 0))
    assert seen[0] == (size or 6, 2)


@pytest.mark.parametrize(
    ("rows", "size", "message"),
    [
        (6, 0, "microbatch_size is 0; type 1 or more, or None for all rows"),
        (6, -2, "microbatch_size is -2; type 1 or more"),
        (0, None, "the batch has 0 rows; pad it, or type a microbatch_size"),
    ],
)
def test_less_than_a_row_is_refused(rows, size, message):
    with pytest.raises(ValueError, match=message):
        sum_over_microbatches(jnp.sum, jnp.ones(rows), size=size, zero=jnp.zeros(()))


def test_a_size_that_does_not_divide_is_refused():
    with pytest.raises(ValueError, match="is 4, which does not divide the 6 rows"):
        sum_over_microbatches(jnp.sum, jnp.ones(6), size=4, zero=jnp.zeros(()))
