"""Where the states found are kept: partitions that grow one at a time, so that memory grows smoothly.

A state takes its row and, for a table that is between full and just grown, 5 to 7 bytes of table. Several workers may
insert at once; while a partition grows, nobody does.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from checker.engines.local import loops
from checker.kernel.compile import Integers
from checker.kernel.layout import Words

PARTITION_BITS: Final = 7
LOAD: Final = 0.8
"""How full a table may be."""
GROWTH: Final = 1.4
SMALL_GROWTH: Final = GROWTH**2
SMALL: Final = 1 << 14
"""Below this many slots a table grows faster: filling it again costs less than the call."""
BLOCK: Final = 10
"""Rows are kept in blocks of 2**10, so that partitions share large pieces of memory."""
AHEAD: Final = 1 / 16
"""How much more than it has, of its rows, a partition is given room for at once; and how near to its end it grows."""
FIRST_SLOTS: Final = 1 << 8
HUGE_PAGE: Final = 1 << 21
LARGEST_PIECE: Final = 1 << 26
LARGEST_COUNT: Final = loops.MARKED - 1
"""Rows that a partition can have: the number of a row has to fit an entry of the table."""

Each = Callable[[Callable[[int], None], Iterable[int]], None]
"""Calls a function with each of some numbers, perhaps several at once."""


class OutOfMemory(Exception):
    """The next growth would pass the limit, or the system has no more memory."""


class Store:
    """States of `words` words in partitions, found again by their hash. `held` and `peak` are bytes.

    `hashes` is the address of the kernel's function; `workers` says how many may insert at once.
    """

    def __init__(
        self,
        words: int,
        hashes: int,
        limit: int | None = None,
        workers: int = 1,
        first_slots: int = FIRST_SLOTS,
        block: int = BLOCK,
    ) -> None:
        count = 1 << PARTITION_BITS
        self.words, self.limit, self.block = words, limit, block
        self.held = self.peak = 0
        self.shift = np.uint64(64 - PARTITION_BITS)
        self.partitions = np.zeros((count, loops.COLUMNS), dtype=np.uint64)
        self.blocks = np.zeros((count, 4), dtype=np.uint64)
        self._hashes, self._spare = hashes, workers
        self._tables: list[Any] = [None] * count
        self._pieces: list[npt.NDArray[np.uint32]] = []
        self._free = self._end = 0
        self._row_room = [0] * count
        self.account(8 * len(self.blocks) * (loops.COLUMNS + 4))
        for p in range(count):
            # Staggered, so that no two partitions grow at the same moment.
            slots = int((first_slots + 2 * workers) * GROWTH ** (p / count))
            self._more_rows(p, 1)
            self._replace_table(p, slots)

    @property
    def counts(self) -> Integers:
        """How many states each partition has."""
        return self.partitions[:, loops.COUNT].astype(np.int64)

    def room_for(self, size: int) -> None:
        """Fail with `OutOfMemory` where `size` more bytes would pass the limit."""
        if self.limit is not None and self.held + size > self.limit:
            raise OutOfMemory
        self.peak = max(self.peak, self.held + size)

    def account(self, size: int) -> None:
        """Other arrays that belong to the search, in bytes."""
        self.room_for(size)
        self.held += size

    def make_room(self, each: Each | None = None) -> None:
        """Let every partition grow that is full, or nearly."""
        counts, room = self.counts, self.partitions[:, loops.ROOM].astype(np.int64)
        near = np.flatnonzero(counts >= room - (room * AHEAD).astype(np.int64)).tolist()
        wanted: list[int] = []
        for p in near:
            count = int(counts[p])
            if count + max(1, int(count * AHEAD)) > self._row_room[p] - self._spare:
                self._more_rows(p, count + max(1 << self.block, int(2 * count * AHEAD)))
            if count + max(1, int(count * AHEAD)) > self._table_room(p):
                wanted.append(p)
        for p in wanted:
            self._new_table(p)
        if each is not None:
            each(self._fill_table, wanted)
        else:
            for p in wanted:
                self._fill_table(p)
        for p in near:
            self._update_room(p)

    def rows(self, begin: Integers, end: Integers, largest: int) -> Iterable[Words]:
        """Copies of the rows `begin[p]..end[p]-1` of each partition, at most `largest` at a time."""
        at = np.zeros(2, dtype=np.int64)
        while True:
            left = int(np.maximum(end - begin, 0).sum())
            out = np.empty((min(largest, max(left, 1)), self.words), dtype=np.uint64)
            count = loops.gather(self.blocks, self.block, self.words, begin, end, at, out)
            if not count:
                return
            yield out[:count]

    def insert(self, rows: Words, hashes: npt.NDArray[np.uint64]) -> None:
        """Insert some states; for few."""
        slots, done = np.empty(len(rows), dtype=np.uint64), 0
        while True:
            address = np.uint64(rows.ctypes.data)
            done = loops.insert(
                address,
                self.words,
                hashes,
                done,
                len(rows),
                self.partitions,
                self.blocks,
                self.block,
                self.shift,
                slots,
            )
            if done == len(rows):
                return
            self.make_room()

    # --- growing ----------------------------------------------------------------------------------------------------

    def _table_room(self, p: int) -> int:
        """Rows that the table of a partition has slots for."""
        return int(int(self.partitions[p, loops.CAPACITY]) * LOAD) - self._spare

    def _update_room(self, p: int) -> None:
        self.partitions[p, loops.ROOM] = min(self._table_room(p), self._row_room[p] - self._spare, LARGEST_COUNT)

    def _new_table(self, p: int) -> None:
        """A larger table, still empty, in place of the old one, which goes first."""
        capacity = int(self.partitions[p, loops.CAPACITY])
        if int(self.partitions[p, loops.COUNT]) + self._spare >= LARGEST_COUNT:
            raise OutOfMemory
        factor = SMALL_GROWTH if capacity < SMALL else GROWTH
        size = 4 * (int(capacity * factor) + 2)
        old = self._tables[p]
        if old is not None:
            self.room_for(size - old.nbytes)
            self.held -= old.nbytes
            self._tables[p] = old = None
        table = self._allocate(size)
        self.partitions[p, :2] = table.ctypes.data, size // 4
        self._tables[p] = table

    def _replace_table(self, p: int, slots: int) -> None:
        """The first table of a partition."""
        table = self._allocate(4 * slots)
        self.partitions[p, :2] = table.ctypes.data, slots
        self._tables[p] = table
        self._update_room(p)

    def _fill_table(self, p: int) -> None:
        address, capacity, count, _ = map(int, self.partitions[p, :4])
        hashes = np.empty(1 << self.block, dtype=np.uint64)
        loops.rebuild(
            self._hashes, address, capacity, self.blocks, self.block, p, count, self.words, self.shift, hashes
        )

    def _more_rows(self, p: int, wanted: int) -> None:
        """Blocks until a partition has room for so many rows, and for those that several workers add at once."""
        size = 8 * self.words << self.block
        while self._row_room[p] < wanted + self._spare:
            number = self._row_room[p] >> self.block
            if number == self.blocks.shape[1]:
                self.account(self.blocks.nbytes)
                self.blocks = np.concatenate([self.blocks, np.zeros_like(self.blocks)], axis=1)
            self.blocks[p, number] = self._block(size)
            self._row_room[p] += 1 << self.block

    def _block(self, size: int) -> int:
        """The address of a new block of rows."""
        if self._free + size > self._end:
            first = size << PARTITION_BITS
            piece = self._allocate(max(size, min(LARGEST_PIECE, max(first, self.held // 8))) // size * size)
            self._pieces.append(piece)
            self._free, self._end = piece.ctypes.data, piece.ctypes.data + piece.nbytes
        self._free += size
        return self._free - size

    def _allocate(self, size: int) -> npt.NDArray[np.uint32]:
        """So many bytes of zeros; large ones in huge pages where the system has them."""
        self.room_for(size)
        try:
            if size < HUGE_PAGE:
                array = np.zeros(size // 4, dtype=np.uint32)
            else:
                memory = mmap.mmap(-1, size)
                if hasattr(mmap, "MADV_HUGEPAGE") and size > HUGE_PAGE << 2:
                    memory.madvise(mmap.MADV_HUGEPAGE)
                array = np.frombuffer(memory, dtype=np.uint32, count=size // 4)
        except (MemoryError, OSError) as error:
            raise OutOfMemory from error
        self.held += array.nbytes
        return array


def smallest(words: int, workers: int = 1) -> int:
    """How many bytes a store of no states takes."""
    return Store(words, 0, workers=workers).peak
