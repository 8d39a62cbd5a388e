"""The values that a model's methods compute with when there are no bounds. They consist of z3 terms.

A scalar has terms, and the condition that it is defined. A structure (a record, a `per(...)` or a log) is a part of the
state (at a `Place`), or a separate value. The classes of these values are the third semantics of the modelling
language. The modules `plain` and `symbolic` in `model/language` have the other two. The methods of values have the same
names in all three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import z3

from isrcheck.checker.proofs.unbounded.scalars import (
    Scalar,
    Unbounded,
    UnboundedBroker,
    UnboundedFlag,
    UnboundedMember,
    UnboundedNumber,
    UnboundedSet,
    ofFlag,
    terms_of,
)
from isrcheck.checker.proofs.unbounded.shapes import (
    TRUE,
    Term,
    as_term,
    both,
    chosen,
    first,
    inside,
    kind,
    same,
    scalarset_of,
    shape,
    text,
)
from isrcheck.model.language.domains import Broker, BrokerSet, Domain, Enum, Flag, Number, Per, Record, Sequence_
from isrcheck.model.language.errors import ModelError, OfTheState, caller, mistake, nearest
from isrcheck.model.language.scalarset_members import BrokerId


class Holding(Protocol):
    """The methods that a `Place` calls on its state. The module `relation` implements them."""

    def _read(self, leaf: int) -> Term: ...
    def _before(self, leaf: int) -> Term: ...
    def _assign(self, condition: Term) -> None: ...
    def _write(self, leaf: int, term: Term) -> None: ...


@dataclass(frozen=True)
class Place:
    """Says where a value is in the state: its leaves begin at position `start`.

    If there is an `index`, the leaves are arrays, and the value is at this index of each array. `defined` is the
    condition that the index is defined and in its domain.
    """

    state: Holding
    start: int
    index: Term | None = None
    defined: Term = TRUE

    def within(self, offset: int) -> Place:
        return replace(self, start=self.start + offset)

    def read(self, width: int) -> tuple[Term, ...]:
        leaves = [self.state._read(self.start + i) for i in range(width)]
        return tuple(leaves if self.index is None else [z3.Select(x, self.index) for x in leaves])

    def write(self, terms: tuple[Term, ...], defined: Term) -> None:
        self.state._assign(both(self.defined, defined))
        for i, term in enumerate(terms):
            leaf = self.start + i
            whole = term if self.index is None else z3.Store(self.state._before(leaf), self.index, term)
            self.state._write(leaf, whole)


class Structure(Unbounded):
    """A record, a `per(...)` or a log, either at a place in the state or separate from the state."""

    __slots__ = ("_domain", "_place", "_given", "_given_defined")
    _domain: Domain
    _place: Place | None

    def __init__(self, domain: Domain, place: Place | None, given: tuple[Term, ...] = (), defined: Term = TRUE) -> None:
        for name, content in (
            ("_domain", domain),
            ("_place", place),
            ("_given", given),
            ("_given_defined", defined),
        ):
            object.__setattr__(self, name, content)

    __hash__ = OfTheState.__hash__

    @property
    def _terms(self) -> tuple[Term, ...]:
        return self._given if self._place is None else self._place.read(len(shape(self._domain)))

    @property
    def _defined(self) -> Term:
        return self._given_defined if self._place is None else self._place.defined

    def _part(self, domain: Domain, offset: int) -> Any:
        if self._place is not None:
            return placed(domain, self._place.within(offset))
        return value_of(domain, self._given[offset : offset + len(shape(domain))], self._given_defined)

    def _store(self, terms: tuple[Term, ...], defined: Term, offset: int = 0) -> None:
        if self._place is None:
            raise mistake("an assignment to a value outside the state", "assign it through s")
        self._place.within(offset).write(terms, defined)

    def either(self, condition: UnboundedFlag, yes: Any, no: Any) -> Any:
        (xs, dx), (ys, dy) = (flat(self._domain, x) for x in (yes, no))
        terms = tuple(chosen(condition.term, x, y) for x, y in zip(xs, ys, strict=True))
        return value_of(self._domain, terms, both(condition.defined, chosen(condition.term, dx, dy)))

    def __eq__(self, other: object) -> Any:
        if any(part.index_kind for part in shape(self._domain)):
            raise mistake(
                "whole logs cannot be compared without bounds", "compare their lengths, and the records at each offset"
            )
        terms, defined = flat(self._domain, other)
        same = both(*(x == y for x, y in zip(self._terms, terms, strict=True)))
        return ofFlag(same, both(self._defined, defined))

    def __ne__(self, other: object) -> Any:
        return ~(self == other)


class UnboundedRecord(Structure):
    __slots__ = ()
    _domain: Record

    def _field(self, name: str) -> tuple[Domain, int]:
        if name not in self._domain.names:
            raise ModelError(f"{caller()}: there is no field {name!r}; {nearest(name, self._domain.names)}")
        position, domain = self._domain.fields[name]
        return domain, sum(len(shape(d)) for d in self._domain.domains[:position])

    def __getattr__(self, name: str) -> Any:
        return self._part(*self._field(name))

    def __setattr__(self, name: str, value: Any) -> None:
        domain, offset = self._field(name)
        self._store(*flat(domain, value), offset)


class UnboundedPer(Structure):
    __slots__ = ()
    _domain: Per

    def _at(self, index: Any) -> tuple[int, Term | None, Term]:
        """The offset of the leaves, the index if the leaves are arrays, and the condition that the index exists."""
        of = self._domain.index
        if kind(of) is not None:
            at = value_of(of, (z3.IntVal(0),), TRUE)._lift(index)
            return 0, at.term, both(at.defined, *inside(of, at.term))
        if isinstance(index, OfTheState):
            raise mistake("an index that depends on the state", "loop over its possible values, and compare with ==")
        if isinstance(index, BrokerId) and index.of != scalarset_of(of):
            raise mistake(f"the index {index!r}", f"index by {of}")
        key = index.number if isinstance(index, BrokerId) else index
        if key not in self._domain.positions:
            raise mistake(f"the index {index!r} is out of range", f"index by {of}")
        return self._domain.positions[key] * len(shape(self._domain.element)), None, TRUE

    def __getitem__(self, index: Any) -> Any:
        offset, at, defined = self._at(index)
        element = self._domain.element
        if at is None:
            return self._part(element, offset)
        if self._place is None:
            terms = tuple(z3.Select(x, at) for x in self._terms)
            return value_of(element, terms, both(self._defined, defined))
        return placed(element, replace(self._place, index=at, defined=both(self._place.defined, defined)))

    def __setitem__(self, index: Any, value: Any) -> None:
        offset, at, inside_ = self._at(index)
        terms, defined = flat(self._domain.element, value)
        if at is None:
            self._store(terms, defined, offset)
        elif self._place is None:
            raise mistake("an assignment to a value outside the state", "assign it through s")
        else:
            replace(self._place, index=at).write(terms, both(inside_, defined))


class UnboundedSequence(Structure):
    """A log: its length, and the value at each offset. Values at or beyond the length are undefined."""

    __slots__ = ()
    _domain: Sequence_

    @property
    def length(self) -> UnboundedNumber:
        return UnboundedNumber((self._terms[0],), Number(0, self._domain.capacity), self._defined)

    @property
    def is_empty(self) -> Any:
        return self.length == 0

    @property
    def is_full(self) -> Any:
        return self.length == UnboundedNumber((as_term(self._domain.capacity),), self.length.domain)

    @property
    def first(self) -> Any:
        return self.at(0)

    @property
    def last(self) -> Any:
        return self.at(self.length - 1)

    def at(self, offset: Any) -> Any:
        at = self.length._lift(offset)
        length, *slots = self._terms
        there = both(at.term >= 0, at.term < length)
        terms = tuple(z3.Select(slot, at.term) for slot in slots)
        return value_of(self._domain.element, terms, both(self._defined, at.defined, there))

    def appended(self, element: Any) -> UnboundedSequence:
        terms, defined = flat(self._domain.element, element)
        length, *slots = self._terms
        new = (length + 1, *(z3.Store(slot, length, x) for slot, x in zip(slots, terms, strict=True)))
        room = both(*inside(Number(0, self._domain.capacity), length + 1)[1:])
        return UnboundedSequence(self._domain, None, new, both(self._defined, defined, room))

    def truncated(self, length: Any) -> UnboundedSequence:
        kept = self.length._lift(length)
        old, *slots = self._terms
        there = both(kept.term >= 0, kept.term <= old)
        return UnboundedSequence(self._domain, None, (kept.term, *slots), both(self._defined, kept.defined, there))

    def append(self, element: Any) -> None:
        self._become(self.appended(element))

    def truncate(self, length: Any) -> None:
        self._become(self.truncated(length))

    def _become(self, value: UnboundedSequence) -> None:
        self._store(value._terms, value._defined)


SCALARS: Final[dict[type[Domain], type[Scalar]]] = {
    Flag: UnboundedFlag,
    Number: UnboundedNumber,
    Enum: UnboundedMember,
    Broker: UnboundedBroker,
    BrokerSet: UnboundedSet,
}
STRUCTURES: Final[dict[type[Domain], type[Structure]]] = {
    Record: UnboundedRecord,
    Per: UnboundedPer,
    Sequence_: UnboundedSequence,
}


def placed(domain: Domain, place: Place) -> Any:
    """The value of a domain at a place. A scalar is read at once. A structure is read when a part of it is needed."""
    if type(domain) in SCALARS:
        return SCALARS[type(domain)](place.read(len(shape(domain))), domain, place.defined)
    return STRUCTURES[type(domain)](domain, place)


def value_of(domain: Domain, terms: tuple[Term, ...], defined: Term) -> Any:
    """The value with these terms, as a value of `domain`. `defined` is the condition that the value is defined."""
    if type(domain) in SCALARS:
        return SCALARS[type(domain)](terms, domain, defined)
    return STRUCTURES[type(domain)](domain, None, terms, defined)


def flat(domain: Domain, value: Any) -> tuple[tuple[Term, ...], Term]:
    """The terms of a value of a domain, and the condition that the value is defined.

    The condition also requires that each scalar of the value lies in its domain. The scalars of a `Structure` are not
    checked.
    """
    if type(domain) in SCALARS:
        return terms_of(SCALARS[type(domain)], domain, value, stored=True)
    if isinstance(value, Structure):
        if not same(value._domain, domain):
            raise mistake(f"a value is {text(value._domain)}", f"store {text(domain)} there")
        return value._terms, value._defined
    if isinstance(domain, Record) and isinstance(value, dict):
        for name in {*value} ^ {*domain.names}:
            known = ", ".join(domain.names)
            raise ModelError(f"{caller()}: field {name!r} is unknown or missing; write exactly: {known}")
        parts = [flat(d, value[n]) for n, d in zip(domain.names, domain.domains, strict=True)]
        return tuple(t for terms, _ in parts for t in terms), both(*(defined for _, defined in parts))
    if isinstance(domain, Per) and isinstance(value, list | tuple) and _is_whole(domain, value):
        parts = [flat(domain.element, x) for x in value]
        return tuple(t for terms, _ in parts for t in terms), both(*(defined for _, defined in parts))
    if isinstance(domain, Sequence_) and isinstance(value, list | tuple):
        empty = UnboundedSequence(domain, None, tuple(first(shape(domain))))
        for x in value:
            empty = empty.appended(x)
        return empty._terms, empty._defined
    raise mistake(f"{value!r} is not {text(domain)}", "store a value of that domain")


def _is_whole(domain: Per, values: Sequence[Any]) -> bool:
    """Whether the domain has finitely many indices, and `values` has a value for each index."""
    return kind(domain.index) is None and len(values) == domain.count
