"""Fewer paths to look at: only the least of the paths that are alike.

Paths are *alike* if one becomes the other by exchanging interchangeable brokers, or by changing the order of
neighbouring independent instances. Both changes keep the length and what holds at the end. Instances are compared one
after the other, in the order of labels. The least of all alike paths has two properties, and only paths with both are
kept:

* A broker is mentioned only after the lesser brokers of its class. (Otherwise exchange it with a lesser one that is not
  mentioned so far: nothing changes before the label, and the label becomes lesser.)
* The lesser of two neighbouring independent instances comes first. (Otherwise change their order.)

Since the least path has both properties, both may be required together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import z3

from isrcheck.checker.engines.symbolic.terms import Term
from isrcheck.checker.engines.symbolic.unrolling import Unrolling
from isrcheck.checker.symmetry.exchanges import Classes, Member, mentions
from isrcheck.model.language.expressions import Expression, Leaf, topological
from isrcheck.model.language.system import Transition, TransitionSystem

MOST_INSTANCES: Final = 400
"""There are many pairs of independent instances. With more instances than this, their order is not used."""


class MentionOrder:
    """A broker is mentioned only after the lesser brokers of its class."""

    def __init__(self, system: TransitionSystem, classes: Classes) -> None:
        self._mentions = [_flat(mentions(t.label) or []) for t in system.transitions]
        self._class = {broker: of for of in classes for broker in of}
        self._before = [list(self._lesser(brokers)) for brokers in self._mentions]

    def _lesser(self, brokers: list[Member]) -> Iterator[Member]:
        """The brokers that must have been mentioned before a label that mentions these, in this order."""
        for i, broker in enumerate(brokers):
            yield from (x for x in self._class.get(broker, ()) if x < broker and x not in brokers[:i])

    def constraints(self, unrolling: Unrolling, number: int) -> list[Term]:
        """The conditions on a step of an unrolling, counted from 1. Ask for each step in turn."""
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
        """Whether a broker is mentioned before a step, as a term."""
        return z3.BoolVal(False) if step == 1 else z3.Bool(f"{unrolling.name}{step}!known!{broker.of}{broker.number}")


def _flat(groups: list[list[Member]]) -> list[Member]:
    """Brokers in the order in which they are first mentioned; the members of a set from the least on."""
    return list(dict.fromkeys(broker for group in groups for broker in group))


class IndependenceOrder:
    """The lesser of two neighbouring independent instances comes first.

    Instances are independent if neither writes what the other reads or writes. If states are constrained, the state
    between the two steps may be outside in one order and inside in the other. Then this order is not used.
    """

    def __init__(self, system: TransitionSystem) -> None:
        touches = [_touches(t) for t in system.transitions]
        usable = not system.constraints and len(touches) <= MOST_INSTANCES
        self._greater = [
            [j for j in range(i + 1, len(touches)) if usable and _independent(touches[i], touches[j])]
            for i in range(len(touches))
        ]

    def constraints(self, unrolling: Unrolling, number: int) -> list[Term]:
        """Conditions on a step of an unrolling and the step before it."""
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
