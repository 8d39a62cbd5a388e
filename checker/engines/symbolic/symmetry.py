"""Which brokers a model does not tell apart, proved on its transitions.

Two brokers are *interchangeable* if exchanging them everywhere takes initial states to initial states, each instance to
the instance with exchanged parameters, and keeps every predicate. A state is exchanged value by value: a broker becomes
the other, sets and what is kept per broker likewise, elements of a sequence as far as it reaches. That an instance and
its exchanged one do the same is asked of z3 for all values of the leaves; a few states at random are tried first.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from checker.engines.symbolic.solving import GaveUp, Solver, Watch
from checker.engines.symbolic.terms import Terms
from checker.engines.symbolic.unrolling import enabled
from model.language import expressions as e
from model.language.domains import (
    Broker,
    BrokerSet,
    Domain,
    Enum,
    Flag,
    Messages,
    Number,
    Per,
    Record,
    Sequence_,
    Value,
)
from model.language.expressions import Expression
from model.language.system import Label, TransitionSystem

Nodes = list[Expression]
SAMPLES: Final = 5
PATIENCE: Final = 5.0
"""Seconds for one question; brokers count as different where it has no answer."""


def classes(system: TransitionSystem, watch: Watch) -> list[list[int]]:
    """Classes of interchangeable brokers, each ascending, those of one broker left out."""
    found: list[list[int]] = []
    for broker in range(brokers(system)):
        mine = next((c for c in found if interchangeable(system, c[-1], broker, watch)), None)
        if mine is None:
            found.append([broker])
        else:
            mine.append(broker)
    return [c for c in found if len(c) > 1]


def brokers(system: TransitionSystem) -> int:
    """How many brokers the domains of a system know."""
    domains = [v.domain for v in system.variables] + [d for t in system.transitions for d in t.label.domains]
    return max((d.count for of in domains for d in _parts(of) if isinstance(d, Broker)), default=0)


def _parts(domain: Domain) -> Iterator[Domain]:
    yield domain
    match domain:
        case Record():
            inner: tuple[Domain, ...] = domain.domains
        case Per():
            inner = (domain.index, domain.element)
        case Sequence_() | Messages() | BrokerSet():
            inner = (domain.element,)
        case _:
            inner = ()
    for part in inner:
        yield from _parts(part)


def interchangeable(system: TransitionSystem, a: int, b: int, watch: Watch) -> bool:
    """Whether exchanging two brokers changes nothing."""
    exchange = Exchange(a, b)
    partners = _partners(system, exchange)
    initial = {tuple(_leaves(system, exchange, state)) for state in system.initial}
    if partners is None or initial != set(system.initial):
        return False
    pairs = list(_equalities(system, exchange, partners))
    different = [(x, y) for x, y in pairs if x is not y]
    return _alike_somewhere(system, different) and _always_alike(system, different, watch)


def keeps(system: TransitionSystem, leaves: tuple[int, ...], brokers: list[int]) -> bool:
    """Whether exchanging any of these brokers keeps a state."""
    return all(_leaves(system, Exchange(a, b), leaves) == leaves for a, b in itertools.pairwise(brokers))


def mentions(label: Label) -> list[list[int]] | None:
    """The brokers in the parameters of an instance, in order, those of a set together; None for other domains.

    Of labels that differ in one broker only, first mentioned at the same place, that with the lesser one comes first.
    """
    found = []
    for (_, value), domain in zip(label.parameters, label.domains, strict=True):
        match domain:
            case Broker():
                found.append([] if value is None else [value])
            case BrokerSet():
                found.append(sorted(value))
            case Flag() | Number() | Enum():
                pass
            case _:
                return None
    return found


# --- exchanging -----------------------------------------------------------------------------------------------------


class Exchange:
    """Exchanges two brokers in values and in expressions."""

    def __init__(self, a: int, b: int) -> None:
        self.of = {a: b, b: a}

    def number(self, broker: int) -> int:
        return self.of.get(broker, broker)

    def value(self, domain: Domain, value: Value) -> Value:
        match domain:
            case Broker():
                return None if value is None else self.number(value)
            case BrokerSet():
                return frozenset(map(self.number, value))
            case Record():
                return tuple(self.value(d, x) for d, x in zip(domain.domains, value, strict=True))
            case Sequence_():
                return tuple(self.value(domain.element, x) for x in value)
            case Messages():
                return frozenset(self.value(domain.element, x) for x in value)
            case Per():
                return tuple(self.value(domain.element, value[i]) for i in self._positions(domain))
            case _:
                return value

    def nodes(self, domain: Domain, nodes: Nodes) -> Nodes:
        """The leaves of an exchanged value, from those of the value."""
        match domain:
            case Broker():
                return [self._broker(nodes[0])]
            case BrokerSet():
                return [self._set(nodes[0], domain.element.count)]
            case Record():
                return [x for d, part in zip(domain.domains, _split(domain.domains, nodes), strict=True)
                        for x in self.nodes(d, part)]  # fmt: skip
            case Sequence_():
                return self._sequence(domain, nodes)
            case Messages():
                return [nodes[domain.elements.index(self.value(domain.element, x))] for x in domain.elements]
            case Per():
                parts = _split([domain.element] * domain.count, nodes)
                return [x for i in self._positions(domain) for x in self.nodes(domain.element, parts[i])]
            case _:
                return nodes

    def _positions(self, domain: Per) -> list[int]:
        """For each position of what is kept per index, the one that its exchanged content comes from."""
        return [domain.positions[self.value(domain.index, i)] for i in domain.positions]

    def _broker(self, node: Expression) -> Expression:
        result = node
        for old, new in self.of.items():
            same = e.eq(node, e.constant("broker", old))
            result = e.if_(same, e.constant("broker", new), result)
        return result

    def _set(self, node: Expression, count: int) -> Expression:
        (a, b), empty = self.of, e.constant("set", 0)
        rest = e.difference(node, e.constant("set", 1 << a | 1 << b))
        for old, new in self.of.items():
            member = e.has(node, e.constant("broker", old))
            rest = e.union(rest, e.if_(member, e.constant("set", 1 << new), empty))
        return rest

    def _sequence(self, domain: Sequence_, nodes: Nodes) -> Nodes:
        length, *slots = nodes
        made = [length]
        for offset, slot in enumerate(_split([domain.element] * domain.capacity, slots)):
            reached = e.lt(e.constant("number", offset), length)
            exchanged = self.nodes(domain.element, slot)
            made += [e.if_(reached, x, y) for x, y in zip(exchanged, slot, strict=True)]
        return made


def _split(domains: Sequence[Domain], nodes: Nodes) -> list[Nodes]:
    """The leaves of each of several values that lie one after the other."""
    parts, start = [], 0
    for domain in domains:
        parts.append(nodes[start : start + domain.width])
        start += domain.width
    return parts


def _leaves(system: TransitionSystem, exchange: Exchange, leaves: tuple[int, ...]) -> tuple[int, ...]:
    state = system.decode(leaves)
    return system.encode(exchange.value(v.domain, x) for v, x in zip(system.variables, state, strict=True))


def _partners(system: TransitionSystem, exchange: Exchange) -> list[int] | None:
    """For each instance the one with exchanged parameters; None if one has none, or has parameters of other domains."""
    numbers = {(t.label.action, tuple(x for _, x in t.label.parameters)): i for i, t in enumerate(system.transitions)}
    found = []
    for transition in system.transitions:
        label = transition.label
        if mentions(label) is None:
            return None
        values = tuple(exchange.value(d, x) for d, (_, x) in zip(label.domains, label.parameters, strict=True))
        number = numbers.get((label.action, values))
        if number is None:
            return None
        found.append(number)
    return found


# --- comparing ------------------------------------------------------------------------------------------------------


def _equalities(
    system: TransitionSystem, exchange: Exchange, partners: list[int]
) -> Iterator[tuple[Expression, Expression]]:
    """Pairs of expressions that are equal in every state if exchanging two brokers changes nothing."""
    before = [e.leaf(x) for x in system.leaves]
    moved = Renaming(_state(system, exchange, before))
    for p in (*system.constraints, *system.invariants):
        holds = e.and_(p.holds, e.not_(p.failure))
        yield holds, moved(holds)
    for p in (*system.constraints, *system.invariants, *system.goals, *system.bounds):
        yield p.failure, moved(p.failure)
    for transition, number in zip(system.transitions, partners, strict=True):
        partner = system.transitions[number]
        can = enabled(transition)
        yield transition.failure, moved(partner.failure)
        yield can, moved(enabled(partner))
        after = _state(system, exchange, [transition.updates.get(i, x) for i, x in enumerate(before)])
        for i, (x, old) in enumerate(zip(after, before, strict=True)):
            y = moved(partner.updates.get(i, old))
            if x is not y:
                yield e.if_(can, x, y), y


def _state(system: TransitionSystem, exchange: Exchange, nodes: Nodes) -> Nodes:
    parts = _split([v.domain for v in system.variables], nodes)
    return [x for v, part in zip(system.variables, parts, strict=True) for x in exchange.nodes(v.domain, part)]


class Renaming:
    """Writes expressions anew with other expressions in the place of leaves."""

    def __init__(self, leaves: Nodes) -> None:
        self.leaves = leaves
        self.known: dict[Expression, Expression] = {}

    def __call__(self, root: Expression) -> Expression:
        for node in e.topological([root]):
            if node not in self.known:
                self.known[node] = self._node(node)
        return self.known[root]

    def _node(self, node: Expression) -> Expression:
        if isinstance(node.value, e.Leaf):
            return self.leaves[node.value.index]
        if isinstance(node.value, int):
            return node
        arguments = [self.known[x] for x in node.arguments]
        if node.operator == "only":
            return e.only(arguments[0], node.high.bit_length())
        return CONSTRUCTORS[node.operator](*arguments)


CONSTRUCTORS: Final[dict[str, Callable[..., Expression]]] = {
    "not": e.not_, "and": e.and_, "or": e.or_, "eq": e.eq, "le": e.le, "add": e.add, "subtract": e.subtract,
    "multiply": e.multiply, "if": e.if_, "has": e.has, "union": e.union, "intersection": e.intersection,
    "difference": e.difference, "subset": e.subset, "size": e.size,
}  # fmt: skip


def _alike_somewhere(system: TransitionSystem, pairs: list[tuple[Expression, Expression]]) -> bool:
    """Whether the pairs are equal in some states picked at random, always the same ones."""
    chance = random.Random(0)
    for _ in range(SAMPLES):
        state = [v.domain.encode(_some(v.domain, chance)) for v in system.variables]
        values = e.evaluate([x for pair in pairs for x in pair], [x for part in state for x in part])
        if values[::2] != values[1::2]:
            return False
    return True


def _some(domain: Domain, chance: random.Random) -> Value:
    """A value of a domain, at random."""
    match domain:
        case Record():
            return tuple(_some(d, chance) for d in domain.domains)
        case Per():
            return tuple(_some(domain.element, chance) for _ in range(domain.count))
        case Sequence_():
            return tuple(_some(domain.element, chance) for _ in range(chance.randint(0, domain.capacity)))
        case _:
            return domain.decode(iter([chance.randint(s.low, s.high) for s in domain.scalars()]))


def _always_alike(system: TransitionSystem, pairs: list[tuple[Expression, Expression]], watch: Watch) -> bool:
    """Whether the pairs are equal in every state whose sequences are empty above their length."""
    terms = Terms()
    state = terms.state(system.leaves, "s")
    write, solver = terms.folding(state), Solver(watch, PATIENCE)
    solver.add(terms.inside(system.leaves, state))
    solver.add(write(_empty_above_length(system)))
    try:
        return not any(solver.satisfiable(*write([e.not_(e.eq(x, y))])) for x, y in pairs)
    except GaveUp as gave_up:
        if gave_up.stop != "unknown":
            raise
        return False


def _empty_above_length(system: TransitionSystem) -> Iterable[Expression]:
    nodes = [e.leaf(x) for x in system.leaves]
    for variable, part in zip(system.variables, _split([v.domain for v in system.variables], nodes), strict=True):
        yield from _padded(variable.domain, part)


def _padded(domain: Domain, nodes: Nodes) -> Iterator[Expression]:
    match domain:
        case Record():
            for d, part in zip(domain.domains, _split(domain.domains, nodes), strict=True):
                yield from _padded(d, part)
        case Per():
            for part in _split([domain.element] * domain.count, nodes):
                yield from _padded(domain.element, part)
        case Sequence_():
            length, *slots = nodes
            first = domain.element.encode(domain.element.first)
            for offset, part in enumerate(_split([domain.element] * domain.capacity, slots)):
                reached = e.lt(e.constant("number", offset), length)
                empty = e.and_(*(e.eq(x, e.constant(x.kind, y)) for x, y in zip(part, first, strict=True)))
                yield e.or_(reached, empty)
                yield from _padded(domain.element, part)
