"""Gives each state of a store a number: the state's place in the store's table. Liveness questions use these numbers.

The numbers take no memory. A state keeps its number as long as nothing is inserted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isrcheck.checker.engines.local import loops
from isrcheck.checker.engines.local.store import PARTITIONS, Store
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words


class Places:
    """Gives each state a number that identifies it. All numbers are below `size`. Some of them belong to no state."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stride = max(loops.slots(store.partitions, p) for p in range(PARTITIONS))
        self.size = PARTITIONS * self._stride
        self._scratch, self._memo = store.arrays()

    def find(self, states: Words) -> tuple[Integers, Words]:
        """The number and the name of each state. A state outside the store has the number -1 and a useless name."""
        store, states = self._store, np.ascontiguousarray(states)
        found, names = np.empty(len(states), dtype=np.int64), np.empty(len(states), dtype=np.uint64)
        loops.places_of(
            np.uint64(states.ctypes.data), store.words, store.half, store.pairs, store.dictionaries.columns,
            store.dictionaries.pages, store.partitions, self._stride, self._scratch, self._memo, found, names,
        )  # fmt: skip
        return found, names

    def names(self, numbers: Integers) -> Words:
        """The names of the states with these numbers."""
        return self._named(numbers)[0]

    def states(self, names: Words) -> Words:
        """The states with these names."""
        return self._store.states(names)

    def levels(self, numbers: Integers) -> Integers:
        """The levels of the states with these numbers."""
        return self._named(numbers)[1]

    def every(self, levels: int, largest: int) -> Iterator[tuple[Integers, Words, Integers]]:
        """Yields numbers, rows and levels of the states in the first `levels` levels, at most `largest` at a time."""
        for first in range(0, self.size, largest):
            numbers = np.arange(first, min(first + largest, self.size), dtype=np.int64)
            names, of = self._named(numbers)
            known = np.flatnonzero((of > 0) & (of <= levels))
            yield numbers[known], self._store.states(names[known]), of[known]

    def _named(self, numbers: Integers) -> tuple[Words, Integers]:
        names, levels = np.empty(len(numbers), dtype=np.uint64), np.empty(len(numbers), dtype=np.int64)
        loops.names_at(numbers, self._store.partitions, self._stride, names, levels)
        return names, levels
