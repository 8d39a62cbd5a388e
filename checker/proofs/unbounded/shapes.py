"""How a value of a model without bounds is stored as z3 terms. A part of the value that is one term is a *leaf*.

A bound is an unknown integer (a z3 constant). A number, an enum or a broker is an Int. The Int of an enum is the
position of its member. The Int of a broker is its index, and -1 represents "none". A flag is a Bool. A set has one Bool
for each broker. A log whose capacity is a bound has an Int (its length) and one Array for each leaf of an element (for
example, an Array from offsets to epochs). A `per(...)` over numbers whose domain depends on a bound has one Array for
each leaf of an element, from the numbers to the values of this leaf.

Fresh names, and the conditions that define their values.

A z3 term without quantifiers cannot express `one_past_last`, nor `for_all` up to an unknown bound. So each call of one
of these two functions of the modelling language gives a fresh name (a new z3 constant) for its result. The functions
`end_of` and `for_all` of this module make the name and its *definition*: conditions that hold for all numbers. A proof
assumes these conditions only for some numbers (`unbounded_obligations.py`). In every state, some value of the name
satisfies the definition, so the definition does not restrict the state.

A call inside a quantified statement may depend on the quantified numbers. Then the fresh name is a new z3 function of
these numbers.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NoReturn

import z3

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
from isrcheck.model.language.errors import ModelError, OfTheState, is_of_the_language, mistake, running
from isrcheck.model.language.scalarset_members import BrokerId, NoBroker
from isrcheck.model.semantics.instrumentation import GUARDED

Term = Any
TRUE: Final = z3.BoolVal(True)
FALSE: Final = z3.BoolVal(False)


class End(OfTheState):
    """The lowest or highest value of a domain, if this value depends on a setting that is a bound. `of` is its name.

    Numbers are of the same *kind* (such as offsets, epochs or record ids) if their domains depend on the same setting.

    A method of a model can reach an end through a domain. The end has no value, so every question about it is refused,
    and with it every question about the domain whose answer depends on the end. `same` compares domains, and `text`
    writes them.
    """

    __slots__ = ("of", "term")
    term: Term
    of: str

    def __init__(self, term: Term, of: str) -> None:
        self.term, self.of = term, of

    def __getattribute__(self, name: str) -> Any:
        require_language(name)
        return object.__getattribute__(self, name)

    def _operators(self) -> tuple[str, str]:
        return (
            "a domain is asked for its end, a bound without a value here",
            "write a condition with the setting itself",
        )

    def __eq__(self, other: object) -> NoReturn:
        self._refused(other)

    __ne__ = __eq__
    __bool__ = __str__ = __index__ = __hash__ = OfTheState._refused

    def __repr__(self) -> str:
        if running.made is not None and not running.looks:
            self._refused()
        return str(self.term)


def require_language(name: str) -> None:
    """Raises `ModelError` if a method of a model asks a value without bounds for the attribute `name`.

    The caller is the `__getattribute__` of a value. The language refuses `__class__` itself (`instrumentation.typed`).
    """
    if running.made is None or name == "__class__":
        return
    frame = sys._getframe(2)
    if frame.f_code is GUARDED[id(getattr)].__code__ and frame.f_back is not None:
        frame = frame.f_back
    if not is_of_the_language(frame.f_code.co_filename):
        raise mistake(f"a bound is asked for .{name}", "write a condition with the setting itself")


def same(a: Any, b: Any) -> bool:
    """Whether two domains, or two values of their fields, are equal; a proof must not compare ends with `==`."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Domain):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a.term.eq(b.term) if isinstance(a, End) else a == b)


def text(domain: Domain) -> str:
    """A domain in words, with the terms of its ends."""
    if isinstance(domain, Per):
        return f"{text(domain.element)} for each of {text(domain.index)}"
    ends = {f.name: getattr(domain, f.name) for f in fields(domain)}
    return str(replace(domain, **{name: str(end.term) for name, end in ends.items() if isinstance(end, End)}))


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
    """A leaf: its path and its scalar domain. If the leaf is an array, `index_kind` is the kind of its indices."""

    path: str
    domain: Domain
    index_kind: str | None = None

    @property
    def sort(self) -> z3.SortRef:
        scalar = z3.BoolSort() if isinstance(self.domain, Flag) else z3.IntSort()
        return z3.ArraySort(z3.IntSort(), scalar) if self.index_kind else scalar


def kind(domain: Domain) -> str | None:
    """The kind of the numbers in a domain that depends on a bound. Returns None for any other domain."""
    ends: list[Any] = [domain.high, domain.low] if isinstance(domain, Number) else []
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
                *_array_leaves(domain.element, kind(Number(0, domain.capacity))),
            ]
        case Per() if kind(domain.index) is not None:
            return _array_leaves(domain.element, kind(domain.index))
        case Per():
            return [replace(p, path=f"[{i}]{p.path}") for i in domain.index.values() for p in shape(domain.element)]
        case Flag() | Number() | Enum() | Broker() if not isinstance(domain, Identity):
            return [Part("", domain)]
    raise ModelError(
        f"{text(domain)} is not supported without bounds; prove this model with its settings, without --unbounded"
    )


def _array_leaves(element: Domain, of: str | None) -> list[Part]:
    parts = shape(element)
    if of is None or any(p.index_kind for p in parts):
        raise ModelError(f"an unbounded number of {text(element)} is not supported; prove this model with its settings")
    return [replace(p, path=f"[]{p.path}", index_kind=of) for p in parts]


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
        found.append(z3.K(z3.IntSort(), low) if part.index_kind else low)
    return found


def _least(domain: Domain) -> Term:
    if isinstance(domain, Number):
        return as_term(domain.low)
    return z3.IntVal(-1 if isinstance(domain, Broker) and domain.optional else 0)


ANY: Final = ""
"""The kind (see `shapes.End`) of a number whose domain depends on no bound."""


@dataclass(frozen=True)
class Quantified:
    """A condition that holds for all values of its `numbers`. Each number is given with its kind."""

    numbers: tuple[tuple[Term, str], ...]
    condition: Term


@dataclass(frozen=True)
class Definitions:
    """Conditions that define fresh names.

    `numbers` lists the fresh names that represent numbers and do not depend on enclosing numbers (see `_Page`), each
    with its kind. For each such name that `end_of` makes, `numbers` also lists its predecessor. A proof also
    assumes the lemmas for all `numbers`.
    """

    conditions: list[Quantified]
    numbers: list[tuple[Term, str]]

    @staticmethod
    def none() -> Definitions:
        return Definitions([], [])

    def add(self, other: Definitions) -> None:
        self.conditions.extend(other.conditions)
        self.numbers.extend(other.numbers)


class Book:
    """Makes the fresh names of one model without bounds. Each name ends in its own number, so no name is used twice."""

    def __init__(self) -> None:
        self._count = itertools.count()

    def fresh(self, hint: str, sort: Any) -> Term:
        return z3.Const(self.name(hint), sort)

    def name(self, hint: str) -> str:
        return f"{hint}!{next(self._count)}"


@dataclass
class _Page:
    """The definitions that a running method, or a quantified statement inside this method, has made so far.

    Each definition must hold for all values of the `enclosing` numbers. The enclosing numbers are the numbers of the
    quantifiers around the definition and, in `Unbounded.quantified`, the numeric parameters of the statement.
    """

    book: Book
    found: Definitions
    enclosing: tuple[tuple[Term, str], ...]


_pages: list[_Page] = []


@contextmanager
def defining(book: Book, enclosing: Sequence[tuple[Term, str]] = ()) -> Iterator[Definitions]:
    """Collects the definitions made in a `with` block. Each must hold for all values of the `enclosing` numbers."""
    page = _Page(book, Definitions.none(), tuple(enclosing))
    _pages.append(page)
    try:
        yield page.found
    finally:
        _pages.pop()


def _page() -> _Page:
    if not _pages:
        raise mistake("a quantifier outside a method of a model or proof", "call it where the state is read")
    return _pages[-1]


def _fresh(page: _Page, hint: str, sort: Any) -> Term:
    """A fresh name for a value that may depend on the enclosing numbers."""
    if not page.enclosing:
        return page.book.fresh(hint, sort)
    sorts = [z3.IntSort() for _ in page.enclosing]
    return z3.Function(page.book.name(hint), *sorts, sort)(*(number for number, _ in page.enclosing))


def _number(page: _Page, hint: str, of: str) -> Term:
    number = _fresh(page, hint, z3.IntSort())
    if not page.enclosing:
        page.found.numbers.append((number, of))
    return number


def _fix(page: _Page, condition: Term, *numbers: tuple[Term, str]) -> None:
    page.found.conditions.append(Quantified((*page.enclosing, *numbers), z3.simplify(condition)))


def _body(page: _Page, numbers: Sequence[tuple[Term, str]], say: Callable[[], Any]) -> Any:
    """The value of a statement about `numbers`. The definitions inside it must hold for all values of these numbers."""
    with defining(page.book, (*page.enclosing, *numbers)) as inner:
        said = say()
    page.found.add(inner)
    return said


def end_of(limit: Term, of: str, holds: Callable[[Term], tuple[Term, Term]]) -> tuple[Term, Term]:
    """The greatest number from 0 to `limit` - 1 for which `holds` is true, plus 1; 0 if there is no such number.

    Also returns the condition that the result is defined. `holds` takes a number and returns two terms: a condition on
    the number, and the condition that the first term is defined.
    """
    page = _page()
    at = page.book.fresh("at", z3.IntSort())
    truth, defined = _body(page, ((at, of),), lambda: holds(at))
    holds_at = both(defined, truth)
    end = _number(page, "end", of)
    before_end = z3.simplify(end - 1)
    if not page.enclosing:
        page.found.numbers.append((before_end, of))
    last = z3.substitute(holds_at, (at, before_end))
    _fix(page, z3.And(end >= 0, end <= z3.If(limit < 0, 0, limit), z3.Or(end == 0, last)))
    _fix(page, z3.Implies(z3.And(end <= at, at < limit), z3.Not(holds_at)), (at, of))
    within = z3.And(at >= 0, at < limit)
    return end, _for_all(page, ((at, of),), z3.Implies(within, defined)) if not z3.is_true(defined) else TRUE


def for_all(kinds: Mapping[str, tuple[Term, str]], holds: Callable[[dict[str, Term]], Any]) -> tuple[Term, Term]:
    """Returns the result (whether `holds` is true for all choices of numbers), and the condition that it is defined.

    `kinds` has the limit and the kind of each number, by name. A choice gives each number a value from 0 to its limit
    minus 1. If `holds` is false for one choice, the result is false, even if `holds` is undefined for another choice.
    Otherwise, the result is defined only if `holds` is defined for all choices.
    """
    page = _page()
    bound = {name: page.book.fresh(name, z3.IntSort()) for name in kinds}
    numbers = tuple((bound[name], of) for name, (_, of) in kinds.items())
    truth, defined = _body(page, numbers, lambda: holds(bound))
    within = both(*(z3.And(bound[n] >= 0, bound[n] < limit) for n, (limit, _) in kinds.items()))
    true = _for_all(page, numbers, z3.Implies(within, both(defined, truth)))
    if z3.is_true(defined):
        return true, TRUE
    never_false = _for_all(page, numbers, z3.Not(z3.And(within, defined, z3.Not(truth))))
    return true, z3.Or(true, z3.Not(never_false))


def _for_all(page: _Page, numbers: Sequence[tuple[Term, str]], condition: Term) -> Term:
    """A fresh name that is true if and only if a condition holds for all numbers.

    If the name is false, the condition fails for the fresh numbers `witnesses`.
    """
    true = _fresh(page, "all", z3.BoolSort())
    witnesses = [(number, _number(page, "some", of)) for number, of in numbers]
    _fix(page, z3.Implies(true, condition), *numbers)
    _fix(page, z3.Or(true, z3.Not(z3.substitute(condition, *witnesses))))
    return true
