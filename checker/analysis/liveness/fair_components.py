"""Finds the parts of a region in which a fair behaviour can stay for ever: fair ends and fair components.

An *obligation* is a fairness assumption about some action instances. An obligation is enabled in a state if one of its
instances is enabled there and changes the state. An instance that only a bound or a constraint prevents counts as
enabled, unless a docstring below says that it counts as disabled. A fair behaviour that stays in a region does one of
two things. It finally stays in one state, in which no obligation is enabled (an *end*). Or it moves for ever, and the
states that it visits again and again are strongly connected (a *component*). A component is *fair* if two conditions
are true. Each weak obligation is disabled in a state of the component, or taken by a step of the component. Each strong
obligation is enabled in no state of the component, or taken by a step of the component. Besides, an end counts only if
it has the question's mark (the condition `mark` holds there). A component counts only if one of its states has the
mark. If a question requires steps of certain actions (`never`), ends do not count. Then a component needs a step of
such an action instead of the mark.

A component in which a weak obligation is always enabled and never taken has no fair part. A component that is unfair
only because of strong obligations may have fair parts. To find them, the states in which these obligations are enabled
are removed, and the rest is decomposed again (Emerson and Lei).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from isrcheck.checker.analysis.liveness import graph_loops
from isrcheck.checker.analysis.liveness.graph_loops import Graph, Summaries
from isrcheck.checker.analysis.liveness.region import FairnessObligations, Flags, Region
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.kernel.llvm_compiler import begun


@dataclass(frozen=True)
class Components:
    """The strongly connected components of a region that have two states or more.

    `number` has the component of each state, or -1 for a state in no component. For each component, `always` has the
    obligations that are enabled in all its states, `ever` those that are enabled in one of its states, and `taken`
    those that its steps take. `marked` says whether the component has a state with the mark. If the question requires
    steps, `marked` says instead whether the component has a step that `never` marks. A single state is no component,
    because a step that leads to the same state does not count.
    """

    number: Integers
    always: Words
    ever: Words
    taken: Words
    marked: Flags


class Decision:
    """Finds the fair parts of a region.

    `never` has a flag for each instance. A component must take at least one of the flagged instances. If the question
    requires no steps, `never` is None.
    """

    def __init__(self, region: Region, promises: FairnessObligations, never: Flags | None) -> None:
        self.region, self.promises = region, promises
        self._moves, self._never = never is not None, np.zeros(len(promises.of), dtype=np.bool_)
        if never is not None:
            self._never = never
        self.enabled = region.enabled | region.cut if region.cut.any() else region.enabled
        self.all = self._components(np.ones(region.size, dtype=np.bool_), self.enabled)

    @cached_property
    def _free(self) -> Components:
        """Like `self.all`, but an instance that only a bound or a constraint prevents counts as disabled."""
        everything = np.ones(self.region.size, dtype=np.bool_)
        return self._components(everything, self.region.enabled) if self.region.cut.any() else self.all

    # --- ends -------------------------------------------------------------------------------------------------------

    def ends(self, enabled: Words, promised: Words) -> Flags:
        """For each state, whether it is a fair end: a marked state in which no `promised` obligation is enabled.

        If the question requires steps of certain actions, there are no fair ends.
        """
        if self._moves:
            return np.zeros(self.region.size, dtype=np.bool_)
        idle: Flags = np.bitwise_or.reduce(enabled & promised, axis=1) == 0
        return np.logical_and(idle, self.region.marked)

    # --- components -------------------------------------------------------------------------------------------------

    def _components(self, alive: Flags, enabled: Words) -> Components:
        region = self.region

        def work() -> Any:
            number, *rooms = np.empty((4, region.size), dtype=np.int32)
            at = np.empty(region.size, dtype=np.uint32)
            count = graph_loops.components(region.begin, region.target, alive, number, *rooms, at)
            shape = count, enabled.shape[1]
            sets, marks = np.zeros((2, *shape), dtype=np.uint64), np.zeros((2, count), dtype=np.bool_)
            found = Summaries(np.full(shape, ~np.uint64(0)), *sets, *marks)
            graph = Graph(region.begin, region.target, region.label)
            graph_loops.summaries(number, graph, enabled, self.promises.of, self._never, region.marked, found)
            return number, found

        number, found = begun(work).result()
        marked = found.step_mark if self._moves else found.state_mark
        return Components(number, found.always, found.ever, found.taken, marked)

    def fair_parts(self, enabled: Words, weak: Words, strong: Words) -> Iterator[Integers]:
        """Yields the states of each fair component, from all rounds of the decomposition."""
        found = self.all if enabled is self.enabled else self._free
        while True:
            starving = (found.always & weak & ~found.taken).any(axis=1)
            bad = found.ever & strong & ~found.taken
            candidates = found.marked & ~starving
            fair = candidates & ~bad.any(axis=1)
            yield from _members(found.number, fair)
            split = candidates & ~fair
            if not split.any():
                return
            known = found.number >= 0
            alive = known & split[found.number] & ~(enabled & bad[found.number]).any(axis=1)
            found = self._components(alive, enabled)


def _members(number: Integers, chosen: Flags) -> Iterator[Integers]:
    """Yields the states of each chosen component."""
    states = np.flatnonzero((number >= 0) & chosen[number]) if chosen.any() else np.empty(0, dtype=np.int64)
    order = states[np.argsort(number[states], kind="stable")]
    cuts = np.flatnonzero(np.diff(number[order])) + 1
    yield from (order[a:b] for a, b in pairwise([0, *cuts.tolist(), len(order)]) if a < b)


@dataclass(frozen=True)
class FairParts:
    """The fair ends and components of a region. `unfair` counts the components without a fair part.

    An instance that only a bound or a constraint prevents counts as enabled. `excused_ends` and `excused_components`
    count the unfair ends and components that become fair if all such instances count as disabled. `only_excused` says
    that there are such ends or components, and that nothing else happens: no step leaves the region, and no behaviour
    that stays in it is fair, whatever the question's conditions say about it.
    """

    region: int
    ends: Integers
    components: list[Integers]
    unfair: int
    excused_ends: int
    excused_components: int
    only_excused: bool


def decided(decision: Decision) -> FairParts:
    """The fair ends and components of a region, and the counts of excused ends and components."""
    region, promises = decision.region, decision.promises
    weak, strong = promises.weak, promises.strong
    every = weak | strong
    ends = decision.ends(decision.enabled, every)
    parts = list(decision.fair_parts(decision.enabled, weak, strong))
    excused_ends = excused_components = 0
    here = {int(decision.all.number[part[0]]) for part in parts}
    if region.cut.any():
        excused_ends = int((decision.ends(region.enabled, every) & ~ends).sum())
        freely = decision.fair_parts(region.enabled, weak, strong)
        excused_components = len({int(decision.all.number[part[0]]) for part in freely} - here)
    unfair = len(decision.all.marked) - len(here)
    only = bool(excused_ends + excused_components) and not region.left and not _has_fair_behaviour(region, promises)
    return FairParts(region.size, np.flatnonzero(ends), parts, unfair, excused_ends, excused_components, only)


def _has_fair_behaviour(region: Region, promises: FairnessObligations) -> bool:
    """Whether a fair behaviour stays in a region, with or without the question's mark and steps."""
    flags = region.flags | np.uint8(graph_loops.MARKED)
    decision = Decision(replace(region, flags=flags), promises, None)
    ends = decision.ends(decision.enabled, promises.weak | promises.strong)
    parts = decision.fair_parts(decision.enabled, promises.weak, promises.strong)
    return bool(ends.any()) or next(parts, None) is not None


def fairness_used(decision: Decision, excused: bool) -> list[str]:
    """Actions whose fairness is enough to make all ends and components unfair. None of the actions can be left out.

    The actions are tried in the order of their names. An action is dropped if nothing becomes fair without its
    fairness. If `excused` is false, an instance that only a bound or a constraint prevents counts as disabled.
    """
    dropped: set[str] = set()
    enabled = decision.enabled if excused else decision.region.enabled
    for action in sorted({each.action for each in decision.promises.obligations}):
        weak, strong = decision.promises.without(dropped | {action})
        if decision.ends(enabled, weak | strong).any():
            continue
        if next(decision.fair_parts(enabled, weak, strong), None) is None:
            dropped.add(action)
    return sorted({each.action for each in decision.promises.obligations} - dropped)
