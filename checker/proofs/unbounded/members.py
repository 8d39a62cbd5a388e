"""Brokers and sets of brokers as z3 terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import z3

from isrcheck.checker.proofs.unbounded.scalars import Scalar, UnboundedFlag, UnboundedNumber, ofFlag
from isrcheck.checker.proofs.unbounded.shapes import Term, both, either, negated
from isrcheck.model.language.brokers import BrokerId
from isrcheck.model.language.domains import BrokerSet, Number
from isrcheck.model.language.logic import every, some


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
        """For each broker of the domain, in order, the condition that `broker` is this broker."""
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
