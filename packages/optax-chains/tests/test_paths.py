import dataclasses
from typing import NamedTuple

import jax

from optax_chains._paths import paths_of


class Layer(NamedTuple):
    w: object
    b: object


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Net:
    layers: list
    head: dict


def test_every_kind_of_tree_has_paths_with_slashes():
    tree = Net([Layer(1, 2)], {"mlp/~/linear": {"w": 3}})
    found = ["layers/0/w", "layers/0/b", "head/mlp/~/linear/w"]
    assert paths_of(tree) == found
    assert paths_of(1) == [""]
