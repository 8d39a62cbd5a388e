"""The local engine: exact breadth-first search over packed states, level by level.

There are two ways to explore a space, with the same results. A small space, and the first levels of a large space, are
explored with arrays only. Workers explore larger spaces, in compiled code and with a store for the states. Under
symmetry, with checkpoints, with states on disk, or with a small memory limit, workers explore every space from the
beginning.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

import numpy as np

from isrcheck.checker.engines.explicit import search_cache
from isrcheck.checker.engines.explicit.large_kernel import Arranged, sample
from isrcheck.checker.engines.explicit.level_search import SearchOptions, Watch
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.engines.explicit.search_cache import Earlier, Space
from isrcheck.checker.engines.explicit.small_search import (
    LARGEST,
    LARGEST_AT_FIRST,
    PLENTY,
    WORDS_AT_FIRST,
    SmallSearch,
    TooLarge,
)
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.exchanges import Classes
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.results.exploration import Checkpointing, Exploration, Limits, Report, StateStore
from isrcheck.model.semantics.transition_system import TransitionSystem


def search(
    system: TransitionSystem,
    *,
    keep_going: bool,
    deadlock: bool,
    limits: Limits,
    report: Report | None,
    workers: int | None = 1,
    classes: Classes = (),
    checkpointing: Checkpointing | None = None,
    state_store: StateStore = StateStore(),
    watch: Watch | None = None,
    small: int | None = None,
) -> tuple[Exploration, NativeLevels]:
    """Explores all reachable states, or as many as the limits allow.

    `workers` None means one worker on each processor. Fewer workers are used if the memory limit is too small. Each of
    `classes` lists brokers (or members of another scalarset) that are known to be interchangeable. Of the states that
    differ only by exchanging such brokers, one is kept. `checkpointing` names a folder in which the levels are kept.
    `CheckpointRefused` is raised if the search cannot continue from this folder or cannot begin in it. `state_store`
    says where the states are kept. `watch` looks at each whole level, and may end the search there. A space of up to
    `small` states, or the first levels of a larger one, may be explored with arrays only. With `small` 0, this is not
    done. With `small` None, the search chooses the number so that exploring this many states with arrays takes about as
    long as compiling or loading the code for large spaces. `LimitTooSmall` is raised if the memory limit is too small
    for the search to begin, or for the states of a checkpoint.
    """
    workers, began = workers or processors(), time.perf_counter()
    kernel = Kernel(system)
    usual = not classes and checkpointing is None and (limits.memory is None or limits.memory >= PLENTY)
    earlier = Earlier(system, keep_going, deadlock) if usual and small is None else None
    small = _small(kernel.words) if small is None else small
    # If the limit on states is at most half of `small`, the code for large spaces will not be needed.
    few = limits.states is not None and limits.states <= small // 2
    space = earlier.space() if earlier is not None and not few and search_cache.were_compiled() else None
    compiled = time.perf_counter()
    first, found, large = None, None, Arranged(system)
    if space is not None:
        large.begin([], space.layout)
    elif small and usual and state_store == StateStore():
        ahead = large.begin if workers > 1 and not few else None
        first = SmallSearch(system, kernel, limits, report, began, small, ahead)
        first.watch = watch
        with suppress(TooLarge):
            found = first.explore(keep_going, deadlock), first.levels
            found[0].workers = workers  # reported as requested, although a small search uses none
    if found is None:
        try:
            from isrcheck.checker.engines.explicit.large_search import search_large

            known = [] if first is None else first.whole()
            # The layout of a checkpoint must stay the same, and symmetry is cheapest in the usual layout.
            if not classes and checkpointing is None:
                large.begin([rows for _, rows in known])
                known = [(level, kernel.layout.moved(rows, large.kernel.layout)) for level, rows in known]
                kernel = large.kernel
            some = _some(system, kernel, [rows for _, rows in known], space)
            options = SearchOptions(
                keep_going, deadlock, limits, report, workers, classes, checkpointing, state_store, watch
            )
            found = search_large(kernel, began, options, some, known)
        except KeyboardInterrupt:
            if first is None:
                raise
            # The other search had not begun to explore: it was still compiling or loading its code, or taking over the
            # known levels.
            found = first.interrupted(deadlock), first.levels
        else:
            try:
                search_cache.note_compiled()
                if earlier is not None:
                    earlier.note(found[0].levels, space, Space(kernel.layout, some))
            except KeyboardInterrupt:
                # The search has ended, and its answer is not lost. But a caller may have further searches to do.
                found[0].stopped = found[0].stopped or "interrupt"
    found[0].seconds = {"compile": compiled - began, "search": time.perf_counter() - compiled}
    return found


def _small(words: int) -> int:
    """The most states, of this many words each, that are explored with arrays only."""
    return LARGEST if search_cache.were_compiled() else max(LARGEST, min(LARGEST_AT_FIRST, WORDS_AT_FIRST // words))


def _some(system: TransitionSystem, kernel: Kernel, known: list[Words], space: Space | None) -> Words:
    """Some states of the search. From these states the store decides how to compute ids."""
    if space is not None:
        return space.sample
    return np.concatenate(known) if known else sample(system, kernel)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
