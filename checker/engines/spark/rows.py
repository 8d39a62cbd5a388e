"""Packed states in the order of their hash: what makes duplicates neighbours, and looking up a walk.

Rows are arrays of shape (states, words), unsigned 64-bit. *In order* means by hash, and by their words where two
states share a hash. Nothing here trusts a hash: states are compared word by word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def distinct(rows: Array, hashes: Array) -> tuple[Array, Array]:
    """The distinct rows in order, with their hashes."""
    order = np.argsort(hashes)
    sorted_rows, sorted_hashes = rows[order], hashes[order]
    same_hash = sorted_hashes[1:] == sorted_hashes[:-1]
    same_row = same_hash & (sorted_rows[1:] == sorted_rows[:-1]).all(axis=1)
    if (same_hash & ~same_row).any():
        # Two states share a hash: equal rows need not be neighbours until their words decide.
        order = np.lexsort((*rows.T[::-1], hashes))
        sorted_rows, sorted_hashes = rows[order], hashes[order]
        same_row = (sorted_rows[1:] == sorted_rows[:-1]).all(axis=1)
    first = np.concatenate((np.ones(min(1, len(rows)), dtype=np.bool_), ~same_row))
    return sorted_rows[first], sorted_hashes[first]


def positions(rows: Array, hashes: Array, among: Array, among_hashes: Array) -> Array:
    """For each row its position in `among`, which is in order and distinct, or -1."""
    at: Array = np.searchsorted(among_hashes, hashes)
    found = np.full(len(rows), -1, dtype=np.int64)
    left = np.flatnonzero(at < len(among))
    while len(left):
        left = left[among_hashes[at[left]] == hashes[left]]
        equal = (among[at[left]] == rows[left]).all(axis=1)
        found[left[equal]] = at[left[equal]]
        # Another state with the same hash: the one looked for may come after it.
        left = left[~equal]
        at[left] += 1
        left = left[at[left] < len(among)]
    return found


def mark_known(new: Array, rows: Array, hashes: Array, known: Array, known_hashes: Array) -> None:
    """Clears `new` for the rows that are among the known ones; both are in order and distinct."""
    if len(known) < len(rows):
        # The fewer are looked up in the more.
        at = positions(known, known_hashes, rows, hashes)
        new[at[at >= 0]] = False
    else:
        new[positions(rows, hashes, known, known_hashes) >= 0] = False


def bounds(parts: int) -> list[int]:
    """Where the hashes of each owner begin, and 2**64 at the end.

    The owner of a state is `(hash >> 32) * parts >> 32`: the first bits of its hash where `parts` is a power of two.
    """
    return [-(-(owner << 32) // parts) << 32 for owner in range(parts + 1)]


def cuts(hashes: Array, limits: list[int]) -> list[int]:
    """Where sorted hashes pass from one owner to the next: positions from 0 to their number."""
    inner = np.searchsorted(hashes, np.array(limits[1:-1], dtype=np.uint64)).tolist()
    return [0, *inner, len(hashes)]
