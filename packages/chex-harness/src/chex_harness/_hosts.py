"""Whether all processes hold the same values.

An array that is replicated over several processes is what each of them put there.
Nothing compares them: a seed that depends on the host, or a file that one host has
not updated, makes every process train its own model, silently.
"""

import hashlib
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils


def assert_same_on_all_hosts(tree: Any) -> None:
    """Asserts that every process, and every device, has the same values.

    Compared are structure, shapes and dtypes, and of each leaf the parts that several
    devices hold: all of a replicated array, and those blocks of a sharded one that
    have copies. NumPy arrays and numbers count as replicated. Costs two small
    all-gathers and a hash of the data on the host; all processes must call it.

    Args:
      tree: a pytree of arrays, global ones or each process's own.

    Raises:
      AssertionError: on all processes, if they differ; names each leaf and which
        processes or devices hold which value.

    Example:
      >>> assert_same_on_all_hosts({"seed": 3})
    """
    leaves, treedef = jax.tree.flatten_with_path(tree)
    names = [jax.tree_util.keystr(path) or "the leaf" for path, _ in leaves]
    parts = [_parts(leaf) for _, leaf in leaves]
    types = [
        f"{name} {np.shape(x)} {jax.numpy.result_type(x)}"
        for name, (_, x) in zip(names, leaves, strict=True)
    ]
    outline = f"{treedef} {types} {[len(p) for p in parts]}"
    # Of one size whatever the tree is, so that hosts that differ still meet here.
    outlines = _gather(np.frombuffer(_digest(outline.encode()), np.uint8))
    groups = _groups([(i, o.tobytes()) for i, o in enumerate(outlines)])
    if len(groups) > 1:
        raise AssertionError(
            f"the trees differ in structure, shapes or dtypes: {_told(groups)}"
            f"; process {jax.process_index()} has {', '.join(types)}"
        )
    rows = [
        leaf.to_bytes(4, "big") + key + value
        for leaf, part in enumerate(parts)
        for key, value in part
    ]
    mine = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 36)
    everyone = _gather(mine) if rows else np.zeros((1, 0, 36), np.uint8)
    held: dict[tuple[int, bytes], list[tuple[int, bytes]]] = {}
    for process, table in enumerate(everyone):
        for row in table:
            data = row.tobytes()
            place = (int.from_bytes(data[:4], "big"), data[4:20])
            held.setdefault(place, []).append((process, data[20:]))
    lines = {}
    for (leaf, _), holders in held.items():
        if len(groups := _groups(holders)) > 1:
            lines.setdefault(leaf, f"{names[leaf]}: {_told(groups)}")
    if lines:
        raise AssertionError(
            f"{len(lines)} of {len(names)} leaves are not the same everywhere:\n  "
            + "\n  ".join(lines.values())
        )


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _parts(leaf: Any) -> list[tuple[bytes, bytes]]:
    """For each block that lies here: what part of the array it is, and its values."""
    if not isinstance(leaf, jax.Array):
        return [(_digest(b"whole"), _digest(np.asarray(leaf).tobytes()))]
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    whole = str(tuple(slice(0, n) for n in leaf.shape))
    parts = []
    for shard in leaf.addressable_shards:
        ends = [s.indices(n)[:2] for s, n in zip(shard.index, leaf.shape, strict=True)]
        index = str(tuple(slice(*e) for e in ends))
        key = b"whole" if index == whole else index.encode()
        parts.append((_digest(key), _digest(np.asarray(shard.data).tobytes())))
    return parts


def _gather(rows: np.ndarray) -> np.ndarray:
    if jax.process_count() == 1:
        return rows[None]
    return multihost_utils.process_allgather(rows)


def _groups(holders: list[tuple[int, bytes]]) -> dict[bytes, list[int]]:
    groups: dict[bytes, list[int]] = {}
    for who, value in holders:
        groups.setdefault(value, []).append(who)
    return groups


def _told(groups: dict[bytes, list[int]]) -> str:
    return ", ".join(
        f"{value.hex()[:8]} on process {', '.join(map(str, sorted(set(who))))}"
        for value, who in groups.items()
    )
