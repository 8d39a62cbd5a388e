"""Where the states found are kept: partitions that grow one at a time, so that memory grows smoothly."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from checker.engines.local import loops
from checker.kernel.compile import Integers
from checker.kernel.layout import Words

PARTITION_BITS: Final = 4
LOAD: Final = 0.8
"""How full a table may be. A state then takes its row and 10 to 14 bytes of table."""
GROWTH: Final = 1.4
SMALL_GROWTH: Final = GROWTH**2
SMALL: Final = 1 << 18
"""Below this many slots a table grows faster: copying it costs less than the call."""
CHUNK: Final = 18
"""Rows are kept in chunks of 2**18: for two words 4 MB, which the system backs with huge pages."""
FIRST_SLOTS: Final = 1 << 9
HUGE_PAGE: Final = 1 << 21
LARGEST_CAPACITY: Final = (1 << 32) - 1


class OutOfMemory(Exception):
    """The next growth would pass the limit, or the system has no more memory."""


class Store:
    """States of `words` words in partitions, found again by their hash. `held` and `peak` are bytes."""

    def __init__(
        self, words: int, limit: int | None = None, first_slots: int = FIRST_SLOTS, chunk: int = CHUNK
    ) -> None:
        count = 1 << PARTITION_BITS
        self.words, self.limit, self.chunk = words, limit, chunk
        self.held = self.peak = 0
        self.shift = np.uint64(64 - PARTITION_BITS)
        self.partitions = np.zeros((count, 4), dtype=np.uint64)
        self.chunks = np.zeros((count, 4), dtype=np.uint64)
        self._tables: list[Any] = [None] * count
        self._rows: list[list[Words]] = [[] for _ in range(count)]
        for p in range(count):
            # Staggered, so that no two partitions grow at the same moment.
            slots = int(first_slots * GROWTH ** (p / count))
            self._replace_table(p, slots)
            self._more_rows(p, min(int(slots * LOAD), 1 << chunk))

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

    def grow(self, p: int) -> None:
        """Make room in a partition for at least one more state."""
        _, capacity, count, _ = map(int, self.partitions[p])
        if count >= int(capacity * LOAD):
            factor = SMALL_GROWTH if capacity < SMALL else GROWTH
            self._replace_table(p, min(int(capacity * factor) + 1, LARGEST_CAPACITY))
        if count >= self._row_room(p):
            self._more_rows(p, count + 1)
        self._update_room(p)

    def view(self, p: int, first: int, last: int) -> Iterator[Words]:
        """The rows `first..last-1` of a partition, as arrays of the rows that lie together; not copied."""
        size = 1 << self.chunk
        for number in range(first >> self.chunk, (last + size - 1) >> self.chunk):
            base = number << self.chunk
            part = self._rows[p][number][max(first - base, 0) : min(last - base, size)]
            if len(part):
                yield part

    def insert(self, rows: Words, hashes: npt.NDArray[np.uint64]) -> None:
        """Insert some states; for few."""
        slots, done = np.empty(len(rows), dtype=np.uint64), 0
        while True:
            address = np.uint64(rows.ctypes.data)
            done, full = loops.insert(
                address,
                self.words,
                hashes,
                done,
                len(rows),
                self.partitions,
                self.chunks,
                self.chunk,
                self.shift,
                slots,
            )
            if full < 0:
                return
            self.grow(full)

    # --- growing ----------------------------------------------------------------------------------------------------

    def _row_room(self, p: int) -> int:
        full = len(self._rows[p]) - 1
        return (full << self.chunk) + len(self._rows[p][-1]) if self._rows[p] else 0

    def _update_room(self, p: int) -> None:
        capacity = int(self.partitions[p, loops.CAPACITY])
        self.partitions[p, loops.ROOM] = min(int(capacity * LOAD), self._row_room(p))

    def _replace_table(self, p: int, capacity: int) -> None:
        old, slots = self._tables[p], int(self.partitions[p, loops.CAPACITY])
        if capacity <= slots:
            raise OutOfMemory
        table = self._allocate(capacity)
        address = table.ctypes.data
        if old is not None:
            loops.move(old.ctypes.data, slots, address, capacity)
            self.held -= old.nbytes
        # One assignment: an interruption leaves the partition whole.
        self.partitions[p, :2] = address, capacity
        self._tables[p] = table

    def _more_rows(self, p: int, wanted: int) -> None:
        """A whole chunk more; while the first one is not whole, it is replaced by one four times as long."""
        chunks, size = self._rows[p], 1 << self.chunk
        if chunks and len(chunks[-1]) == size:
            if len(chunks) == self.chunks.shape[1]:
                self.chunks = np.concatenate([self.chunks, np.zeros_like(self.chunks)], axis=1)
            rows = self._allocate(size * self.words).reshape(size, self.words)
            self.chunks[p, len(chunks)] = rows.ctypes.data
            chunks.append(rows)
        else:
            room = min(max(wanted, 4 * len(chunks[0]) if chunks else 0), size)
            rows = self._allocate(room * self.words).reshape(room, self.words)
            if chunks:
                rows[: len(chunks[0])] = chunks[0]
                self.held -= chunks[0].nbytes
            self.chunks[p, 0] = rows.ctypes.data
            chunks[:] = [rows]
        self._update_room(p)

    def _allocate(self, count: int) -> npt.NDArray[np.uint64]:
        """Zeros; large ones in huge pages where the system has them."""
        self.room_for(8 * count)
        try:
            if 8 * count < HUGE_PAGE:
                array = np.zeros(count, dtype=np.uint64)
            else:
                memory = mmap.mmap(-1, 8 * count)
                if hasattr(mmap, "MADV_HUGEPAGE"):
                    memory.madvise(mmap.MADV_HUGEPAGE)
                array = np.frombuffer(memory, dtype=np.uint64, count=count)
        except (MemoryError, OSError) as error:
            raise OutOfMemory from error
        self.held += array.nbytes
        return array


def smallest(words: int) -> int:
    """How many bytes a store of no states takes."""
    return Store(words).peak
