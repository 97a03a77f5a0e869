"""What needs no Gymnasium; the rest is in peers."""

import sys

import pytest

from rlax_agents import Catch, to_gymnasium


def test_without_gymnasium_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ModuleNotFoundError) as found:
        to_gymnasium(Catch())
    assert str(found.value) == (
        "to_gymnasium: gymnasium is not installed; "
        'type pip install "rlax-agents[gymnasium]"'
    )
