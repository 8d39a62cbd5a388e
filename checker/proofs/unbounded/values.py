"""What a model's methods compute with where there are no bounds: the language's third meaning, in terms of z3.

Scalars carry their terms and the condition under which they mean something; structures lie at a place of the state or
are values of their own. Methods have the names that `concrete` and `symbolic` give them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn, Protocol

import z3

from isrcheck.checker.proofs.unbounded.definitions import ANY, end_of, for_all
from isrcheck.checker.proofs.unbounded.shapes import (
    FALSE,
    TRUE,
    End,
    Term,
    as_term,
    both,
    chosen,
    constant,
    either,
    first,
    inside,
    kind,
    negated,
    shape,
)
from isrcheck.model.language.brokers import BrokerId
from isrcheck.model.language.domains import Broker, BrokerSet, Domain, Enum, Flag, Number, Per, Record, Sequence_
from isrcheck.model.language.errors import BRANCH, ModelError, OfTheState, caller, mistake, nearest, not_a_condition
from isrcheck.model.language.logic import every, implies, some


class Scalar(OfTheState):
    """A value of a scalar domain: its terms, and where it means something."""

    __slots__ = ("terms", "defined", "domain")

    def __init__(self, terms: tuple[Term, ...], domain: Domain, defined: Term = TRUE) -> None:
        self.terms, self.domain, self.defined = terms, domain, defined

    @property
    def term(self) -> Term:
        (term,) = self.terms
        return term

    __hash__ = OfTheState.__hash__

    def __bool__(self) -> NoReturn:
        raise mistake(f"a condition on the state, or on a bound, decides a branch: {self!r}", BRANCH)

    def __repr__(self) -> str:
        return ", ".join(str(t) for t in self.terms)

    def _operators(self) -> tuple[str, str]:
        return self.domain.operators

    def _lift(self, other: object) -> Any:
        if type(other) is type(self):
            return other
        terms = None if isinstance(other, OfTheState) else constant(self.domain, other)
        if terms is None:
            raise mistake(f"{self!r} is combined with {other!r}", f"use {self.domain}")
        return type(self)(terms, self.domain)

    def __eq__(self, other: object) -> Any:
        b = self._lift(other)
        same = both(*(x == y for x, y in zip(self.terms, b.terms, strict=True)))
        return ofFlag(same, both(self.defined, b.defined))

    def __ne__(self, other: object) -> Any:
        return ~(self == other)


class UnboundedFlag(Scalar):
    __slots__ = ()

    def __and__(self, other: Any) -> UnboundedFlag:
        b = self._lift(other)
        return ofFlag(both(self.term, b.term), _kleene(self, b, decides=negated))

    def __or__(self, other: Any) -> UnboundedFlag:
        b = self._lift(other)
        return ofFlag(either(self.term, b.term), _kleene(self, b, decides=lambda x: x))

    def __invert__(self) -> UnboundedFlag:
        return ofFlag(negated(self.term), self.defined)

    __rand__ = __and__
    __ror__ = __or__

    @property
    def truth(self) -> Term:
        """It means something and is true."""
        return both(self.defined, self.term)

    def choose(self, yes: Any, no: Any) -> Any:
        """`yes` where the flag holds, else `no`."""
        like = next((x for x in (yes, no) if isinstance(x, Scalar | Structure)), None)
        if like is None:
            domain: Domain
            if isinstance(yes, bool):
                domain = Flag()
            elif isinstance(yes, int):
                domain = Number(min(yes, no), max(yes, no))
            else:
                raise mistake("`when` between two plain values", "write one of them as a value of the state")
        else:
            domain = like.domain if isinstance(like, Scalar) else like._domain
        (xs, dx), (ys, dy) = flat(domain, yes, stored=False), flat(domain, no, stored=False)
        terms = tuple(chosen(self.term, x, y) for x, y in zip(xs, ys, strict=True))
        return value_of(domain, terms, both(self.defined, chosen(self.term, dx, dy)))


def as_flag(condition: Any) -> UnboundedFlag:
    """What a method gives as a condition."""
    if isinstance(condition, bool):
        return ofFlag(TRUE if condition else FALSE)
    if not isinstance(condition, UnboundedFlag):
        raise not_a_condition(condition)
    return condition


def ofFlag(term: Term, defined: Term = TRUE) -> UnboundedFlag:  # noqa: N802
    return UnboundedFlag((term,), Flag(), defined)


def _kleene(a: Scalar, b: Scalar, decides: Callable[[Term], Term]) -> Term:
    """Where `a & b` (or, dually, `a | b`) has a value: both have one, or one of them decides alone."""
    if z3.is_true(a.defined) and z3.is_true(b.defined):
        return TRUE
    alone = (both(x.defined, decides(x.term)) for x in (a, b))
    return either(both(a.defined, b.defined), *alone)


class UnboundedNumber(Scalar):
    __slots__ = ()

    def _compare(self, other: Any, test: Callable[[Term, Term], Term]) -> UnboundedFlag:
        b = self._lift(other)
        return ofFlag(test(self.term, b.term), both(self.defined, b.defined))

    def __le__(self, other: Any) -> UnboundedFlag:
        return self._compare(other, lambda a, b: a <= b)

    def __lt__(self, other: Any) -> UnboundedFlag:
        return self._compare(other, lambda a, b: a < b)

    def __ge__(self, other: Any) -> UnboundedFlag:
        return self._compare(other, lambda a, b: a >= b)

    def __gt__(self, other: Any) -> UnboundedFlag:
        return self._compare(other, lambda a, b: a > b)

    def _combine(self, other: Any, operation: Callable[[Term, Term], Term]) -> UnboundedNumber:
        b = self._lift(other)
        term = operation(self.term, b.term)
        domain = self.domain if kind(self.domain) is not None else b.domain
        return UnboundedNumber((term,), domain, both(self.defined, b.defined))

    def __add__(self, other: Any) -> UnboundedNumber:
        return self._combine(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> UnboundedNumber:
        return self._combine(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> UnboundedNumber:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> UnboundedNumber:
        return self._combine(other, lambda a, b: a * b)

    def __neg__(self) -> UnboundedNumber:
        return 0 - self

    __radd__ = __add__
    __rmul__ = __mul__

    def __index__(self) -> NoReturn:
        raise mistake(
            f"a number that is not known where Python needs one now: {self!r}",
            "up to a bound write for_all(..., offset=below(self.bound)) or one_past_last(...), or take a parameter",
        )

    @property
    def _kind(self) -> str:
        return kind(self.domain) or ANY

    # What the operators of the language ask of a bound; models have no need of it.

    def as_end(self) -> End:
        """What stands for this number as an end of a domain."""
        return End(z3.simplify(self.term), self._kind)

    def below(self) -> Below:
        """The numbers below it, for `for_all`."""
        return Below(self)

    def one_past_last(self, holds: Callable[[Any], Any]) -> UnboundedNumber:
        """One past the greatest number below it for which it holds."""

        def of_number(at: Term) -> tuple[Term, Term]:
            flag = as_flag(holds(UnboundedNumber((at,), self.domain)))
            return flag.term, flag.defined

        end, defined = end_of(self.term, self._kind, of_number)
        return UnboundedNumber((end,), self.domain, both(self.defined, defined))


@dataclass(frozen=True)
class Below:
    """The numbers from 0 on below a bound."""

    end: UnboundedNumber

    def for_all(
        self, holds: Callable[..., Any], where: Callable[..., Any] | None, domains: Mapping[str, Iterable[Any]]
    ) -> UnboundedFlag:
        """Whether it holds for every choice, of which these numbers are a part."""
        ends = {name: d.end for name, d in domains.items() if isinstance(d, Below)}
        finite = {name: list(d) for name, d in domains.items() if name not in ends}

        def of_numbers(bound: dict[str, Term]) -> tuple[Term, Term]:
            numbers = {name: UnboundedNumber((at,), ends[name].domain) for name, at in bound.items()}
            found = ofFlag(TRUE)
            for values in itertools.product(*finite.values()):
                choice = {**dict(zip(finite, values, strict=True)), **numbers}
                relevant = True if where is None else where(**choice)
                if relevant is not False:
                    found = found & as_flag(implies(relevant, holds(**choice)))
            return found.term, found.defined

        return ofFlag(*for_all({name: (end.term, end._kind) for name, end in ends.items()}, of_numbers))

    def __iter__(self) -> NoReturn:
        raise mistake("a loop up to a bound that is taken away", "write for_all(..., offset=below(self.bound))")


class UnboundedMember(Scalar):
    __slots__ = ()


class UnboundedBroker(Scalar):
    __slots__ = ()

    @property
    def is_none(self) -> UnboundedFlag:
        return ofFlag(self.term == -1, self.defined)


class UnboundedSet(Scalar):
    __slots__ = ()
    domain: BrokerSet

    def _each(self, other: Any, operation: Callable[[Term, Term], Term]) -> UnboundedSet:
        b = self._lift(other)
        terms = tuple(operation(x, y) for x, y in zip(self.terms, b.terms, strict=True))
        return UnboundedSet(terms, self.domain, both(self.defined, b.defined))

    def __or__(self, other: Any) -> UnboundedSet:
        return self._each(other, either)

    def __and__(self, other: Any) -> UnboundedSet:
        return self._each(other, both)

    def __sub__(self, other: Any) -> UnboundedSet:
        return self._each(other, lambda x, y: both(x, negated(y)))

    def __rsub__(self, other: Any) -> UnboundedSet:
        return self._lift(other) - self  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> UnboundedFlag:
        b = self._lift(other)
        parts = [either(negated(x), y) for x, y in zip(self.terms, b.terms, strict=True)]
        return ofFlag(both(*parts), both(self.defined, b.defined))

    def __ge__(self, other: Any) -> UnboundedFlag:
        return self._lift(other) <= self  # type: ignore[no-any-return]

    __ror__ = __or__
    __rand__ = __and__

    def _broker(self, broker: Any) -> UnboundedBroker:
        like = UnboundedBroker((z3.IntVal(-1),), replace(self.domain.element, optional=True))
        return like._lift(broker)  # type: ignore[no-any-return]

    def _is(self, broker: UnboundedBroker) -> list[Term]:
        """For each broker whether it is this one."""
        return [z3.simplify(broker.term == b) for b in range(self.domain.element.count)]

    def has(self, broker: Any) -> UnboundedFlag:
        b = self._broker(broker)
        found = either(*(both(here, bit) for here, bit in zip(self._is(b), self.terms, strict=True)))
        return ofFlag(found, both(self.defined, b.defined))

    def including(self, broker: Any) -> UnboundedSet:
        return self | self._only(broker)

    def excluding(self, broker: Any) -> UnboundedSet:
        return self - self._only(broker)

    def _only(self, broker: Any) -> UnboundedSet:
        b = self._broker(broker)
        return UnboundedSet(tuple(self._is(b)), self.domain, b.defined)

    def every(self, holds: Callable[[BrokerId], Any]) -> Any:
        return every(~self.has(b) | holds(b) for b in map(BrokerId, range(self.domain.element.count)))

    def some(self, holds: Callable[[BrokerId], Any]) -> Any:
        return some(self.has(b) & holds(b) for b in map(BrokerId, range(self.domain.element.count)))

    @property
    def size(self) -> UnboundedNumber:
        ones = [z3.If(bit, z3.IntVal(1), z3.IntVal(0)) for bit in self.terms]
        return UnboundedNumber((z3.Sum(ones),), Number(0, len(ones)), self.defined)

    @property
    def is_empty(self) -> UnboundedFlag:
        return ofFlag(negated(either(*self.terms)), self.defined)


# --- structures -----------------------------------------------------------------------------------------------------


class Unbounded(Protocol):
    """What places ask of the state that they lie in; `relation` has it."""

    def _read(self, leaf: int) -> Term: ...
    def _before(self, leaf: int) -> Term: ...
    def _assign(self, condition: Term) -> None: ...
    def _write(self, leaf: int, term: Term) -> None: ...


@dataclass(frozen=True)
class Place:
    """Where a value lies in the state: leaves from `start` on, of endlessly many the one at `index`."""

    state: Unbounded
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


class Structure(OfTheState):
    """A value of several leaves, at a place of the state or by itself."""

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
            raise mistake("an assignment into a value that is not in the state", "assign through s, where it is kept")
        self._place.within(offset).write(terms, defined)

    def __eq__(self, other: object) -> Any:
        if any(part.endless for part in shape(self._domain)):
            raise mistake("a comparison of whole logs without bounds", "compare their lengths, and records by offset")
        terms, defined = flat(self._domain, other, stored=False)
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
        """Offset of the leaves, index into them if they are endless, and where the index is one."""
        of = self._domain.index
        if kind(of) is not None:
            at = value_of(of, (z3.IntVal(0),), TRUE)._lift(index)
            return 0, at.term, both(at.defined, *inside(of, at.term))
        if isinstance(index, OfTheState):
            raise mistake("an index that the state decides", "loop over all that it can be, and compare with ==")
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
            raise mistake("an assignment into a value that is not in the state", "assign through s, where it is kept")
        else:
            replace(self._place, index=at).write(terms, both(inside_, defined))


class UnboundedSequence(Structure):
    """A log: its length, and what there is at each offset, which means nothing from the length on."""

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
    """The value of a domain at a place; a scalar is read at once."""
    if type(domain) in SCALARS:
        return SCALARS[type(domain)](place.read(len(shape(domain))), domain, place.defined)
    return STRUCTURES[type(domain)](domain, place)


def value_of(domain: Domain, terms: tuple[Term, ...], defined: Term) -> Any:
    """The value of a domain that these terms make up."""
    if type(domain) in SCALARS:
        return SCALARS[type(domain)](terms, domain, defined)
    return STRUCTURES[type(domain)](domain, None, terms, defined)


def flat(domain: Domain, value: Any, stored: bool = True) -> tuple[tuple[Term, ...], Term]:
    """The terms of a value of a domain, and where it has one; to be stored it must also lie in the domain."""
    if type(domain) in SCALARS:
        return _scalar(domain, value, stored)
    if isinstance(value, Structure):
        if value._domain != domain:
            raise mistake(f"a value is {value._domain}", f"store {domain} there")
        return value._terms, value._defined
    if isinstance(domain, Record) and isinstance(value, dict):
        for name in {*value} ^ {*domain.names}:
            known = ", ".join(domain.names)
            raise ModelError(f"{caller()}: field {name!r} is unknown or missing; write exactly: {known}")
        parts = [flat(d, value[n], stored) for n, d in zip(domain.names, domain.domains, strict=True)]
        return tuple(t for terms, _ in parts for t in terms), both(*(defined for _, defined in parts))
    if isinstance(domain, Per) and isinstance(value, list | tuple) and _is_whole(domain, value):
        parts = [flat(domain.element, x, stored) for x in value]
        return tuple(t for terms, _ in parts for t in terms), both(*(defined for _, defined in parts))
    if isinstance(domain, Sequence_) and isinstance(value, list | tuple):
        empty = UnboundedSequence(domain, None, tuple(first(shape(domain))))
        for x in value:
            empty = empty.appended(x)
        return empty._terms, empty._defined
    raise mistake(f"{value!r} is not {domain}", "store a value of that domain")


def _is_whole(domain: Per, values: Sequence[Any]) -> bool:
    """Whether there is a value for each of finitely many indices."""
    return kind(domain.index) is None and len(values) == domain.count


def _scalar(domain: Domain, value: Any, stored: bool) -> tuple[tuple[Term, ...], Term]:
    like = SCALARS[type(domain)]
    if isinstance(value, OfTheState) and type(value) is not like:
        raise mistake(f"{value!r} is stored", f"store {domain}")
    terms = value.terms if isinstance(value, Scalar) else constant(domain, value)
    if terms is None:
        raise mistake(f"{value!r} is not {domain}", "store one")
    defined = value.defined if isinstance(value, Scalar) else TRUE
    fits = [z3.simplify(c) for c in inside(domain, terms[0])] if stored else []
    return terms, both(defined, *fits)


__all__ = ["FALSE", "Place", "Scalar", "Structure", "UnboundedFlag", "UnboundedNumber", "flat", "placed", "value_of"]
