"""The common part of every search by levels: when it stops, and the totals of its whole levels.

A level is *whole* when all its states have been found.

Finds the failed evaluation that is reported. The search itself only counts failures.

Of several failures, the one in the least state is reported. States are compared by their leaves, as tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.exchanges import Classes
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.kernel.verdict_bits import ACTIONS, FAILED, FAILURES, LEAST
from isrcheck.checker.results.exploration import Checkpointing, Exploration, Limits, Report, StateStore, Stop
from isrcheck.model.semantics.transition_system import TransitionSystem

FailedEvaluation = tuple[tuple[int, ...], int]

MOST_LEVELS: Final = 1 << 9
"""With more known levels than this, a table keeps the states of a large space in memory. Runs would be slower."""


def failing_instance(levels: NativeLevels, level: int) -> FailedEvaluation:
    """Finds the least state of `level` in which an instance fails.

    Returns the leaves of this state, and the first instance that fails in it.
    """
    least: list[FailedEvaluation] = []
    for states in levels.blocks(level):
        source, _ = levels.kernel.failures(states)
        if len(source):
            states = levels.members(states[np.unique(source)])
            source, transition = levels.kernel.failures(states)
            least.append(_least(levels.kernel.layout.unpack(states[source]), transition))
    return min(least)


def failing_predicate(levels: NativeLevels, level: int) -> tuple[int, ...]:
    """Among the successors of the level before `level`, finds the least state in which a predicate is undefined.

    If `level` is 1, searches the initial states instead. The state may be outside the constraints. Returns its leaves.
    """
    kernel, least = levels.kernel, list[tuple[int, ...]]()
    if level == 1:
        return _failing(levels, kernel.layout.pack(levels.system.initial))[0]
    for states in levels.blocks(level - 1):
        least += _failing(levels, kernel.expand(states)[0])
    return min(least)


def _failing(levels: NativeLevels, states: Words) -> list[tuple[int, ...]]:
    """Among `states`, finds the least state in which a predicate is undefined. Returns its leaves, in a list.

    The list is empty if there is no such state. Under symmetry, all states in the orbits of `states` are compared.
    """
    failing = states[levels.kernel.evaluate(states)[:, 0] >> np.uint64(FAILED) & np.uint64(1) == 1]
    rows = levels.kernel.layout.unpack(levels.members(failing))
    return [_least(rows, np.zeros(len(rows), dtype=np.int64))[0]] if len(rows) else []


def _least(rows: Integers, other: Integers) -> FailedEvaluation:
    """The least row, with its entry in `other` (one entry for each row). Of equal rows, takes the least entry."""
    order = np.lexsort((other, *rows.T[::-1]))
    return tuple(rows[order[0]].tolist()), int(other[order[0]])


Watch = Callable[[NativeLevels, int], Stop | None]
"""A function that is called for each whole level, first for the level of the initial states. It looks at the steps into
the level. It returns a reason to stop the search after this level, or None."""


class Stopped(Exception):
    """The search ends before it is finished."""

    def __init__(self, reason: Stop) -> None:
        self.reason: Stop = reason


@dataclass(frozen=True)
class Level:
    """The data of a whole level.

    The first level has the initial states. Any other level has the new states that were found when the level before was
    expanded. `distinct` is the number of states of the level. `weight` is the number of states in their orbits; without
    symmetry, it equals `distinct`. `rejected` is the number of steps from the level before to states outside the
    constraints. For the first level, it is the number of initial states outside the constraints. `seen` has every
    verdict bit that is set in a state of the level or in one of these rejected states. `generated` counts the enabled
    instances of each action in the level before. `degrees` are the least and the greatest number of enabled instances
    in a state of the level before, or None for the first level.
    """

    distinct: int
    seen: int
    rejected: int
    generated: list[int]
    degrees: tuple[int, int] | None
    weight: int

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"seen": hex(self.seen)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Level:
        degrees = None if data["degrees"] is None else (data["degrees"][0], data["degrees"][1])
        return cls(**data | {"seen": int(data["seen"], 16), "degrees": degrees})


@dataclass(frozen=True)
class SearchOptions:
    """The arguments of `explicit.search.search`, which has their meanings."""

    keep_going: bool
    deadlock: bool
    limits: Limits
    report: Report | None
    workers: int
    classes: Classes
    checkpointing: Checkpointing | None
    state_store: StateStore
    watch: Watch | None


class Levelwise:
    """A search that adds each whole level to `history`. An interruption loses no whole level."""

    watch: Watch | None = None

    def __init__(self, system: TransitionSystem, kernel: Kernel, limits: Limits, levels: NativeLevels) -> None:
        self.system, self.kernel, self.limits, self.levels = system, kernel, limits, levels
        self.history: list[Level] = []
        self._distinct = self._generated = 0

    # --- defined by each search -------------------------------------------------------------------------------------

    def _expand(self, level: int) -> None:
        """Adds all successors of a level. Raises `Stopped` if a limit is reached."""
        raise NotImplementedError

    def _finish_level(self) -> None:
        """Makes the new states the next whole level."""
        raise NotImplementedError

    def _look_at_rest(self) -> int:
        """The number of new states of the unfinished level, as far as it is known.

        Also evaluates these states (adds their verdict bits to `_totals`), unless this takes too long.
        """
        raise NotImplementedError

    @property
    def _tally(self) -> Integers:
        """The counts of enabled and of failing instances (see `kernel.verdict_bits`) in the current level."""
        raise NotImplementedError

    @property
    def _totals(self) -> Words:
        """Every verdict bit that is set in a state evaluated since the last whole level was finished."""
        raise NotImplementedError

    def _between_levels(self) -> None:
        """Called after each whole level, for work between the levels. By default there is no such work."""

    # --- common to all searches -------------------------------------------------------------------------------------

    def _loop(self, answer: Exploration, keep_going: bool, deadlock: bool) -> None:
        while True:
            level, last = len(self.history), self.history[-1]
            self._between_levels()
            if last.seen >> FAILED & 1:
                answer.error = level, failing_predicate(self.levels, level), None
                raise Stopped("error")
            if not keep_going and last.seen & self._violations():
                raise Stopped("violation")
            if self.watch is not None and (reason := self.watch(self.levels, level)) is not None:
                raise Stopped(reason)
            if not last.distinct:
                return
            if self.limits.states is not None and self._distinct > self.limits.states:
                raise Stopped("states")
            self._expand(level)
            if self._tally[FAILURES]:
                answer.error = level, *failing_instance(self.levels, level)
                raise Stopped("error")
            if deadlock and self._tally[LEAST] == 0:
                answer.deadlock = answer.deadlock or level
                if not keep_going:
                    raise Stopped("violation")
            self._finish_level()

    def _add(self, level: Level) -> None:
        self._distinct += level.distinct
        self._generated += sum(level.generated)
        self.history.append(level)

    def _violations(self) -> int:
        return sum(1 << bit for bit in self.kernel.verdicts.invariants.values())

    def _fold(self, answer: Exploration) -> None:
        """Adds the totals of the whole levels to the answer."""
        verdicts = self.kernel.verdicts
        for number, level in enumerate(self.history, start=1):
            answer.rejected += level.rejected
            if level.distinct:
                answer.levels.append(level.distinct)
                if answer.orbits is not None:
                    answer.orbits.states.append(level.weight)
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
        """Adds the counts of the unfinished level to the answer.

        Also adds the violations, the deadlock and the failed evaluation that were found while this level was built.
        """
        distinct, level = self._look_at_rest(), len(self.history) + 1
        answer.partial = {
            "level": level,
            "generated": int(self._tally[ACTIONS:].sum()),
            "distinct": distinct,
        }
        seen = as_integer(self._totals)
        for name, bit in self.kernel.verdicts.invariants.items():
            if seen >> bit & 1 and name not in answer.violated:
                answer.violated[name] = level
                answer.partial_violations.add(name)
        if deadlock and self._tally[LEAST] == 0:
            answer.deadlock = answer.deadlock or level - 1
        if self._tally[FAILURES]:
            answer.error = level - 1, *failing_instance(self.levels, level - 1)
            answer.stopped = "error"


def as_integer(words: Words) -> int:
    """Verdict words as one integer of many bits."""
    return sum(int(word) << 64 * i for i, word in enumerate(words.reshape(-1)))
