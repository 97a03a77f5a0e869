"""Molecules like those of MUTAG, generated: fused rings of carbon with groups on them.

MUTAG (Debnath et al., 1991) has 188 aromatic nitro compounds of 10 to 28 atoms and asks
which cause mutations; nitro groups and several fused rings make that likely. Here it is
the rule: mutagenic is what has a nitro group and three rings or more.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")
BONDS = ("aromatic", "single", "double")
AROMATIC, SINGLE, DOUBLE = range(3)
# What may hang on a ring: atoms, and bonds (from, to, kind); -1 is the ring's atom.
GROUPS: dict[str, tuple[list[str], list[tuple[int, int, int]]]] = {
    "nitro": (["N", "O", "O"], [(-1, 0, SINGLE), (0, 1, DOUBLE), (0, 2, DOUBLE)]),
    "methyl": (["C"], [(-1, 0, SINGLE)]),
    "hydroxyl": (["O"], [(-1, 0, SINGLE)]),
    "amine": (["N"], [(-1, 0, SINGLE)]),
    "acid": (["C", "O", "O"], [(-1, 0, SINGLE), (0, 1, DOUBLE), (0, 2, SINGLE)]),
    "chlorine": (["Cl"], [(-1, 0, SINGLE)]),
    "fluorine": (["F"], [(-1, 0, SINGLE)]),
}


def molecule(rng: np.random.Generator) -> dict[str, Any]:
    """One molecule: a row with atoms, both directions of each bond, and the label."""
    n_rings = int(rng.integers(1, 5))
    atoms = [0] * 6
    bonds = [(i, (i + 1) % 6, AROMATIC) for i in range(6)]
    edge = (2, 3)
    for _ in range(n_rings - 1):  # the next ring shares this bond
        n = len(atoms)
        atoms += [0] * 4
        path = [edge[0], n, n + 1, n + 2, n + 3, edge[1]]
        bonds += [(u, v, AROMATIC) for u, v in itertools.pairwise(path)]
        at = int(rng.integers(0, 3))
        edge = (n + at, n + at + 1)
    degree = np.bincount(np.ravel([bond[:2] for bond in bonds]), minlength=len(atoms))
    places = rng.permutation(np.flatnonzero(degree == 2))[: rng.integers(1, 4)]
    names = rng.choice(list(GROUPS), len(places), p=[0.34, *[0.11] * 6])
    for place, name in zip(places, names, strict=True):
        first = len(atoms)
        new, ties = GROUPS[str(name)]
        atoms += [ATOMS.index(atom) for atom in new]
        bonds += [
            (int(place) if u < 0 else first + u, first + v, kind) for u, v, kind in ties
        ]
    both = [(u, v, k) for a, b, k in bonds for u, v in ((a, b), (b, a))]
    senders, receivers, kinds = np.array(both).T
    return {
        "atoms": atoms,
        "senders": senders,
        "receivers": receivers,
        "bonds": kinds,
        "mutagenic": int("nitro" in names and n_rings >= 3),
    }


def write_molecules(path: str | Path, *, n: int, seed: int = 0) -> None:
    """Writes n molecules to a Parquet file, a row each, small integers in lists."""
    rng = np.random.default_rng(seed)
    rows = [molecule(rng) for _ in range(n)]
    lists = pa.list_(pa.int32())
    schema = pa.schema(
        dict.fromkeys(("atoms", "senders", "receivers", "bonds"), lists)
        | {"mutagenic": pa.int32()}
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
