"""Deciding, for a column as a whole, which lists are tensors.

The chunks of a column are looked at together: lists that all have one length, in every
chunk, become an axis; one that differs makes the whole column ragged. The same goes
for masks: if one chunk has a null, all get a mask. What a column becomes is then the
same for every batch of it.
"""

from collections.abc import Callable, Sequence

import numpy as np

from arrow_jax._errors import ShapeError
from arrow_jax._nodes import Lists, Node, Tensor

# (chunk, row in the chunk) -> words such as "row 7 of a.parquet".
Where = Callable[[int, int], str]


def settle(
    chunks: Sequence[Node],
    *,
    name: str,
    declared: tuple[int | None, ...] = (),
    where: Where,
) -> list[Node]:
    """Decides the shape of a column and brings all its chunks to it.

    Args:
      chunks: the decoded chunks, all of one Arrow type; their lists are compact.
      name: the column's, for errors.
      declared: the sizes of the axes, outermost first, where a feature declares them;
        None for an axis that stays ragged.
      where: names a row for errors.

    Returns:
      The chunks, as tensors as far as lengths allow.

    Raises:
      ShapeError: if a list has another length than declared; names the first row.
    """
    tensors = [c for c in chunks if isinstance(c, Tensor)]
    if tensors:
        return _even_masks(tensors)
    lists = [c for c in chunks if isinstance(c, Lists)]
    children = settle(
        [c.child for c in lists],
        name=name,
        declared=declared[1:],
        where=lambda chunk, i: where(chunk, _owner(lists[chunk], i)),
    )
    length = _common_length(lists)
    if declared:
        length = _check_declared(lists, declared[0], name, where)
    pairs = list(zip(lists, children, strict=True))
    first = children[0]
    # A null among lists of no elements has no element that a mask could hide.
    lost = first.valid is not None and 0 in _row_shape(first)
    if length is not None and isinstance(first, Tensor) and not lost:
        folded = [_fold(c, x, length) for c, x in pairs if isinstance(x, Tensor)]
        return _even_masks(folded)
    masked = any(c.valid is not None for c in lists)
    return [
        Lists(c.starts, c.lengths, x, _even(c.valid, len(c), wanted=masked), c.fixed)
        for c, x in pairs
    ]


def _row_shape(node: Node) -> tuple[int, ...]:
    return node.values.shape[1:] if isinstance(node, Tensor) else ()


def _owner(lists: Lists, element: int) -> int:
    ends = lists.starts + lists.lengths
    return int(np.searchsorted(ends, element, side="right"))


def _present(lists: Lists) -> np.ndarray:
    return lists.lengths if lists.valid is None else lists.lengths[lists.valid]


def _common_length(chunks: Sequence[Lists]) -> int | None:
    if chunks[0].fixed is not None:
        return chunks[0].fixed
    lengths = [present for c in chunks if len(present := _present(c))]
    if not lengths:
        return 0
    low, high = min(x.min() for x in lengths), max(x.max() for x in lengths)
    return int(low) if low == high else None


def _check_declared(
    chunks: Sequence[Lists], declared: int | None, name: str, where: Where
) -> int | None:
    if declared is None:
        return None
    for chunk, lists in enumerate(chunks):
        wrong = lists.lengths != declared
        if lists.valid is not None:
            wrong &= lists.valid
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ShapeError(
                f"column {name!r}, {where(chunk, row)}: found a list of "
                f"{lists.lengths[row]}, its feature declares {declared}. Correct the "
                "data or the declared shape (None as the first size allows any length)"
            )
    return declared


def _fold(lists: Lists, child: Tensor, length: int) -> Tensor:
    n, shape = len(lists), child.values.shape[1:]
    n_present = n if lists.valid is None else int(lists.valid.sum())

    def rows(flat: np.ndarray, fill: object) -> np.ndarray:
        present = flat.reshape(n_present, length, *flat.shape[1:])
        if lists.valid is None:
            return present
        out = np.full((n, length, *flat.shape[1:]), fill, flat.dtype)
        out[lists.valid] = present
        return out

    inner = child.inner
    if child.valid is not None:
        elements = child.valid.reshape(-1, *[1] * len(shape))
        elements = np.broadcast_to(elements, child.values.shape)
        inner = elements if inner is None else inner & elements
    return Tensor(
        rows(child.values, 0),
        lists.valid,
        None if inner is None else rows(inner, True),  # noqa: FBT003
    )


def _even_masks(chunks: Sequence[Tensor]) -> list[Node]:
    masked = any(c.valid is not None for c in chunks)
    inner = any(c.inner is not None for c in chunks)
    return [
        Tensor(
            c.values,
            _even(c.valid, len(c), wanted=masked),
            _even(c.inner, c.values.shape, wanted=inner),
        )
        for c in chunks
    ]


def _even(
    mask: np.ndarray | None, shape: int | tuple[int, ...], *, wanted: bool
) -> np.ndarray | None:
    return np.ones(shape, bool) if wanted and mask is None else mask
