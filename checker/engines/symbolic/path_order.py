"""Reduces the number of paths to search: of all equivalent paths, only the least is kept.

Two paths are *equivalent* if exchanges of interchangeable brokers, or of neighbouring independent instances, turn one
path into the other. Such an exchange keeps the length of the path and the answers to all questions about the path's
end. Paths are compared instance by instance, and instances are ordered by their labels. The least of all equivalent
paths has two properties:

* The labels mention a broker only after the lesser brokers of its class of interchangeable brokers. (Otherwise, take
  the first label that mentions a broker too early. An exchange of this broker and a lesser broker that is not mentioned
  before would change no earlier label, and would make this label less.)
* The lesser of two neighbouring independent instances comes first. (Otherwise their exchange would make the path less.)

Because the least path has both properties, the search requires both properties of every path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import z3

from isrcheck.checker.engines.symbolic.unrolling import Unrolling
from isrcheck.checker.engines.symbolic.z3_terms import Term
from isrcheck.checker.kernel.exchanges import Classes, Member, mentions
from isrcheck.model.semantics.expressions import Expression, Leaf, topological
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem

MOST_INSTANCES: Final = 400
"""With more instances, `IndependenceOrder` requires nothing, because the number of pairs grows quadratically."""


class MentionOrder:
    """Requires that a broker is mentioned only after the lesser brokers of its class."""

    def __init__(self, system: TransitionSystem, classes: Classes) -> None:
        self._mentions = [_flat(mentions(t.label) or []) for t in system.transitions]
        self._class = {broker: of for of in classes for broker in of}
        self._before = [list(self._lesser(brokers)) for brokers in self._mentions]

    def _lesser(self, brokers: list[Member]) -> Iterator[Member]:
        """The brokers that earlier labels must mention before a label may mention `brokers` in this order."""
        for i, broker in enumerate(brokers):
            yield from (x for x in self._class.get(broker, ()) if x < broker and x not in brokers[:i])

    def constraints(self, unrolling: Unrolling, number: int) -> list[Term]:
        """The conditions on step `number` (from 1) of an unrolling. Must be called for the steps in order."""
        link = unrolling.links[number - 1]
        clauses = []
        for instance, needed in enumerate(self._before):
            for broker in needed:
                known = self._known(unrolling, broker, number)
                clauses.append(z3.Implies(link.taken[instance], known))
        for broker in self._class:
            mentioning = link.any(i for i, brokers in enumerate(self._mentions) if broker in brokers)
            known = self._known(unrolling, broker, number)
            clauses.append(self._known(unrolling, broker, number + 1) == z3.Or(known, mentioning))
        return clauses

    def _known(self, unrolling: Unrolling, broker: Member, step: int) -> Term:
        """A term that is true if a broker is mentioned before a step."""
        return z3.BoolVal(False) if step == 1 else z3.Bool(f"{unrolling.name}{step}!known!{broker.of}{broker.number}")


def _flat(groups: list[list[Member]]) -> list[Member]:
    """The brokers in the order of their first mention. The members of a set are in ascending order."""
    return list(dict.fromkeys(broker for group in groups for broker in group))


class IndependenceOrder:
    """Requires that the lesser of two neighbouring independent instances comes first.

    Two instances are independent if neither writes a leaf that the other reads or writes. `IndependenceOrder` requires
    nothing if there are more than `MOST_INSTANCES` instances, or if the model has constraints. With constraints, an
    exchange may turn an allowed path into a forbidden one, because it changes the state between the two instances.
    """

    def __init__(self, system: TransitionSystem) -> None:
        touches = [_touches(t) for t in system.transitions]
        usable = not system.constraints and len(touches) <= MOST_INSTANCES
        self._greater = [
            [j for j in range(i + 1, len(touches)) if usable and _independent(touches[i], touches[j])]
            for i in range(len(touches))
        ]

    def constraints(self, unrolling: Unrolling, number: int) -> list[Term]:
        """The conditions on step `number` (from 1) of an unrolling and on the step before it."""
        if number < 2:
            return []
        before, after = unrolling.links[number - 2 : number]
        return [
            z3.Or(z3.Not(after.taken[i]), z3.Not(before.any(greater)))
            for i, greater in enumerate(self._greater)
            if greater
        ]


@dataclass(frozen=True)
class _Touched:
    reads: frozenset[int]
    writes: frozenset[int]


def _touches(transition: Transition) -> _Touched:
    roots: list[Expression] = [transition.guard, transition.failure, *transition.updates.values()]
    reads = {node.value.index for node in topological(roots) if isinstance(node.value, Leaf)}
    return _Touched(frozenset(reads), frozenset(transition.updates))


def _independent(a: _Touched, b: _Touched) -> bool:
    return not (a.writes & (b.reads | b.writes) or b.writes & a.reads)
