import jax.numpy as jnp
import numpy as np

from optax_chains._count import next_count


def test_it_counts_and_stops_at_the_largest():
    largest = np.iinfo(np.int32).max
    found = [int(next_count(jnp.int32(n))) for n in (0, 7, largest)]
    assert found == [1, 8, largest]
    assert next_count(jnp.int32(0)).dtype == jnp.int32
