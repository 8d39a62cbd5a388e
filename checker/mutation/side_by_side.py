"""Runs a mutant and its model side by side, to see whether anything depends on the differences between their states.

The mutant and the model begin in the same state and take the same steps. Only a step of the mutated action may be taken
by one of them alone. Suppose that two conditions hold in all pairs of states that are reached in this way: every
instance of another action is enabled in both states or in neither, and every invariant is true in both or in neither.
Then no guard of another action and no invariant depends on the values in which the two states of a pair differ. Each
behaviour of the mutant has a counterpart in the model, and each behaviour of the model has one in the mutant. In the
counterpart, all actions except the mutated one take the same steps, and the same invariants are true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from isrcheck.checker.exploration import Limits
from isrcheck.checker.symmetry.exchanges import Renaming
from isrcheck.model.language import expressions as e
from isrcheck.model.language.expressions import FALSE, Expression
from isrcheck.model.language.system import Predicate, Transition, TransitionSystem

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
    from isrcheck.checker.engines.local.search import search

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
