"""The scalars that the methods of a model without bounds compute with. They consist of z3 terms.

Brokers and sets of brokers as z3 terms.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import z3

from isrcheck.checker.proofs.unbounded.shapes import (
    ANY,
    FALSE,
    TRUE,
    End,
    Term,
    both,
    chosen,
    constant,
    either,
    end_of,
    for_all,
    inside,
    kind,
    negated,
    require_language,
    scalarset_of,
    text,
)
from isrcheck.model.language.domains import BrokerSet, Domain, Flag, Number
from isrcheck.model.language.errors import BRANCH, ModelError, OfTheState, mistake, not_a_condition
from isrcheck.model.language.quantifiers import every, implies, some
from isrcheck.model.language.scalarset_members import BrokerId
from isrcheck.model.semantics.operators import Operator, python_operators


class Unbounded(OfTheState):
    """A value in a model without bounds: a scalar or a structure (`unbounded_values.py`)."""

    __slots__ = ()

    def either(self, condition: UnboundedFlag, yes: Any, no: Any) -> Any:
        """`yes` if the condition holds, else `no`. The result is a value of the same domain as `self`."""
        raise NotImplementedError


class Scalar(Unbounded):
    """A value of a scalar domain: its terms, and the condition that it is defined."""

    __slots__ = ("terms", "defined", "domain")

    def __init__(self, terms: tuple[Term, ...], domain: Domain, defined: Term = TRUE) -> None:
        self.terms, self.domain, self.defined = terms, domain, defined

    @property
    def term(self) -> Term:
        (term,) = self.terms
        return term

    __hash__ = OfTheState.__hash__

    def __bool__(self) -> NoReturn:
        raise mistake(f"a branch depends on the state or on a bound: {self!r}", BRANCH)

    def __repr__(self) -> str:
        return ", ".join(str(t) for t in self.terms)

    def _operators(self) -> tuple[str, str]:
        return self.domain.operators

    def _lift(self, other: object) -> Any:
        if type(other) is type(self):
            if scalarset_of(other.domain) != scalarset_of(self.domain):
                raise mistake(f"{other!r} is {text(other.domain)}", f"use {text(self.domain)}")
            return other
        terms = None if isinstance(other, OfTheState) else constant(self.domain, other)
        if terms is None:
            raise mistake(f"{self!r} is combined with {other!r}", f"use {text(self.domain)}")
        return type(self)(terms, self.domain)

    def __eq__(self, other: object) -> Any:
        b = self._lift(other)
        same = both(*(x == y for x, y in zip(self.terms, b.terms, strict=True)))
        return ofFlag(same, both(self.defined, b.defined))

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    def either(self, condition: UnboundedFlag, yes: Any, no: Any) -> Any:
        (xs, dx), (ys, dy) = (terms_of(type(self), self.domain, x, stored=False) for x in (yes, no))
        terms = tuple(chosen(condition.term, x, y) for x, y in zip(xs, ys, strict=True))
        return type(self)(terms, self.domain, both(condition.defined, chosen(condition.term, dx, dy)))


def _asked(self: Any, name: str) -> Any:
    """An attribute, for the language only: where bounds have values, numbers and flags of Python have other ones."""
    require_language(name)
    return object.__getattribute__(self, name)


class UnboundedFlag(Scalar):
    __slots__ = ()
    __getattribute__ = _asked

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
        """The condition that the flag is defined and true."""
        return both(self.defined, self.term)

    def choose(self, yes: Any, no: Any) -> Any:
        """Returns `yes` if the flag holds, else `no`."""
        like = next((x for x in (yes, no) if isinstance(x, Unbounded)), None)
        if like is None:
            if not isinstance(yes, int):
                raise mistake("`when` with two plain values", "make one of them a state value")
            domain = Flag() if isinstance(yes, bool) else Number(min(yes, no), max(yes, no))
            like = UnboundedFlag((TRUE,), domain) if isinstance(yes, bool) else UnboundedNumber((TRUE,), domain)
        return like.either(self, yes, no)


def as_flag(condition: Any) -> UnboundedFlag:
    """The result of a method as a flag. Raises an error if the result is no condition."""
    if isinstance(condition, bool):
        return ofFlag(TRUE if condition else FALSE)
    if not isinstance(condition, UnboundedFlag):
        raise not_a_condition(condition)
    return condition


def ofFlag(term: Term, defined: Term = TRUE) -> UnboundedFlag:  # noqa: N802
    return UnboundedFlag((term,), Flag(), defined)


def _kleene(a: Scalar, b: Scalar, decides: Callable[[Term], Term]) -> Term:
    """The condition that `a & b` (or `a | b`) is defined.

    It holds if both operands are defined, or if one operand is defined and alone decides the result.
    """
    if z3.is_true(a.defined) and z3.is_true(b.defined):
        return TRUE
    alone = (both(x.defined, decides(x.term)) for x in (a, b))
    return either(both(a.defined, b.defined), *alone)


def terms_of(like: type[Scalar], domain: Domain, value: Any, stored: bool) -> tuple[tuple[Term, ...], Term]:
    """The terms of a scalar, and the condition that it is defined.

    If `stored` is true, the condition also requires that the scalar lies in the domain.
    """
    if isinstance(value, OfTheState) and type(value) is not like:
        raise mistake(f"{value!r} is stored", f"store {text(domain)}")
    terms = value.terms if isinstance(value, Scalar) else constant(domain, value)
    if terms is None:
        raise mistake(f"{value!r} is not {text(domain)}", "store one")
    defined = value.defined if isinstance(value, Scalar) else TRUE
    fits = [z3.simplify(c) for c in inside(domain, terms[0])] if stored else []
    return terms, both(defined, *fits)


def require_meaning(of: Operator, fits: Callable[[object], bool], *values: Any) -> None:
    """Raises `NotImplementedError` unless the operator's meaning, applied to these values, `fits`."""
    try:
        able = fits(of.meaning(*values))
    except (TypeError, AttributeError, ModelError, z3.Z3Exception):
        able = False
    if not able:
        where = "proofs without bounds (checker/proofs/unbounded)"
        raise NotImplementedError(f"{where} lack the operator {of.name}: it has no z3 translation")


def _of_numbers(of: Operator, on_the_right: bool) -> Callable[[UnboundedNumber, Any], UnboundedNumber]:
    require_meaning(of, z3.is_int, *z3.Ints("a b"))

    def method(self: UnboundedNumber, other: Any) -> UnboundedNumber:
        b = self._lift(other)
        term = of.meaning(b.term, self.term) if on_the_right else of.meaning(self.term, b.term)
        domain = self.domain if kind(self.domain) is not None else b.domain
        return UnboundedNumber((term,), domain, both(self.defined, b.defined))

    return method


@python_operators("number", _of_numbers)
class UnboundedNumber(Scalar):
    __slots__ = ()

    __getattribute__ = _asked

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

    def __neg__(self) -> UnboundedNumber:
        return 0 - self  # type: ignore[no-any-return]

    def __index__(self) -> NoReturn:
        raise mistake(
            f"an unknown number where Python needs a constant: {self!r}",
            "up to a bound write for_all(..., offset=below(self.bound)) or one_past_last(...), or take a parameter",
        )

    @property
    def _kind(self) -> str:
        return kind(self.domain) or ANY

    # The language's functions on bounds, such as `below`, call these methods. Models do not call them.

    def as_end(self) -> End:
        """This number, as the lowest or highest number of a domain."""
        return End(z3.simplify(self.term), self._kind)

    def below(self) -> Below:
        """The numbers from 0 to this number minus 1, as a domain for `for_all`."""
        return Below(self)

    def one_past_last(self, holds: Callable[[Any], Any]) -> UnboundedNumber:
        """The greatest number from 0 to this number minus 1 for which `holds` is true, plus 1; 0 if there is none."""

        def of_number(at: Term) -> tuple[Term, Term]:
            flag = as_flag(holds(UnboundedNumber((at,), self.domain)))
            return flag.term, flag.defined

        end, defined = end_of(self.term, self._kind, of_number)
        return UnboundedNumber((end,), self.domain, both(self.defined, defined))


@dataclass(frozen=True)
class Below:
    """The numbers from 0 to one less than a bound."""

    end: UnboundedNumber

    def for_all(
        self, holds: Callable[..., Any], where: Callable[..., Any] | None, domains: Mapping[str, Iterable[Any]]
    ) -> UnboundedFlag:
        """Whether `holds` is true for every choice that satisfies `where` (None: every choice).

        A choice takes a value from each of the `domains`, at least one of which is a `Below`.
        """
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
        raise mistake("a loop up to a bound that is not fixed", "write for_all(..., offset=below(self.bound))")


class UnboundedMember(Scalar):
    __slots__ = ()


class UnboundedBroker(Scalar):
    __slots__ = ()

    @property
    def is_none(self) -> UnboundedFlag:
        return ofFlag(self.term == -1, self.defined)


def _of_sets(of: Operator, on_the_right: bool) -> Callable[[UnboundedSet, Any], UnboundedSet]:
    require_meaning(of, lambda found: isinstance(found, UnboundedFlag), *map(ofFlag, z3.Bools("a b")))

    def method(self: UnboundedSet, other: Any) -> UnboundedSet:
        b = self._lift(other)
        a, b = (b, self) if on_the_right else (self, b)
        # The meaning of an operator on sets holds for each member.
        terms = tuple(of.meaning(ofFlag(x), ofFlag(y)).term for x, y in zip(a.terms, b.terms, strict=True))
        return UnboundedSet(terms, self.domain, both(self.defined, b.defined))

    return method


@python_operators("set", _of_sets)
class UnboundedSet(Scalar):
    __slots__ = ()
    domain: BrokerSet

    def __le__(self, other: Any) -> UnboundedFlag:
        b = self._lift(other)
        parts = [either(negated(x), y) for x, y in zip(self.terms, b.terms, strict=True)]
        return ofFlag(both(*parts), both(self.defined, b.defined))

    def __ge__(self, other: Any) -> UnboundedFlag:
        return self._lift(other) <= self  # type: ignore[no-any-return]

    def _broker(self, broker: Any) -> UnboundedBroker:
        like = UnboundedBroker((z3.IntVal(-1),), replace(self.domain.element, optional=True))
        return like._lift(broker)  # type: ignore[no-any-return]

    def _is(self, broker: UnboundedBroker) -> list[Term]:
        """For each broker of the domain, in order, the condition that `broker` is this broker."""
        return [z3.simplify(broker.term == b) for b in range(self.domain.element.count)]

    def has(self, broker: Any) -> UnboundedFlag:
        b = self._broker(broker)
        found = either(*(both(here, bit) for here, bit in zip(self._is(b), self.terms, strict=True)))
        return ofFlag(found, both(self.defined, b.defined))

    def including(self, broker: Any) -> UnboundedSet:
        return self | self._only(broker)  # type: ignore[no-any-return]

    def excluding(self, broker: Any) -> UnboundedSet:
        return self - self._only(broker)  # type: ignore[no-any-return]

    def _only(self, broker: Any) -> UnboundedSet:
        b = self._broker(broker)
        return UnboundedSet(tuple(self._is(b)), self.domain, b.defined)

    def _members(self) -> list[BrokerId]:
        return [BrokerId(number, self.domain.element.of) for number in range(self.domain.element.count)]

    def every(self, holds: Callable[[BrokerId], Any]) -> Any:
        return self._of_members(every(~self.has(b) | holds(b) for b in self._members()))

    def some(self, holds: Callable[[BrokerId], Any]) -> Any:
        return self._of_members(some(self.has(b) & holds(b) for b in self._members()))

    def _of_members(self, answer: UnboundedFlag) -> UnboundedFlag:
        """The flag `answer`, which is about the members of this set. It is undefined also if the set is undefined."""
        return ofFlag(answer.term, both(self.defined, answer.defined))

    @property
    def size(self) -> UnboundedNumber:
        ones = [z3.If(bit, z3.IntVal(1), z3.IntVal(0)) for bit in self.terms]
        return UnboundedNumber((z3.Sum(ones),), Number(0, len(ones)), self.defined)

    @property
    def is_empty(self) -> UnboundedFlag:
        return ofFlag(negated(either(*self.terms)), self.defined)
