"""Packed states sorted by their hash: duplicates become neighbours, and a look-up becomes a merge.

Rows are arrays of shape (states, words), unsigned 64-bit. *In order* means by hash, and by their words if two states
have the same hash. Nothing here trusts a hash: states are compared word by word.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

Array = Any
SLICE: Final = 1 << 17
"""How many rows are sorted at once when many are merged."""
LOOKED_THROUGH: Final = 1 << 16
"""How many known rows are searched at once."""


def distinct(rows: Array, hashes: Array) -> tuple[Array, Array]:
    """The distinct rows in order, with their hashes."""
    order = order_of(hashes)
    ordered, in_order = rows.take(order, axis=0), hashes.take(order)
    same_hash = in_order[1:] == in_order[:-1]
    same_row = same_hash & same_as_before(ordered)
    if (same_hash & ~same_row).any():
        # Two states have the same hash: equal rows need not be neighbours until they are sorted by their words.
        order = np.lexsort((*rows.T[::-1], hashes))
        ordered, in_order = rows.take(order, axis=0), hashes.take(order)
        same_row = same_as_before(ordered)
    # Selecting rows by positions is several times faster than by a mask.
    first = np.flatnonzero(np.concatenate((np.ones(min(1, len(rows)), dtype=np.bool_), ~same_row)))
    return ordered.take(first, axis=0), in_order.take(first)


def order_of(hashes: Array) -> Array:
    """Positions that sort the hashes.

    Sorting numbers is faster than sorting positions: each number has the first bits of a hash and a position.
    """
    mask = np.uint64((1 << len(hashes).bit_length()) - 1)
    keys = (hashes & ~mask) | np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    order: Array = (keys & mask).astype(np.int64)
    in_order = hashes.take(order)
    # Hashes that differ only in their last bits may be in the wrong order.
    return order if (in_order[:-1] <= in_order[1:]).all() else np.argsort(hashes)


def same_as_before(rows: Array) -> Array:
    """For each row but the first, whether all its words equal those of the row before."""
    return _equal(rows[1:], rows[:-1])


def together(parts: list[tuple[Array, Array]], words: int, low: int, high: int) -> tuple[Array, Array]:
    """The distinct rows of sorted parts, each with its hashes, from `low` to before `high`; in order.

    It works slice by slice of the hashes, so that the data sorted at once stays in a processor's caches.
    """
    slices = max(sum(len(part) for part, _ in parts) // SLICE, 1)
    limits = np.array([low + (high - low) * i // slices for i in range(1, slices)], dtype=np.uint64)
    edges = [[0, *np.searchsorted(hashes, limits).tolist(), len(hashes)] for _, hashes in parts]
    found = [(np.empty((0, words), dtype=np.uint64), np.empty(0, dtype=np.uint64))]
    for number in range(slices if parts else 0):
        cut = [(e[number], e[number + 1]) for e in edges]
        rows = np.concatenate([part[a:b] for (part, _), (a, b) in zip(parts, cut, strict=True)])
        hashes = np.concatenate([part[a:b] for (_, part), (a, b) in zip(parts, cut, strict=True)])
        found.append(distinct(rows, hashes))
    return np.concatenate([rows for rows, _ in found]), np.concatenate([hashes for _, hashes in found])


def positions(rows: Array, hashes: Array, among: Array, among_hashes: Array) -> Array:
    """For each row its position in `among`, which is in order and distinct, or -1."""
    at: Array = np.searchsorted(among_hashes, hashes)
    found = np.full(len(rows), -1, dtype=np.int64)
    left = np.flatnonzero(at < len(among))
    while len(left):
        left = left[among_hashes.take(at.take(left)) == hashes.take(left)]
        equal = _equal(among.take(at.take(left), axis=0), rows.take(left, axis=0))
        found[left[equal]] = at[left[equal]]
        # Another state has the same hash: the wanted one may come after it.
        left = left[~equal]
        at[left] += 1
        left = left[at[left] < len(among)]
    return found


def _equal(rows: Array, others: Array) -> Array:
    """Which rows are equal in both arrays."""
    same = rows[:, 0] == others[:, 0]
    for word in range(1, rows.shape[1]):
        same &= rows[:, word] == others[:, word]
    return same


def mark_known(new: Array, rows: Array, hashes: Array, known: Array, known_hashes: Array) -> None:
    """Clears `new` for the rows that are among the known ones; both are in order and distinct.

    It takes some known rows at a time, so that the searched data stays in a processor's caches.
    """
    for start in range(0, len(known), LOOKED_THROUGH):
        some, some_hashes = known[start : start + LOOKED_THROUGH], known_hashes[start : start + LOOKED_THROUGH]
        # Rows with the same hash may lie on both sides of the boundary between two parts of the known rows.
        low = int(np.searchsorted(hashes, some_hashes[0], side="left"))
        high = int(np.searchsorted(hashes, some_hashes[-1], side="right"))
        _mark(new[low:high], rows[low:high], hashes[low:high], some, some_hashes)


def _mark(new: Array, rows: Array, hashes: Array, known: Array, known_hashes: Array) -> None:
    if len(known) < len(rows):
        # The shorter array is looked up in the longer one.
        at = positions(known, known_hashes, rows, hashes)
        new[at[at >= 0]] = False
    else:
        new[positions(rows, hashes, known, known_hashes) >= 0] = False


def bounds(parts: int) -> list[int]:
    """Where the hashes of each owner begin, and 2**64 at the end.

    The owner of a state is `(hash >> 32) * parts >> 32`: the first bits of its hash if `parts` is a power of two.
    """
    return [-(-(owner << 32) // parts) << 32 for owner in range(parts + 1)]


def cuts(hashes: Array, limits: list[int]) -> list[int]:
    """Where sorted hashes pass from one owner to the next, as positions from 0 to their number."""
    inner = np.searchsorted(hashes, np.array(limits[1:-1], dtype=np.uint64)).tolist()
    return [0, *inner, len(hashes)]
