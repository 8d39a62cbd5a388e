"""Sorts packed states by their hashes, so that duplicates are neighbours and states are found by binary search.

Rows are arrays (states, words) of unsigned 64-bit integers. *In order* means sorted by hash and, for equal hashes, by
words. Two states may have the same hash, so states are always compared word by word.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

Array = Any
SLICE: Final = 1 << 17
"""A large merge is cut into slices. On average, a slice has at least this many rows."""
LOOKED_THROUGH: Final = 1 << 16
"""Known rows are searched in parts. A part has at most this many rows."""


def distinct(rows: Array, hashes: Array) -> tuple[Array, Array]:
    """The distinct rows in order, with their hashes."""
    order = order_of(hashes)
    ordered, in_order = rows.take(order, axis=0), hashes.take(order)
    same_hash = in_order[1:] == in_order[:-1]
    same_row = same_hash & same_as_before(ordered)
    if (same_hash & ~same_row).any():
        # Two different states have the same hash. So equal rows need not be neighbours until the rows are sorted by
        # their words, too.
        order = np.lexsort((*rows.T[::-1], hashes))
        ordered, in_order = rows.take(order, axis=0), hashes.take(order)
        same_row = same_as_before(ordered)
    # Selecting rows by positions is several times faster than by a mask.
    first = np.flatnonzero(np.concatenate((np.ones(min(1, len(rows)), dtype=np.bool_), ~same_row)))
    return ordered.take(first, axis=0), in_order.take(first)


def order_of(hashes: Array) -> Array:
    """The positions that sort the hashes.

    `argsort` would be slower than a sort of plain integers. So this function sorts integers that each have the first
    bits of a hash, followed by the position of this hash.
    """
    mask = np.uint64((1 << len(hashes).bit_length()) - 1)
    keys = (hashes & ~mask) | np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    order: Array = (keys & mask).astype(np.int64)
    in_order = hashes.take(order)
    # Hashes that differ only in their last bits may be in the wrong order.
    return order if (in_order[:-1] <= in_order[1:]).all() else np.argsort(hashes)


def same_as_before(rows: Array) -> Array:
    """For each row except the first, whether it equals the row before it."""
    return _equal(rows[1:], rows[:-1])


def together(parts: list[tuple[Array, Array]], words: int, low: int, high: int) -> tuple[Array, Array]:
    """The distinct rows of all sorted parts, in order, with their hashes. All hashes must be from `low` to `high - 1`.

    The range of hashes is cut into slices, which are merged one after another. So the data of a slice fits into a
    processor's caches.
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
    """For each row, its position in `among`, or -1. The rows of `among` are in order and distinct."""
    at: Array = np.searchsorted(among_hashes, hashes)
    found = np.full(len(rows), -1, dtype=np.int64)
    left = np.flatnonzero(at < len(among))
    while len(left):
        left = left[among_hashes.take(at.take(left)) == hashes.take(left)]
        equal = _equal(among.take(at.take(left), axis=0), rows.take(left, axis=0))
        found[left[equal]] = at[left[equal]]
        # These rows have met another state with the same hash. The wanted state may come after that state.
        left = left[~equal]
        at[left] += 1
        left = left[at[left] < len(among)]
    return found


def _equal(rows: Array, others: Array) -> Array:
    """For each row, whether it is equal in both arrays."""
    same = rows[:, 0] == others[:, 0]
    for word in range(1, rows.shape[1]):
        same &= rows[:, word] == others[:, word]
    return same


def mark_known(new: Array, rows: Array, hashes: Array, known: Array, known_hashes: Array) -> None:
    """Clears `new` for the rows that are known. Both `rows` and `known` are in order and distinct.

    The known rows are searched in parts, each of which fits into a processor's caches.
    """
    for start in range(0, len(known), LOOKED_THROUGH):
        some, some_hashes = known[start : start + LOOKED_THROUGH], known_hashes[start : start + LOOKED_THROUGH]
        # Known rows with the same hash may be in two neighbouring parts, so both ends are included.
        low = int(np.searchsorted(hashes, some_hashes[0], side="left"))
        high = int(np.searchsorted(hashes, some_hashes[-1], side="right"))
        _mark(new[low:high], rows[low:high], hashes[low:high], some, some_hashes)


def _mark(new: Array, rows: Array, hashes: Array, known: Array, known_hashes: Array) -> None:
    if len(known) < len(rows):
        # The shorter array is looked up in the longer array.
        at = positions(known, known_hashes, rows, hashes)
        new[at[at >= 0]] = False
    else:
        new[positions(rows, hashes, known, known_hashes) >= 0] = False


def bounds(parts: int) -> list[int]:
    """The first hash of each of `parts` partitions, then 2**64.

    The partition of a state is `(hash >> 32) * parts >> 32`. If `parts` is a power of two, the first bits of the hash
    are the number of the partition.
    """
    return [-(-(partition << 32) // parts) << 32 for partition in range(parts + 1)]


def cuts(hashes: Array, limits: list[int]) -> list[int]:
    """The position of each partition's first hash in the sorted `hashes`, and at the end the number of hashes."""
    inner = np.searchsorted(hashes, np.array(limits[1:-1], dtype=np.uint64)).tolist()
    return [0, *inner, len(hashes)]
