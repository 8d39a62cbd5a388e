"""Terms for a member of a scalarset, such as a broker, and for a set of members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.model.language import expressions as e
from isrcheck.model.language.brokers import BrokerId, NoBroker, no_order
from isrcheck.model.language.domains import Broker, BrokerSet, Flag, Number
from isrcheck.model.language.errors import mistake
from isrcheck.model.language.expressions import TRUE, Expression
from isrcheck.model.language.logic import every, some
from isrcheck.model.language.symbolic.terms import Term, TracedFlag, TracedNumber


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

    def _binary(self, other: Any, operation: Callable[[Expression, Expression], Expression]) -> TracedSet:
        b = self._lift(other)
        return TracedSet(operation(self.node, b.node), e.and_(self.defined, b.defined), self.domain)

    def __or__(self, other: Any) -> TracedSet:
        return self._binary(other, e.union)

    def __and__(self, other: Any) -> TracedSet:
        return self._binary(other, e.intersection)

    def __sub__(self, other: Any) -> TracedSet:
        return self._binary(other, e.difference)

    def __rsub__(self, other: Any) -> TracedSet:
        return self._binary(other, lambda a, b: e.difference(b, a))

    def __le__(self, other: Any) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(e.subset(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def __ge__(self, other: Any) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(e.subset(b.node, self.node), e.and_(self.defined, b.defined), Flag())

    __ror__ = __or__
    __rand__ = __and__

    def has(self, broker: Any) -> TracedFlag:
        """True where the broker is in the set; `none` is in no set."""
        b = self._broker(broker)
        return TracedFlag(e.has(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def including(self, broker: Any) -> TracedSet:
        """The set with the broker added; `none` adds nothing."""
        return self | self._only(broker)

    def excluding(self, broker: Any) -> TracedSet:
        """The set without the broker."""
        return self - self._only(broker)

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
