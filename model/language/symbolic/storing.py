"""Conversion of a value to a term of a domain, and the conditions under which the value fits the domain."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from isrcheck.model.language import expressions as e
from isrcheck.model.language.domains import Broker, BrokerSet, Domain, Enum, Flag, Identity, Number
from isrcheck.model.language.errors import OfTheState, mistake
from isrcheck.model.language.expressions import FALSE, TRUE, Expression
from isrcheck.model.language.symbolic.members import TracedBroker, TracedSet
from isrcheck.model.language.symbolic.terms import (
    Symbolic,
    Term,
    TracedFlag,
    TracedIdentity,
    TracedMember,
    TracedNumber,
)

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
        raise mistake(f"{e.render(term.node)} is outside its domain", f"keep it {domain}")
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
