"""How a value of a model without bounds is stored as z3 terms. A part of the value that is one term is a *leaf*.

A bound is an unknown integer (a z3 constant). A number, an enum or a broker is an Int. The Int of an enum is the
position of its member. The Int of a broker is its index, and -1 represents "none". A flag is a Bool. A set has one Bool
for each broker. A log whose capacity is a bound has an Int (its length) and one Array for each leaf of an element (for
example, an Array from offsets to epochs). A `per(...)` over numbers whose domain depends on a bound has one Array for
each leaf of an element, from the numbers to the values of this leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import z3

from isrcheck.model.language.brokers import BrokerId, NoBroker
from isrcheck.model.language.domains import (
    Broker,
    BrokerSet,
    Channel,
    Domain,
    Enum,
    Flag,
    Identity,
    Number,
    Per,
    Record,
    Sequence_,
)
from isrcheck.model.language.errors import ModelError

Term = Any
TRUE: Final = z3.BoolVal(True)
FALSE: Final = z3.BoolVal(False)


@dataclass(frozen=True, eq=False)
class End:
    """The lowest or highest value of a domain, if this value depends on a setting that is a bound. `of` is its name.

    Numbers are of the same *kind* (such as offsets, epochs or record ids) if their domains depend on the same setting.
    """

    term: Term
    of: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, End) and bool(self.term.eq(other.term))

    def __hash__(self) -> int:
        return int(self.term.hash())

    def __str__(self) -> str:
        return str(self.term)


def both(*conditions: Term) -> Term:
    """The conjunction of the conditions, simplified if one of them is the constant true or false."""
    parts = [c for c in conditions if not z3.is_true(c)]
    if any(map(z3.is_false, parts)):
        return FALSE
    return TRUE if not parts else parts[0] if len(parts) == 1 else z3.And(parts)


def either(*conditions: Term) -> Term:
    """The disjunction of the conditions, simplified if one of them is the constant true or false."""
    parts = [c for c in conditions if not z3.is_false(c)]
    if any(map(z3.is_true, parts)):
        return TRUE
    return FALSE if not parts else parts[0] if len(parts) == 1 else z3.Or(parts)


def negated(condition: Term) -> Term:
    if z3.is_true(condition):
        return FALSE
    if z3.is_false(condition):
        return TRUE
    return condition.arg(0) if z3.is_not(condition) else z3.Not(condition)


def chosen(condition: Term, yes: Term, no: Term) -> Term:
    if z3.is_true(condition) or yes.eq(no):
        return yes
    return no if z3.is_false(condition) else z3.If(condition, yes, no)


@dataclass(frozen=True)
class Part:
    """A leaf: its path and its scalar domain. If the leaf is an array, `endless` is the kind of its indices."""

    path: str
    domain: Domain
    endless: str | None = None

    @property
    def sort(self) -> z3.SortRef:
        scalar = z3.BoolSort() if isinstance(self.domain, Flag) else z3.IntSort()
        return z3.ArraySort(z3.IntSort(), scalar) if self.endless else scalar


def kind(domain: Domain) -> str | None:
    """The kind of the numbers in a domain that depends on a bound. Returns None for any other domain."""
    ends = [domain.high, domain.low] if isinstance(domain, Number) else []
    return next((end.of for end in ends if isinstance(end, End)), None)


def scalarset_of(domain: Domain) -> str | None:
    """The scalarset of a domain of members (such as brokers) or sets of members. Returns None for any other domain."""
    member = domain.element if isinstance(domain, BrokerSet) else domain
    return member.of if isinstance(member, Broker) else None


def as_term(end: Any) -> Term:
    """An end of a domain as a term."""
    return end.term if isinstance(end, End) else z3.IntVal(end)


def shape(domain: Domain) -> list[Part]:
    """The leaves of a value of a domain."""
    match domain:
        case BrokerSet():
            return [Part(f"{{{b}}}", Flag()) for b in range(domain.element.count)]
        case Record():
            return [
                replace(p, path=f".{name}{p.path}")
                for name, d in zip(domain.names, domain.domains, strict=True)
                for p in shape(d)
            ]
        case Sequence_() if not isinstance(domain, Channel):
            return [
                Part(".length", Number(0, domain.capacity)),
                *_endless(domain.element, kind(Number(0, domain.capacity))),
            ]
        case Per() if kind(domain.index) is not None:
            return _endless(domain.element, kind(domain.index))
        case Per():
            return [replace(p, path=f"[{i}]{p.path}") for i in domain.index.values() for p in shape(domain.element)]
        case Flag() | Number() | Enum() | Broker() if not isinstance(domain, Identity):
            return [Part("", domain)]
    raise ModelError(f"{domain} cannot be kept without bounds; prove this model at its settings, without --unbounded")


def _endless(element: Domain, of: str | None) -> list[Part]:
    parts = shape(element)
    if of is None or any(p.endless for p in parts):
        raise ModelError(f"{element} in endless number cannot be kept without bounds; prove this model at its settings")
    return [replace(p, path=f"[]{p.path}", endless=of) for p in parts]


def inside(domain: Domain, term: Term) -> list[Term]:
    """The conditions that a term is a value of a scalar domain."""
    low, high = 0, None  # type: Any, Any
    match domain:
        case Number():
            low, high = as_term(domain.low), as_term(domain.high)
        case Enum():
            high = len(domain.members) - 1
        case Broker():
            low, high = -1 if domain.optional else 0, domain.count - 1
        case _:
            return []
    return [term >= low, term <= high]


def constant(domain: Domain, value: Any) -> tuple[Term, ...] | None:
    """The terms of a plain value, or None if the value does not fit this scalar domain.

    Not checked are the ends of a domain of numbers, and whether a domain of brokers has "none". So every integer fits
    a domain of numbers, and "none" fits a domain of brokers.
    """
    match domain:
        case Flag() if isinstance(value, bool):
            return (z3.BoolVal(value),)
        case Number() if isinstance(value, int) and not isinstance(value, bool):
            return (z3.IntVal(value),)
        case Enum() if isinstance(value, str) and value in domain.members:
            return (z3.IntVal(domain.members.index(value)),)
        case Broker() if isinstance(value, BrokerId) and value.of == domain.of:
            return (z3.IntVal(value.number),)
        case Broker() if value is None or isinstance(value, NoBroker):
            return (z3.IntVal(-1),)
        case BrokerSet() if isinstance(value, set | frozenset | list | tuple):
            if all(isinstance(x, BrokerId) and x.of == domain.element.of for x in value):
                members = {x.number for x in value}
                return tuple(z3.BoolVal(b in members) for b in range(domain.element.count))
    return None


def first(parts: Sequence[Part]) -> list[Term]:
    """The terms of the first value of a domain with these leaves."""
    found = []
    for part in parts:
        low = z3.BoolVal(False) if isinstance(part.domain, Flag) else _least(part.domain)
        found.append(z3.K(z3.IntSort(), low) if part.endless else low)
    return found


def _least(domain: Domain) -> Term:
    if isinstance(domain, Number):
        return as_term(domain.low)
    return z3.IntVal(-1 if isinstance(domain, Broker) and domain.optional else 0)
