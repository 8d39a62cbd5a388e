"""Gives each state a name of two numbers.

The parts of a state are replaced by numbers, and then pairs of numbers by single numbers, until two numbers are left
(`dictionaries`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from isrcheck.checker.engines.local import loops
from isrcheck.checker.engines.local.account import Account, OutOfMemory
from isrcheck.checker.engines.local.dictionaries import Dictionaries, pairs_of
from isrcheck.checker.kernel.layout import Layout, Words

REMEMBERED: Final = 1 << 10
MOST_REMEMBERED: Final = 1 << 17
"""A worker's memo has recent values of each dictionary, with their numbers. It has room for `REMEMBERED` values of each
dictionary at first, and for up to `MOST_REMEMBERED` values if there are many states."""
STATES_FOR_ONE: Final = 1 << 9


class Names:
    """The dictionaries from which a store makes the names of its states.

    `held` is the number of bytes of memory in use now, and `peak` is the greatest such number so far. `held` never
    passes `limit`. `workers` is the number of workers that may name states at the same time. `sample` has the states
    from which `pairs_of` decides how to pair the parts. `turn` is 32 if the first number of a name has more values in
    these states than the second number, and otherwise 0.
    """

    def __init__(self, layout: Layout, limit: int | None, workers: int, sample: Words | None) -> None:
        self.layout, self.words = layout, layout.words
        self.half = np.uint64((layout.bits + 1) // 2)
        sample = np.empty((0, self.words), dtype=np.uint64) if sample is None else sample
        self.pairs, (first, second) = pairs_of(self.words, int(self.half), sample)
        self.turn = np.uint64(32 * (first > second))
        self._account = Account(limit)
        count = max(self.words, 2) + len(self.pairs) - 1
        self.dictionaries = Dictionaries(count, self._account, workers)
        self._own = self.arrays()
        self.account(sum(array.nbytes for array in self._own))

    @property
    def held(self) -> int:
        return self._account.held

    @property
    def peak(self) -> int:
        return self._account.peak

    def account(self, size: int) -> None:
        """Counts `size` bytes of arrays that were not allocated by `Account`. A negative `size` subtracts bytes."""
        self._account.take(size)

    def arrays(self) -> tuple[Words, Words]:
        """The arrays that a worker needs to name states: one for the numbers of `AT_ONCE` states, and its memo.

        The memo has recent values of each dictionary and their numbers.
        """
        count = len(self.dictionaries.columns)
        return (
            np.zeros((3 + count, loops.AT_ONCE), dtype=np.uint64),
            np.zeros((count, REMEMBERED, 2), dtype=np.uint64),
        )

    def for_more(self, arrays: tuple[Words, Words], states: int) -> tuple[Words, Words]:
        """A worker's `arrays`, with a larger memo if `states` is large enough and there is memory for the memo."""
        own, memo = arrays
        count, slots, _ = memo.shape
        wanted = min(1 << (states // STATES_FOR_ONE).bit_length(), MOST_REMEMBERED)
        if wanted <= slots:
            return arrays
        try:
            more = self._account.allocate(memo.nbytes * (wanted // slots))
        except OutOfMemory:
            return arrays
        self.account(-memo.nbytes)
        return own, more.reshape((count, wanted, 2))

    def states(self, names: Words) -> Words:
        """The states with these names."""
        out = np.empty((len(names), self.words), dtype=np.uint64)
        begin, into = names.ctypes.data, out.ctypes.data
        for first in range(0, len(names), loops.AT_ONCE):
            loops.unnamed(
                np.uint64(begin + 8 * first), min(loops.AT_ONCE, len(names) - first), self.words, self.half,
                self.pairs, self.dictionaries.pages, self._own[0], np.uint64(into + 8 * self.words * first),
            )  # fmt: skip
        return out
