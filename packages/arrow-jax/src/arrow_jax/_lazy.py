"""The batch that a function of `map` or `filter` is given.

A column is decoded when the function asks for it: one that it never looks at costs
nothing, and its nulls are nobody's business.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import jax


class LazyBatch(MutableMapping[str, Any]):
    """A dict of columns, each decoded at its first use.

    It is a pytree too: jax takes it for the dict of all its columns. Pickling gives
    that dict.

    Args:
      names: of the columns that there are.
      decode: makes one of them.

    Example:
      >>> batch = LazyBatch(["x", "y"], str.upper)
      >>> batch["x"]
      'X'
      >>> batch.known
      {'x': 'X'}
    """

    def __init__(self, names: Iterable[str], decode: Callable[[str], Any]) -> None:
        self.known: dict[str, Any] = {}
        self._names = dict.fromkeys(names)
        self._decode = decode

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(f"there is no column {name!r}; there are {[*self._names]}")
        if name not in self.known:
            self.known[name] = self._decode(name)
        return self.known[name]

    def __setitem__(self, name: str, column: Any) -> None:
        self._names[name] = None
        self.known[name] = column

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self.known.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __or__(self, other: Mapping[str, Any]) -> "LazyBatch":
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def copy(self) -> "LazyBatch":
        """Makes a batch that can be changed without changing this one."""
        made = LazyBatch(self._names, self._decode)
        made.known.update(self.known)
        return made

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has not the dataset that columns are decoded from.
        return dict, (dict(self),)

    def __repr__(self) -> str:
        shown = (f"{n!r}: {self.known.get(n, '...')!r}" for n in self._names)
        return f"{{{', '.join(shown)}}}"


jax.tree_util.register_pytree_with_keys(
    LazyBatch,
    lambda batch: (
        [(jax.tree_util.DictKey(name), batch[name]) for name in batch],
        tuple(batch),
    ),
    lambda names, columns: dict(zip(names, columns, strict=True)),
)
