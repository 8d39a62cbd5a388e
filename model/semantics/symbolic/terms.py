"""Terms: the scalar values that a model's methods receive from a symbolic state during tracing.

Terms for a member of a scalarset, such as a broker, and for a set of members.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isrcheck.model.language.domains import Broker, BrokerSet, Domain, Enum, Flag, Number
from isrcheck.model.language.errors import ModelError, OfTheState, caller, mistake, nearest
from isrcheck.model.language.quantifiers import every, some
from isrcheck.model.language.scalarset_members import BrokerId, NoBroker, no_order
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import FALSE, LARGEST, TRUE, Expression
from isrcheck.model.semantics.operators import Operator, python_operators


class Symbolic(OfTheState):
    """A term or a structure."""

    __slots__ = ()

    def _either(self, condition: TracedFlag, yes: Any, no: Any) -> Any:
        """`yes` where the condition holds, else `no`; the result has the domain of `self`."""
        raise NotImplementedError

    def _kind(self) -> Domain:
        raise NotImplementedError

    def _shown(self) -> str:
        return f": {self!r}"


class Term(Symbolic):
    """A scalar: the expression `node`, defined where the condition `defined` holds."""

    __slots__ = ("node", "defined", "domain")
    node: Expression
    defined: Expression
    domain: Domain

    def __init__(self, node: Expression, defined: Expression, domain: Domain) -> None:
        put = object.__setattr__  # the class's own __setattr__ is for a model's assignments
        put(self, "node", node)
        put(self, "defined", defined)
        put(self, "domain", domain)

    def __setattr__(self, name: str, value: Any) -> None:
        raise mistake(f"{self!r}.{name} is assigned", f"assign {self!r} as a whole, through s")

    __hash__ = OfTheState.__hash__

    def __eq__(self, other: object) -> Any:
        b = self._lift(other)
        return TracedFlag(e.eq(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    def __repr__(self) -> str:
        return e.render(self.node)

    def _lift(self, other: object) -> Term:
        """The other operand as a term of the same class as `self`."""
        if isinstance(other, Term) and type(other) is type(self):
            return other
        if isinstance(other, Choice):
            yes, no = self._lift(other.yes), self._lift(other.no)
            return other.condition.choose(yes, no)  # type: ignore[no-any-return]
        if not isinstance(other, Symbolic):
            plain = self._constant(other)
            if plain is not None:
                return type(self)(plain, TRUE, self.domain)
        raise mistake(f"{e.render(self.node)} is combined with {other!r}", f"use {self.domain}")

    def _constant(self, value: object) -> Expression | None:
        raise NotImplementedError

    def _either(self, condition: TracedFlag, yes: Any, no: Any) -> Term:
        a, b = self._lift(yes), self._lift(no)
        node = e.if_(condition.node, a.node, b.node)
        return type(self)(node, condition._chosen(a.defined, b.defined), self.domain)

    def _kind(self) -> Domain:
        return self.domain

    def _operators(self) -> tuple[str, str]:
        return self.domain.operators


class TracedFlag(Term):
    __slots__ = ()

    def _constant(self, value: object) -> Expression | None:
        return (TRUE if value else FALSE) if isinstance(value, bool) else None

    def __and__(self, other: Any) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(e.and_(self.node, b.node), _kleene(self, b, decides=e.not_), self.domain)

    def __or__(self, other: Any) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(e.or_(self.node, b.node), _kleene(self, b, decides=lambda x: x), self.domain)

    def __invert__(self) -> TracedFlag:
        return TracedFlag(e.not_(self.node), self.defined, self.domain)

    __rand__ = __and__
    __ror__ = __or__

    def choose(self, yes: Any, no: Any) -> Any:
        """`yes` where the flag holds, else `no`."""
        model = next((x for x in (yes, no) if isinstance(x, Symbolic)), None)
        if model is None:
            if not isinstance(yes, int) or not isinstance(no, int):
                return Choice(self, yes, no)
            model = _of_plain(yes)
        return model._either(self, yes, no)

    def _chosen(self, yes: Expression, no: Expression) -> Expression:
        return e.and_(self.defined, e.if_(self.node, yes, no))


def _kleene(a: Term, b: Term, decides: Callable[[Expression], Expression]) -> Expression:
    """The condition that `a & b` (or `a | b`) is defined.

    The condition says that both operands are defined, or that a defined operand alone decides the result.
    """
    if a.defined is TRUE and b.defined is TRUE:
        return TRUE
    return e.or_(e.and_(a.defined, b.defined), e.and_(a.defined, decides(a.node)), e.and_(b.defined, decides(b.node)))


def _of_either(of: Operator, on_the_right: bool) -> Callable[[Choice, Any], Any]:
    compute = of.in_python
    if on_the_right:
        return lambda self, other: self._each(other, lambda mine, theirs: compute(theirs, mine))
    return lambda self, other: self._each(other, compute)


@python_operators("set", _of_either)
@dataclass(frozen=True, eq=False)
class Choice(OfTheState):
    """The result of `when` with two plain values; its domain is known only when the result is stored or compared."""

    condition: TracedFlag
    yes: Any
    no: Any

    def _may_be_none(self) -> bool:
        return True

    def _each(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        return self.condition.choose(operation(self.yes, other), operation(self.no, other))

    def __eq__(self, other: object) -> Any:
        return self._each(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._each(other, operator.ne)

    def __le__(self, other: Any) -> Any:
        return self._each(other, operator.le)

    def __ge__(self, other: Any) -> Any:
        return self._each(other, operator.ge)

    def _shown(self) -> str:
        return f": {self!r}"

    __hash__ = OfTheState.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise mistake(
            f"{self!r} has no .{name}: neither value is a state value", f"write when(condition, a.{name}, b.{name})"
        )

    def __repr__(self) -> str:
        return f"when({self.condition!r}, {self.yes!r}, {self.no!r})"


def _of_plain(value: int) -> Term:
    if isinstance(value, bool):
        return TracedFlag(FALSE, TRUE, Flag())
    return TracedNumber(e.constant("number", value), TRUE, Number(value, value))


def _of_numbers(of: Operator, on_the_right: bool) -> Callable[[TracedNumber, Any], TracedNumber]:
    def method(self: TracedNumber, other: Any) -> TracedNumber:
        b = self._lift(other)
        node = _fitting(of.build(b.node, self.node) if on_the_right else of.build(self.node, b.node))
        return TracedNumber(node, e.and_(self.defined, b.defined), Number(node.low, node.high))

    return method


@python_operators("number", _of_numbers)
class TracedNumber(Term):
    __slots__ = ()

    def _constant(self, value: object) -> Expression | None:
        number = isinstance(value, int) and not isinstance(value, bool)
        return _fitting(e.constant("number", value)) if number else None

    def _compare(self, other: Any, test: Callable[[Expression, Expression], Expression]) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(test(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def __le__(self, other: Any) -> TracedFlag:
        return self._compare(other, e.le)

    def __lt__(self, other: Any) -> TracedFlag:
        return self._compare(other, e.lt)

    def __ge__(self, other: Any) -> TracedFlag:
        return self._compare(other, lambda a, b: e.le(b, a))

    def __gt__(self, other: Any) -> TracedFlag:
        return self._compare(other, lambda a, b: e.lt(b, a))

    def __neg__(self) -> TracedNumber:
        return 0 - self  # type: ignore[no-any-return]


class TracedMember(Term):
    """A value of an enum."""

    __slots__ = ()

    def _constant(self, value: object) -> Expression | None:
        return e.constant("enum", member(self.domain, value)) if isinstance(value, str) else None

    def _lift(self, other: object) -> Term:
        if isinstance(other, TracedMember) and other.domain != self.domain:
            raise mistake(f"{other!r} is {other.domain}", f"compare {self!r} with {self.domain}")
        return super()._lift(other)


class TracedIdentity(Term):
    """An identity: a value that can only be compared for equality."""

    __slots__ = ()

    def _constant(self, value: object) -> Expression | None:
        is_first = isinstance(value, int) and not isinstance(value, bool) and value == 0
        return e.constant("number", 0) if is_first else None

    def _lift(self, other: object) -> Term:
        if isinstance(other, TracedIdentity) and other.domain != self.domain:
            raise mistake(f"{other!r} is {other.domain}", f"compare {self!r} with {self.domain}")
        return super()._lift(other)


def _fitting(node: Expression) -> Expression:
    """The number `node`; raises `ModelError` if the number can be too large for an engine with 64-bit integers."""
    if node.low < -LARGEST or node.high > LARGEST:
        what = f"{e.render(node)} can be from {node.low} to {node.high}, more than fits in 63 bits"
        raise mistake(what, "use smaller numbers")
    return node


def member(domain: Domain, name: str) -> int:
    """The position of an enum's member."""
    assert isinstance(domain, Enum)
    if name not in domain.members:
        raise ModelError(f"{caller()}: {name!r} is not {domain}; {nearest(name, domain.members)}")
    return domain.members.index(name)


class TracedBroker(Term):
    """A term for a member of a scalarset (such as a broker), or for `none`."""

    __slots__ = ()
    domain: Broker

    def _lift(self, other: object) -> Term:
        if isinstance(other, TracedBroker) and other.domain.of != self.domain.of:
            raise mistake(f"{other!r} is {other.domain}", f"use {self.domain}")
        return super()._lift(other)

    def _operators(self) -> tuple[str, str]:
        return no_order(self.domain.of)

    def _may_be_none(self) -> bool:
        return self.domain.optional

    @property
    def is_none(self) -> TracedFlag:
        return TracedFlag(e.eq(self.node, e.constant("broker", -1)), self.defined, Flag())

    def _constant(self, value: object) -> Expression | None:
        if isinstance(value, BrokerId):
            return e.constant("broker", value.number) if value.of == self.domain.of else None
        return e.constant("broker", -1) if value is None or isinstance(value, NoBroker) else None


def _of_sets(of: Operator, on_the_right: bool) -> Callable[[TracedSet, Any], TracedSet]:
    def method(self: TracedSet, other: Any) -> TracedSet:
        b = self._lift(other)
        node = of.build(b.node, self.node) if on_the_right else of.build(self.node, b.node)
        return TracedSet(node, e.and_(self.defined, b.defined), self.domain)

    return method


@python_operators("set", _of_sets)
class TracedSet(Term):
    """A set of members of a scalarset."""

    __slots__ = ()
    domain: BrokerSet

    @property
    def _count(self) -> int:
        return self.domain.element.count

    def _lift(self, other: object) -> Term:
        if isinstance(other, TracedSet) and other.domain.element.of != self.domain.element.of:
            raise mistake(f"{other!r} is {other.domain}", f"use {self.domain}")
        return super()._lift(other)

    def _constant(self, value: object) -> Expression | None:
        if not isinstance(value, set | frozenset | list | tuple) or not all(map(self._is_one, value)):
            return None
        return e.constant("set", sum(1 << x.number for x in set(value)))

    def _is_one(self, value: object) -> bool:
        return isinstance(value, BrokerId) and value.of == self.domain.element.of

    def _members(self) -> list[BrokerId]:
        return [BrokerId(number, self.domain.element.of) for number in range(self._count)]

    def __le__(self, other: Any) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(e.subset(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def __ge__(self, other: Any) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(e.subset(b.node, self.node), e.and_(self.defined, b.defined), Flag())

    def has(self, broker: Any) -> TracedFlag:
        """True where the broker is in the set; `none` is in no set."""
        b = self._broker(broker)
        return TracedFlag(e.has(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def including(self, broker: Any) -> TracedSet:
        """The set with the broker added; `none` adds nothing."""
        return self | self._only(broker)  # type: ignore[no-any-return]

    def excluding(self, broker: Any) -> TracedSet:
        """The set without the broker."""
        return self - self._only(broker)  # type: ignore[no-any-return]

    def every(self, holds: Callable[[BrokerId], Any]) -> Any:
        """True where `holds` is true for every member."""
        return self._of_members(every(~self.has(b) | holds(b) for b in self._members()))

    def some(self, holds: Callable[[BrokerId], Any]) -> Any:
        """True where `holds` is true for some member."""
        return self._of_members(some(self.has(b) & holds(b) for b in self._members()))

    def _of_members(self, answer: TracedFlag) -> TracedFlag:
        """The result `answer` of a quantifier over this set, defined only where the set is defined, too."""
        return TracedFlag(answer.node, e.and_(self.defined, answer.defined), Flag())

    @property
    def size(self) -> TracedNumber:
        return TracedNumber(e.size(self.node), self.defined, Number(0, self._count))

    @property
    def is_empty(self) -> TracedFlag:
        return TracedFlag(e.eq(self.node, e.constant("set", 0)), self.defined, Flag())

    def _broker(self, broker: Any) -> Term:
        return TracedBroker(e.constant("broker", -1), TRUE, Broker(True, self._count, self.domain.element.of))._lift(
            broker
        )

    def _only(self, broker: Any) -> TracedSet:
        b = self._broker(broker)
        return TracedSet(e.only(b.node, self._count), b.defined, self.domain)
