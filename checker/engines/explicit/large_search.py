"""The search for large spaces, with workers, a memory limit, symmetry, checkpoints and states on disk.

The search by runs (see `run_store`). It expands a whole level before it finds out which successors are new.

To find this out at a level, a search without marks (`visited`) reads the runs of all earlier levels. In a space with
very many small levels this reading takes long, and a table is the better store. If `RunSearch.may_give_up` is set, the
search by runs ends in such a space, and a search with a table continues.

The search with a table in memory: workers insert successors immediately into a store that they share.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit import run_loops, search_loops
from isrcheck.checker.engines.explicit.bucket_sort import LEAST_TOGETHER, Range
from isrcheck.checker.engines.explicit.checkpoint import Checkpoint, question_of, termination_interrupts
from isrcheck.checker.engines.explicit.compressed_ids import REMEMBERED
from isrcheck.checker.engines.explicit.level_search import MOST_LEVELS, Level, SearchOptions, Stopped
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.engines.explicit.memory_account import OutOfMemory
from isrcheck.checker.engines.explicit.run_store import Encoded, RunStore, least_memory
from isrcheck.checker.engines.explicit.store_search import Search
from isrcheck.checker.engines.explicit.table_store import Store, smallest
from isrcheck.checker.engines.explicit.workers import AHEAD, Team, Worker, batch_bits, room
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.llvm_orbits import Orbits
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.checker.results.result import LimitTooSmall
from isrcheck.checker.results.size_estimate import estimated_size
from isrcheck.model.semantics.transition_system import TransitionSystem

ALONE: Final = Team(0)
MOST_PASSED: Final = 96
"""If more ids than this are read from runs for each state, a table takes less time. Reading so many ids takes as long
as inserting a state into a table."""
LEAST_STATES: Final = 1 << 18
"""If the store has fewer states, `MOST_PASSED` is multiplied by this number instead of the number of states. So the
search does not give up while reading the runs has taken little time."""
MOST_EACH: Final = 64
"""A state takes at most this many bytes in a table, unless it shares no word with any other state."""


class RunSearch(Search):
    """A search whose workers find ids. The store then says which of the ids are new.

    With `may_give_up`, the search ends and sets `too_deep` if a table would take less time and there is memory for one.
    """

    store: RunStore
    may_give_up = too_deep = False
    stretch_bits = run_loops.STRETCH_BITS

    def _between_levels(self) -> None:
        super()._between_levels()
        store, limit = self.store, self.limits.memory
        slow = store.passed > MOST_PASSED * max(store.total, LEAST_STATES) and self.history[-1].distinct > 0
        if self.may_give_up and slow and (limit is None or store.held + MOST_EACH * store.total < limit):
            self.too_deep = True
            raise Stopped("states")

    def explore(self, keep_going: bool, deadlock: bool, known: Iterable[tuple[Level, Words]] = ()) -> Exploration:
        answer = super().explore(keep_going, deadlock, known)
        answer.sorting_bytes = self.store.sorting, self.store.most_sorting
        return answer

    def handed_over(self, table: Search) -> Iterator[tuple[Level, Words]]:
        """Yields the whole levels with their states to the search with a table, which inserts them into its store.

        Meanwhile the memory of the runs counts as memory of the table's store too.
        """
        held = self.store.held
        table.store.account(held)
        yield from self.whole()
        self.store.release()
        table.store.account(self.store.held - held)

    def _expand(self, level: int) -> None:
        functions, constrained, store = self._functions, bool(self.system.constraints), self.store
        run = store.run(level)
        for worker in self._workers:
            worker.begin()

        def part(worker: Worker) -> int:
            number = self._workers.index(worker)
            expanded = run.file.number, run.file.bases, run.pieces, *store.pieces[number]
            outcome: int = run_loops.gather(
                functions, constrained, store.codec, expanded, self._bits, store.shared, worker.arrays,
                store.found_by(number),
            )  # fmt: skip
            if outcome == run_loops.UNREADABLE:
                raise run.file.unreadable()
            return outcome

        self._together(level, part, -(-run.count >> self._bits), lambda: None)

    def _take(self, states: Words) -> None:
        self.store.insert(states)

    def _look_over(self) -> None:
        store, idle = self.store, list(self._workers)

        def look(ids: Words) -> None:
            worker = idle.pop()
            run_loops.looked(self._functions, store.codec, store.turn, ids, worker.arrays)
            idle.append(worker)

        team = self._team_for(store.unsettled)

        def mapped(function: Callable[[Range], Encoded], ranges: Iterable[Range]) -> Iterator[Encoded]:
            # Under a time limit the clock is looked at more often.
            for ids in team.mapped(function, ranges, AHEAD if self.limits.seconds is None else 1):
                yield ids
                self._between(len(self.history), 0.0, 0)  # raises `Stopped` at the time limit

        store.settle(look, team.each, mapped)

    def _team_for(self, ids: int) -> Team:
        """All workers, or the main thread alone if there are so few ids that waking other threads takes longer."""
        return self._team if ids > LEAST_TOGETHER else ALONE

    def _look_at_rest(self) -> int:
        """The number of states that are known to be new.

        No state is evaluated: finding all new states would take as long as continuing the search.
        """
        return self.store.fresh


GROWN: Final = 1.1
"""When the number of known states has grown by this factor, the final number is estimated again."""


class TableSearch(Search):
    """A search whose workers insert states into the same table, without locks."""

    store: Store
    _estimate_from = 0.0

    def _between_levels(self) -> None:
        super()._between_levels()
        if self.store.total > self._estimate_from:
            # An estimate takes as long as expanding some thousand states. So one is not made after every small level.
            self._estimate_from = self.store.total * GROWN
            expected = estimated_size([level.distinct for level in self.history if level.distinct])
            self.store.expected = 0 if expected is None else expected.low

    def _expand(self, level: int) -> None:
        """Inserts all successors of a level into the store. Raises `Stopped` if a limit is reached."""
        for worker in self._workers:
            worker.begin()
        functions, constrained = self._functions, bool(self.system.constraints)
        store, queue, number = self.store, self.store.queue, np.uint64(level + 1)
        work = store.last(self._bits)

        def part(worker: Worker) -> int:
            outcome: int = search_loops.advance(
                functions, constrained, store.codec, store.partitions, number, work, queue.room, worker.arrays
            )
            return outcome

        self._together(level, part, work.batches, lambda: store.expanded(work))

    def _take(self, states: Words) -> None:
        """Inserts the states that the store does not have yet. Evaluates all of `states`."""
        first = self._workers[0]
        self.store.insert(states)
        first.cursor[search_loops.NEW] = len(states)
        search_loops.look_over(self._functions, states, first.cursor, first.totals, first.weight)

    def _look_over(self) -> None:
        """Evaluates the new states that no worker has evaluated yet."""
        for worker in self._workers:
            search_loops.look_over(self._functions, worker.rows, worker.cursor, worker.totals, worker.weight)

    def _look_at_rest(self) -> int:
        self._look_over()
        return self.store.fresh


FIRST_GROWTH: Final = 1 << 16
"""Bytes that a search needs so that its store can grow after the first states."""
LITTLE: Final = 16
"""With a memory limit below this many times what runs need to begin, a table keeps more states."""


def minimum_memory(system: TransitionSystem, workers: int = 1) -> int:
    """The bytes that a search needs to begin. A search with states on disk needs `least_memory(workers)` bytes more."""
    layout, transitions = Layout(system.leaves), max(len(system.transitions), 1)
    words = layout.words
    verdict_words = (len(system.invariants) + len(system.goals) + len(system.bounds) + 2 + 63) // 64
    ids = 8 * (2 + 2 * max(words, 2)) * search_loops.AT_ONCE + 32 * max(words, 2) * REMEMBERED
    buffers = 8 * (room(transitions) * (words + verdict_words) + (words << batch_bits(transitions))) + ids
    return smallest(layout, workers) + workers * buffers + 32 * words * len(system.initial) + FIRST_GROWTH


def _affordable(system: TransitionSystem, workers: int, memory: int | None) -> int:
    """How many of the workers fit into half of the memory limit, at least one. Without a limit, all of them."""
    while memory is not None and workers > 1 and minimum_memory(system, workers) > memory // 2:
        workers -= 1
    return workers


def _needs_table(system: TransitionSystem, limits: Limits, workers: int, known: Sequence[tuple[Level, Words]]) -> bool:
    """Whether states in memory are kept in a table (`table_store`). Otherwise they are kept in runs (`run_store`).

    Runs are faster and smaller. But only a table can look up single states, as liveness questions do. A table also
    needs less memory to begin, and many small levels do not slow it down.
    """
    little = limits.memory is not None and limits.memory < LITTLE * least_memory(workers)
    return bool(system.questions) or little or len(known) > MOST_LEVELS


def search_large(
    kernel: Kernel, began: float, options: SearchOptions, some: Words, known: Sequence[tuple[Level, Words]] = ()
) -> tuple[Exploration, NativeLevels]:
    """Explores the large space of the kernel's system. The search began at the time `began`.

    From `some` states of the space the store decides how to compute ids. The search continues after `known`: the whole
    levels, with their states, that another search has found.
    """
    system, limits, classes, checkpointing = kernel.system, options.limits, options.classes, options.checkpointing
    state_store, workers = options.state_store, _affordable(system, options.workers, limits.memory)
    minimum = minimum_memory(system, workers) + (0 if state_store.kind == "memory" else least_memory(workers))
    if limits.memory is not None and limits.memory < minimum:
        raise LimitTooSmall(limits.memory, minimum)
    orbits = Orbits(system, kernel.layout, classes) if classes else None

    def by_runs(folder: str | None) -> RunSearch:
        store = RunStore(kernel.layout, folder, limits.memory, workers, some)
        return RunSearch(kernel, store, limits, options.report, began, workers, orbits)

    def by_table() -> TableSearch:
        store = Store(kernel.layout, limits.memory, workers, some)
        return TableSearch(kernel, store, limits, options.report, began, workers, orbits)

    def explored(run: Search, known: Iterable[tuple[Level, Words]]) -> Exploration:
        run.watch, keep_going, deadlock = options.watch, options.keep_going, options.deadlock
        if checkpointing is not None:
            run.checkpoint = Checkpoint(checkpointing, question_of(system, kernel, keep_going, deadlock, classes))
        try:
            with termination_interrupts(checkpointing is not None):
                return run.explore(keep_going, deadlock, known)
        except OutOfMemory:
            states = 0 if run.checkpoint is None else run.checkpoint.size // kernel.layout.row_bytes
            raise LimitTooSmall(limits.memory or 0, minimum + MOST_EACH * states) from None
        finally:
            if run.checkpoint is not None:
                run.checkpoint.end()

    def continued(runs: RunSearch, found: Exploration) -> tuple[Exploration, Search]:
        """Continues the search with a table. Returns the answer and the search that gave it.

        If the search with a table cannot begin, returns the answer of `runs`. It cannot begin if there is too little
        memory for the whole levels of `runs`, or if an interruption comes before all these levels are taken over.
        """
        try:
            table = by_table()
            more = explored(table, runs.handed_over(table))
        except KeyboardInterrupt:
            return replace(found, stopped="interrupt"), runs
        except LimitTooSmall:
            return replace(found, stopped="memory"), runs
        more.peak_store_bytes = max(found.peak_store_bytes, more.peak_store_bytes)
        return more, table

    run: Search
    if state_store.kind != "memory":
        run = by_runs(state_store.folder or tempfile.gettempdir())
        exploration = explored(run, known)
    elif _needs_table(system, limits, workers, known):
        run = by_table()
        exploration = explored(run, known)
    else:
        run = by_runs(None)
        run.may_give_up = checkpointing is None  # only one search can write a checkpoint
        exploration = explored(run, known)
        if run.too_deep:
            exploration, run = continued(run, exploration)
    exploration.workers = workers
    if state_store.kind != "memory":
        exploration.extra["store"] = state_store.kind
    return exploration, run.levels
