"""Checks that all processes run the same thing.

jax does not: a process with another program, seed or data gives no error and wrong
numbers. So what decides the numbers is compared, by hash, before the first step and at
every checkpoint.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from mnist_gan._errors import HostsError
from mnist_gan._hosts import Hosts


def check_same(hosts: Hosts, facts: Mapping[str, Any], *, seconds: float) -> None:
    """Compares facts between processes; all of them must call it.

    Args:
      hosts: the processes.
      facts: name -> a value that JSON can hold. A dict is compared by those keys that
        two processes share.
      seconds: how long to wait for the others.

    Raises:
      HostsError: on every process; names those that differ from most, and the fact.
    """
    if hosts.count == 1:
        return
    texts = hosts.gather(
        "comparing " + ", ".join(facts), json.dumps(facts), seconds=seconds
    )
    everybody = [json.loads(text) for text in texts]
    for name in facts:
        values = [said[name] for said in everybody]
        _compare(hosts, name, values)


def _compare(hosts: Hosts, name: str, values: list[Any]) -> None:
    tables = [v if isinstance(v, dict) else {"": v} for v in values]
    for key in sorted({key for table in tables for key in table}):
        said = {i: json.dumps(t[key]) for i, t in enumerate(tables) if key in t}
        usual, _ = Counter(said.values()).most_common(1)[0]
        others = [i for i, text in said.items() if text != usual]
        if others:
            of = f" of {key}" if key else ""
            who = ", ".join(hosts.names[i] for i in others)
            raise HostsError(
                f"{name}{of} differs between the processes: {who} has "
                f"{said[others[0]]}, most have {usual}; give all the same command, "
                "packages, data and seed"
            )


def digest(text: str) -> str:
    """A short hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def parts(tree: Any) -> dict[str, str]:
    """Hashes what each device of this process holds of a tree.

    Args:
      tree: of global arrays.

    Returns:
      Which part of the tree -> hash of its values. Devices that hold the same part
      must have the same hash, wherever they are.

    Raises:
      HostsError: if two devices of this process differ already.
    """
    values: dict[int, Any] = {}
    places: dict[int, Any] = {}
    for leaf in jax.tree.leaves(tree):
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)  # noqa: PLW2901
        for shard in leaf.addressable_shards:
            hashed = values.setdefault(shard.device.id, hashlib.sha256())
            hashed.update(np.ascontiguousarray(shard.data))
            place = places.setdefault(shard.device.id, hashlib.sha256())
            place.update(repr(shard.index).encode())
    found: dict[str, str] = {}
    for device, hashed in values.items():
        part, value = places[device].hexdigest()[:8], hashed.hexdigest()[:16]
        if found.setdefault(part, value) != value:
            raise HostsError(
                f"device {device} holds other values than another device of this "
                "process; look for a faulty device"
            )
    return found
