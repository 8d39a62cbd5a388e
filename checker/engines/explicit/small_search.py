"""The search for small spaces. It uses only arrays, so its answer does not wait for the code that large spaces need.

If the space turns out to be larger, the search for large spaces continues after the whole levels of the small search.
If a processor is free, the model is compiled for that search while the small search is still going on.

The states that a small search has found: a set that reports which of the added states are new.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit.level_search import Level, Levelwise, Stopped, as_integer
from isrcheck.checker.engines.explicit.levels import BLOCK, NativeLevels
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.kernel.verdict_bits import ACTIONS, GREATEST, LEAST, OUTSIDE
from isrcheck.checker.kernel.vm import vm_functions
from isrcheck.checker.results.exploration import Exploration, Limits, Progress, Report
from isrcheck.model.semantics.transition_system import TransitionSystem

LEAST_SLOTS: Final = 1 << 12
"""The least number of entries of a table."""


class StateSet:
    """A set of packed states: rows in the order in which they came, and a hash table of their positions."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._rows = np.empty((0, words), dtype=np.uint64)
        self._table = np.empty(0, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The bytes that the states and their table take."""
        return self._rows.nbytes + self._table.nbytes

    def add(self, states: Words) -> Words:
        """Adds states. Returns the new ones, each once."""
        states = np.ascontiguousarray(states)
        self._make_room(self._count + len(states))
        before, self._count = self._count, self._into(self._table, self._rows, self._count, states)
        return self._rows[before : self._count].copy()

    def _into(self, table: np.ndarray[tuple[int], np.dtype[np.int32]], rows: Words, count: int, states: Words) -> int:
        found: int = vm_functions()["keep_new"](
            table.ctypes.data, len(table) - 1, rows.ctypes.data, count, states.ctypes.data, len(states), self._words
        )
        return found

    def _make_room(self, most: int) -> None:
        """Makes room for `most` states. At most half of the table's entries are used."""
        if most > len(self._rows):
            rows = np.empty((max(most, 2 * self._count), self._words), dtype=np.uint64)
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        if 2 * most > len(self._table):
            known = self._rows[: self._count].copy()
            self._table = np.zeros(max(LEAST_SLOTS, 1 << (2 * most - 1).bit_length()), dtype=np.int32)
            self._into(self._table, self._rows, 0, known)


LARGEST: Final = 1 << 18
"""The most states of a small space. Exploring this many takes about as long as loading the code for large spaces."""
LARGEST_AT_FIRST: Final = 1 << 20
"""The most states of a small space if the loops of the search for large spaces were not compiled before. Compiling
takes eight seconds."""
WORDS_AT_FIRST: Final = 1 << 23
"""A second limit, which applies if the loops were not compiled before. All states of a small space together have at
most this many words. But `LARGEST` states are always allowed. With more words, exploring could take longer than
compiling, and could take up to a gigabyte of memory."""
PLENTY: Final = 1 << 30
"""With a memory limit of at least this many bytes, a small search need not check the limit, and the search for large
spaces has room to sort found ids."""
ROOM: Final = 1 << 19
"""States are expanded in blocks. A block of more than 8 states has at most this many successors in all."""


class TooLarge(Exception):
    """The space has more states than a small search explores."""


class Ambiguous(Exception):
    """Two states have the same hash."""


class SmallLevels(NativeLevels):
    """The levels of a small search: each level is an array."""

    def __init__(self, system: TransitionSystem, kernel: Kernel) -> None:
        self.system, self.kernel = system, kernel
        self.rows: list[Words] = []

    @property
    def depth(self) -> int:
        return len(self.rows)

    def blocks(self, level: int) -> Iterator[Words]:
        rows = self.rows[level - 1]
        return (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))

    def places(self) -> None:
        return None

    def finder(self, targets: Words) -> Callable[[Words], Integers]:
        try:
            return Known.of(self.kernel, targets).positions
        except Ambiguous:
            return super().finder(targets)


@dataclass(frozen=True)
class Known:
    """Distinct states in the order of their hashes, each with a number."""

    kernel: Kernel
    rows: Words
    hashes: Words
    numbers: Integers

    @classmethod
    def of(cls, kernel: Kernel, rows: Words) -> Known:
        """The states in `rows`, each with its position in `rows` as its number.

        The states must be distinct. Raises `Ambiguous` if two of them have the same hash.
        """
        hashes = kernel.hashes(rows)
        order = np.argsort(hashes, kind="stable")
        rows, hashes = rows[order], hashes[order]
        if (hashes[1:] == hashes[:-1]).any():
            raise Ambiguous
        return cls(kernel, rows, hashes, order)

    def positions(self, states: Words) -> Integers:
        """The number of each state, -1 for an unknown state."""
        hashes = self.kernel.hashes(states)
        place = np.searchsorted(self.hashes, hashes)
        found = np.full(len(states), -1, dtype=np.int64)
        (near,) = np.nonzero(place < len(self.hashes))
        near = near[self.hashes[place[near]] == hashes[near]]
        same = (self.rows[place[near]] == states[near]).all(axis=1)
        found[near[same]] = self.numbers[place[near[same]]]
        return found


class SmallSearch(Levelwise):
    """A search over arrays. Raises `TooLarge` if there are more than `largest` states.

    As soon as more than a quarter of `largest` states are found, `ahead` is called after each block, unless it is None.
    It gets the states of the whole levels. It may begin to prepare the search for large spaces in another thread.
    """

    def __init__(
        self,
        system: TransitionSystem,
        kernel: Kernel,
        limits: Limits,
        report: Report | None,
        began: float,
        largest: int = LARGEST,
        ahead: Callable[[Sequence[Words]], None] | None = None,
    ) -> None:
        self._rows = SmallLevels(system, kernel)
        super().__init__(system, kernel, limits, self._rows)
        self._report, self._began = report, began
        self._largest, self._ahead = largest, ahead
        none = np.empty((0, kernel.words), dtype=np.uint64)
        self._states, self._fresh = StateSet(kernel.words), [none]
        self._block = max(8, min(BLOCK, ROOM // max(kernel.transitions, 1)))
        self._begin()

    def explore(self, keep_going: bool, deadlock: bool) -> Exploration:
        first = self.kernel.layout.pack(self.system.initial)
        answer = Exploration(initial=len(first))
        try:
            self._take(first)
            self._finish_level()
            self._loop(answer, keep_going, deadlock)
        except Stopped as stopped:
            answer.stopped = stopped.reason
        except KeyboardInterrupt:
            answer.stopped = "interrupt"
        return self._finished(answer, deadlock)

    def interrupted(self, deadlock: bool) -> Exploration:
        """The answer of this search, used if an interruption comes before the search for large spaces takes over."""
        return self._finished(Exploration(initial=len(self.system.initial), stopped="interrupt"), deadlock)

    def _finished(self, answer: Exploration, deadlock: bool) -> Exploration:
        self._fold(answer)
        if answer.stopped in ("time", "interrupt"):
            self._partial(answer, deadlock)
        answer.peak_store_bytes = self._held
        return answer

    def whole(self) -> list[tuple[Level, Words]]:
        """The whole levels with their states."""
        return list(zip(self.history, self._rows.rows, strict=True))

    @property
    def _held(self) -> int:
        return self._states.nbytes + sum(rows.nbytes for rows in self._rows.rows)

    @property
    def _tally(self) -> Integers:
        return self._counted

    @property
    def _totals(self) -> Words:
        return self._seen

    def _begin(self) -> None:
        """Sets the counts to zero at the beginning of a level."""
        self._counted, self._rejected = self.kernel.tally(), 0
        self._seen = np.zeros(self.kernel.verdicts.words, dtype=np.uint64)

    def _expand(self, level: int) -> None:
        self._begin()
        frontier, expanded = self._rows.rows[-1], 0
        for start in range(0, len(frontier), self._block):
            states = frontier[start : start + self._block]
            successors, _, _, tally = self.kernel.expand(states)
            self._count(tally)
            self._take(successors)
            expanded += len(states)
            elapsed = time.perf_counter() - self._began
            if self.limits.seconds is not None and elapsed > self.limits.seconds:
                raise Stopped("time")
            if self._report is not None and len(states) == self._block:
                self._report(self._progress(level, expanded, elapsed))

    def _count(self, tally: Integers) -> None:
        least = min(self._counted[LEAST], tally[LEAST])
        greatest = max(self._counted[GREATEST], tally[GREATEST])
        self._counted += tally
        self._counted[LEAST], self._counted[GREATEST] = least, greatest

    def _take(self, rows: Words) -> None:
        """Adds the states in `rows`, without those that are known or violate a constraint."""
        if self.system.constraints:
            verdicts = self.kernel.evaluate(rows)
            outside = verdicts[:, 0] >> np.uint64(OUTSIDE) & np.uint64(1) == 1
            self._seen |= np.bitwise_or.reduce(verdicts[outside], axis=0)
            self._rejected += int(outside.sum())
            rows = np.ascontiguousarray(rows[~outside])
        self._fresh.append(self._states.add(rows))
        if self._ahead is not None and len(self._states) > self._largest // 4:
            self._ahead(self._rows.rows)
        if len(self._states) > self._largest:
            raise TooLarge

    def _look_at_rest(self) -> int:
        new = np.concatenate(self._fresh)
        if len(new):
            self._seen |= np.bitwise_or.reduce(self.kernel.evaluate(new), axis=0)
        return len(new)

    def _finish_level(self) -> None:
        found, tally = self._look_at_rest(), self._counted
        self._add(
            Level(
                distinct=found,
                seen=as_integer(self._seen),
                rejected=self._rejected,
                generated=tally[ACTIONS:].tolist(),
                degrees=(int(tally[LEAST]), int(tally[GREATEST])) if self.history else None,
                weight=found,
            )
        )
        if found:
            self._rows.rows.append(np.concatenate(self._fresh))
        self._fresh = self._fresh[:1]

    def _progress(self, level: int, expanded: int, elapsed: float) -> Progress:
        return Progress(
            level=level + 1,
            distinct=len(self._states),
            generated=self._generated + int(self._counted[ACTIONS:].sum()),
            frontier=self.history[-1].distinct,
            expanded=expanded,
            memory=self._held,
            seconds=elapsed,
            levels=tuple(level.distinct for level in self.history),
        )
