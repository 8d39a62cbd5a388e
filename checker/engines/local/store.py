"""Where the states found are kept: partitions that grow one at a time, so that memory grows smoothly.

A state takes its row and, for a table that is between full and just grown, 4.7 to 6.1 bytes of table. Several workers
may insert at once; while a partition grows, nobody does.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.local import loops
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words

PARTITION_BITS: Final = 7
LOAD: Final = 0.8
"""How full a table may be."""
GROWTH: Final = 1.4
SMALL_GROWTH: Final = GROWTH**3
SMALL: Final = 1 << 14
"""Below this many slots a table grows faster: filling it again costs less than the call."""
BLOCK: Final = 10
"""Rows are kept in blocks of 2**10, so that partitions share large pieces of memory."""
AHEAD: Final = 1 / 16
LARGEST_AHEAD: Final = 1 << 12
"""How near to its end a partition grows, of its rows and at most: who grows together makes the others wait once."""
SLACK: Final = 8
"""Bytes behind the last row of a piece, which are read with it."""
FIRST_SLOTS: Final = 1 << 8
HUGE_PAGE: Final = 1 << 21
OWN_PAGES: Final = 1 << 17
"""From so many bytes on a table has pages of its own, which go back to the system with it. The C library would keep
what tables leave behind as they grow: up to 280 MB were missing there, for which `held` did not account."""
LARGEST_PIECE: Final = 1 << 24
LARGEST_SPOOL_PIECE: Final = 1 << 28
"""Python keeps a file descriptor open for each piece of a file."""
LARGEST_COUNT: Final = loops.MARKED - 1
"""Rows that a partition can have: the number of a row has to fit an entry of the table."""

Each = Callable[[Callable[[int], None], Iterable[int]], None]
"""Calls a function with each of some numbers, perhaps several at once."""


class OutOfMemory(Exception):
    """The next growth would pass the limit, or the system has no more memory."""


class Store:
    """States of `words` words, in rows of `row_bytes`, in partitions, found again by their hash.

    `hashes` is the address of the kernel's function; `workers` says how many may insert at once. `held` and `peak` are
    bytes of memory. With a folder as `spool` the rows are in a file there, which the system reads and writes, and are
    no part of them. A `compact` store tells states apart by fingerprints of 64 bits in each partition; rows are then
    written, and read level by level, but never looked up.
    """

    def __init__(
        self,
        words: int,
        row_bytes: int,
        hashes: int,
        limit: int | None = None,
        workers: int = 1,
        first_slots: int = FIRST_SLOTS,
        block: int = BLOCK,
        compact: bool = False,
        spool: str | None = None,
    ) -> None:
        count = 1 << PARTITION_BITS
        self.words, self.row_bytes, self.limit, self.block = words, row_bytes, limit, block
        self.held = self.peak = 0
        self.compact, self._entry = compact, 8 if compact else 4
        self._spool = None if spool is None else Spool(spool)
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
        near = np.flatnonzero(counts + _ahead(counts) > room).tolist()
        wanted: list[int] = []
        for p in near:
            count = int(counts[p])
            ahead = int(_ahead(counts[p]))
            if count + ahead > self._row_room[p] - self._spare:
                self._more_rows(p, count + max(1 << self.block, 2 * ahead))
            if count + ahead > self._table_room(p):
                wanted.append(p)
        if self.compact:
            for p in wanted:
                self._move_table(p)
            wanted = []
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
            count = loops.gather(self.blocks, self.block, self.words, self.row_bytes, begin, end, at, out)
            if not count:
                return
            yield out[:count]

    def insert(self, rows: Words, hashes: npt.NDArray[np.uint64]) -> None:
        """Insert some states; for few."""
        slots, done = np.empty(len(rows), dtype=np.uint64), 0
        while True:
            address = np.uint64(rows.ctypes.data)
            done = (loops.insert_fingerprints if self.compact else loops.insert)(
                address,
                self.words,
                self.row_bytes,
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

    # --- rows as they are kept --------------------------------------------------------------------------------------

    def packed(self, begin: Integers, end: Integers) -> Iterator[Any]:
        """The bytes of rows `begin[p]..end[p]-1` of each partition, in place."""
        for p in range(len(begin)):
            row, last = int(begin[p]), int(end[p])
            while row < last:
                size = min(last, (row >> self.block) + 1 << self.block) - row
                yield (ctypes.c_ubyte * (size * self.row_bytes)).from_address(self._row(p, row))
                row += size

    def append(self, p: int, rows: bytes) -> None:
        """Rows of new states behind those of a partition; `restored` makes them known."""
        count, at = int(self.partitions[p, loops.COUNT]), 0
        last = count + len(rows) // self.row_bytes
        self._more_rows(p, last)
        while count < last:
            size = min(last, (count >> self.block) + 1 << self.block) - count
            ctypes.memmove(self._row(p, count), rows[at : at + size * self.row_bytes], size * self.row_bytes)
            count, at = count + size, at + size * self.row_bytes
        self.partitions[p, loops.COUNT] = last

    def restored(self) -> None:
        """Tables for rows that were appended."""
        for p in range(len(self.partitions)):
            self._new_table(p)
            self._fill_table(p)
            self._update_room(p)

    def _row(self, p: int, row: int) -> int:
        return int(self.blocks[p, row >> self.block]) + (row & (1 << self.block) - 1) * self.row_bytes

    # --- growing ----------------------------------------------------------------------------------------------------

    def _table_room(self, p: int) -> int:
        """Rows that the table of a partition has slots for."""
        return int(int(self.partitions[p, loops.CAPACITY]) * LOAD) - self._spare

    def _update_room(self, p: int) -> None:
        self.partitions[p, loops.ROOM] = min(self._table_room(p), self._row_room[p] - self._spare, LARGEST_COUNT)

    def _new_table(self, p: int) -> None:
        """A table that is large enough, still empty, in place of the old one, which goes first."""
        capacity = int(self.partitions[p, loops.CAPACITY])
        if int(self.partitions[p, loops.COUNT]) + self._spare >= LARGEST_COUNT:
            raise OutOfMemory
        count = int(self.partitions[p, loops.COUNT])
        wanted = count + int(_ahead(np.int64(count))) + self._spare
        while True:
            capacity = int(capacity * (SMALL_GROWTH if capacity < SMALL else GROWTH)) + 2
            if int(capacity * LOAD) > wanted:
                break
        size = self._entry * capacity
        old = self._tables[p]
        if old is not None:
            self.room_for(size - old.nbytes)
            self.held -= old.nbytes
            self._tables[p] = old = None
        table = self._allocate(size)
        self.partitions[p, :2] = table.ctypes.data, size // self._entry
        self._tables[p] = table

    def _move_table(self, p: int) -> None:
        """A larger table with the same fingerprints: there is nothing else to fill it from but the old one."""
        old, capacity = self._tables[p], int(self.partitions[p, loops.CAPACITY])
        self._tables[p] = None
        try:
            self._new_table(p)
        except OutOfMemory:
            self._tables[p] = old
            raise
        loops.move_fingerprints(old.ctypes.data, capacity, *map(int, self.partitions[p, :2]))
        self.held -= old.nbytes

    def _replace_table(self, p: int, slots: int) -> None:
        """The first table of a partition."""
        table = self._allocate(self._entry * slots)
        self.partitions[p, :2] = table.ctypes.data, slots
        self._tables[p] = table
        self._update_room(p)

    def _fill_table(self, p: int) -> None:
        address, capacity, count, _ = map(int, self.partitions[p, :4])
        if self.compact:
            state = np.empty(self.words, dtype=np.uint64)
            loops.fingerprint_rows(
                address, capacity, self.blocks, self.block, p, count, self.words, self.row_bytes, state
            )
            return
        states, hashes = (np.empty(size << self.block, dtype=np.uint64) for size in (self.words, 1))
        loops.rebuild(
            self._hashes, address, capacity, self.blocks, self.block, p, count, self.words, self.row_bytes, self.shift,
            states, hashes,
        )  # fmt: skip

    def _more_rows(self, p: int, wanted: int) -> None:
        """Blocks until a partition has room for so many rows, and for those that several workers add at once."""
        size = self.row_bytes << self.block
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
            largest = LARGEST_PIECE if self._spool is None else LARGEST_SPOOL_PIECE
            most = min(largest, max(first, self.held // 8)) - SLACK
            room = max(size, most // size * size) + SLACK
            piece = self._allocate(room) if self._spool is None else self._spool.allocate(room)
            self._pieces.append(piece)
            self._free, self._end = piece.ctypes.data, piece.ctypes.data + piece.nbytes - SLACK
        self._free += size
        return self._free - size

    def _allocate(self, size: int) -> npt.NDArray[np.uint32]:
        """So many bytes of zeros; large ones in huge pages where the system has them."""
        size += -size % 4
        self.room_for(size)
        try:
            if size < OWN_PAGES:
                array = np.zeros(size // 4, dtype=np.uint32)
            else:
                memory = mmap.mmap(-1, size)
                if hasattr(mmap, "MADV_HUGEPAGE") and size > HUGE_PAGE << 2:
                    memory.madvise(mmap.MADV_HUGEPAGE)
                array = np.frombuffer(memory, dtype=np.uint32)
        except (MemoryError, OSError) as error:
            raise OutOfMemory from error
        self.held += array.nbytes
        return array


class Spool:
    """Memory that is a file in a folder, and the folder's entry gone: whatever happens, nothing stays behind."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file, name = tempfile.mkstemp(prefix="isrcheck-", dir=folder)
        weakref.finalize(self, os.close, self._file)
        os.unlink(name)
        self._size = 0

    def allocate(self, size: int) -> npt.NDArray[np.uint32]:
        """So many bytes or more; OSError where the disk is full, while there is still time to say so."""
        size += -size % mmap.ALLOCATIONGRANULARITY
        try:
            os.posix_fallocate(self._file, self._size, size)
        except OSError as error:
            what = f"{error.strerror}: no more states can be kept here; --store-folder names another place"
            raise OSError(error.errno, what, self._folder) from None
        memory = mmap.mmap(self._file, size, offset=self._size)
        self._size += size
        return np.frombuffer(memory, dtype=np.uint32)


def _ahead(counts: Any) -> Any:
    """How many states a partition should have room for beside those that it has."""
    return np.clip(np.asarray(counts * AHEAD).astype(np.int64), 1, LARGEST_AHEAD)


def smallest(words: int, row_bytes: int, workers: int = 1, compact: bool = False) -> int:
    """How many bytes a store of no states takes."""
    return Store(words, row_bytes, 0, workers=workers, compact=compact).peak
