"""What mutants do that the model does not, in the states that the model reaches: one exploration answers for all.

A mutant is *equivalent* if in every state that the model counts its instances are possible where the model's are and
lead to where they lead: then both have the same states and the same steps. It is *not weaker* if it forbids a step
that the model takes: an invariant then says nothing about the guard, for there is less that could break it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from isrcheck.checker.exploration import Exploration, Limits
from isrcheck.checker.mutation.mutants import Family
from isrcheck.model.language import expressions as e
from isrcheck.model.language.expressions import FALSE, Expression
from isrcheck.model.language.system import Predicate, Transition, TransitionSystem

AT_ONCE: Final = 400
"""Predicates of one exploration at most: they are compiled with it."""


@dataclass(frozen=True)
class Difference:
    """From which level on a mutant does something else (None: never), and whether it forbids a step of the model."""

    level: int | None
    forbids: bool


def differences(system: TransitionSystem, families: Sequence[Family], limits: Limits) -> list[Difference] | None:
    """How the mutants of the families differ, in their order; None where the limits do not allow to know it."""
    from isrcheck.checker.engines.local.search import search

    counted = e.and_(*(c.holds for c in system.constraints))
    predicates: list[Predicate] = []
    for family in families:
        own = {str(t.label): t for t in family.instances}
        for mutant in family.mutants:
            pairs = [(own[str(t.label)], t) for t in mutant.instances]
            predicates.append(_never(len(predicates), counted, (_differs(system, a, b) for a, b in pairs)))
            predicates.append(_never(len(predicates), counted, (e.and_(a.guard, e.not_(b.guard)) for a, b in pairs)))
    seen: dict[str, int] = {}
    for first in range(0, len(predicates), AT_ONCE):
        asked = replace(system, invariants=tuple(predicates[first : first + AT_ONCE]), goals=(), bounds=())
        found: Exploration = search(asked, keep_going=True, deadlock=False, limits=limits, report=None, workers=1)[0]
        if found.stopped is not None:
            return None
        seen |= found.violated
    names = [p.name for p in predicates]
    return [
        Difference(seen.get(differs), forbids in seen) for differs, forbids in zip(names[::2], names[1::2], strict=True)
    ]


def _never(number: int, counted: Expression, cases: Iterable[Expression]) -> Predicate:
    """That none of some cases is so in a counted state."""
    return Predicate(f"{number:06}", "", e.not_(e.and_(counted, e.or_(*cases))), FALSE)


def _differs(system: TransitionSystem, a: Transition, b: Transition) -> Expression:
    """Whether one instance is possible and the other not, or leads elsewhere, or means nothing."""
    only_one = e.or_(e.and_(a.guard, e.not_(b.guard)), e.and_(b.guard, e.not_(a.guard)))
    return e.or_(only_one, b.failure, e.and_(a.guard, _elsewhere(system, a.updates, b.updates)))


def _elsewhere(system: TransitionSystem, a: Mapping[int, Expression], b: Mapping[int, Expression]) -> Expression:
    stays = {leaf: e.leaf(system.leaves[leaf]) for leaf in {*a, *b}}
    return e.or_(*(e.not_(e.eq(a.get(x, stays[x]), b.get(x, stays[x]))) for x in sorted(stays)))
