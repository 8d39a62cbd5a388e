"""Proves which members of a scalarset, such as brokers, a model does not tell apart.

Two members are *interchangeable* if three conditions are true:

* Their exchange turns initial states into initial states.
* If an instance leads from state s to state t, the instance with exchanged parameters leads from the exchanged s to the
  exchanged t. If an instance fails in s, the instance with exchanged parameters fails in the exchanged s.
* Each predicate has the same value in a state and in the exchanged state (for goals and bounds, see `Symmetry`).

The second and the third condition are first tested in a few random states. If no difference is found, a solver
decides these conditions for all states that can be stored, reachable or not.

Only exchanges of neighbours in a class of interchangeable members are checked, because these exchanges generate all
permutations of the class. The exchanges of several classes generate all combinations of such permutations.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.kernel.exchanges import Exchange, Member, Renaming, members, mentions
from isrcheck.model.language.domains import Bag, Domain, Per, Record, Sequence_, Value
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import Expression, and_, not_
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem

Alike = Callable[[Expression, Expression], bool]
"""Tells whether two expressions are equal in every state. The answer False may also mean "not known"."""
SAMPLES: Final = 5
SHOWN: Final = 3


@dataclass(frozen=True)
class Pair:
    """Two expressions to compare. `of` names the subject that they belong to, such as an invariant. An exchange leaves
    a subject unchanged if every pair of this subject has equal expressions in every state, and only then."""

    of: str
    one: Expression
    other: Expression


class Symmetry:
    """The interchangeable members of a system. `alike` tells whether two expressions are equal in every state.

    An exchange must not change the values of constraints, invariants and the expressions in `values`. Each entry of
    `values` is a name (for messages) and an expression. If `goals` is true, an exchange must not change the values of
    goals and bounds either. If `goals` is false, an exchange may change these values, but not whether a goal or bound
    is undefined. `exchange` makes the object that exchanges two members, by default an `Exchange`.
    """

    def __init__(
        self,
        system: TransitionSystem,
        alike: Alike,
        *,
        goals: bool = True,
        values: Sequence[tuple[str, Expression]] = (),
        exchange: Callable[[Any, Any], Exchange] = Exchange,
    ) -> None:
        self.system, self.alike, self.goals, self.exchange = system, alike, goals, exchange
        self.values = tuple(values)
        self.members = members(system)
        self._known: dict[tuple[Any, Any], tuple[str, ...]] = {}

    def classes(self) -> list[list[Member]]:
        """The classes of interchangeable members, each in ascending order. Classes of one member are left out."""
        found: list[list[Member]] = []
        for member in self.members:
            mine = next((c for c in found if c[0].of == member.of and not self.differences(c[-1], member)), None)
            if mine is None:
                found.append([member])
            else:
                mine.append(member)
        return [c for c in found if len(c) > 1]

    def differences(self, a: Any, b: Any) -> tuple[str, ...]:
        """Some reasons why the system tells two members apart. If there is none, the members are interchangeable. A
        comparison that the solver could not decide is a reason, too."""
        if (a, b) not in self._known:
            self._known[a, b] = self._differences(a, b)
        return self._known[a, b]

    def _differences(self, a: Any, b: Any) -> tuple[str, ...]:
        exchange, initial = self.exchange(a, b), set(self.system.initial)
        partners, alone = _partners(self.system, exchange)
        moved = {exchange.leaves(self.system, state) for state in initial}
        found = ["the initial states"] if moved != initial else []
        pairs = [p for p in self._pairs(exchange, partners) if p.one is not p.other]
        found += [*alone, *_different_somewhere(self.system, pairs)]
        if not found:
            found = [next((p.of for p in pairs if not self.alike(p.one, p.other)), "")]
        return tuple(dict.fromkeys(x for x in found if x))

    def _pairs(self, exchange: Exchange, partners: dict[int, int]) -> Iterator[Pair]:
        system = self.system
        before = [e.leaf(x) for x in system.leaves]
        moved = Renaming(exchange.state(system, before))
        asked = [("constraint", system.constraints), ("invariant", system.invariants)]
        counted = [("goal", system.goals), ("bound", system.bounds)]
        for kind, predicates in [*asked, *counted]:
            for p in predicates:
                yield Pair(f"{kind} {p.name}", p.failure, moved(p.failure))
                if (kind, predicates) in asked or self.goals:
                    holds = and_(p.holds, not_(p.failure))
                    yield Pair(f"{kind} {p.name}", holds, moved(holds))
        for name, value in self.values:
            yield Pair(name, value, moved(value))
        asked_of = [(system.transitions[number], system.transitions[other]) for number, other in partners.items()]
        for transition, partner in asked_of:  # guards come first, because they are smaller than effects
            name = f"action {transition.label.action}"
            yield Pair(name, transition.failure, moved(partner.failure))
            yield Pair(name, _enabled(transition), moved(_enabled(partner)))
        for transition, partner in asked_of:
            name, can = f"action {transition.label.action}", _enabled(transition)
            after = exchange.state(system, [transition.updates.get(i, x) for i, x in enumerate(before)])
            for i, (x, old) in enumerate(zip(after, before, strict=True)):
                y = moved(partner.updates.get(i, old))
                if x is not y:
                    yield Pair(name, e.if_(can, x, y), y)


def why_distinguishable(symmetry: Symmetry) -> str:
    """A text that says why no two members are interchangeable. Requires that `symmetry.classes()` is empty."""
    several = [member.of for member in symmetry.members if member.number == 1]
    if not several:
        return "the model has fewer than two brokers"
    *first, last = _shortened(symmetry.differences(Member(several[0], 0), Member(several[0], 1)))
    by = f"{', '.join(first)} and {last}" if first else last
    others = "" if len(symmetry.members) == 2 else ", and no other two are interchangeable"
    return f"{several[0]}s 0 and 1 are distinguished by {by}{others}"


def _shortened(names: tuple[str, ...]) -> list[str]:
    more = len(names) - SHOWN
    return [*names[:SHOWN], f"{more} more"] if more > 0 else list(names)


def _enabled(transition: Transition) -> Expression:
    """The condition under which an instance can happen: its guard is true, and its `failure` is false."""
    return and_(transition.guard, not_(transition.failure))


def _partners(system: TransitionSystem, exchange: Exchange) -> tuple[dict[int, int], list[str]]:
    """Maps the number of an instance to the number of its partner, the instance with exchanged parameters.

    Leaves out an instance if it has no partner, or if `mentions` returns None for its label. Also returns the actions
    of the instances that it leaves out, as reasons why the members are not interchangeable.
    """
    numbers = {(t.label.action, tuple(x for _, x in t.label.parameters)): i for i, t in enumerate(system.transitions)}
    found, alone = {}, []
    for number, transition in enumerate(system.transitions):
        label = transition.label
        values = tuple(exchange.value(d, x) for d, (_, x) in zip(label.domains, label.parameters, strict=True))
        partner = numbers.get((label.action, values))
        if partner is None or mentions(label) is None:
            alone.append(f"action {label.action}")
        else:
            found[number] = partner
    return found, alone


def _different_somewhere(system: TransitionSystem, pairs: list[Pair]) -> list[str]:
    """The subjects (`of`) of pairs whose expressions differ in a random state. Every run takes the same states."""
    chance, found = random.Random(0), set[str]()
    for _ in range(SAMPLES):
        values = e.evaluate([x for p in pairs for x in (p.one, p.other)], random_state(system, chance))
        found |= {p.of for p, x, y in zip(pairs, values[::2], values[1::2], strict=True) if x != y}
    return [name for name in dict.fromkeys(p.of for p in pairs) if name in found]


def random_state(system: TransitionSystem, chance: random.Random) -> tuple[int, ...]:
    """The leaves of a random state."""
    return system.encode(_some(v.domain, chance) for v in system.variables)


def _some(domain: Domain, chance: random.Random) -> Value:
    """A random value of a domain."""
    match domain:
        case Record():
            return tuple(_some(d, chance) for d in domain.domains)
        case Per():
            return tuple(_some(domain.element, chance) for _ in range(domain.count))
        case Sequence_():
            return tuple(_some(domain.element, chance) for _ in range(chance.randint(0, domain.capacity)))
        case Bag():
            return domain.of(chance.choice(domain.elements) for _ in range(chance.randint(0, domain.capacity)))
        case _:
            return domain.decode(iter([chance.randint(s.low, s.high) for s in domain.scalars]))
