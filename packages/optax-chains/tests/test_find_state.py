from typing import NamedTuple

import jax.numpy as jnp

from optax_chains import Players
from optax_chains._find_state import find_states


class NoteState(NamedTuple):
    value: object
    inner_state: object = ()


def test_states_are_found_inside_each_other_with_names_that_people_chose():
    state = Players(
        gen=(jnp.ones(1), NoteState(1, inner_state={"head": NoteState(2)})),
        disc=[NoteState(3)],
    )
    found = [
        (name, path, s.value) for name, path, s in find_states(state, (NoteState,))
    ]
    assert found == [
        ("gen", "gen/1", 1),
        ("gen/head", "gen/1/inner_state/head", 2),
        ("disc", "disc/0", 3),
    ]
    assert find_states(NoteState(4), (NoteState,))[0][:2] == ("", "")
    assert find_states(state, (bytes,)) == []
