"""Breadth-first search with a store. At each level, the search expands the states and computes the ids of the
successors. It keeps the new successors in the store and evaluates them (computes their verdict bits).

Workers are threads. They take batches of the level from a common counter. The result of a search depends neither on the
number of workers nor on their order, because levels are sets, and all other results are unions, sums, least and
greatest values. But if a limit of time or memory, or an interruption, ends the search, the result depends on the
moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit import search_loops
from isrcheck.checker.engines.explicit.checkpoint import Checkpoint
from isrcheck.checker.engines.explicit.compressed_ids import Stored
from isrcheck.checker.engines.explicit.level_search import Level, Levelwise, Stopped, as_integer
from isrcheck.checker.engines.explicit.levels import NativeLevels, OrbitLevels
from isrcheck.checker.engines.explicit.memory_account import MANY, OutOfMemory, return_free_memory
from isrcheck.checker.engines.explicit.workers import BATCH_BITS, Team, Worker, batch_bits
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.kernel.llvm_orbits import Orbits, distinct
from isrcheck.checker.kernel.verdict_bits import ACTIONS, GREATEST, LEAST
from isrcheck.checker.results.errors import os_words
from isrcheck.checker.results.exploration import Exploration, Limits, OrbitCounts, Progress, Report

BATCHES_EACH: Final = 16
"""Two or more workers are used in a level only if it has at least this many batches for each of them."""
SLICE: Final = 0.05
"""About this many seconds of work pass between two checks of the clock, the limits and signals. (But every worker does
at least what it takes at a time, which is 2,048 states in a search by runs, and fewer if a state may have very many
successors.)"""


class Search(Levelwise):
    """A search over a store. Only whole levels are in `history`: an interruption at any moment loses none of them.

    A worker takes 2**`stretch_bits` successive batches at a time.
    """

    stretch_bits = 0

    def __init__(
        self,
        kernel: Kernel,
        store: Stored,
        limits: Limits,
        report: Report | None,
        began: float,
        workers: int = 1,
        orbits: Orbits | None = None,
    ) -> None:
        self.store, self.orbits, system = store, orbits, kernel.system
        self._report, self._began = report, began
        levels = NativeLevels(system, kernel, store)
        if orbits is not None:
            levels = OrbitLevels(system, kernel, store, orbits)
        super().__init__(system, kernel, limits, levels)
        self._workers = [Worker(kernel, store.arrays()) for _ in range(workers)]
        store.account(sum(w.nbytes for w in self._workers))
        self._team = Team(workers - 1)
        self._bits = batch_bits(kernel.transitions)
        self._work, self._returned_at = 4 << BATCH_BITS, MANY
        self.checkpoint: Checkpoint | None = None

    def explore(self, keep_going: bool, deadlock: bool, known: Iterable[tuple[Level, Words]] = ()) -> Exploration:
        """Explores level by level, after the levels of a checkpoint and the `known` levels, if there are any.

        Raises `OutOfMemory` if there is no room for the states of these levels.
        """
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
        except OSError as error:
            answer.stopped, answer.disk_error = "disk", os_words(error)
        self._fold(answer)
        if answer.stopped in ("memory", "time", "interrupt", "disk"):
            self._partial(answer, deadlock)
        self._team.dismiss()
        self._keep()
        errors = [answer.disk_error, None if self.checkpoint is None else self.checkpoint.unwritten]
        answer.disk_error = "; ".join(filter(None, errors)) or None
        answer.peak_store_bytes = self.store.peak
        return answer

    def whole(self) -> Iterator[tuple[Level, Words]]:
        """The whole levels with their states."""
        for number, level in enumerate(self.history, start=1):
            yield level, self.levels.level_states(number)

    # --- defined by each search -------------------------------------------------------------------------------------

    def _take(self, states: Words) -> None:
        """Adds `states` to the store, unless they are known. New states are evaluated now or by `_look_over`."""
        raise NotImplementedError

    def _look_over(self) -> None:
        """Evaluates the new states that are not evaluated yet. Called when all new states of a level are found."""
        raise NotImplementedError

    # --- levels -----------------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        """Writes all whole levels into the checkpoint, if there is one.

        If this fails, the search goes on. What it finds is worth more than a checkpoint, and a later write may succeed.
        """
        if self.checkpoint is not None:
            self.checkpoint.try_write(self.levels, [level.to_json() for level in self.history])

    @property
    def _tally(self) -> Integers:
        """The sums of the workers' counts in this level. `LEAST` and `GREATEST` are a minimum and a maximum instead."""
        tallies = np.stack([w.tally for w in self._workers])
        total: Integers = tallies.sum(axis=0)
        total[LEAST], total[GREATEST] = tallies[:, LEAST].min(), tallies[:, GREATEST].max()
        return total

    @property
    def _totals(self) -> Words:
        total: Words = np.bitwise_or.reduce(np.concatenate([w.totals for w in self._workers]), axis=0)
        return total

    def _sum(self, entry: int) -> int:
        """The sum of one entry of `cursor` over all workers."""
        return sum(int(w.cursor[entry]) for w in self._workers)

    def _first(self) -> Words:
        """The initial states; under symmetry, one state of each orbit."""
        rows = self.kernel.layout.pack(self.system.initial)
        return rows if self.orbits is None else distinct(self.orbits.representatives(rows))

    def _initial(self, rows: Words) -> None:
        verdicts = self.kernel.evaluate(rows)
        counted = np.ascontiguousarray(rows[verdicts[:, 0] & np.uint64(search_loops.OUTSIDE_BIT) == 0])
        first = self._workers[0]
        first.totals = np.bitwise_or.reduce(verdicts, axis=0, keepdims=True)
        first.cursor[search_loops.REJECTED] = len(rows) - len(counted)
        self._take(counted)
        self._finish_level()

    def _restored(self, checkpoint: Checkpoint) -> Iterator[Level]:
        """Yields the levels of a checkpoint. Inserts the states of each level into the store first."""
        for data, states in checkpoint.read(self.kernel.words):
            for rows in states:
                self.store.insert(rows)
            yield Level.from_json(data)

    def _inserted(self, known: Iterable[tuple[Level, Words]]) -> Iterator[Level]:
        for level, rows in known:
            self.store.insert(rows)
            yield level

    def _go_on(self, levels: Iterable[Level], answer: Exploration, deadlock: bool) -> None:
        """Adds whole levels to `history`.

        The iterator `levels` puts the states of a level into the store before it yields the level.
        """
        for number, level in enumerate(levels):
            found = self.store.close()
            assert found == level.distinct
            if deadlock and level.degrees is not None and level.degrees[0] == 0:
                answer.deadlock = answer.deadlock or number
            self._add(level)

    def _together(self, level: int, part: Callable[[Worker], int], batches: int, paused: Callable[[], None]) -> None:
        """Lets workers run `part` until all `batches` are done. Calls `paused` whenever the workers have paused."""
        shared = self.store.shared
        shared[search_loops.NEXT] = 0
        hands = self._workers[: max(1, batches // BATCHES_EACH)]
        while True:
            before, already = time.perf_counter(), self._sum(search_loops.EXPANDED)
            shared[search_loops.PAUSE] = 0
            some = self._work * len(hands) >> self._bits + self.stretch_bits
            shared[search_loops.UNTIL] = shared[search_loops.NEXT] + max(some, len(hands))
            outcomes = self._team.together(part, hands, self._pause)
            if all(outcome == search_loops.FINISHED for outcome in outcomes):
                return
            paused()
            if shared[search_loops.PAUSE]:
                self.store.make_room(self._team.each)
            self._between(level, time.perf_counter() - before, self._sum(search_loops.EXPANDED) - already)

    def _pause(self) -> None:
        self.store.shared[search_loops.PAUSE] = 1

    def _between(self, level: int, seconds: float, expanded: int) -> None:
        """Checks the time, reports progress, and decides how much to do until the next check.

        `expanded` is at least half of `_work` unless workers had to pause earlier, which says little about their speed.
        """
        if 2 * expanded >= self._work or seconds > SLICE:
            self._work = max(1 << BATCH_BITS, int(self._work * min(2.0, SLICE / max(seconds, 1e-6))))
        elapsed = time.perf_counter() - self._began
        if self.limits.seconds is not None and elapsed > self.limits.seconds:
            raise Stopped("time")
        if self._report is not None and expanded >= 1 << BATCH_BITS:
            self._report(self._progress(level, elapsed))

    def _progress(self, level: int, elapsed: float) -> Progress:
        return Progress(
            level=level + 1,
            distinct=self.store.total,
            generated=self._generated + int(self._tally[ACTIONS:].sum()),
            frontier=self.history[-1].distinct,
            expanded=self._sum(search_loops.EXPANDED),
            memory=self.store.held,
            seconds=elapsed,
            levels=tuple(level.distinct for level in self.history),
        )

    def _finish_level(self) -> None:
        """Makes the new states the next whole level."""
        self._look_over()
        tally, found = self._tally, self.store.fresh
        finished = Level(
            distinct=found,
            seen=as_integer(self._totals),
            rejected=self._sum(search_loops.REJECTED),
            generated=tally[ACTIONS:].tolist(),
            degrees=(int(tally[LEAST]), int(tally[GREATEST])) if self.history else None,
            weight=found if self.orbits is None else sum(int(w.weight[0, 0]) for w in self._workers),
        )
        self.store.close()
        self._add(finished)

    @cached_property
    def _functions(self) -> Integers:
        """The addresses of the functions that `loops` calls."""
        addresses = [self.kernel.code.addresses[name] for name in ("expand", "evaluate", "survey")]
        of_orbits = ("representatives", "weights")
        addresses += [0 if self.orbits is None else self.orbits.addresses[name] for name in of_orbits]
        return np.array(addresses, dtype=np.int64)

    def _between_levels(self) -> None:
        for worker in self._workers:
            worker.own = self.store.for_more(worker.own, self.store.total)
        if self.store.total > self._returned_at:  # at `MANY` states, then whenever the number has doubled
            self._returned_at = 2 * self.store.total
            return_free_memory()
        if self.checkpoint is not None and self.checkpoint.due:
            self._keep()
