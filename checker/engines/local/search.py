"""Breadth-first search, level by level: expand, hash, insert what is new, then look at the new states."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from checker.engines.local import loops
from checker.engines.local.errors import failing_instance, failing_predicate
from checker.engines.local.levels import NativeLevels
from checker.engines.local.store import OutOfMemory, Store, smallest
from checker.exploration import Exploration, Limits, Progress, Report, Stop
from checker.kernel.compile import ROOM, Integers, Kernel
from checker.kernel.layout import Layout, Words
from checker.kernel.llvm import ACTIONS, FAILURES, GREATEST, LEAST
from checker.kernel.verdicts import FAILED
from checker.results import LimitTooSmall
from model.language.system import TransitionSystem

BATCH: Final = 256
"""States expanded at once: their successors stay in the second-level cache until they are inserted."""
SLICE: Final = 0.05
"""Seconds of work between two looks at the clock, at the limits and at signals."""
LARGEST_BATCH_ROWS: Final = 1 << 19


class _Stopped(Exception):
    def __init__(self, reason: Stop) -> None:
        self.reason: Stop = reason


@dataclass(frozen=True)
class _Level:
    """A whole level, and the expansion of the one before, of which it is the new states.

    `seen` are the verdict bits of its states and of the successors outside the constraints.
    """

    distinct: int
    ends: Integers
    seen: int
    rejected: int
    generated: list[int]
    degrees: tuple[int, int] | None


@dataclass(frozen=True)
class _Buffers:
    """Arrays for one batch of successors."""

    rows: Words
    hashes: Words
    slots: Words
    verdicts: Words
    batch: int

    @staticmethod
    def of(kernel: Kernel) -> _Buffers:
        batch = max(8, min(BATCH, LARGEST_BATCH_ROWS // max(kernel.transitions, 1)))
        room = batch * kernel.transitions + ROOM
        shapes: tuple[int | tuple[int, int], ...] = ((room, kernel.words), room, room, (room, kernel.verdicts.words))
        rows, hashes, slots, seen = (np.empty(shape, dtype=np.uint64) for shape in shapes)
        return _Buffers(rows, hashes, slots, seen, batch)

    def arguments(self) -> tuple[Words, Words, Words, Words, int]:
        return self.rows, self.hashes, self.slots, self.verdicts, self.batch

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.hashes.nbytes + self.slots.nbytes + self.verdicts.nbytes


def minimum_memory(system: TransitionSystem) -> int:
    """How many bytes a search needs to begin."""
    words, transitions = Layout(system.leaves).words, max(len(system.transitions), 1)
    verdict_words = (len(system.invariants) + len(system.goals) + len(system.bounds) + 2 + 63) // 64
    batch = max(8, min(BATCH, LARGEST_BATCH_ROWS // transitions))
    room = batch * transitions + ROOM
    return smallest(words) + 8 * room * (words + 2 + verdict_words) + 32 * words * len(system.initial)


def search(
    system: TransitionSystem, *, keep_going: bool, deadlock: bool, limits: Limits, report: Report | None
) -> tuple[Exploration, NativeLevels]:
    """Explore all reachable states, or as many as the limits allow; `LimitTooSmall` where it cannot begin."""
    began = time.perf_counter()
    minimum = minimum_memory(system)
    if limits.memory is not None and limits.memory < minimum:
        raise LimitTooSmall(limits.memory, minimum)
    kernel = Kernel(system)
    compiled = time.perf_counter()
    run = Search(system, kernel, Store(kernel.words, limits.memory), limits, report, began)
    exploration = run.explore(keep_going, deadlock)
    exploration.seconds = {"compile": compiled - began, "search": time.perf_counter() - compiled}
    return exploration, run.levels


class Search:
    """A search over one store. Only whole levels are in `history`: an interruption at any moment loses nothing else."""

    def __init__(
        self,
        system: TransitionSystem,
        kernel: Kernel,
        store: Store,
        limits: Limits,
        report: Report | None,
        began: float,
    ) -> None:
        self.system, self.kernel, self.store, self.limits = system, kernel, store, limits
        self._report, self._began = report, began
        self.history: list[_Level] = []
        self._ends: list[Integers] = [store.counts]
        self.levels = NativeLevels(system, kernel, store, self._ends)
        self._buffers = _Buffers.of(kernel)
        store.account(self._buffers.nbytes)
        self._distinct = self._generated = 0
        self._work = 4 * BATCH
        self._start_level()

    def explore(self, keep_going: bool, deadlock: bool) -> Exploration:
        answer = Exploration(initial=len(self.system.initial))
        try:
            self._initial()
            self._loop(answer, keep_going, deadlock)
        except _Stopped as stopped:
            answer.stopped = stopped.reason
        except (OutOfMemory, MemoryError):
            answer.stopped = "memory"
        except KeyboardInterrupt:
            answer.stopped = "interrupt"
        self._fold(answer)
        if answer.stopped in ("memory", "time", "interrupt"):
            self._partial(answer, deadlock)
        answer.peak_store_bytes = self.store.peak
        return answer

    # --- levels -----------------------------------------------------------------------------------------------------

    def _loop(self, answer: Exploration, keep_going: bool, deadlock: bool) -> None:
        while True:
            level, last = len(self.history), self.history[-1]
            if last.seen >> FAILED & 1:
                answer.error = level, failing_predicate(self.levels, level), None
                raise _Stopped("error")
            if not keep_going and last.seen & self._violations():
                raise _Stopped("violation")
            if not last.distinct:
                return
            if self.limits.states is not None and self._distinct > self.limits.states:
                raise _Stopped("states")
            self._expand(level)
            if self._tally[FAILURES]:
                answer.error = level, *failing_instance(self.levels, level)
                raise _Stopped("error")
            if deadlock and self._tally[LEAST] == 0:
                answer.deadlock = answer.deadlock or level
                if not keep_going:
                    raise _Stopped("violation")
            self._finish_level()

    def _violations(self) -> int:
        return sum(1 << bit for bit in self.kernel.verdicts.invariants.values())

    def _start_level(self) -> None:
        self._tally = self.kernel.tally()
        self._totals = np.zeros((1, self.kernel.verdicts.words), dtype=np.uint64)
        self._cursor = np.zeros(6, dtype=np.int64)

    def _initial(self) -> None:
        rows = self.kernel.layout.pack(self.system.initial)
        verdicts = self.kernel.judge(rows)
        counted = np.ascontiguousarray(rows[verdicts[:, 0] & np.uint64(loops.OUTSIDE_BIT) == 0])
        self._totals = np.bitwise_or.reduce(verdicts, axis=0, keepdims=True)
        self._cursor[loops.REJECTED] = len(rows) - len(counted)
        self.store.insert(counted, self.kernel.hashes(counted))
        self._finish_level()

    def _expand(self, level: int) -> None:
        """All successors of a level into the store; `_Stopped` where a limit is reached."""
        self._start_level()
        ends = np.stack(self._ends[level - 1 : level + 1])
        self._cursor[loops.AT_ROW] = ends[0, 0]
        names = ("expand", "hashes", "judge")
        functions = np.array([self.kernel.addresses[name] for name in names], dtype=np.int64)
        constrained = bool(self.system.constraints)
        store, buffers = self.store, self._buffers.arguments()
        while True:
            before, already = time.perf_counter(), int(self._cursor[loops.EXPANDED])
            outcome = loops.advance(
                functions, store.words, constrained, store.partitions, store.chunks, store.chunk, store.shift, ends,
                self._cursor, buffers, self._tally, self._totals, self._work,
            )  # fmt: skip
            if outcome == loops.FINISHED:
                return
            if outcome >= 0:
                store.grow(outcome)
            self._between(level, time.perf_counter() - before, int(self._cursor[loops.EXPANDED]) - already)

    def _between(self, level: int, seconds: float, expanded: int) -> None:
        """Time, report, and how much to do until the next look."""
        if expanded >= self._work:
            self._work = max(BATCH, int(self._work * min(2.0, SLICE / max(seconds, 1e-6))))
        elapsed = time.perf_counter() - self._began
        if self.limits.seconds is not None and elapsed > self.limits.seconds:
            raise _Stopped("time")
        if self._report is not None and expanded >= BATCH:
            self._report(self._progress(level, elapsed))

    def _progress(self, level: int, elapsed: float) -> Progress:
        return Progress(
            level=level + 1,
            distinct=int(self.store.counts.sum()),
            generated=self._generated + int(self._tally[ACTIONS:].sum()),
            frontier=self.history[-1].distinct,
            expanded=int(self._cursor[loops.EXPANDED]),
            memory=self.store.held,
            seconds=elapsed,
        )

    def _finish_level(self) -> None:
        """The new states become a level."""
        ends = self.store.counts
        self._survey(ends)
        tally = self._tally
        finished = _Level(
            distinct=int((ends - self._ends[-1]).sum()),
            ends=ends,
            seen=_integer(self._totals),
            rejected=int(self._cursor[loops.REJECTED]),
            generated=tally[ACTIONS:].tolist(),
            degrees=(int(tally[LEAST]), int(tally[GREATEST])) if self.history else None,
        )
        if finished.distinct:
            self._ends.append(ends)
        self._distinct += finished.distinct
        self._generated += sum(finished.generated)
        self.history.append(finished)

    def _survey(self, ends: Integers) -> None:
        """The verdicts of all states behind the last whole level."""
        for p, (first, last) in enumerate(zip(self._ends[-1].tolist(), ends.tolist(), strict=True)):
            for rows in self.store.view(p, first, last):
                self.kernel.survey(rows.ctypes.data, len(rows), self._totals)

    # --- the answer -------------------------------------------------------------------------------------------------

    def _fold(self, answer: Exploration) -> None:
        """What the whole levels say."""
        verdicts = self.kernel.verdicts
        for number, level in enumerate(self.history, start=1):
            answer.rejected += level.rejected
            if level.distinct:
                answer.levels.append(level.distinct)
            if level.degrees is not None:
                answer.generated.append(level.generated)
                least, greatest = answer.degrees or level.degrees
                answer.degrees = min(least, level.degrees[0]), max(greatest, level.degrees[1])
            for names, seen in (
                (verdicts.invariants, answer.violated),
                (verdicts.goals, answer.goals),
                (verdicts.bounds, answer.bounds),
            ):
                seen.update({n: number for n, bit in names.items() if level.seen >> bit & 1 and n not in seen})

    def _partial(self, answer: Exploration, deadlock: bool) -> None:
        """What was seen of the level that is not whole."""
        ends, level = self.store.counts, len(self.history) + 1
        self._survey(ends)
        answer.partial = {
            "level": level,
            "generated": int(self._tally[ACTIONS:].sum()),
            "distinct": int((ends - self._ends[-1]).sum()),
        }
        seen = _integer(self._totals)
        for name, bit in self.kernel.verdicts.invariants.items():
            if seen >> bit & 1 and name not in answer.violated:
                answer.violated[name] = level
                answer.partial_violations.add(name)
        if deadlock and self._tally[LEAST] == 0:
            answer.deadlock = answer.deadlock or level - 1
        if self._tally[FAILURES]:
            answer.error = level - 1, *failing_instance(self.levels, level - 1)
            answer.stopped = "error"


def _integer(words: Words) -> int:
    """Verdict words as one integer of many bits."""
    return sum(int(word) << 64 * i for i, word in enumerate(words.reshape(-1)))
