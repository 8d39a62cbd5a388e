"""The search with a table in memory: workers insert successors immediately into a store that they share."""

from __future__ import annotations

from typing import Final

import numpy as np

from isrcheck.checker.engines.local import loops
from isrcheck.checker.engines.local.searching import Search
from isrcheck.checker.engines.local.store import Store
from isrcheck.checker.engines.local.team import Worker
from isrcheck.checker.forecast import forecast
from isrcheck.checker.kernel.layout import Words

GROWN: Final = 1.1
"""When the number of known states has grown by this factor, the final number is forecast again."""


class TableSearch(Search):
    """A search whose workers insert states into the same table, without locks."""

    store: Store
    _forecast_from = 0.0

    def _between_levels(self) -> None:
        super()._between_levels()
        if self.store.total > self._forecast_from:
            # A forecast takes as long as expanding some thousand states. So one is not made after every small level.
            self._forecast_from = self.store.total * GROWN
            expected = forecast([level.distinct for level in self.history if level.distinct])
            self.store.expected = 0 if expected is None else expected.low

    def _expand(self, level: int) -> None:
        """Inserts all successors of a level into the store. Raises `Stopped` if a limit is reached."""
        for worker in self._workers:
            worker.begin()
        functions, constrained = self._functions, bool(self.system.constraints)
        store, queue, number = self.store, self.store.queue, np.uint64(level + 1)
        work = store.last(self._bits)

        def part(worker: Worker) -> int:
            outcome: int = loops.advance(
                functions, store.words, store.half, store.pairs, store.dictionaries.columns, store.dictionaries.pages,
                store.partitions, number, constrained, work.chunks, work.counts, work.starts, work.bits, queue.free,
                queue.filled, queue.shared, worker.cursor, worker.buffers, *worker.own, worker.tally, worker.totals,
                worker.weight,
            )  # fmt: skip
            return outcome

        self._together(level, part, work.batches, lambda: store.expanded(work))

    def _take(self, states: Words) -> None:
        """Inserts the states that the store does not have yet. Judges all of `states`."""
        first = self._workers[0]
        self.store.insert(states)
        first.cursor[loops.NEW] = len(states)
        loops.look_over(self._functions, states, first.cursor, first.totals, first.weight)

    def _look_over(self) -> None:
        """Judges the new states that no worker has judged yet."""
        for worker in self._workers:
            loops.look_over(self._functions, worker.buffers[1], worker.cursor, worker.totals, worker.weight)

    def _look_at_rest(self) -> int:
        self._look_over()
        return self.store.fresh
