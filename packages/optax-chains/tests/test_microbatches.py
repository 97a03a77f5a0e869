import jax.numpy as jnp
import numpy as np
import pytest

from optax_chains._microbatches import rows_of, sum_over_microbatches


@pytest.mark.parametrize("size", [None, 1, 3, 6])
def test_every_row_is_in_one_microbatch(size):
    seen = []

    def squares(rows):
        seen.append(rows["x"].shape)
        return jnp.sum(rows["x"] ** 2, 0)

    x = jnp.arange(12.0).reshape(6, 2)
    found = sum_over_microbatches("f", squares, {"x": x}, size=size, zero=jnp.zeros(2))
    np.testing.assert_array_equal(found, np.sum(np.square(x), 0))
    assert seen[0] == (size or 6, 2)


@pytest.mark.parametrize(
    ("rows", "size", "message"),
    [
        (6, 0, "microbatch_size is 0; type 1 or more"),
        (6, -2, "microbatch_size is -2; type 1 or more"),
        (0, None, "f: the batch has 0 rows; pad it, or type a microbatch_size"),
    ],
)
def test_less_than_a_row_is_refused(rows, size, message):
    with pytest.raises(ValueError, match=message):
        sum_over_microbatches(
            "f", jnp.sum, jnp.ones(rows), size=size, zero=jnp.zeros(())
        )


def test_a_size_that_does_not_divide_is_refused():
    with pytest.raises(ValueError, match="is 4, which does not divide the 6 rows"):
        sum_over_microbatches("f", jnp.sum, jnp.ones(6), size=4, zero=jnp.zeros(()))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({}, "f: batch has the shapes of no array, wanted a first axis of one length"),
        (jnp.ones(()), r"batch has the shapes \(\), wanted a first axis"),
        (
            {"x": jnp.ones((8, 3)), "y": jnp.ones(4)},
            r"'x' \(8, 3\), 'y' \(4,\)",
        ),
        (
            {"x": jnp.ones(8), "y": 1.0},
            r"'y' \(\), wanted .* in every leaf; stack",
        ),
    ],
)
def test_rows_that_are_not_rows_are_refused(batch, message):
    with pytest.raises(ValueError, match=message):
        rows_of("f", "batch", batch)
    assert rows_of("f", "batch", {"x": jnp.ones((8, 3)), "y": np.ones(8)}) == 8
