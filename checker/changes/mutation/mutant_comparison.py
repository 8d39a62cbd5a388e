"""Runs a mutant and its model side by side, to see whether anything depends on the differences between their states.

The mutant and the model begin in the same state and take the same steps. Only a step of the mutated action may be taken
by one of them alone. Suppose that two conditions hold in all pairs of states that are reached in this way: every
instance of another action is enabled in both states or in neither, and every invariant is true in both or in neither.
Then no guard of another action and no invariant depends on the values in which the two states of a pair differ. Each
behaviour of the mutant has a counterpart in the model, and each behaviour of the model has one in the mutant. In the
counterpart, all actions except the mutated one take the same steps, and the same invariants are true.

Compares mutants with the model in the states that the model reaches. One exploration compares many mutants.

Mutants are compared with the model in the model's reachable states in which all constraints hold. A mutant is
*equivalent* if the same instances are enabled in the mutant and in the model in each of these states, and lead to the
same states. The mutant and the model then have the same states and the same steps. A mutant *only forbids* if it lacks
steps of the model and adds none. Such a mutant reaches no new state, so no invariant can notice it. Suppose that also
the mutant's guard of the mutated action is true in none of the compared states. Then the action never happens in the
mutant. All these conclusions may be wrong if an invariant, a constraint, a goal or another action asks what is enabled
(`s.enabled`). Then the mutant itself must be checked, because only the instances of the mutated action are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from isrcheck.checker.kernel.exchanges import Renaming
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import FALSE, Expression
from isrcheck.model.semantics.transition_system import Predicate, Transition, TransitionSystem

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
    from isrcheck.checker.engines.explicit.search import search

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


TIMES: Final = 4
"""The most pairs of states for each state of the mutant. A search that finds more pairs ends without a result."""
INDEX: Final = re.compile(r"\[[^\]]*\]")


def unread(
    system: TransitionSystem, changed: Sequence[Transition], limits: Limits, distinct: int
) -> tuple[str, ...] | None:
    """The scalars that differ between mutant and model, if no invariant and no other action depends on the difference.

    `changed` are the mutant's instances of the mutated action, and `distinct` is the mutant's number of states. Each
    scalar is named without its indices. The result is None in three cases: another action or an invariant depends on
    the difference, the search ends at a limit, or the model has constraints.
    """
    from isrcheck.checker.engines.explicit.search import search

    if system.constraints:
        return None
    pairs, names = _product(system, changed)
    limits = replace(limits, states=min(limits.states or TIMES * distinct, TIMES * distinct))
    found = search(pairs, keep_going=False, deadlock=False, limits=limits, report=None, workers=1)[0]
    if found.violated or found.stopped is not None or found.error is not None:
        return None
    return tuple(sorted({names[goal] for goal in found.goals}))


def _product(system: TransitionSystem, changed: Sequence[Transition]) -> tuple[TransitionSystem, dict[str, str]]:
    """Returns a system whose states are pairs of a state of the model and a state of the mutant.

    The system has a goal for each scalar. The goal is reached if the scalar differs in some pair. The second result
    maps the name of each goal to the name of its scalar.
    """
    size = len(system.leaves)
    others = tuple(replace(x, index=x.index + size, path=f"other.{x.path}") for x in system.leaves)
    theirs = Renaming([e.leaf(x) for x in others])
    alone = {t.label.action for t in changed}
    alike = [t for t in system.transitions if t.label.action not in alone]
    agree = [*(t.guard for t in alike), *(p.holds for p in system.invariants)]
    differ = {f"{x.index:06}": e.not_(e.eq(e.leaf(x), theirs(e.leaf(x)))) for x in system.leaves}
    second = tuple(replace(v, name=f"other.{v.name}", start=v.start + size) for v in system.variables)
    mine = {str(t.label): t for t in system.transitions if t.label.action in alone}
    product = replace(
        system,
        variables=(*system.variables, *second),
        leaves=(*system.leaves, *others),
        initial=tuple((*x, *x) for x in system.initial),
        transitions=(
            *(_step(t, t.guard, t, theirs, size) for t in alike),
            *(step for t in changed for step in _alone_or_not(mine.get(str(t.label)), t, theirs, size)),
        ),
        invariants=tuple(Predicate(f"{i:06}", "", e.eq(x, theirs(x)), FALSE) for i, x in enumerate(agree)),
        goals=tuple(Predicate(name, "", x, FALSE) for name, x in differ.items()),
        bounds=(),
    )
    return product, {f"{x.index:06}": INDEX.sub("", x.path) for x in system.leaves}


def _alone_or_not(own: Transition | None, other: Transition, theirs: Renaming, size: int) -> Iterator[Transition]:
    """The steps of a mutated instance in the product.

    Model and mutant take the instance together if it is enabled in both. Otherwise one of them takes it alone.
    """
    guard = theirs(other.guard)
    if own is None:
        yield _step(None, guard, other, theirs, size)
        return
    yield _step(own, e.and_(own.guard, guard), other, theirs, size)
    yield _step(own, e.and_(own.guard, e.not_(guard)), None, theirs, size)
    yield _step(None, e.and_(e.not_(own.guard), guard), other, theirs, size)


def _step(
    own: Transition | None, guard: Expression, other: Transition | None, theirs: Renaming, size: int
) -> Transition:
    """A step in the product: a step of the model (`own`), of the mutant (`other`), or of both together."""
    updates = dict(own.updates) if own is not None else {}
    if other is not None:
        updates |= {leaf + size: theirs(x) for leaf, x in other.updates.items()}
    first = own or other
    assert first is not None
    return replace(first, guard=guard, updates=updates, failure=FALSE)
