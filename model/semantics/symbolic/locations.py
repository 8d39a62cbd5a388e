"""The least identity that the state does not hold, as an expression over the state before the action.

Places of the state: structures lie at places, and assignments write to places.

Conversion of a value to a term of a domain, and the conditions under which the value fits the domain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

from isrcheck.model.language.domains import (
    Bag,
    Broker,
    BrokerSet,
    Domain,
    Enum,
    Flag,
    Identity,
    Messages,
    Number,
    Per,
    Record,
    Sequence_,
    Value,
)
from isrcheck.model.language.errors import OfTheState, mistake
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import FALSE, TRUE, Expression, Leaf
from isrcheck.model.semantics.symbolic.terms import (
    Symbolic,
    Term,
    TracedBroker,
    TracedFlag,
    TracedIdentity,
    TracedMember,
    TracedNumber,
    TracedSet,
)


@dataclass(frozen=True)
class Step:
    """A choice among `count` elements of `stride` leaves each. `index` equals `first` for the first element."""

    index: Expression
    first: int
    stride: int
    count: int

    def chosen(self, element: int) -> Expression:
        return e.eq(self.index, e.constant(self.index.kind, self.first + element))


class Traced(Protocol):
    """What a `Place` uses of its state; `SymbolicState` in `tracing` implements this interface."""

    _leaves: Sequence[Leaf]

    def _read(self, leaf: int) -> Expression: ...
    def _assign(self, condition: Expression) -> None: ...
    def _write(self, leaf: int, node: Expression) -> None: ...
    def _path(self, start: int, domain: Domain) -> str: ...


@dataclass(frozen=True)
class Place:
    """The place of a value in the state. Its first leaf is `start` plus the state-dependent offsets of `steps`."""

    state: Traced
    start: int
    steps: tuple[Step, ...] = ()
    defined: Expression = TRUE

    def within(self, offset: int) -> Place:
        return Place(self.state, self.start + offset, self.steps, self.defined)

    def locations(self) -> Iterator[tuple[Expression, int]]:
        """Each first leaf that the place can have, with the condition under which the place starts there."""
        for choice in itertools.product(*(range(step.count) for step in self.steps)):
            chosen = [step.chosen(i) for step, i in zip(self.steps, choice, strict=True)]
            offset = sum(step.stride * i for step, i in zip(self.steps, choice, strict=True))
            yield e.and_(*chosen), self.start + offset

    def read(self, width: int) -> list[Expression]:
        if not self.steps:
            return [self.state._read(leaf) for leaf in range(self.start, self.start + width)]
        nodes: list[Expression] | None = None
        for condition, start in self.locations():
            here = [self.state._read(start + i) for i in range(width)]
            nodes = here if nodes is None else [e.if_(condition, x, y) for x, y in zip(here, nodes, strict=True)]
        assert nodes is not None
        return nodes

    def write(self, nodes: list[Expression], defined: Expression) -> None:
        self.state._assign(e.and_(self.defined, defined))
        for condition, start in self.locations():
            for i, node in enumerate(nodes):
                self.state._write(
                    start + i, node if condition is TRUE else e.if_(condition, node, self._old(start + i))
                )

    def _old(self, leaf: int) -> Expression:
        return e.leaf(self.state._leaves[leaf])


TERMS: Final[dict[type[Domain], type[Term]]] = {
    Flag: TracedFlag,
    Number: TracedNumber,
    Identity: TracedIdentity,
    Enum: TracedMember,
    Broker: TracedBroker,
    BrokerSet: TracedSet,
}


def constants(domain: Domain, value: Any) -> list[Expression]:
    """A value of a domain as constant expressions, one for each leaf."""
    return [e.constant(s.kind, x) for s, x in zip(domain.scalars, domain.encode(value), strict=True)]


@lru_cache(maxsize=1 << 10)  # every stored or compared value needs this, and there are few domains
def _first(domain: Domain) -> Term:
    """The first value of a scalar domain as a term. Its method `_lift` makes other terms of the domain."""
    return TERMS[type(domain)](constants(domain, domain.first)[0], TRUE, domain)


def term_of(domain: Domain, value: Any, use: str) -> Term:
    """A value as a term of a scalar domain. For a value of another kind, the advice in the error begins with `use`."""
    model = _first(domain)
    if isinstance(value, Symbolic) and type(value) is not type(model):
        raise mistake(f"{value!r} is {value._kind()}", f"{use} {domain}")
    if not isinstance(value, OfTheState) and model._constant(value) is None:
        raise mistake(f"{value!r} is not {domain}", f"{use} one")
    return model._lift(value)


def scalar_of(domain: Domain, value: Any) -> tuple[list[Expression], Expression]:
    term = term_of(domain, value, "store")
    inside = e.and_(*fits(domain, [term.node]))
    if inside is FALSE:
        raise mistake(f"{e.render(term.node)} can be outside its domain", f"keep it {domain}")
    return [term.node], e.and_(term.defined, inside)


def fits(domain: Domain, nodes: list[Expression]) -> list[Expression]:
    """The conditions under which expressions lie in the domain's intervals."""
    conditions = []
    for s, node in zip(domain.scalars, nodes, strict=True):
        if s.kind == "broker" and node.low < s.low:
            conditions.append(e.not_(e.eq(node, e.constant("broker", -1))))
        elif s.kind == "number":
            conditions.append(e.le(e.constant("number", s.low), node))
            conditions.append(e.le(node, e.constant("number", s.high)))
    return conditions


def least_unheld(state: Traced, variables: Sequence[tuple[Domain, int]], of: Identity) -> TracedIdentity:
    """The least identity except 0 that the state does not hold; defined where such an identity exists.

    `variables` are the domains of the state's variables, each with its first leaf. Unused places of a sequence hold 0,
    which is never the result, so they need no special case.
    """
    places = [place for domain, start in variables for place in _places(domain, start, of)]
    # If there are fewer places than values, some value is always free.
    always = sum(1 if values is None else len(values) for _, values in places) < of.high
    node, some = e.constant("number", of.high), e.TRUE if always else e.FALSE
    for value in reversed(range(1, of.high + 1)):
        free = e.not_(e.or_(*(_holds(state, leaf, values, value) for leaf, values in places)))
        node, some = e.if_(free, e.constant("number", value), node), e.or_(free, some)
    return TracedIdentity(node, some, of)


def is_used_up(fresh: TracedIdentity) -> TracedFlag:
    """True where the fresh value is undefined, because the state holds every value."""
    return TracedFlag(e.not_(fresh.defined), e.TRUE, Flag())


def _holds(state: Traced, leaf: int, values: frozenset[Value] | None, value: Value) -> Expression:
    if values is None:
        return e.eq(state._read(leaf), e.constant("number", value))
    if value not in values:
        return e.FALSE
    held = state._read(leaf)
    return held if held.kind == "flag" else e.lt(e.constant("number", 0), held)


def _places(domain: Domain, start: int, of: Identity) -> Iterator[tuple[int, frozenset[Value] | None]]:
    """The leaves that show which identities the state holds, each with None or with a set of identities.

    With None, the leaf stores an identity. With a set, the state holds these identities while the leaf is not 0.
    """
    match domain:
        case Identity() if domain == of:
            yield start, None
        case Record():
            for inner in domain.domains:
                yield from _places(inner, start, of)
                start += inner.width
        case Per():
            for i in range(domain.count):
                yield from _places(domain.element, start + i * domain.element.width, of)
        case Sequence_():
            for i in range(domain.capacity):
                yield from _places(domain.element, start + 1 + i * domain.element.width, of)
        case Messages() | Bag():
            inside = list(_places(domain.element, 0, of))
            for i, element in enumerate(domain.elements if inside else ()):
                yield start + i, _values(domain.element.encode(element), inside)


def _values(leaves: list[int], inside: list[tuple[int, frozenset[Value] | None]]) -> frozenset[Value]:
    """The identities in an element of a set of messages or of a bag."""
    alone = {leaves[i] for i, values in inside if values is None}
    return frozenset(alone).union(*(values for i, values in inside if values is not None and leaves[i]))
