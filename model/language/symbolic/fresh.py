"""The least identity that the state does not hold, as an expression over the state before the action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.model.language import expressions as e
from isrcheck.model.language.domains import Bag, Domain, Flag, Identity, Messages, Per, Record, Sequence_, Value
from isrcheck.model.language.expressions import Expression
from isrcheck.model.language.symbolic.places import Traced
from isrcheck.model.language.symbolic.terms import TracedFlag, TracedIdentity


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
