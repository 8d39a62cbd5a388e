"""A store that keeps each found state as an entry of four or eight bytes in a table, without its packed row.

The id of a state is two numbers (`compressed_ids`). The table is a hash table. An entry keeps only a part of the
state's id. The rest of the id follows from the place of the entry (`loops`), so no two states are confused. The table
consists of partitions that grow one at a time, so memory grows smoothly. An entry also has the level of its state, so
the states of any level can be found again. The ids of the last whole level and of the new states after it are in a
queue as well.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from isrcheck.checker.engines.explicit import search_loops
from isrcheck.checker.engines.explicit.compressed_ids import Each, Stored, one_by_one
from isrcheck.checker.engines.explicit.memory_account import LINE, Account, OutOfMemory
from isrcheck.checker.engines.explicit.search_loops import FreeChunks
from isrcheck.checker.kernel.layout import Integers, Layout, Words

if TYPE_CHECKING:
    from isrcheck.checker.engines.explicit.compressed_ids import Stored

PARTITIONS: Final = 1 << search_loops.PARTITION_BITS
LOAD: Final = 0.84
"""How full a table may become."""
GROWTH: Final = 1.4
SMALL_GROWTH: Final = GROWTH**3
SMALL: Final = 1 << 12
"""While the table of a partition has fewer entries than this, it grows by the larger factor `SMALL_GROWTH`, so that it
rarely grows. Calling the loop that fills so small a table takes longer than the loop itself."""
LARGEST_GROWTH: Final = 3.0
"""The largest factor by which a table grows at once, if many more states are expected."""
FIRST_ENTRIES: Final = 1 << 7
AHEAD: Final = 1 / 16
"""When some partitions must grow, those with at most this share of free entries grow too, so that the workers wait only
once."""
LEAST_BOUND: Final = 1.3
LARGEST_BOUND: Final = 16.0
"""When a partition gets new bounds for the two numbers of an id, each bound is about 1.3 to 16 times as large as the
largest number in use. If a number reaches its bound later, the partition must be filled anew."""
BEHIND_BITS: Final = (search_loops.FARTHEST - 1).bit_length()
NARROW: Final = 4
WIDE: Final = 8
REMEMBERED: Final = 1 << 18
"""Successive levels with up to about this many states in all are read from the table together."""
CHUNK: Final = 1 << 13
"""The number of ids in a chunk. Larger chunks would waste memory, because in each level every worker may leave a part
of its last chunk unused."""


SHARE: Final = 16
"""If no free chunk is left, new chunks are added: one for every 16 present chunks, but at least one for each worker."""


class Queue:
    """Chunks of ids. A worker that has filled a chunk takes the next chunk of `free`.

    `free` has the address and the size of each chunk for new ids. A chunk that a worker takes stays in `free`. `filled`
    has the number of ids in each chunk of `free`. `chunks` has the addresses of the chunks of the last whole level, and
    `counts` has the number of ids in each of them. `level` is the number of the last whole level. It is 0 if `chunks`
    may be incomplete, because some chunks were freed or `turn` was interrupted.
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
    def room(self) -> FreeChunks:
        """The present chunks for ids of new states, for loops."""
        return FreeChunks(self.free, self.filled, self.shared)

    @property
    def fresh(self) -> int:
        """The number of ids of new states, which come after the last whole level."""
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


class Work(NamedTuple):
    """Ids in chunks, taken in batches of `1 << bits` ids.

    `chunks` has the addresses of the chunks, and `counts` the number of ids in each of them. The chunks before chunk
    c have `starts[c]` batches.
    """

    chunks: Words
    counts: Integers
    starts: Integers
    bits: int

    @classmethod
    def of(cls, chunks: Words, counts: Integers, bits: int) -> Work:
        return cls(chunks, counts, np.concatenate([[0], np.cumsum(-(-counts >> bits))]).astype(np.int64), bits)

    @property
    def batches(self) -> int:
        return int(self.starts[-1])


class Store(Stored):
    """The states of whole levels and of the level that is being found, in a table in memory."""

    def __init__(
        self,
        layout: Layout,
        limit: int | None = None,
        workers: int = 1,
        sample: Words | None = None,
        first_entries: int = FIRST_ENTRIES,
        chunk: int = CHUNK,
    ) -> None:
        super().__init__(layout, limit, workers, sample)
        self._spare = workers
        self.sizes, self.expected = [], 0
        self.partitions = np.zeros((PARTITIONS, search_loops.COLUMNS), dtype=np.uint64)
        self.queue = Queue(self._account, workers, chunk)
        self.shared = self.queue.shared
        self._tables: list[list[Words]] = [[] for _ in range(PARTITIONS)]
        self._cursor = np.zeros(search_loops.CURSOR, dtype=np.int64)
        self._cursor[search_loops.CHUNK] = -1
        self._remembered = (1, 0), (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64))
        self.account(self.partitions.nbytes)
        for p in range(PARTITIONS):
            # The sizes differ, so that no two partitions grow at the same moment.
            self._replace(p, int((first_entries + 2 * workers) * GROWTH ** (p / PARTITIONS)))

    @property
    def total(self) -> int:
        """The number of states."""
        return int(self.partitions[:, search_loops.COUNT].sum())

    @property
    def fresh(self) -> int:
        """The number of states after the last whole level."""
        return self.queue.fresh

    # --- levels -----------------------------------------------------------------------------------------------------

    def insert(self, rows: Words) -> None:
        """Inserts states of the next level, unless they are known."""
        rows = np.array(rows, dtype=np.uint64, order="C")  # a copy, because new rows are moved to the front
        self._cursor[search_loops.INSERTED] = self._cursor[search_loops.NEW] = 0
        while not search_loops.insert(
            np.uint64(rows.ctypes.data), len(rows), self.codec, self.partitions, np.uint64(self.depth + 1),
            self.queue.room, self._cursor, self._own,
        ):  # fmt: skip
            self.make_room()

    def close(self) -> int:
        """Turns the states after the last whole level, if there are any, into a new level. Returns their number."""
        found = self.fresh
        if found:
            self.sizes.append(found)
            self.queue.turn(self.depth)
            self._cursor[search_loops.CHUNK] = -1
            self.partitions[self.partitions[:, search_loops.DEEPEST] <= self.depth, search_loops.FULL] = 1
            self.make_room()
        return found

    def last(self, bits: int) -> Work:
        """The last whole level, in batches of `1 << bits` states."""
        return Work.of(self.queue.chunks, self.queue.counts, bits)

    def expanded(self, work: Work) -> None:
        """Frees the chunks of the last whole level whose batches have all been taken."""
        taken = int(np.searchsorted(work.starts[1:], self.queue.shared[search_loops.NEXT], side="right"))
        self.queue.recycle(taken - (len(work.chunks) - len(self.queue.chunks)))

    def blocks(self, level: int, largest: int) -> Iterator[Words]:
        """Copies of the states of a whole level, at most `largest` at a time."""
        for ids in self._ids(level):
            for first in range(0, len(ids), largest):
                yield self.states(ids[first : first + largest])

    def _ids(self, level: int) -> Iterator[Words]:
        if level == self.queue.level:
            for address, count in zip(self.queue.chunks.tolist(), self.queue.counts.tolist(), strict=True):
                yield _copied(address, count)
        elif self.sizes[level - 1] > REMEMBERED:
            some = PARTITIONS // 8
            for first in range(0, PARTITIONS, some):
                yield self._found(level, level, range(first, first + some))[1]
        else:
            (first, last), (ends, ids) = self._remembered
            if not first <= level <= last:
                groups = np.cumsum(self.sizes) // REMEMBERED
                first, last = (int(np.searchsorted(groups, groups[level - 1], side)) for side in ("left", "right"))
                ends, ids = self._found(first + 1, last, range(PARTITIONS))
                first += 1
                self._remembered = (first, last), (ends, ids)
            yield ids[int(ends[level - first - 1]) if level > first else 0 : int(ends[level - first])]

    def _found(self, first: int, last: int, some: range) -> tuple[Integers, Words]:
        """Returns `ends` and `ids` for the levels `first` to `last` in the partitions `some`.

        `ids` has the ids of these states, level by level. `ends` has the position in `ids` where each level ends.
        """
        levels, scratch = (np.uint64(first), np.uint64(last)), self._own.scratch
        counts = np.zeros(last - first + 1, dtype=np.int64)
        search_loops.counted(self.partitions, some.start, some.stop, levels, scratch, counts)
        ends: Integers = np.cumsum(counts)
        ids = np.empty(int(ends[-1]), dtype=np.uint64)
        search_loops.of_levels(self.partitions, some.start, some.stop, levels, scratch, ends - counts, ids)
        return ends, ids

    # --- growing ----------------------------------------------------------------------------------------------------

    def make_room(self, each: Each = one_by_one) -> None:
        """Enlarges everything that is full or nearly full."""
        self.queue.make_room()
        self.dictionaries.make_room()
        rows = self.partitions
        full = (rows[:, search_loops.FULL] != 0) | (
            rows[:, search_loops.COUNT] * (1 + AHEAD) + 1 > rows[:, search_loops.ROOM]
        )
        wanted: list[int] = np.flatnonzero(full | ~self._fits(rows)).tolist()
        each(self._grow, wanted)

    def _grow(self, p: int) -> None:
        """Gives a partition a new table: with more entries, or with entries for larger numbers or deeper levels."""
        row = self.partitions[p]
        entries = int(row[search_loops.CAPACITY]) * LINE // int(row[search_loops.SIZE])
        if self._fits(row) or int(row[search_loops.COUNT]) * (1 + AHEAD) + 1 > int(row[search_loops.ROOM]):
            growth = SMALL_GROWTH if entries < SMALL else GROWTH
            expected = self.expected / PARTITIONS / LOAD
            entries = int(max(entries * growth, min(entries * LARGEST_GROWTH, expected))) + 2
        while not self._replace(p, entries):
            entries = int(entries * GROWTH)

    def _numbers(self) -> tuple[int, int]:
        """The two numbers in the rest of an id (see `loops`) are below these bounds at present."""
        first, second = (int(self.dictionaries.columns[d, search_loops.COUNT]) for d in self.pairs[-1])
        return first, -(-second >> search_loops.PARTITION_BITS)

    def _fits(self, rows: Words) -> Any:
        """Whether each of these partitions can hold the present ids and levels, and slightly larger ones."""
        first, second = (number * (1 + AHEAD) + 1 for number in self._numbers())
        deep = rows[..., search_loops.DEEPEST] > self.depth
        return (rows[..., search_loops.FIRSTS] >= first) & (rows[..., search_loops.SECONDS] >= second) & deep

    def _shape(self, p: int, entries: int) -> Words:
        """The row of `partitions` for a partition with this many entries. The address of the table is still 0."""
        deep = (2 * self.depth + 16).bit_length()
        for size in (NARROW, WIDE):
            buckets = max(-(-entries * size // LINE), search_loops.FARTHEST)
            firsts, seconds = self._bounds(p, buckets << 8 * size - BEHIND_BITS - deep)
            if firsts:
                rest = ((firsts * seconds - 1) // buckets).bit_length()
                row = np.zeros(search_loops.COLUMNS, dtype=np.uint64)
                row[search_loops.CAPACITY], row[search_loops.SIZE], row[search_loops.REST] = buckets, size, rest
                row[search_loops.FIRSTS], row[search_loops.SECONDS] = firsts, seconds
                row[search_loops.DEEPEST] = (1 << 8 * size - BEHIND_BITS - rest) - 1
                row[search_loops.ROOM] = max(int(buckets * (LINE // size) * LOAD) - self._spare, 0)
                return row
        raise OutOfMemory

    def _bounds(self, p: int, most: int) -> tuple[int, int]:
        """Bounds for the two numbers of an id in a partition. The product of the bounds is at most `most`.

        Returns the present bounds if they suffice (`_fits`), because ids need not be permuted again then. Otherwise,
        returns bounds that are as large as `most` and `LARGEST_BOUND` allow, so that they suffice for a long time.
        Returns zeros if `most` allows no bounds that are large enough.
        """
        row, numbers = self.partitions[p], self._numbers()
        firsts, seconds = int(row[search_loops.FIRSTS]), int(row[search_loops.SECONDS])
        if self._fits(row) and firsts * seconds <= most:
            return firsts, seconds
        first, second = (number + 16 for number in numbers)
        larger = min(math.sqrt(most / (first * second)), LARGEST_BOUND)
        return (int(first * larger), int(second * larger)) if larger >= LEAST_BOUND else (0, 0)

    def _replace(self, p: int, entries: int) -> bool:
        """Gives a partition a table of this many entries, with the same states.

        Returns False, and keeps the old table, if a state finds no place in the new one.
        """
        row = self._shape(p, entries)
        table, tables = self._account.allocate(LINE * int(row[search_loops.CAPACITY])), self._tables[p]
        row[search_loops.TABLE], row[search_loops.COUNT] = table.ctypes.data, self.partitions[p, search_loops.COUNT]
        if tables:
            scratch = np.empty((4, search_loops.AT_ONCE), dtype=np.uint64)
            if not search_loops.moved(self.partitions[p : p + 1], row.reshape(1, -1), np.uint64(p), scratch):
                self._account.free(table)
                return False
        # Both tables are kept until the row is replaced, because an interruption may come at any moment.
        tables.append(table)
        self.partitions[p] = row
        for old in tables[:-1]:
            self._account.free(old)
        del tables[:-1]
        return True


def _copied(address: int, count: int) -> Words:
    """A copy of `count` 64-bit numbers at an address."""
    return np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(address)).astype(np.uint64)


def smallest(layout: Layout, workers: int = 1) -> int:
    """The bytes that a store without states takes."""
    return Store(layout, workers=workers).peak


class Places:
    """Gives each state a number that identifies it. All numbers are below `size`. Some of them belong to no state."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stride = max(search_loops.slots(store.partitions, p) for p in range(PARTITIONS))
        self.size = PARTITIONS * self._stride
        self._own = store.arrays()

    def find(self, states: Words) -> tuple[Integers, Words]:
        """The number and the id of each state. A state outside the store has the number -1 and a useless id."""
        store, states = self._store, np.ascontiguousarray(states)
        found, ids = np.empty(len(states), dtype=np.int64), np.empty(len(states), dtype=np.uint64)
        search_loops.places_of(
            np.uint64(states.ctypes.data), store.codec, store.partitions, self._stride, self._own, found, ids
        )  # fmt: skip
        return found, ids

    def ids(self, numbers: Integers) -> Words:
        """The ids of the states with these numbers."""
        return self._named(numbers)[0]

    def states(self, ids: Words) -> Words:
        """The states with these ids."""
        return self._store.states(ids)

    def levels(self, numbers: Integers) -> Integers:
        """The levels of the states with these numbers."""
        return self._named(numbers)[1]

    def every(self, levels: int, largest: int) -> Iterator[tuple[Integers, Words, Integers]]:
        """Yields numbers, rows and levels of the states in the first `levels` levels, at most `largest` at a time."""
        for first in range(0, self.size, largest):
            numbers = np.arange(first, min(first + largest, self.size), dtype=np.int64)
            ids, of = self._named(numbers)
            known = np.flatnonzero((of > 0) & (of <= levels))
            yield numbers[known], self._store.states(ids[known]), of[known]

    def _named(self, numbers: Integers) -> tuple[Words, Integers]:
        ids, levels = np.empty(len(numbers), dtype=np.uint64), np.empty(len(numbers), dtype=np.int64)
        search_loops.ids_at(numbers, self._store.partitions, self._stride, ids, levels)
        return ids, levels
