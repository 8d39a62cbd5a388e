"""Compares mutants with the model in the states that the model reaches. One exploration compares many mutants.

Mutants are compared with the model in the model's reachable states in which all constraints hold. A mutant is
*equivalent* if the same instances are enabled in the mutant and in the model in each of these states, and lead to the
same states. The mutant and the model then have the same states and the same steps. A mutant *only forbids* if it lacks
steps of the model and adds none. Such a mutant reaches no new state, so no invariant can notice it. Suppose that also
the mutant's guard of the mutated action is true in none of the compared states. Then the action never happens in the
mutant. All these conclusions may be wrong if an invariant, a constraint, a goal or another action asks what is enabled
(`s.enabled`). Then the mutant itself must be checked, because only the instances of the mutated action are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from isrcheck.checker.exploration import Exploration, Limits
from isrcheck.model.language import expressions as e
from isrcheck.model.language.expressions import FALSE, Expression
from isrcheck.model.language.system import Predicate, Transition, TransitionSystem

AT_ONCE: Final = 400
"""The most predicates in one exploration (three for each mutant). They are compiled together."""
Instances = Sequence[Transition]


@dataclass(frozen=True)
class Difference:
    """How a mutant differs from the model, and the first level at which it does. Without a difference, `level` is None.

    `forbids`: a step of the model is missing. `adds`: a step is new, or leads to another state, or is undefined.
    `fires`: the mutant's guard of the mutated action is true in some state of the model.
    """

    level: int | None
    forbids: bool
    adds: bool
    fires: bool

    @property
    def only_forbids(self) -> bool:
        return self.forbids and not self.adds


def differences(
    system: TransitionSystem, mutants: Sequence[tuple[Instances, Instances]], limits: Limits
) -> list[Difference] | None:
    """How each mutant differs from the model; None if a limit is reached.

    A mutant is given as two sequences: the model's instances of the mutated action, and the mutant's instances.
    """
    from isrcheck.checker.engines.local.search import search

    counted = e.and_(*(c.holds for c in system.constraints))
    cases = [case for own, changed in mutants for case in _cases(system, own, changed)]
    predicates = [_never(number, counted, case) for number, case in enumerate(cases)]
    seen: dict[str, int] = {}
    for first in range(0, len(predicates), AT_ONCE):
        asking = replace(system, invariants=tuple(predicates[first : first + AT_ONCE]), goals=(), bounds=())
        found: Exploration = search(asking, keep_going=True, deadlock=False, limits=limits, report=None, workers=1)[0]
        if found.stopped is not None:
            return None
        seen |= found.violated
    levels = [seen.get(p.name) for p in predicates]
    return [_difference(*three) for three in zip(levels[::3], levels[1::3], levels[2::3], strict=True)]


def _difference(forbids: int | None, adds: int | None, fires: int | None) -> Difference:
    """The difference of a mutant, from the first levels at which it forbids, adds and fires."""
    level = min((x for x in (forbids, adds) if x is not None), default=None)
    return Difference(level, forbids is not None, adds is not None, fires is not None)


def _cases(system: TransitionSystem, own: Instances, changed: Instances) -> Iterator[Iterable[Expression]]:
    """Yields three lists. Each has a condition for each instance of the mutated action.

    The conditions of the first list say that the mutant forbids the instance, those of the second that the mutant adds
    something to the instance, and those of the third that the mutant's guard is true.
    """
    known = {str(t.label): t for t in own}
    pairs = [(known[str(t.label)], t) for t in changed]
    yield [e.and_(a.guard, e.not_(b.guard)) for a, b in pairs]
    yield [_adds(system, a, b) for a, b in pairs]
    yield [b.guard for _, b in pairs]


def _never(number: int, counted: Expression, cases: Iterable[Expression]) -> Predicate:
    """The predicate that is false exactly in the states in which `counted` and at least one of `cases` are true."""
    return Predicate(f"{number:06}", "", e.not_(e.and_(counted, e.or_(*cases))), FALSE)


def _adds(system: TransitionSystem, a: Transition, b: Transition) -> Expression:
    """The condition that the mutant's instance `b` adds something to the model's instance `a`.

    The condition is true in three cases: `b` is enabled and `a` is not, `b` leads to another state than `a`, or `b` is
    undefined.
    """
    elsewhere = e.and_(a.guard, b.guard, _elsewhere(system, a.updates, b.updates))
    return e.or_(e.and_(b.guard, e.not_(a.guard)), b.failure, elsewhere)


def _elsewhere(system: TransitionSystem, a: Mapping[int, Expression], b: Mapping[int, Expression]) -> Expression:
    stays = {leaf: e.leaf(system.leaves[leaf]) for leaf in {*a, *b}}
    return e.or_(*(e.not_(e.eq(a.get(x, stays[x]), b.get(x, stays[x]))) for x in sorted(stays)))
