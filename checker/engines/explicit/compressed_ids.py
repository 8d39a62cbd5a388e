"""Dictionaries that replace each state by two numbers, its *compressed id*.

A dictionary numbers distinct values. First, each word of the state is replaced by the number of its value. If states
have a single word, each half of this word is replaced instead. Then two of the numbers are replaced by the number of
their pair, which is a value of another dictionary. This step is repeated until two numbers are left.

Gives each state a compressed id of two numbers.

The parts of a state are replaced by numbers, and then pairs of numbers by single numbers, until two numbers are left
(`dictionaries`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit import search_loops
from isrcheck.checker.engines.explicit.memory_account import HUGE_PAGE, Account, OutOfMemory
from isrcheck.checker.engines.explicit.search_loops import Codec, CodecArrays
from isrcheck.checker.kernel.layout import Integers, Layout, Words

LOAD: Final = 0.75
"""How full the table of a dictionary may become."""
GROWTH: Final = 1.5
FIRST_SLOTS: Final = 1 << 10
PAGE: Final = 1 << search_loops.PAGE_BITS
AHEAD: Final = 1 / 8
LARGEST_PIECE: Final = 1 << 22
RESERVED: Final = 1 << 25
"""Address space for values is reserved in regions of this many bytes. Only the parts that are written use memory."""
COMPARED: Final = 1 << 13
"""`pairs_of` counts distinct pairs in at most this many of the states in `sample`."""
NEAR: Final = 8


def pairs_of(words: int, half: int, sample: Words) -> tuple[Integers, tuple[int, int]]:
    """The two dictionaries whose numbers are paired in each step, and the two dictionaries that are left at the end.

    Each pair of dictionaries is a row. The numbers from the last row form the id. `sample` has states of the search.
    Each step chooses the two dictionaries whose numbers form the fewest distinct pairs in these states. The dictionary
    of the pairs takes the place of the first of the two. Only dictionaries that are at most `NEAR` places apart can be
    chosen. So the number of candidates is proportional to the number of words.

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
        self.columns = np.zeros((count, search_loops.COLUMNS), dtype=np.uint64)
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
        return self.columns[:, search_loops.COUNT].astype(np.int64)

    def make_room(self) -> None:
        """Enlarges every dictionary that is full or nearly full."""
        for d, count in enumerate(self.counts.tolist()):
            if count + 1 + int(count * AHEAD) > int(self.columns[d, search_loops.ROOM]):
                self._grow(d, int(self.columns[d, search_loops.CAPACITY]))

    def _grow(self, d: int, capacity: int) -> None:
        count = int(self.columns[d, search_loops.COUNT])
        wanted = count + 1 + 2 * int(count * AHEAD) + self._spare
        if wanted >= search_loops.SEEN:
            raise OutOfMemory
        while self._rooms[d] < wanted:
            self._add_page(d)
        if self._tables[d] is None or wanted > int(capacity * LOAD):
            self._new_table(d, max(capacity, int(max(wanted / LOAD, capacity * GROWTH)) + 2))
        slots = int(int(self.columns[d, search_loops.CAPACITY]) * LOAD)
        self.columns[d, search_loops.ROOM] = max(min(slots, self._rooms[d], search_loops.SEEN - 1) - self._spare, 0)

    def _new_table(self, d: int, capacity: int) -> None:
        """Gives a dictionary a larger table, filled with the same values."""
        size = 4 * capacity
        table, old = self._account.allocate(size + (-size % HUGE_PAGE if 2 * size > HUGE_PAGE else 0)), self._tables[d]
        self._tables[d] = table
        if old is not None:
            self._account.free(old)
        self.columns[d, search_loops.TABLE], self.columns[d, search_loops.CAPACITY] = table.ctypes.data, 2 * len(table)
        search_loops.refill(self.columns, self.pages, d)

    def _add_page(self, d: int) -> None:
        number = self._rooms[d] >> search_loops.PAGE_BITS
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


REMEMBERED: Final = 1 << 10
MOST_REMEMBERED: Final = 1 << 17
"""A worker's memo has recent values of each dictionary, with their numbers. It has room for `REMEMBERED` values of each
dictionary at first, and for up to `MOST_REMEMBERED` values if there are many states."""
STATES_FOR_ONE: Final = 1 << 9


class StateIds:
    """The dictionaries from which a store makes the ids of its states.

    `held` is the number of bytes of memory in use now, and `peak` is the greatest such number so far. `held` never
    passes `limit`. `workers` is the number of workers that may compute ids at the same time. `sample` has the states
    from which `pairs_of` decides how to pair the parts. `turn` is 32 if the first number of an id has more values in
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

    @property
    def codec(self) -> Codec:
        """The present dictionaries, for loops. They are others when the dictionaries have grown."""
        return Codec(self.words, self.half, self.pairs, self.dictionaries.columns, self.dictionaries.pages)

    def arrays(self) -> CodecArrays:
        """The arrays that a worker needs to compute ids."""
        count = len(self.dictionaries.columns)
        return CodecArrays(
            np.zeros((3 + count, search_loops.AT_ONCE), dtype=np.uint64),
            np.zeros((count, REMEMBERED, 2), dtype=np.uint64),
        )

    def for_more(self, arrays: CodecArrays, states: int) -> CodecArrays:
        """A worker's `arrays`, with a larger memo if `states` is large enough and there is memory for the memo."""
        memo = arrays.memo
        count, slots, _ = memo.shape
        wanted = min(1 << (states // STATES_FOR_ONE).bit_length(), MOST_REMEMBERED)
        if wanted <= slots:
            return arrays
        try:
            more = self._account.allocate(memo.nbytes * (wanted // slots))
        except OutOfMemory:
            return arrays
        self.account(-memo.nbytes)
        return arrays._replace(memo=more.reshape((count, wanted, 2)))

    def states(self, ids: Words) -> Words:
        """The states with these ids."""
        out = np.empty((len(ids), self.words), dtype=np.uint64)
        begin, into = ids.ctypes.data, out.ctypes.data
        for first in range(0, len(ids), search_loops.AT_ONCE):
            search_loops.from_ids(
                np.uint64(begin + 8 * first), min(search_loops.AT_ONCE, len(ids) - first), self.words, self.half,
                self.pairs, self.dictionaries.pages, self._own.scratch, np.uint64(into + 8 * self.words * first),
            )  # fmt: skip
        return out


Each = Callable[[Callable[[int], None], Iterable[int]], None]
"""A function that calls another function once for each of some numbers. Several of these calls may run in parallel."""


def one_by_one(function: Callable[[int], None], numbers: Iterable[int]) -> None:
    for number in numbers:
        function(number)


class Stored(StateIds):
    """The states of whole levels, and the new states after them.

    `sizes` has the number of states of each whole level. `shared` is the data that workers share (`loops`).
    """

    sizes: list[int]
    shared: Integers

    @property
    def fresh(self) -> int:
        """The number of new states after the last whole level, as far as it is known."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """The number of states."""
        return sum(self.sizes) + self.fresh

    @property
    def depth(self) -> int:
        """The number of whole levels."""
        return len(self.sizes)

    def insert(self, rows: Words) -> None:
        """Inserts states of the next level, unless they are known."""
        raise NotImplementedError

    def close(self) -> int:
        """Turns the states after the last whole level, if there are any, into a new level. Returns their number."""
        raise NotImplementedError

    def blocks(self, level: int, largest: int) -> Iterator[Words]:
        """Copies of the states of a whole level, about `largest` at a time."""
        raise NotImplementedError

    def make_room(self, each: Each = one_by_one) -> None:
        """Enlarges everything that is full or nearly full."""
        raise NotImplementedError
