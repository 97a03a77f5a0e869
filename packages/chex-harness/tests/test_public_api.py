import pytest

import chex_harness


@pytest.mark.parametrize("name", chex_harness.__all__)
def test_every_public_name_loads_and_says_what_it_does(name):
    assert getattr(chex_harness, name).__doc__


def test_the_table_of_homes_is_complete():
    assert sorted(chex_harness._HOMES) == dir(chex_harness)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        chex_harness.nothing  # noqa: B018
