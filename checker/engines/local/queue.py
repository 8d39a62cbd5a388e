"""The names of the states of the last whole level and of those behind it, in chunks."""

from __future__ import annotations

from typing import Final

import numpy as np

from isrcheck.checker.engines.local import loops
from isrcheck.checker.engines.local.account import Account
from isrcheck.checker.kernel.layout import Words

CHUNK: Final = 1 << 13
"""Names of a chunk; of a level each worker has one that is not full."""
SHARE: Final = 16
"""A sixteenth of all chunks is added when there are none left."""


class Queue:
    """Whoever has filled a chunk takes the next of `free`; `filled` has how many names are in each chunk.

    `chunks` and `counts` are the addresses and names of the last whole level's, which is that of number `level`, or
    0 where some are gone or an interruption came between.
    """

    def __init__(self, account: Account, workers: int, chunk: int = CHUNK) -> None:
        self._account, self._chunk = account, max(chunk, loops.AT_ONCE)
        self._least = workers
        self._pieces: list[Words] = []
        self._all = 0
        self.shared = np.zeros(loops.SHARED, dtype=np.int64)
        self.free = np.zeros((0, 2), dtype=np.uint64)
        self.filled = np.zeros(0, dtype=np.uint64)
        self.chunks = np.zeros(0, dtype=np.uint64)
        self.counts = np.zeros(0, dtype=np.int64)
        self.level = 0
        self._add(workers)

    @property
    def fresh(self) -> int:
        """How many names there are behind the last whole level."""
        return int(self.filled.sum())

    def make_room(self) -> None:
        """A free chunk for each worker, at least, where all were taken."""
        if self.shared[loops.TAKEN] >= len(self.free):
            self.shared[loops.TAKEN] = len(self.free)
            self._add(max(self._least, self._all // SHARE))

    def turn(self, level: int) -> None:
        """The states behind the last whole level become this level, and the chunks of the former level are free."""
        self.level = 0
        used = np.flatnonzero(self.filled)
        chunks, counts = self.free[used, 0], self.filled[used].astype(np.int64)
        empty = np.concatenate([self.free[self.filled == 0, 0], self.chunks])
        self.chunks, self.counts = chunks, counts
        self.free, self.filled = np.zeros((0, 2), dtype=np.uint64), np.zeros(0, dtype=np.uint64)
        self.shared[loops.TAKEN] = 0
        self._provide(empty)
        if len(empty) < self._least:
            self._add(self._least)
        self.level = level

    def recycle(self, done: int) -> None:
        """The first so many chunks of the last whole level are free: their states are expanded."""
        if done:
            self.level = 0
            gone, self.chunks, self.counts = self.chunks[:done], self.chunks[done:], self.counts[done:]
            self.shared[loops.TAKEN] = min(int(self.shared[loops.TAKEN]), len(self.free))
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
