"""The names of the states of the last whole level, and of the new states after it, in chunks.

The interface of a store, which keeps the states of a search by name, level by level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit import search_loops
from isrcheck.checker.engines.explicit.compressed_ids import Names
from isrcheck.checker.engines.explicit.memory_account import Account
from isrcheck.checker.kernel.compiled import Integers
from isrcheck.checker.kernel.layout import Words

CHUNK: Final = 1 << 13
"""The number of names in a chunk. Larger chunks would waste memory, because in each level every worker may leave a
part of its last chunk unused."""
SHARE: Final = 16
"""If no free chunk is left, new chunks are added: one for every 16 present chunks, but at least one for each worker."""


class Queue:
    """Chunks of names. A worker that has filled a chunk takes the next chunk of `free`.

    `free` has the address and the size of each chunk for new names. A chunk that a worker takes stays in `free`.
    `filled` has the number of names in each chunk of `free`. `chunks` has the addresses of the chunks of the last whole
    level, and `counts` has the number of names in each of them. `level` is the number of the last whole level. It is 0
    if `chunks` may be incomplete, because some chunks were freed or `turn` was interrupted.
    """

    def __init__(self, account: Account, workers: int, chunk: int = CHUNK) -> None:
        self._account, self._chunk = account, max(chunk, search_loops.AT_ONCE)
        self._least = workers
        self._pieces: list[Words] = []
        self._all = 0
        self.shared = np.zeros(search_loops.SHARED, dtype=np.int64)
        self.free = np.zeros((0, 2), dtype=np.uint64)
        self.filled = np.zeros(0, dtype=np.uint64)
        self.chunks = np.zeros(0, dtype=np.uint64)
        self.counts = np.zeros(0, dtype=np.int64)
        self.level = 0
        self._add(workers)

    @property
    def fresh(self) -> int:
        """The number of names of new states, which come after the last whole level."""
        return int(self.filled.sum())

    def make_room(self) -> None:
        """If all chunks are taken, provides at least one free chunk for each worker."""
        if self.shared[search_loops.TAKEN] >= len(self.free):
            self.shared[search_loops.TAKEN] = len(self.free)
            self._add(max(self._least, self._all // SHARE))

    def turn(self, level: int) -> None:
        """Makes the new states the last whole level, with the number `level`. Frees the chunks of the level before."""
        self.level = 0
        used = np.flatnonzero(self.filled)
        chunks, counts = self.free[used, 0], self.filled[used].astype(np.int64)
        empty = np.concatenate([self.free[self.filled == 0, 0], self.chunks])
        self.chunks, self.counts = chunks, counts
        self.free, self.filled = np.zeros((0, 2), dtype=np.uint64), np.zeros(0, dtype=np.uint64)
        self.shared[search_loops.TAKEN] = 0
        self._provide(empty)
        if len(empty) < self._least:
            self._add(self._least)
        self.level = level

    def recycle(self, done: int) -> None:
        """Frees the first `done` chunks of the last whole level, because their states are expanded."""
        if done:
            self.level = 0
            gone, self.chunks, self.counts = self.chunks[:done], self.chunks[done:], self.counts[done:]
            self.shared[search_loops.TAKEN] = min(int(self.shared[search_loops.TAKEN]), len(self.free))
            self._provide(gone)

    def _add(self, count: int) -> None:
        size = 8 * self._chunk
        piece = self._account.allocate(count * size)
        self._pieces.append(piece)
        self._all += count
        self._provide(piece.ctypes.data + size * np.arange(count, dtype=np.uint64))

    def _provide(self, addresses: Words) -> None:
        more = np.stack([addresses, np.full(len(addresses), self._chunk, dtype=np.uint64)], axis=1).astype(np.uint64)
        self.free = np.concatenate([self.free, more])
        self.filled = np.concatenate([self.filled, np.zeros(len(more), dtype=np.uint64)])


Each = Callable[[Callable[[int], None], Iterable[int]], None]
"""A function that calls another function once for each of some numbers. Several of these calls may run in parallel."""


def one_by_one(function: Callable[[int], None], numbers: Iterable[int]) -> None:
    for number in numbers:
        function(number)


class Stored(Names):
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
