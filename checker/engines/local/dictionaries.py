"""Dictionaries that replace each state by two numbers, its *name*.

A dictionary numbers distinct values. First, each word of the state is replaced by the number of its value. If states
have a single word, each half of this word is replaced instead. Then two of the numbers are replaced by the number of
their pair, which is a value of another dictionary. This step is repeated until two numbers are left.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from isrcheck.checker.engines.local import loops
from isrcheck.checker.engines.local.account import HUGE_PAGE, Account, OutOfMemory
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words

LOAD: Final = 0.75
"""How full the table of a dictionary may become."""
GROWTH: Final = 1.5
FIRST_SLOTS: Final = 1 << 10
PAGE: Final = 1 << loops.PAGE_BITS
AHEAD: Final = 1 / 8
LARGEST_PIECE: Final = 1 << 22
RESERVED: Final = 1 << 25
"""Address space for values is reserved in regions of this many bytes. Only the parts that are written use memory."""
COMPARED: Final = 1 << 13
"""`pairs_of` counts distinct pairs in at most this many of the states in `sample`."""
NEAR: Final = 8


def pairs_of(words: int, half: int, sample: Words) -> tuple[Integers, tuple[int, int]]:
    """The two dictionaries whose numbers are paired in each step, and the two dictionaries that are left at the end.

    Each pair of dictionaries is a row. The numbers from the last row form the name. `sample` has states of the search.
    Each step chooses the two dictionaries whose numbers form the fewest distinct pairs in these states. The dictionary
    of the pairs takes the place of the first of the two. Only dictionaries that are at most `NEAR` places apart can
    be chosen. So the number of candidates is proportional to the number of words.

    Also returns how many different numbers each of the two last dictionaries has in some of these states.
    """
    rows = sample[:: 1 + len(sample) // COMPARED]
    parts = [rows[:, 0] & np.uint64((1 << half) - 1), rows[:, 0] >> np.uint64(half)] if words == 1 else rows.T
    words = len(parts)
    numbers = {w: np.unique(part, return_inverse=True)[1].astype(np.int64) for w, part in enumerate(parts)}
    order, pairs, counts = list(range(words)), list[tuple[int, int]](), dict[tuple[int, int], int]()

    def together(a: int, b: int) -> Integers:
        both: Integers = np.unique(numbers[a] << 32 | numbers[b], return_inverse=True)[1]
        return both

    while len(order) > 2:
        near = [(a, b) for i, a in enumerate(order) for b in order[i + 1 : i + 1 + NEAR]]
        counts |= {pair: int(together(*pair).max(initial=0)) for pair in near if pair not in counts}
        left, right = min(near, key=lambda pair: (counts[pair], pair))
        numbers[words + len(pairs)] = together(left, right)
        order[order.index(left)] = words + len(pairs)
        order.remove(right)
        pairs.append((left, right))
        del numbers[left], numbers[right]
    first, second = (1 + int(numbers[d].max(initial=-1)) for d in order)
    return np.array([*pairs, tuple(order)], dtype=np.int64), (first, second)


class Dictionaries:
    """The dictionaries of a store. `columns` and `pages` are the data that `loops` needs.

    Up to `workers` workers may add values at the same time.
    """

    def __init__(self, count: int, account: Account, workers: int, first_slots: int = FIRST_SLOTS) -> None:
        self._account, self._spare = account, workers
        self.columns = np.zeros((count, loops.COLUMNS), dtype=np.uint64)
        self.pages = np.zeros((count, 1), dtype=np.uint64)
        self._rooms = [0] * count
        self._tables: list[Words | None] = [None] * count
        self._pieces: list[Words] = []
        self._reserved = np.empty(0, dtype=np.uint64)
        self._free = self._end = 0
        for d in range(count):
            self._grow(d, first_slots)

    @property
    def counts(self) -> Integers:
        """The number of values in each dictionary."""
        return self.columns[:, loops.COUNT].astype(np.int64)

    def make_room(self) -> None:
        """Enlarges every dictionary that is full or nearly full."""
        for d, count in enumerate(self.counts.tolist()):
            if count + 1 + int(count * AHEAD) > int(self.columns[d, loops.ROOM]):
                self._grow(d, int(self.columns[d, loops.CAPACITY]))

    def _grow(self, d: int, capacity: int) -> None:
        count = int(self.columns[d, loops.COUNT])
        wanted = count + 1 + 2 * int(count * AHEAD) + self._spare
        if wanted >= loops.MARKED:
            raise OutOfMemory
        while self._rooms[d] < wanted:
            self._add_page(d)
        if self._tables[d] is None or wanted > int(capacity * LOAD):
            self._new_table(d, max(capacity, int(max(wanted / LOAD, capacity * GROWTH)) + 2))
        slots = int(int(self.columns[d, loops.CAPACITY]) * LOAD)
        self.columns[d, loops.ROOM] = max(min(slots, self._rooms[d], loops.MARKED - 1) - self._spare, 0)

    def _new_table(self, d: int, capacity: int) -> None:
        """Gives a dictionary a larger table, filled with the same values."""
        size = 4 * capacity
        table, old = self._account.allocate(size + (-size % HUGE_PAGE if 2 * size > HUGE_PAGE else 0)), self._tables[d]
        self._tables[d] = table
        if old is not None:
            self._account.free(old)
        self.columns[d, loops.TABLE], self.columns[d, loops.CAPACITY] = table.ctypes.data, 2 * len(table)
        loops.refill(self.columns, self.pages, d)

    def _add_page(self, d: int) -> None:
        number = self._rooms[d] >> loops.PAGE_BITS
        if number == self.pages.shape[1]:
            self._account.take(self.pages.nbytes)
            self.pages = np.concatenate([self.pages, np.zeros_like(self.pages)], axis=1)
        if self._free == self._end:
            piece = self._piece()
            self._pieces.append(piece)
            self._free, self._end = piece.ctypes.data, piece.ctypes.data + piece.nbytes
        self.pages[d, number] = self._free
        self._free += 8 * PAGE
        self._rooms[d] += PAGE

    def _piece(self) -> Words:
        """Memory for more values, cut from a large reserved region that may have huge pages."""
        if len(self._reserved) == 0:
            self._reserved = self._account.reserve(RESERVED)
        size = min(LARGEST_PIECE, max(1, sum(self._rooms) // 16 // PAGE) * 8 * PAGE, self._reserved.nbytes)
        self._account.take(size)
        piece, self._reserved = self._reserved[: size // 8], self._reserved[size // 8 :]
        return piece
