"""Exchanges two brokers, or two members of another scalarset, in values, states, instances and expressions.

A *scalarset* is a set of values that can only be compared for equality, such as the brokers. An exchange replaces each
of the two brokers by the other everywhere in a state. This includes brokers in sets, brokers as indices of `per(...)`
values, and brokers in a sequence up to its length. A *leaf* is one of the integers in which a state is stored.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isrcheck.model.language.domains import (
    Bag,
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
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import Expression
from isrcheck.model.semantics.operators import OPERATORS
from isrcheck.model.semantics.transition_system import Label, TransitionSystem

Nodes = list[Expression]


class Member(NamedTuple):
    """A member of a scalarset, such as a broker: the name of the scalarset, and the member's number."""

    of: str
    number: int


Classes = Sequence[Sequence[Member]]
"""Classes of interchangeable members of scalarsets."""


def members(system: TransitionSystem) -> list[Member]:
    """The members of the scalarsets in the domains of a system, sorted by scalarset and number."""
    domains = [v.domain for v in system.variables] + [d for t in system.transitions for d in t.label.domains]
    known = {(d.of, d.count) for domain in domains for d in _parts(domain) if isinstance(d, Broker)}
    return sorted({Member(of, number) for of, count in known for number in range(count)})


def _parts(domain: Domain) -> Iterator[Domain]:
    yield domain
    match domain:
        case Record():
            inner: tuple[Domain, ...] = domain.domains
        case Per():
            inner = (domain.index, domain.element)
        case Sequence_() | Messages() | Bag() | BrokerSet():
            inner = (domain.element,)
        case _:
            inner = ()
    for part in inner:
        yield from _parts(part)


def keeps(system: TransitionSystem, leaves: tuple[int, ...], alike: Sequence[Member]) -> bool:
    """Whether a state, given by its leaves, stays unchanged when any two of the members `alike` are exchanged."""
    return all(Exchange(a, b).leaves(system, leaves) == leaves for a, b in itertools.pairwise(alike))


def mentions(label: Label) -> list[list[Member]] | None:
    """The members that the parameters of an instance mention: one list for each `Broker` or `BrokerSet` parameter.

    The result is None if a parameter's domain is none of `Broker`, `BrokerSet`, `Flag`, `Number` and `Enum`.
    If the result is not None, the order of labels has a property on which the symbolic engine relies. Let label Y be
    label X with the members a and b exchanged, and let a be less than b. Take the first parameter of X that mentions
    exactly one of the two members. If this member is a, then X comes before Y.
    """
    found: list[list[Member]] = []
    for (_, value), domain in zip(label.parameters, label.domains, strict=True):
        match domain:
            case Broker():
                found.append([] if value is None else [Member(domain.of, value)])
            case BrokerSet():
                found.append([Member(domain.element.of, x) for x in sorted(value)])
            case Flag() | Number() | Enum():
                pass
            case _:
                return None
    return found


class Exchange:
    """Exchanges two members of a scalarset in values, in states and in expressions."""

    def __init__(self, a: Member, b: Member) -> None:
        assert a.of == b.of
        self.scalarset, self.of = a.of, {a.number: b.number, b.number: a.number}

    def number(self, member: int) -> int:
        return self.of.get(member, member)

    def moves(self, domain: Domain) -> bool:
        """Whether values of the domain are members of the exchange's scalarset, or sets of such members."""
        member = domain.element if isinstance(domain, BrokerSet) else domain
        return isinstance(member, Broker) and member.of == self.scalarset

    def value(self, domain: Domain, value: Value) -> Value:
        match domain:
            case Broker() if self.moves(domain):
                return None if value is None else self.number(value)
            case BrokerSet() if self.moves(domain):
                return frozenset(map(self.number, value))
            case Record():
                return tuple(self.value(d, x) for d, x in zip(domain.domains, value, strict=True))
            case Sequence_():
                return tuple(self.value(domain.element, x) for x in value)
            case Bag():
                return domain.of(self.value(domain.element, x) for x in value)
            case Messages():
                return frozenset(self.value(domain.element, x) for x in value)
            case Per():
                return tuple(self.value(domain.element, value[i]) for i in self._positions(domain))
            case _:
                return value

    def leaves(self, system: TransitionSystem, leaves: tuple[int, ...]) -> tuple[int, ...]:
        """The leaves of a state after the exchange, given its leaves before the exchange."""
        state = system.decode(leaves)
        return system.encode(self.value(v.domain, x) for v, x in zip(system.variables, state, strict=True))

    def state(self, system: TransitionSystem, nodes: Nodes) -> Nodes:
        """The leaves of a state after the exchange, given its leaves before the exchange, all as expressions."""
        parts = split([v.domain for v in system.variables], nodes)
        return [x for v, part in zip(system.variables, parts, strict=True) for x in self.nodes(v.domain, part)]

    def nodes(self, domain: Domain, nodes: Nodes) -> Nodes:
        """The leaves of a value after the exchange, given its leaves before the exchange, all as expressions."""
        match domain:
            case Broker() if self.moves(domain):
                return [self._broker(nodes[0])]
            case BrokerSet() if self.moves(domain):
                return [self._set(nodes[0])]
            case Record():
                return [x for d, part in zip(domain.domains, split(domain.domains, nodes), strict=True)
                        for x in self.nodes(d, part)]  # fmt: skip
            case Sequence_():
                return self._sequence(domain, nodes)
            case Messages() | Bag():
                return [nodes[i] for i in self.origins(domain)]
            case Per():
                width = domain.element.width
                moved = [x for i in self.origins(domain) for x in nodes[i * width : (i + 1) * width]]
                return [x for part in split([domain.element] * domain.count, moved)
                        for x in self.nodes(domain.element, part)]  # fmt: skip
            case _:
                return nodes

    def origins(self, domain: Messages | Bag | Per) -> list[int]:
        """For each position in a set of messages, a bag or a `per(...)`, the position whose content moves there."""
        if isinstance(domain, Per):
            return self._positions(domain)
        return [domain.elements.index(self.value(domain.element, x)) for x in domain.elements]

    def _positions(self, domain: Per) -> list[int]:
        return [domain.positions[self.value(domain.index, i)] for i in domain.positions]

    def _broker(self, node: Expression) -> Expression:
        result = node
        for old, new in self.of.items():
            same = e.eq(node, e.constant("broker", old))
            result = e.if_(same, e.constant("broker", new), result)
        return result

    def _set(self, node: Expression) -> Expression:
        (a, b), empty = self.of, e.constant("set", 0)
        rest = e.difference(node, e.constant("set", 1 << a | 1 << b))
        for old, new in self.of.items():
            member = e.has(node, e.constant("broker", old))
            rest = e.union(rest, e.if_(member, e.constant("set", 1 << new), empty))
        return rest

    def _sequence(self, domain: Sequence_, nodes: Nodes) -> Nodes:
        length, *slots = nodes
        made = [length]
        for offset, slot in enumerate(split([domain.element] * domain.capacity, slots)):
            reached = e.lt(e.constant("number", offset), length)
            exchanged = self.nodes(domain.element, slot)
            made += [e.if_(reached, x, y) for x, y in zip(exchanged, slot, strict=True)]
        return made


def split(domains: Sequence[Domain], nodes: Nodes) -> list[Nodes]:
    """Splits the leaves of several values, which follow each other in `nodes`, into one list for each value."""
    parts, start = [], 0
    for domain in domains:
        parts.append(nodes[start : start + domain.width])
        start += domain.width
    return parts


class Renaming:
    """Copies expressions and replaces the leaf with index i by the expression `leaves[i]`."""

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
        again: Expression = OPERATORS[node.operator].again(node, [self.known[x] for x in node.arguments])
        return again
