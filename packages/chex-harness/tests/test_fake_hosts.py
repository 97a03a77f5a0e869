import jax
import pytest

from chex_harness import fake_hosts


def test_jax_says_what_it_is_told():
    with fake_hosts(process_index=2, process_count=4):
        assert (jax.process_index(), jax.process_count()) == (2, 4)
        assert jax.process_indices() == [0, 1, 2, 3]
    assert (jax.process_index(), jax.process_count()) == (0, 1)


def test_there_must_be_such_a_process():
    with (
        pytest.raises(ValueError, match="wanted 0 to 1"),
        fake_hosts(process_index=2, process_count=2),
    ):
        pass
