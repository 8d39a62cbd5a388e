"""A store that may be larger than memory: states of whole levels as sorted names in a file, a run for each level.

What is found goes to memory, and as a sorted run to a second file whenever there is no more room. When a level has been
expanded, names that are in no run of a level before are the next one: all runs are read once, a range of names at a
time (delayed duplicate detection: Stern and Dill 1998, Korf 2004). The dictionaries, which names need, stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from isrcheck.checker.engines.local import loops, run_loops
from isrcheck.checker.engines.local.account import OutOfMemory
from isrcheck.checker.engines.local.run_loops import LARGEST, PIECE
from isrcheck.checker.engines.local.runs import File, Known, Run
from isrcheck.checker.engines.local.stored import Each, Stored, one_by_one
from isrcheck.checker.kernel.layout import Layout, Words

MOST: Final = 1 << 25
LEAST: Final = 1 << 14
"""So many names that are found are in memory at a time, of a worker that many; half of these are a batch or more."""
GROWING: Final = 16
"""Bytes of the memory for one of them: with what is needed to sort them they take half of it."""
SETTLING: Final = (2 * LARGEST + 8 * 8) * PIECE
"""Bytes of a piece of a range of names, and of what is compared with it."""
LEAST_RANGE: Final = 4
LARGEST_RANGE: Final = 32
FOR_RANGES: Final = 16
"""A range has so many pieces; all workers' ranges have a sixteenth of the memory where that is enough for some."""


Range = tuple[int, int | None]
Mapped = Callable[[Callable[[Range], Words], Iterable[Range]], Iterable[Words]]
"""What a function gives for each of some ranges, in their order."""


def least_memory(workers: int) -> int:
    """Bytes that it takes besides what names take."""
    return (16 * LEAST + SETTLING * LEAST_RANGE) * workers


class DiskStore(Stored):
    """`found` and `filled` are the names that each worker has found, and how many.

    Names are turned so that the number of which there are fewer comes first: then they lie close together.
    """

    def __init__(
        self,
        layout: Layout,
        folder: str,
        limit: int | None = None,
        workers: int = 1,
        sample: Words | None = None,
    ) -> None:
        super().__init__(layout, limit, workers, sample)
        self._room = max(LEAST, (MOST if limit is None else min(MOST, limit // GROWING)) // (2 * workers))
        self.sizes, self.shared = [], np.zeros(loops.SHARED, dtype=np.int64)
        self._reserved = [self._account.reserve(16 * self._room) for _ in range(workers)]
        self.account(16 * LEAST * workers)
        self.found = [names[:LEAST] for names in self._reserved]
        self.filled = [np.zeros(1, dtype=np.int64) for _ in range(workers)]
        wanted = LARGEST_RANGE if limit is None else limit // FOR_RANGES // SETTLING // workers
        self._range = max(LEAST_RANGE, min(wanted, LARGEST_RANGE))
        self.account(SETTLING * self._range * workers)
        self._levels: list[Run] = []
        self._spilled: list[Run] = []
        self._next: Run | None = None
        self._settled = False
        self._states, self._overflow = File(folder), [File(folder) for _ in range(workers)]
        self.turn = np.uint64(0)
        if sample is not None:
            self.insert(sample)
            first, second = (int(self.dictionaries.counts[d]) for d in self.pairs[-1])
            self.turn = np.uint64(32 * (first > second))
            self._forget()

    @property
    def fresh(self) -> int:
        return 0 if self._next is None else self._next.count

    def insert(self, rows: Words) -> None:
        rows = np.ascontiguousarray(rows, dtype=np.uint64)
        cursor = np.zeros(loops.CURSOR, dtype=np.int64)
        cursor[loops.PENDING] = len(rows)
        while not run_loops.collected(
            np.uint64(rows.ctypes.data), self.words, self.half, self.pairs, self.dictionaries.columns,
            self.dictionaries.pages, self.turn, cursor, *self._own, self.found[0], self.filled[0],
        ):  # fmt: skip
            self.make_room()

    def make_room(self, each: Each = one_by_one) -> None:
        """Names that are found more than once are so no more; if they are many all the same they go to the disk."""
        self.dictionaries.make_room()
        if any(filled[0] + loops.AT_ONCE > len(found) for filled, found in zip(self.filled, self.found, strict=True)):
            # Who is nearly full is soon: all wait once.
            workers = [w for w, filled in enumerate(self.filled) if 2 * filled[0] > len(self.found[w])]
            each(self._relieve, workers)

    def _reduce(self, worker: int) -> None:
        """What a worker has found, in ascending order, each name once."""
        names = self.found[worker][: self.filled[worker][0]]
        self.filled[worker][0] = run_loops.sorted_distinct(names, self._reserved[worker][self._room :])

    def _relieve(self, worker: int) -> None:
        """Makes room where a worker has found much: in memory if it may have more, or by a run on disk."""
        self._reduce(worker)
        found, count = self.found[worker], int(self.filled[worker][0])
        if 2 * count <= len(found):
            return
        if 2 * len(found) > self._room or not self._grow(worker):
            run = Run(self._overflow[worker], self._account)
            run.add(found[:count])
            self._spilled.append(run)
            self.filled[worker][0] = 0

    def _grow(self, worker: int) -> bool:
        """Twice the room for what a worker finds, and for sorting it; False where there is not so much memory."""
        found = self.found[worker]
        try:
            self.account(2 * found.nbytes)
        except OutOfMemory:
            return False
        self.found[worker] = self._reserved[worker][: 2 * len(found)]
        return True

    def close(self) -> int:
        if not self._settled:
            self.settle(lambda names: None)
        found, run = self.fresh, self._next
        if run is not None and found:
            # In this order: an interruption may come at any moment, and the depth is that of the sizes.
            self._levels.append(run)
            self.sizes.append(found)
        self._forget()
        return found

    def blocks(self, level: int, largest: int) -> Iterator[Words]:
        for names in self.names(level, largest):
            yield self.states(run_loops.turned(names, self.turn))

    def names(self, level: int, largest: int) -> Iterator[Words]:
        """The names of the states of a whole level, turned; about so many at a time."""
        yield from self._levels[level - 1].blocks(largest)

    def settle(self, look: Callable[[Words], None], each: Each = one_by_one, mapped: Mapped = map) -> None:
        """What is found and not known is behind the last whole level now; `look` gets its turned names.

        `each` and `mapped` may do several parts at once.
        """
        each(self._reduce, range(len(self.found)))
        sources = [found[: filled[0]] for found, filled in zip(self.found, self.filled, strict=True)]
        self._next = run = Run(self._states, self._account)
        known = Known(self._states, self._levels)

        def fresh(bounds: Range) -> Words:
            parts = [names[_below(names, bounds[0]) : _below(names, bounds[1])] for names in sources]
            names = _together([*parts, *(spilled.between(*bounds) for spilled in self._spilled)])
            kept = np.ones(len(names), dtype=np.uint8)
            known.strike(names, kept)
            names = names[: run_loops.brought(names, kept)]
            look(names)
            return names

        for names in mapped(fresh, self._ranges(sources)):
            run.add(names)
        self._settled = True

    def _ranges(self, sources: list[Words]) -> Iterator[Range]:
        """Ranges of names that together have all that are found, and each a few pieces of them."""
        firsts = np.sort(np.concatenate([*(names[::PIECE] for names in sources), *(r.firsts for r in self._spilled)]))
        bounds = np.unique(firsts[:: self._range]).tolist()
        yield from pairwise([*bounds, None])

    def _forget(self) -> None:
        """What is behind the last whole level."""
        for run in self._spilled:
            run.forget()
        for filled in self.filled:
            filled[0] = 0
        self._spilled, self._next, self._settled = [], None, False
        for file in self._overflow:
            file.clear()


def _together(parts: list[Words]) -> Words:
    """The distinct names of several arrays, each of distinct ones in ascending order; all in ascending order."""
    while len(parts) > 1:
        parts = [_merged(*parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def _merged(some: Words, *others: Words) -> Words:
    for names in others:
        out = np.empty(len(some) + len(names), dtype=np.uint64)
        some = out[: run_loops.merged(some, names, out)]
    return some


def _below(names: Words, bound: int | None) -> int:
    """How many of some ascending names are below a bound."""
    return len(names) if bound is None else int(np.searchsorted(names, np.uint64(bound)))
