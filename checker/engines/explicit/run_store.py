"""A store of sorted compressed ids, on disk or in memory. Each whole level is a run: the sorted ids of its states.

The ids that workers find are kept in memory. If a worker's memory for ids is full and cannot grow, the ids in it go to
another file, as a sorted run. When a level has been expanded, the found ids that are in no run of an earlier level form
the next level. With *visited bits* (`visited_bits`), workers find only new ids. Without visited bits, all runs are read
once for each level, a range of ids at a time, to remove the found ids that are in a run (delayed duplicate detection:
Stern and Dill 1998, Korf 2004). A state takes two to four bytes here, two to four more with visited bits, and about ten
in a table (`store`). The dictionaries that translate states into ids and back stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit import run_loops, search_loops, sort_loops
from isrcheck.checker.engines.explicit.bucket_sort import Buckets, Range
from isrcheck.checker.engines.explicit.compressed_ids import Each, Stored, one_by_one
from isrcheck.checker.engines.explicit.memory_account import OutOfMemory
from isrcheck.checker.engines.explicit.run_loops import LARGEST, PIECE, FoundIds
from isrcheck.checker.engines.explicit.runs import Bytes, File, Known, MemoryFile, Pieces, Run, RunFile, encoded
from isrcheck.checker.engines.explicit.visited_bits import MOST_IN_MEMORY, MOST_ON_DISK, VisitedBits
from isrcheck.checker.kernel.layout import Layout, Words

MOST: Final = 3 << 23
"""All workers together have memory for at most this many ids of 8 bytes. Half of this memory is for found ids, half for
sorting them."""
LEAST: Final = 1 << 14
"""Each worker has room in memory for at least this many found ids. This number must be at least twice
`search_loops.AT_ONCE`: a worker needs room for `search_loops.AT_ONCE` more ids, and is relieved only if more than half
is full."""
GROWING: Final = 24
"""If memory is limited, there is room for at most one id (found or being sorted) for each `GROWING` bytes of the limit.
An id has 8 bytes, so this room takes at most a third of the limit. But every worker has room for at least `LEAST` found
ids."""
FOR_A_PIECE: Final = (LARGEST + 8) * PIECE + 8
"""To expand the states of a piece, a worker needs this many bytes: for the piece as in the file, and for its ids."""
SETTLING: Final = (LARGEST + 8 * 8) * PIECE
"""To *settle* ids means to sort, evaluate and encode them (`RunStore.settle`). For each `PIECE` ids that a worker
settles at a time, it needs this many bytes for the ids, their copies and their encoding, and for what was encoded and
is not yet written (eight times as many ids, mostly of two to four bytes)."""
LEAST_RANGE: Final = 4
LARGEST_RANGE: Final = 32
FOR_A_RUN: Final = 256
"""Looking into a run takes as long as reading this many ids."""
FOR_RANGES: Final = 16
"""If memory is limited, all workers together settle as many ids at a time as fit into a sixteenth of the limit. But
this is at least about `LEAST_RANGE * PIECE` and at most about `LARGEST_RANGE * PIECE` ids for each worker."""


TASKS: Final = 4
"""The ids of a large level are settled in about this many tasks for each worker, or in more."""


Encoded = tuple[Bytes, Pieces]
Mapped = Callable[[Callable[[Range], Encoded], Iterable[Range]], Iterable[Encoded]]
"""A function like `map`. It gives the results of another function for some ranges, in the order of the ranges."""


def least_memory(workers: int) -> int:
    """The fewest bytes that the store needs besides the dictionaries."""
    return (16 * LEAST + FOR_A_PIECE + SETTLING * LEAST_RANGE) * workers


class RunStore(Stored):
    """The states in runs. The runs are in files of a folder or, without a folder, in memory.

    `found` has the ids that each worker has found, and `filled` their number. `pieces` has each worker's arrays for a
    piece of a run: its bytes and its ids. `passed` measures the time that was taken to find out which ids are new. At a
    level without visited bits, it grows by the number of ids read from runs, and by `FOR_A_RUN` for each earlier level.
    With visited bits, it does not grow. An id is two numbers. In a *turned* id, the number with fewer values in the
    sample comes first, because then the differences between sorted ids are smaller. The ids in `found` and in the runs
    are turned.
    """

    def __init__(
        self,
        layout: Layout,
        folder: str | None,
        limit: int | None = None,
        workers: int = 1,
        sample: Words | None = None,
    ) -> None:
        super().__init__(layout, limit, workers, sample)
        self._room = max(LEAST, (MOST if limit is None else min(MOST, limit // GROWING)) // (2 * workers))
        self.sizes, self.shared = [], np.zeros(search_loops.SHARED, dtype=np.int64)
        self._reserved = self._account.reserve(16 * self._room * workers).reshape(workers, -1)
        self.account(16 * LEAST * workers)
        self.found = [ids[:LEAST] for ids in self._reserved]
        self.filled = [np.zeros(1, dtype=np.int64) for _ in range(workers)]
        self.pieces = [
            (np.empty(LARGEST * PIECE + 8, dtype=np.uint8), np.empty(PIECE, dtype=np.uint64)) for _ in range(workers)
        ]
        self.account(FOR_A_PIECE * workers)
        wanted = LARGEST_RANGE if limit is None else limit // FOR_RANGES // SETTLING // workers
        self._range = max(LEAST_RANGE, min(wanted, LARGEST_RANGE))
        self.account(SETTLING * self._range * workers)
        self._levels: list[Run] = []
        self._spilled: list[Run] = []
        self._next: Run | None = None
        self._settled, self._more_bits = False, 0
        self._states, *self._overflow = (self._file(folder) for _ in range(1 + workers))
        self.passed = 0
        self.visited = VisitedBits(self._account, MOST_IN_MEMORY if folder is None else MOST_ON_DISK)
        self.visited.begin(*self._numbers())

    def _numbers(self) -> tuple[int, int]:
        """The two numbers of an id are below these bounds until the dictionaries grow."""
        first, second = (int(self.dictionaries.columns[d, search_loops.ROOM]) + len(self.found) for d in self.pairs[-1])
        return first, second

    def _file(self, folder: str | None) -> RunFile:
        return MemoryFile(self._account) if folder is None else File(folder)

    @property
    def fresh(self) -> int:
        return 0 if self._next is None else self._next.count

    @property
    def unsettled(self) -> int:
        """The number of ids that workers have found at this level, in memory and in files."""
        return sum(int(filled[0]) for filled in self.filled) + sum(run.count for run in self._spilled)

    def found_by(self, worker: int) -> FoundIds:
        """The ids that a worker has found, for loops."""
        return FoundIds(self.turn, self.visited.columns, self.found[worker], self.filled[worker])

    def insert(self, rows: Words) -> None:
        rows = np.ascontiguousarray(rows, dtype=np.uint64)
        cursor = np.zeros(search_loops.CURSOR, dtype=np.int64)
        cursor[search_loops.PENDING] = len(rows)
        while not run_loops.collected(
            np.uint64(rows.ctypes.data), self.codec, self.found_by(0), cursor, self._own
        ):  # fmt: skip
            self.make_room()

    def make_room(self, each: Each = one_by_one) -> None:
        """Enlarges dictionaries and visited bits that are nearly full.

        If a worker has no room for more ids, relieves every worker whose room is more than half full (`_relieve`).
        """
        self.dictionaries.make_room()
        self.visited.make_room(*self._numbers(), sum(self.sizes) + self.unsettled)
        if any(
            filled[0] + search_loops.AT_ONCE > len(found) for filled, found in zip(self.filled, self.found, strict=True)
        ):
            # All workers whose room is more than half full are relieved, so that the workers wait only once.
            workers = [w for w, filled in enumerate(self.filled) if 2 * filled[0] > len(self.found[w])]
            each(self._relieve, workers)

    def _reduce(self, worker: int) -> None:
        """Sorts the ids that a worker has found, and removes duplicates."""
        ids = self.found[worker][: self.filled[worker][0]]
        other, counters = self._reserved[worker][self._room :], sort_loops.sorting_room()
        self.filled[worker][0] = sort_loops.sorted_distinct(ids, other, counters)

    def _relieve(self, worker: int) -> None:
        """Makes room for more ids of a worker.

        Removes duplicates among the worker's ids. If the room is still more than half full, enlarges the room. If the
        room cannot be enlarged, moves the ids into a run in a file. With visited bits there are hardly any, so
        enlarging the room comes first.
        """
        if self.visited and len(self.found[worker]) < self._room and self._grow(worker):
            return
        self._reduce(worker)
        found, count = self.found[worker], int(self.filled[worker][0])
        if 2 * count <= len(found):
            return
        if len(found) == self._room or not self._grow(worker):
            run = Run(self._overflow[worker], self._account)
            run.add(found[:count])
            self._spilled.append(run)
            self.filled[worker][0] = 0

    def _grow(self, worker: int) -> bool:
        """Doubles the room for a worker's ids and for sorting them, up to the room that each worker may have.

        Returns False if there is not enough memory.
        """
        found = self.found[worker]
        size = min(2 * len(found), self._room)
        try:
            self.account(16 * (size - len(found)))
        except OutOfMemory:
            return False
        self.found[worker] = self._reserved[worker][:size]
        return True

    def close(self) -> int:
        if not self._settled:
            self.settle(lambda ids: None)
        found, run = self.fresh, self._next
        if run is not None and found:
            # An interruption may come at any moment. The level counts only when it has a size, so its run comes first.
            self._levels.append(run)
            self.sizes.append(found)
        self._forget()
        return found

    def blocks(self, level: int, largest: int) -> Iterator[Words]:
        for ids in self.run(level).blocks(largest):
            yield self.states(run_loops.turned.function(ids, self.turn))

    def run(self, level: int) -> Run:
        """The run of a whole level, with the turned ids of its states."""
        return self._levels[level - 1]

    def settle(self, look: Callable[[Words], None], each: Each = one_by_one, mapped: Mapped = map) -> None:
        """Makes the next level from the found ids that are not known yet.

        Calls `look` with the ids of the next level, a part at a time. These ids are turned. `each` and `mapped` may
        call the functions that they get in several threads.
        """
        filled = [int(count[0]) for count in self.filled]
        buckets = Buckets(self._reserved, self._room, filled, self._spilled, self._halves(), each, self._more_bits)
        self._more_bits = buckets.more_bits
        self._next = run = Run(self._states, self._account)
        # With visited bits, only new ids were found.
        known, passed = None, list[int]()
        several, visited = len(self.found) > 1, self.visited.held  # they may be dropped while other threads use them
        if not self.visited:
            known, passed = Known(self._states, self._levels), [FOR_A_RUN * len(self._levels)]

        def fresh(some: Range) -> Encoded:
            ids = buckets.ids(some)
            if known is not None:
                kept = np.ones(len(ids), dtype=np.uint8)
                passed.append(known.strike(ids, kept))
                ids = ids[: run_loops.brought(ids, kept)]
            elif several:
                scratch = np.empty((2, search_loops.AT_ONCE), dtype=np.uint64)
                run_loops.visit_again(ids, self.turn, visited[0], scratch)
            look(ids)
            return encoded(ids)

        for part in mapped(fresh, buckets.ranges(TASKS * len(filled), self._range * PIECE)):
            run.append(*part)
        self.passed += sum(passed)
        self._settled = True

    def _halves(self) -> tuple[int, int]:
        """How many bits the two halves of a turned id have."""
        first, second = (max(int(self.dictionaries.counts[d]) - 1, 0).bit_length() for d in self.pairs[-1])
        return (second, first) if self.turn else (first, second)

    @property
    def sorting(self) -> int:
        """The bytes of memory for found ids and for sorting them. They do not grow beyond `most_sorting`."""
        return 16 * sum(map(len, self.found))

    @property
    def most_sorting(self) -> int:
        """The most that `sorting` can become."""
        return 16 * self._room * len(self.found)

    def release(self) -> None:
        """Frees the memory of the states and of the found ids.

        Only the dictionaries remain, and what counts for settling and for a piece of each worker.
        """
        self._forget()
        self.visited.drop()
        for run in self._levels:
            run.forget()
        self._states.clear()
        self.account(-self.sorting)
        self._levels, self.sizes, self.found = [], [], []
        self._reserved = np.empty((0, 0), dtype=np.uint64)

    def _forget(self) -> None:
        """Drops everything that is not in a whole level."""
        for run in self._spilled:
            run.forget()
        for filled in self.filled:
            filled[0] = 0
        self._spilled, self._next, self._settled = [], None, False
        for file in self._overflow:
            file.clear()
