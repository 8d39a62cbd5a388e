"""Decides whether one graph has a history that another graph does not have, by a subset construction on demand.

A *history* is the sequence of the visible parts of a behaviour, without successive repetitions. A *pair* belongs to a
behaviour of the left graph. It has the last state of this behaviour, and the set of all states of the right graph in
which a behaviour with the same history can end. If the set is empty, the right graph has no such history. The search
visits pairs in the order of the length of the left behaviour. Therefore the first pair with an empty set belongs to a
shortest behaviour whose history the right graph lacks.

A new pair is left out if an earlier pair has the same state and a set that is contained in the new set. The search
still finds a shortest difference. If no state of the new set allows a certain continuation of the history, no state of
the contained set allows it. So the sets that are kept for a state form an *antichain*: no set contains another
(De Wulf, Doyen, Henzinger and Raskin, "Antichains", CAV 2006).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from isrcheck.checker.analysis.free_memory import free_memory, peak_memory
from isrcheck.checker.analysis.inclusion.visible_graph import Graph

Stop = Literal["pairs", "time", "memory"]
SHARE: Final = 0.9
"""The share of the free memory that a search may take by default. The rest is for the system."""
PART: Final = 1 << 12
"""The largest number of sets that are made between two checks of the time and the memory."""


@dataclass(frozen=True)
class Bounds:
    """The limits of a search: the number of pairs, the time in seconds, and the peak memory of the process in bytes.

    If `pairs` or `seconds` is None, there is no such limit. If `memory` is None, a search may take a share (`SHARE`) of
    the free memory.
    """

    pairs: int | None = None
    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Witness:
    """A behaviour of the left graph whose history the right graph lacks.

    `right` has the states of the right graph in which the history before the last step can end. If the behaviour has
    only one state, and so no step, `right` is empty.
    """

    states: tuple[int, ...]
    transitions: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """The result of a search. The right graph has the histories of all left behaviours of up to `depth` states.

    `stopped` says why the search ended early. If the search did not end early and found no difference, the right graph
    has the histories of all left behaviours.
    """

    found: Witness | None
    depth: int
    pairs: int
    sets: int
    stopped: Stop | None


class _Stopped(Exception):
    def __init__(self, why: Stop) -> None:
        self.why: Stop = why


class Inclusion:
    """Looks for the shortest behaviour of `left` whose history `right` does not have."""

    def __init__(self, left: Graph, right: Graph, bounds: Bounds) -> None:
        self.left, self.right, self.bounds = left, right, bounds
        self._until = None if bounds.seconds is None else time.monotonic() + bounds.seconds
        self._most = bounds.memory if bounds.memory is not None else peak_memory() + int(free_memory() * SHARE)
        # Sets by number. For each set, `_moves` has the targets of its visible steps, by their visible part. For a set
        # and a visible part, `_after` has the number of a further set: the targets with this part, and all states that
        # silent steps reach from these targets.
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._closed: dict[frozenset[int], int] = {}
        self._moves: dict[int, dict[int, frozenset[int]]] = {}
        self._after: dict[tuple[int, int], int] = {}
        # Pairs by number.
        self._state: list[int] = []
        self._set: list[int] = []
        self._from: list[tuple[int, int]] = []
        self._kept: dict[int, list[int]] = {}

    def search(self) -> Answer:
        """Searches until the first difference, a bound or the last pair."""
        depth, found, stopped = 0, None, None
        try:
            level = self._begin()
            found = self._refused_at_once()
            while level and found is None:
                depth += 1
                found, level = self._next(level)
        except _Stopped as stop:
            stopped = stop.why
        depth = depth if found is None else len(found.states) - 1
        return Answer(found, depth, len(self._state), len(self._sets), stopped)

    # --- levels of pairs ----------------------------------------------------------------------------------------------

    def _begin(self) -> list[int]:
        right = self.right
        starts: dict[int, set[int]] = {}
        for n in right.initial:
            starts.setdefault(right.visible[n], set()).add(n)
        right.expand_silently(right.initial)
        level: list[int] = []
        for b in self.left.initial:
            targets = frozenset(starts.get(self.left.visible[b], ()))
            self._add(level, b, self._closure(targets), (-1, -1))
        return level

    def _refused_at_once(self) -> Witness | None:
        pairs = zip(self._state, self._set, strict=True)
        return next((Witness((state,), (), ()) for state, number in pairs if not self._sets[number]), None)

    def _next(self, level: list[int]) -> tuple[Witness | None, list[int]]:
        """Takes all steps from the pairs of a level. Returns the first difference, or the pairs of the next level."""
        self._look()
        left, visible = self.left, self.left.visible
        left.expand(self._state[pair] for pair in level)
        self._follow(level)
        following: list[int] = []
        for pair in level:
            b, x = self._state[pair], self._set[pair]
            own, after = visible[b], self._after
            for c, transition in left.steps[b] or ():
                y = x if visible[c] == own else after[x, visible[c]]
                if not self._sets[y]:
                    return self._witness(pair, c, transition), []
                self._add(following, c, y, (pair, transition))
            if self.bounds.pairs is not None and len(self._state) > self.bounds.pairs:
                raise _Stopped("pairs")
        return None, following

    def _add(self, level: list[int], state: int, number: int, way: tuple[int, int]) -> None:
        """Adds a pair of a state and a set, unless a kept pair of the same state has the same set or a subset of it."""
        kept, sets = self._kept.setdefault(state, []), self._sets
        own = sets[number]
        if any(other == number or sets[other] <= own for other in kept):
            return
        kept[:] = [other for other in kept if not own <= sets[other]]
        kept.append(number)
        level.append(len(self._state))
        self._state.append(state)
        self._set.append(number)
        self._from.append(way)

    def _witness(self, pair: int, last: int, transition: int) -> Witness:
        right = tuple(sorted(self._sets[self._set[pair]]))
        states, transitions = [last], [transition]
        while True:
            states.append(self._state[pair])
            pair, taken = self._from[pair]
            if pair < 0:
                return Witness(tuple(reversed(states)), tuple(reversed(transitions)), right)
            transitions.append(taken)

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _follow(self, level: Iterable[int]) -> None:
        """For each non-silent step from the state of a pair in `level`, computes the set of the pair after the step."""
        left, after = self.left, self._after
        wanted = dict.fromkeys(
            (self._set[pair], v)
            for pair in level
            for v, _ in left.changes[self._state[pair]]
            if (self._set[pair], v) not in after
        )
        targets = {key: self._moved(*key) for key in wanted}
        self.right.expand_silently(n for moved in targets.values() for n in moved)
        for i, (key, moved) in enumerate(targets.items()):
            after[key] = self._closure(moved)
            if i % PART == PART - 1:
                self._look()

    def _moved(self, number: int, visible: int) -> frozenset[int]:
        """The states with the visible part `visible` that non-silent steps reach from the states of a set."""
        if number not in self._moves:
            found: dict[int, set[int]] = {}
            for n in self._sets[number]:
                for v, c in self.right.changes[n]:
                    found.setdefault(v, set()).add(c)
            self._moves[number] = {v: frozenset(states) for v, states in found.items()}
        return self._moves[number].get(visible, frozenset())

    def _closure(self, states: frozenset[int]) -> int:
        """The number of the set that has these states and all states that silent steps reach from them."""
        if states not in self._closed:
            reached, stack = set(states), list(states)
            while stack:
                for n in self.right.silent[stack.pop()]:
                    if n not in reached:
                        reached.add(n)
                        stack.append(n)
            whole = frozenset(reached)
            if whole not in self._numbers:
                self._numbers[whole] = len(self._sets)
                self._sets.append(whole)
            self._closed[states] = self._numbers[whole]
        return self._closed[states]

    def _look(self) -> None:
        if self._until is not None and time.monotonic() > self._until:
            raise _Stopped("time")
        if peak_memory() > self._most:
            raise _Stopped("memory")
