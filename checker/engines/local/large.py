"""Breadth-first search, level by level: expand, hash, insert what is new, then look at the new states.

Workers are threads; they take batches of the level from a common counter and insert into a common store without locks.
What a search finds depends neither on their number nor on their order: levels are sets, and all else is sums, least
and greatest values.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from isrcheck.checker.engines.local import loops
from isrcheck.checker.engines.local.checkpoint import Checkpoint, Known, question_of, termination_interrupts
from isrcheck.checker.engines.local.levels import NativeLevels
from isrcheck.checker.engines.local.levelwise import Level, Levelwise, Stopped, Watch, as_integer
from isrcheck.checker.engines.local.orbits import OrbitLevels
from isrcheck.checker.engines.local.store import PARTITION_BITS, OutOfMemory, Store, smallest
from isrcheck.checker.engines.local.team import BATCH_BITS, Team, Worker, batch_bits, room
from isrcheck.checker.exploration import Exploration, Keeping, Limits, OrbitCounts, Progress, Report, Storing
from isrcheck.checker.kernel.compile import Integers, Kernel
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.orbits import Orbits, distinct
from isrcheck.checker.kernel.tally import ACTIONS, GREATEST, LEAST
from isrcheck.checker.results import LimitTooSmall
from isrcheck.model.language.system import TransitionSystem

BATCHES_EACH: Final = 16
"""A worker more has to have so many batches to do in a level."""
SLICE: Final = 0.05
"""Seconds of work between two looks at the clock, at the limits and at signals."""


@dataclass(frozen=True)
class _StoredLevel(Level):
    """A level whose states lie in a store, before `ends` in each partition."""

    ends: Integers

    def to_json(self) -> Known:
        return {
            "distinct": self.distinct,
            "ends": self.ends.tolist(),
            "seen": hex(self.seen),
            "rejected": self.rejected,
            "generated": self.generated,
            "degrees": self.degrees,
            "weight": self.weight,
        }

    @classmethod
    def from_json(cls, data: Known) -> _StoredLevel:
        degrees = None if data["degrees"] is None else (data["degrees"][0], data["degrees"][1])
        ends = np.array(data["ends"], dtype=np.int64)
        seen = int(data["seen"], 16)
        return cls(data["distinct"], seen, data["rejected"], data["generated"], degrees, data["weight"], ends)


def omission_probability(states: int) -> float:
    """Not below the probability that some state was taken for another, if fingerprints are as good as random ones.

    Two states are one where 64 bits of fingerprint and the bits of the partition agree: n * n / 2 pairs at most, and
    twice that, since n is counted without the states that were omitted. Rounded up to one digit.
    """
    exact = states * states / 2.0 ** (64 + PARTITION_BITS)
    digits = 10.0 ** math.floor(math.log10(exact)) if exact > 0 else 1.0
    return min(1.0, float(f"{math.ceil(exact / digits) * digits:.0e}"))


def minimum_memory(system: TransitionSystem, workers: int = 1, compact: bool = False) -> int:
    """How many bytes a search needs to begin."""
    layout, transitions = Layout(system.leaves), max(len(system.transitions), 1)
    words = layout.words
    verdict_words = (len(system.invariants) + len(system.goals) + len(system.bounds) + 2 + 63) // 64
    buffers = 8 * workers * (room(transitions) * (words + 2 + verdict_words) + (words << batch_bits(transitions)))
    return smallest(words, layout.row_bytes, workers, compact) + buffers + 32 * words * len(system.initial)


def _affordable(system: TransitionSystem, workers: int, memory: int | None) -> int:
    """As many of these workers as half of the memory has room for, one at least."""
    while memory is not None and workers > 1 and minimum_memory(system, workers) > memory // 2:
        workers -= 1
    return workers


def search_large(
    system: TransitionSystem,
    kernel: Kernel,
    began: float,
    *,
    keep_going: bool,
    deadlock: bool,
    limits: Limits,
    report: Report | None,
    workers: int,
    classes: Sequence[Sequence[int]],
    keeping: Keeping | None,
    storing: Storing,
    watch: Watch | None = None,
    known: Sequence[tuple[Level, Words]] = (),
) -> tuple[Exploration, NativeLevels]:
    """The search that uses all workers, a limit of memory, symmetry, checkpoints and disks; see `search`.

    It goes on behind `known`, whole levels with their states that another search has found.
    """
    compact = storing.kind == "compact"
    workers = _affordable(system, workers, limits.memory)
    minimum = minimum_memory(system, workers, compact)
    if limits.memory is not None and limits.memory < minimum:
        raise LimitTooSmall(limits.memory, minimum)
    orbits = Orbits(system, kernel.layout, classes) if classes else None
    shape = (kernel.words, kernel.layout.row_bytes, kernel.code.addresses["hashes"])
    spool = None if storing.kind == "memory" else storing.folder or tempfile.gettempdir()
    store = Store(*shape, limits.memory, workers, compact=compact, spool=spool)
    run = Search(system, kernel, store, limits, report, began, workers, orbits)
    run.watch = watch
    if keeping is not None:
        run.checkpoint = Checkpoint(keeping, question_of(system, kernel, keep_going, deadlock, compact, classes))
    with termination_interrupts(keeping is not None):
        exploration = run.explore(keep_going, deadlock, known)
    exploration.workers = workers
    if storing.kind != "memory":
        exploration.extra["store"] = storing.kind
    if compact:
        exploration.extra["omission_probability"] = omission_probability(int(store.counts.sum()))
    return exploration, run.levels


class Search(Levelwise):
    """A search over one store. Only whole levels are in `history`: an interruption at any moment loses nothing else."""

    def __init__(
        self,
        system: TransitionSystem,
        kernel: Kernel,
        store: Store,
        limits: Limits,
        report: Report | None,
        began: float,
        workers: int = 1,
        orbits: Orbits | None = None,
    ) -> None:
        self.store, self.orbits = store, orbits
        self._report, self._began = report, began
        self._ends: list[Integers] = [store.counts]
        levels = NativeLevels(system, kernel, store, self._ends)
        if orbits is not None:
            levels = OrbitLevels(system, kernel, store, self._ends, orbits)
        super().__init__(system, kernel, limits, levels)
        self._workers = [Worker(kernel) for _ in range(workers)]
        store.account(sum(w.nbytes for w in self._workers))
        self._team = Team(workers - 1)
        self._bits = min(batch_bits(kernel.transitions), store.block)
        self._shared = np.zeros(loops.SHARED, dtype=np.int64)
        self._work = 4 << BATCH_BITS
        self.checkpoint: Checkpoint | None = None
        self._stored: list[_StoredLevel] = []

    def explore(self, keep_going: bool, deadlock: bool, known: Sequence[tuple[Level, Words]] = ()) -> Exploration:
        first = self._first()
        answer = Exploration(initial=len(first))
        if self.orbits is not None:
            answer.orbits = OrbitCounts(self.orbits.classes, self.orbits.permutations)
        if self.checkpoint is not None and self.checkpoint.resumed:
            self._go_on(self._restored(self.checkpoint), answer, deadlock)
        self._go_on(self._inserted(known), answer, deadlock)
        try:
            if not self.history:
                self._initial(first)
            self._loop(answer, keep_going, deadlock)
        except Stopped as stopped:
            answer.stopped = stopped.reason
        except (OutOfMemory, MemoryError):
            answer.stopped = "memory"
        except KeyboardInterrupt:
            answer.stopped = "interrupt"
        except OSError:
            # The disk of the states may be full, and that of the checkpoint not.
            self._keep()
            raise
        self._fold(answer)
        if answer.stopped in ("memory", "time", "interrupt"):
            self._partial(answer, deadlock)
        self._team.dismiss()
        self._keep()
        answer.peak_store_bytes = self.store.peak
        return answer

    # --- levels -----------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """All whole levels into the checkpoint, where there is one."""
        if self.checkpoint is not None:
            self.checkpoint.write(self.store, [level.to_json() for level in self._stored])

    @property
    def _tally(self) -> Integers:
        """What the workers have counted in this level, together."""
        tallies = np.stack([w.tally for w in self._workers])
        total: Integers = tallies.sum(axis=0)
        total[LEAST], total[GREATEST] = tallies[:, LEAST].min(), tallies[:, GREATEST].max()
        return total

    @property
    def _totals(self) -> Words:
        total: Words = np.bitwise_or.reduce(np.concatenate([w.totals for w in self._workers]), axis=0)
        return total

    def _sum(self, entry: int) -> int:
        """An entry of all cursors together."""
        return sum(int(w.cursor[entry]) for w in self._workers)

    def _first(self) -> Words:
        """The initial states, one of each orbit."""
        rows = self.kernel.layout.pack(self.system.initial)
        return rows if self.orbits is None else distinct(self.orbits.representatives(rows))

    def _initial(self, rows: Words) -> None:
        verdicts = self.kernel.judge(rows)
        counted = np.ascontiguousarray(rows[verdicts[:, 0] & np.uint64(loops.OUTSIDE_BIT) == 0])
        first = self._workers[0]
        first.totals = np.bitwise_or.reduce(verdicts, axis=0, keepdims=True)
        first.cursor[loops.REJECTED] = len(rows) - len(counted)
        self.store.insert(counted, self.kernel.hashes(counted))
        self._finish_level()

    def _restored(self, checkpoint: Checkpoint) -> list[_StoredLevel]:
        """The levels of a checkpoint; `LimitTooSmall` where the limit of memory does not even hold them."""
        try:
            return [_StoredLevel.from_json(level) for level in checkpoint.read(self.store)]
        except OutOfMemory:
            rows = checkpoint.size // self.store.row_bytes
            needed = minimum_memory(self.system, len(self._workers)) + checkpoint.size + 8 * rows
            raise LimitTooSmall(self.limits.memory or 0, needed) from None

    def _inserted(self, known: Sequence[tuple[Level, Words]]) -> Iterator[_StoredLevel]:
        for level, rows in known:
            self.store.insert(rows, self.kernel.hashes(rows))
            yield _StoredLevel(**vars(level), ends=self.store.counts)

    def _go_on(self, levels: Iterable[_StoredLevel], answer: Exploration, deadlock: bool) -> None:
        """Whole levels whose states are in the store by now become those of this search."""
        for number, level in enumerate(levels):
            if level.distinct:
                self._ends.append(level.ends)
            if deadlock and level.degrees is not None and level.degrees[0] == 0:
                answer.deadlock = answer.deadlock or number
            self._add(level)

    def _add(self, level: Level) -> None:
        assert isinstance(level, _StoredLevel)
        super()._add(level)
        self._stored.append(level)

    def _expand(self, level: int) -> None:
        """All successors of a level into the store; `Stopped` where a limit is reached."""
        for worker in self._workers:
            worker.begin()
        ends = np.stack(self._ends[level - 1 : level + 1])
        starts, hands = self._share(ends)
        names = ("expand", "hashes", "judge")
        addresses = [self.kernel.code.addresses[name] for name in names]
        addresses.append(0 if self.orbits is None else self.orbits.addresses["representatives"])
        functions = np.array(addresses, dtype=np.int64)
        constrained = bool(self.system.constraints)
        store, shared = self.store, self._shared

        def part(worker: Worker) -> int:
            outcome: int = loops.advance(
                functions, store.words, store.row_bytes, store.compact, constrained, store.partitions, store.blocks,
                store.block, store.shift, ends, starts, self._bits, shared, worker.cursor, worker.buffers, worker.tally,
                worker.totals, self._work,
            )  # fmt: skip
            return outcome

        while True:
            before, already = time.perf_counter(), self._sum(loops.EXPANDED)
            shared[loops.PAUSE] = 0
            outcomes = self._team.together(part, hands, self._pause)
            if all(outcome == loops.FINISHED for outcome in outcomes):
                return
            if shared[loops.PAUSE]:
                store.make_room(self._team.each)
            self._between(level, time.perf_counter() - before, self._sum(loops.EXPANDED) - already)

    def _pause(self) -> None:
        self._shared[loops.PAUSE] = 1

    def _share(self, ends: Integers) -> tuple[Integers, list[Worker]]:
        """How many batches lie before each partition, the first batch being next, and who shall work on them."""
        first, last = ends[0] >> self._bits, ends[1] + (1 << self._bits) - 1 >> self._bits
        batches = np.where(ends[1] > ends[0], last - first, 0)
        starts = np.concatenate([[0], np.cumsum(batches)]).astype(np.int64)
        self._shared[loops.NEXT] = 0
        return starts, self._workers[: max(1, int(starts[-1]) // BATCHES_EACH)]

    def _between(self, level: int, seconds: float, expanded: int) -> None:
        """Time, report, and how much to do until the next look."""
        if expanded >= self._work:
            self._work = max(1 << BATCH_BITS, int(self._work * min(2.0, SLICE / max(seconds, 1e-6))))
        elapsed = time.perf_counter() - self._began
        if self.limits.seconds is not None and elapsed > self.limits.seconds:
            raise Stopped("time")
        if self._report is not None and expanded >= 1 << BATCH_BITS:
            self._report(self._progress(level, elapsed))

    def _progress(self, level: int, elapsed: float) -> Progress:
        return Progress(
            level=level + 1,
            distinct=int(self.store.counts.sum()),
            generated=self._generated + int(self._tally[ACTIONS:].sum()),
            frontier=self.history[-1].distinct,
            expanded=self._sum(loops.EXPANDED),
            memory=self.store.held,
            seconds=elapsed,
            levels=tuple(level.distinct for level in self.history),
        )

    def _finish_level(self) -> None:
        """The new states become a level."""
        ends = self.store.counts
        self._survey(ends)
        tally, found = self._tally, int((ends - self._ends[-1]).sum())
        finished = _StoredLevel(
            distinct=found,
            ends=ends,
            seen=as_integer(self._totals),
            rejected=self._sum(loops.REJECTED),
            generated=tally[ACTIONS:].tolist(),
            degrees=(int(tally[LEAST]), int(tally[GREATEST])) if self.history else None,
            weight=found if self.orbits is None else self._weight(ends, self.orbits),
        )
        if finished.distinct:
            self._ends.append(ends)
        self._add(finished)

    def _survey(self, ends: Integers) -> None:
        """The verdicts of all states behind the last whole level."""
        self._look_over(ends, self.kernel.code.addresses["survey"], lambda worker: worker.totals)

    def _weight(self, ends: Integers, orbits: Orbits) -> int:
        """How many states the orbits behind the last whole level have."""
        for worker in self._workers:
            worker.weight[:] = 0
        self._look_over(ends, orbits.addresses["weights"], lambda worker: worker.weight)
        return sum(int(worker.weight[0, 0]) for worker in self._workers)

    def _look_over(self, ends: Integers, function: int, totals: Callable[[Worker], Words]) -> None:
        """What a function of the kernel says of all states behind the last whole level, into arrays of the workers."""
        slices = np.stack([self._ends[-1], ends])
        starts, hands = self._share(slices)
        store = self.store

        def part(worker: Worker) -> None:
            loops.survey(
                function, store.words, store.row_bytes, store.blocks, store.block, slices, starts, self._bits,
                self._shared, worker.buffers[0], totals(worker),
            )  # fmt: skip

        self._team.together(part, hands, self._pause)

    def _look_at_rest(self) -> int:
        ends = self.store.counts
        self._survey(ends)
        return int((ends - self._ends[-1]).sum())

    def _between_levels(self) -> None:
        if self.checkpoint is not None and self.checkpoint.due:
            self._keep()
