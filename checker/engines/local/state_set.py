"""The states that a small search has found: a set that reports which of the added states are new."""

from __future__ import annotations

from typing import Final

import numpy as np

from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.machine import machine

LEAST_SLOTS: Final = 1 << 12
"""The least number of entries of a table."""


class StateSet:
    """A set of packed states: rows in the order in which they came, and a hash table of their positions."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._rows = np.empty((0, words), dtype=np.uint64)
        self._table = np.empty(0, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The bytes that the states and their table take."""
        return self._rows.nbytes + self._table.nbytes

    def add(self, states: Words) -> Words:
        """Adds states. Returns the new ones, each once."""
        states = np.ascontiguousarray(states)
        self._make_room(self._count + len(states))
        before, self._count = self._count, self._into(self._table, self._rows, self._count, states)
        return self._rows[before : self._count].copy()

    def _into(self, table: np.ndarray[tuple[int], np.dtype[np.int32]], rows: Words, count: int, states: Words) -> int:
        found: int = machine()["keep_new"](
            table.ctypes.data, len(table) - 1, rows.ctypes.data, count, states.ctypes.data, len(states), self._words
        )
        return found

    def _make_room(self, most: int) -> None:
        """Makes room for `most` states. At most half of the table's entries are used."""
        if most > len(self._rows):
            rows = np.empty((max(most, 2 * self._count), self._words), dtype=np.uint64)
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        if 2 * most > len(self._table):
            known = self._rows[: self._count].copy()
            self._table = np.zeros(max(LEAST_SLOTS, 1 << (2 * most - 1).bit_length()), dtype=np.int32)
            self._into(self._table, self._rows, 0, known)
