"""Fresh names, and the conditions that define their values.

A z3 term without quantifiers cannot express `one_past_last`, nor `for_all` up to an unknown bound. So each call of one
of these two functions of the modelling language gives a fresh name (a new z3 constant) for its result. The functions
`end_of` and `for_all` of this module make the name and its *definition*: conditions that hold for all numbers. A proof
assumes these conditions only for some numbers (`form.py`). In every state, some value of the name satisfies the
definition, so the definition does not restrict the state.

A call inside a quantified statement may depend on the quantified numbers. Then the fresh name is a new z3 function of
these numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import z3

from isrcheck.checker.proofs.unbounded.shapes import TRUE, Term, both
from isrcheck.model.language.errors import mistake

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
        raise mistake("a quantifier outside a method of model or proof", "call it where the state is read")
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
