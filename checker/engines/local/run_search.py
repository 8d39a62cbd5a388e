"""The search by runs (see `run_store`). It expands a whole level before it finds out which successors are new.

To find this out at a level, a search without marks (`marks`) reads the runs of all earlier levels. In a space with very
many small levels this reading takes long, and a table is the better store. If `RunSearch.may_give_up` is set, the
search by runs ends in such a space, and a search with a table continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from isrcheck.checker.engines.local import run_loops
from isrcheck.checker.engines.local.buckets import LEAST_TOGETHER, Range
from isrcheck.checker.engines.local.levelwise import Level, Stopped
from isrcheck.checker.engines.local.run_store import Encoded, RunStore
from isrcheck.checker.engines.local.searching import Search
from isrcheck.checker.engines.local.team import AHEAD, Team, Worker
from isrcheck.checker.exploration import Exploration
from isrcheck.checker.kernel.layout import Words

ALONE: Final = Team(0)
MOST_PASSED: Final = 96
"""If more names than this are read from runs for each state, a table takes less time. Reading so many names takes as
long as inserting a state into a table."""
LEAST_STATES: Final = 1 << 18
"""If the store has fewer states, `MOST_PASSED` is multiplied by this number instead of the number of states. So the
search does not give up while reading the runs has taken little time."""
MOST_EACH: Final = 64
"""A state takes at most this many bytes in a table, unless it shares no word with any other state."""


class RunSearch(Search):
    """A search whose workers find names. The store then says which of the names are new.

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
                functions, store.words, store.half, store.pairs, store.dictionaries.columns, store.dictionaries.pages,
                store.turn, store.marks.columns, constrained, expanded, self._bits, store.shared,
                worker.cursor, worker.buffers, *worker.own, store.found[number], store.filled[number], worker.tally,
                worker.totals,
            )  # fmt: skip
            if outcome == run_loops.UNREADABLE:
                raise run.file.unreadable()
            return outcome

        self._together(level, part, -(-run.count >> self._bits), lambda: None)

    def _take(self, states: Words) -> None:
        self.store.insert(states)

    def _look_over(self) -> None:
        store, idle = self.store, list(self._workers)

        def look(names: Words) -> None:
            worker = idle.pop()
            run_loops.looked(
                self._functions, store.words, store.half, store.pairs, store.dictionaries.pages, store.turn, names,
                worker.own[0], worker.buffers[1], worker.totals, worker.weight,
            )  # fmt: skip
            idle.append(worker)

        team = self._team_for(store.unsettled)

        def mapped(function: Callable[[Range], Encoded], ranges: Iterable[Range]) -> Iterator[Encoded]:
            # Under a time limit the clock is looked at more often.
            for names in team.mapped(function, ranges, AHEAD if self.limits.seconds is None else 1):
                yield names
                self._between(len(self.history), 0.0, 0)  # raises `Stopped` at the time limit

        store.settle(look, team.each, mapped)

    def _team_for(self, names: int) -> Team:
        """All workers, or the main thread alone if there are so few names that waking other threads takes longer."""
        return self._team if names > LEAST_TOGETHER else ALONE

    def _look_at_rest(self) -> int:
        """The number of states that are known to be new.

        No state is judged: finding all new states would take as long as continuing the search.
        """
        return self.store.fresh
