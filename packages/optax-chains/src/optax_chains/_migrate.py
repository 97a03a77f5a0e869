"""A state that was saved by one chain, for another chain to go on with."""

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from optax_chains._slots import Slot, slots_of


class Initable(Protocol):
    """A chain or a game: something whose `init` makes a state."""

    @property
    def init(self) -> Any:
        """Makes the state for parameters."""
        ...


def migrate(
    old_state: Any,
    new_chain: Initable,
    params: Any,
    *,
    drop: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
) -> Any:
    """Carries an old state over to a new chain, by name and path.

    Optax states are nested tuples: add clipping to a chain, and a restored state fits
    no more. Here each number of the new state is looked up by what it is - the name
    of its NamedTuple, its field, the path of its parameter, `ScaleByAdamState.mu` of
    `linear/w` - so order, added and removed parts, wrappers and the groups of
    `by_path` do not matter. What is new (a part, a parameter) starts as in
    `new_chain.init(params)`; what would be lost is an error, unless you drop it.
    Counters, rates and norms belong to no parameter: those in a group of `by_path` go
    to the group that shares parameters with theirs, and of several to the one of the
    same pattern.

    What `optax.inject_hyperparams` keeps in the state is carried over too: the old
    learning rate goes on, whatever the new chain was made with. For the new chain's,
    type `drop="*[learning_rate]"`.

    Parameters that are new to an Adam whose counter has run on are corrected for too
    little bias: their first steps are some three times as large (for b1 = 0.9,
    b2 = 0.999). Give them a group of their own in `by_path` if that matters: a group
    that shares no parameter with an old one starts its counter anew.

    Args:
      old_state: a state as the old chain made it, or restored into one: the
        NamedTuples must be there. Arrays may be NumPy's.
      new_chain: the chain, or game, that shall go on.
      params: the parameters that it shall go on with.
      drop: names of slots that may be lost, as in the error: `TraceState.trace`, or
        with wildcards, `TraceState.*`, `*[linear/w]`. What `rename` takes over still
        goes to its new name, and nowhere else; to lose it there too, name its
        parameters in brackets.
      rename: new name -> old name, to take a slot over from another one:
        `{"TraceState.trace": "ScaleByAdamState.mu"}`.

    Returns:
      A state of the new chain's structure and dtypes, sharded as its `init` does.

    Raises:
      ValueError: if a slot would be lost, or its shape is not the new one, or it is not
        clear which of several old slots is meant, or `drop` or `rename` name what is
        not there. The message names all of them.
      TypeError: if `old_state` is None, or `new_chain` has no `init`.

    Example:
      >>> import jax.numpy as jnp, optax
      >>> params = {"w": jnp.ones(2)}
      >>> old = optax.adam(0.1)
      >>> _, state = old.update(params, old.init(params))
      >>> new = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1))
      >>> optax.tree.get(migrate(state, new, params), "mu")
      {'w': Array([0.1, 0.1], dtype=float32)}
    """
    drop = (drop,) if isinstance(drop, str) else tuple(drop)
    if old_state is None:
        raise TypeError(
            "migrate: old_state is None, wanted the old chain's state; to start anew, "
            "type new_chain.init(params)"
        )
    if not hasattr(new_chain, "init"):
        raise TypeError(
            f"migrate: new_chain is a {type(new_chain).__name__}, wanted a chain or a "
            "game; type one such as optax.adam(1e-3)"
        )
    fresh = new_chain.init(params)
    old, new = slots_of(old_state), slots_of(fresh)
    rename = dict(rename or {})
    _check_names(rename, old, new)
    _check_drop(drop, old)
    named = [pattern for pattern in drop if "[" in pattern]
    taken = set(rename.values())
    kept = [s for s in old if not _dropped(s, named if s.name in taken else drop)]
    problems: list[str] = []
    used: set[int] = set()
    leaves = []
    for slot in new:
        name = rename.get(slot.name, slot.name)
        candidates = [
            s
            for s in kept
            if (s.name, s.path) == (name, slot.path)
            and (slot.name in rename or not _dropped(s, drop))
        ]
        chosen = _choose(slot, candidates, kept, new)
        if len(chosen) > 1:
            problems.append(f"{chosen[0]} could be any of {len(chosen)} that differ")
        if len(chosen) != 1:
            used |= {id(s) for s in chosen}
            leaves.append(slot.leaf)
            continue
        used |= {id(s) for s in candidates if _equal(s.leaf, chosen[0].leaf)}
        if jnp.shape(chosen[0].leaf) != jnp.shape(slot.leaf):
            problems.append(
                f"{chosen[0]} has the shape {jnp.shape(chosen[0].leaf)}, "
                f"wanted {jnp.shape(slot.leaf)}"
            )
        leaves.append(_as(chosen[0].leaf, slot.leaf))
    problems += [
        f"{slot} has no place in it"
        for slot in kept
        if id(slot) not in used and not _dropped(slot, drop)
    ]
    if problems:
        raise ValueError(
            "migrate: the old state does not fit the new chain:\n  "
            + "\n  ".join(problems)
            + "\nTo start such slots anew, or lose them, type their names, as in "
            f"drop={[problems[0].split()[0]]}; to take one over under another name, "
            "rename={new: old}"
        )
    return jax.tree.unflatten(jax.tree.structure(fresh), leaves)


def _choose(
    slot: Slot, candidates: list[Slot], old: list[Slot], new: list[Slot]
) -> list[Slot]:
    """The old slot that a new one takes over; several if that is not clear."""
    related = [s for s in candidates if _related(slot, s, old, new)]
    candidates = related or (candidates if slot.path else [])
    candidates = [s for s in candidates if s.group == slot.group] or candidates
    if all(_equal(s.leaf, candidates[0].leaf) for s in candidates):
        return candidates[:1]
    # As many of that name as before: the first is the first. Not across groups, whose
    # order is that of their patterns' letters.
    if not slot.path and len({s.group for s in candidates}) > 1:
        return candidates
    twins = [
        s
        for s in new
        if (s.name, s.path) == (slot.name, slot.path)
        and (slot.path or s.group == slot.group)
    ]
    if len(twins) == len(candidates):
        return [candidates[[s is slot for s in twins].index(True)]]
    return candidates


def _related(slot: Slot, other: Slot, old: list[Slot], new: list[Slot]) -> bool:
    """Whether the parts that hold two slots share a parameter, or have none."""
    mine, theirs = _parameters(slot, new), _parameters(other, old)
    return not mine or not theirs or bool(mine & theirs)


def _parameters(slot: Slot, slots: list[Slot]) -> set[str]:
    """The paths in the part that holds a slot, or else in its group."""
    part = {s.path for s in slots if s.node == slot.node and s.path}
    depth, player = len(slot.group), slot.kind.rpartition(":")[0]
    return part or {
        s.path
        for s in slots
        if s.path
        and s.group[:depth] == slot.group
        and s.kind.rpartition(":")[0] == player
    }


def _dropped(slot: Slot, drop: Iterable[str]) -> bool:
    # Brackets are no wildcards here: they are part of the names.
    patterns = [text.replace("[", "[[]") for text in drop]
    return any(
        fnmatch.fnmatchcase(text, pattern)
        for pattern in patterns
        for text in (slot.name, str(slot))
    )


def _check_drop(drop: Iterable[str], old: list[Slot]) -> None:
    for pattern in drop:
        if not any(_dropped(slot, (pattern,)) for slot in old):
            raise ValueError(
                f"migrate: drop speaks of {pattern!r}, which matches nothing in the "
                f"old state; it has {', '.join(map(str, old)) or 'no slots'}"
            )


def _check_names(rename: Mapping[str, str], old: list[Slot], new: list[Slot]) -> None:
    for side, names, slots in (
        ("new chain's", rename.keys(), new),
        ("old", rename.values(), old),
    ):
        known = sorted({slot.name for slot in slots})
        for name in names:
            if name not in known:
                raise ValueError(
                    f"migrate: rename speaks of {name!r}, which is not in the {side} "
                    f"state; it has {', '.join(known)}"
                )


def _equal(a: Any, b: Any) -> bool:
    """Whether two leaves are the same; NaN is the same as NaN."""
    if jnp.shape(a) != jnp.shape(b):
        return False
    return bool(jnp.all((a == b) | ((a != a) & (b != b))))  # noqa: PLR0124


def _as(leaf: Any, like: Any) -> Any:
    """The old number in the new one's dtype, and on its devices."""
    if jnp.issubdtype(like.dtype, jax.dtypes.prng_key):
        return leaf
    found = jnp.asarray(leaf, like.dtype)
    if getattr(like, "committed", False) and found.shape == like.shape:
        return jax.device_put(found, like.sharding)
    return found
