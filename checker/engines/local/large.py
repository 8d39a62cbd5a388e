"""The search for large spaces, with workers, a memory limit, symmetry, checkpoints and states on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from isrcheck.checker.engines.local import loops
from isrcheck.checker.engines.local.account import OutOfMemory
from isrcheck.checker.engines.local.checkpoint import Checkpoint, question_of, termination_interrupts
from isrcheck.checker.engines.local.levels import NativeLevels
from isrcheck.checker.engines.local.levelwise import Level, Watch
from isrcheck.checker.engines.local.names import REMEMBERED
from isrcheck.checker.engines.local.run_search import MOST_EACH, RunSearch
from isrcheck.checker.engines.local.run_store import RunStore, least_memory
from isrcheck.checker.engines.local.searching import Search
from isrcheck.checker.engines.local.small import MOST_LEVELS, PLENTY
from isrcheck.checker.engines.local.store import Store, smallest
from isrcheck.checker.engines.local.table_search import TableSearch
from isrcheck.checker.engines.local.team import batch_bits, room
from isrcheck.checker.exploration import Exploration, Keeping, Limits, Report, Storing
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.orbits import Orbits
from isrcheck.checker.results import LimitTooSmall
from isrcheck.checker.symmetry.exchanges import Classes
from isrcheck.model.language.system import TransitionSystem

FIRST_GROWTH: Final = 1 << 16
"""Bytes that a search needs so that its store can grow after the first states."""


def minimum_memory(system: TransitionSystem, workers: int = 1) -> int:
    """The bytes that a search needs to begin. A search with states on disk needs `least_memory(workers)` bytes more."""
    layout, transitions = Layout(system.leaves), max(len(system.transitions), 1)
    words = layout.words
    verdict_words = (len(system.invariants) + len(system.goals) + len(system.bounds) + 2 + 63) // 64
    names = 8 * (2 + 2 * max(words, 2)) * loops.AT_ONCE + 32 * max(words, 2) * REMEMBERED
    buffers = 8 * (room(transitions) * (words + verdict_words) + (words << batch_bits(transitions))) + names
    return smallest(layout, workers) + workers * buffers + 32 * words * len(system.initial) + FIRST_GROWTH


def _affordable(system: TransitionSystem, workers: int, memory: int | None) -> int:
    """How many of the workers fit into half of the memory limit, at least one. Without a limit, all of them."""
    while memory is not None and workers > 1 and minimum_memory(system, workers) > memory // 2:
        workers -= 1
    return workers


def _needs_table(
    system: TransitionSystem, limits: Limits, keeping: Keeping | None, known: Sequence[tuple[Level, Words]]
) -> bool:
    """Whether states in memory are kept in a table (`store`). Otherwise they are kept in runs (`run_store`).

    Runs are faster and smaller. But only a table can look up single states, as liveness questions do. A table also
    needs less memory to begin, and many small levels do not slow it down. A search with checkpoints also uses a table.
    """
    little = limits.memory is not None and limits.memory < PLENTY
    return bool(system.questions) or little or keeping is not None or len(known) > MOST_LEVELS


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
    classes: Classes,
    keeping: Keeping | None,
    storing: Storing,
    watch: Watch | None = None,
    some: Words,
    known: Sequence[tuple[Level, Words]] = (),
) -> tuple[Exploration, NativeLevels]:
    """Explores a large space; see `search` for the other arguments.

    From `some` states of the space the store decides how to name states. The search continues after `known`: the whole
    levels, with their states, that another search has found.
    """
    workers = _affordable(system, workers, limits.memory)
    minimum = minimum_memory(system, workers) + (0 if storing.kind == "memory" else least_memory(workers))
    if limits.memory is not None and limits.memory < minimum:
        raise LimitTooSmall(limits.memory, minimum)
    orbits = Orbits(system, kernel.layout, classes) if classes else None

    def by_runs(folder: str | None) -> RunSearch:
        store = RunStore(kernel.layout, folder, limits.memory, workers, some)
        return RunSearch(system, kernel, store, limits, report, began, workers, orbits)

    def by_table() -> TableSearch:
        store = Store(kernel.layout, limits.memory, workers, some)
        return TableSearch(system, kernel, store, limits, report, began, workers, orbits)

    def explored(run: Search, known: Iterable[tuple[Level, Words]]) -> Exploration:
        run.watch = watch
        if keeping is not None:
            run.checkpoint = Checkpoint(keeping, question_of(system, kernel, keep_going, deadlock, classes))
        try:
            with termination_interrupts(keeping is not None):
                return run.explore(keep_going, deadlock, known)
        except OutOfMemory:
            states = 0 if run.checkpoint is None else run.checkpoint.size // kernel.layout.row_bytes
            raise LimitTooSmall(limits.memory or 0, minimum + MOST_EACH * states) from None

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
    if storing.kind != "memory":
        run = by_runs(storing.folder or tempfile.gettempdir())
        exploration = explored(run, known)
    elif _needs_table(system, limits, keeping, known):
        run = by_table()
        exploration = explored(run, known)
    else:
        run = by_runs(None)
        run.may_give_up = True
        exploration = explored(run, known)
        if run.too_deep:
            exploration, run = continued(run, exploration)
    exploration.workers = workers
    if storing.kind != "memory":
        exploration.extra["store"] = storing.kind
    return exploration, run.levels
