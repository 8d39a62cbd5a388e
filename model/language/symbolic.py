"""What a model's methods compute with while they are traced: terms over a symbolic state.

A *term* is a scalar: an expression and the condition under which it means something. A *structure* (record, sequence,
set of messages, per(...)) either lies at a *place* of the state, where it can be assigned, or is a value of its own.
Methods have the same names as in `concrete`, which gives them their meaning on plain Python values.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol

from isrcheck.model.language import expressions as e
from isrcheck.model.language.brokers import BrokerId, NoBroker
from isrcheck.model.language.domains import (
    Broker,
    BrokerSet,
    Domain,
    Enum,
    Flag,
    Messages,
    Number,
    Per,
    Record,
    Sequence_,
)
from isrcheck.model.language.errors import ModelError, OfTheState, caller, mistake, nearest
from isrcheck.model.language.expressions import FALSE, LARGEST, TRUE, Expression, Leaf


class Term(OfTheState):
    """A scalar: `node`, which means something where `defined` holds."""

    __slots__ = ("node", "defined", "domain")
    node: Expression
    defined: Expression
    domain: Domain

    def __init__(self, node: Expression, defined: Expression, domain: Domain) -> None:
        put = object.__setattr__  # no assignment of a model's own
        put(self, "node", node)
        put(self, "defined", defined)
        put(self, "domain", domain)

    def __setattr__(self, name: str, value: Any) -> None:
        raise mistake(f"{self!r}.{name} is assigned", f"assign {self!r} as a whole, through s")

    def _shown(self) -> str:
        return f": {self!r}"

    __hash__ = OfTheState.__hash__

    def __eq__(self, other: object) -> Any:
        b = self._lift(other)
        return TracedFlag(e.eq(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    def __repr__(self) -> str:
        return e.render(self.node)

    def _lift(self, other: object) -> Term:
        """The other operand as a term of this one's kind."""
        if isinstance(other, Term) and type(other) is type(self):
            return other
        if isinstance(other, Choice):
            yes, no = self._lift(other.yes), self._lift(other.no)
            return other.condition.choose(yes, no)  # type: ignore[no-any-return]
        if not isinstance(other, Term | Structure):
            plain = self._constant(other)
            if plain is not None:
                return type(self)(plain, TRUE, self.domain)
        raise mistake(f"{e.render(self.node)} is combined with {other!r}", f"use {self.domain}")

    def _constant(self, value: object) -> Expression | None:
        raise NotImplementedError

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
        model = next((x for x in (yes, no) if isinstance(x, Term | Structure)), None)
        if model is None:
            if not isinstance(yes, int) or not isinstance(no, int):
                return Choice(self, yes, no)
            model = _of_plain(yes)
        if isinstance(model, Term):
            a, b = model._lift(yes), model._lift(no)
            return type(model)(e.if_(self.node, a.node, b.node), self._chosen(a.defined, b.defined), model.domain)
        (xs, dx), (ys, dy) = nodes_of(model._domain, yes), nodes_of(model._domain, no)
        nodes = [e.if_(self.node, x, y) for x, y in zip(xs, ys, strict=True)]
        return wrapped(model._domain, nodes, self._chosen(dx, dy))

    def _chosen(self, yes: Expression, no: Expression) -> Expression:
        return e.and_(self.defined, e.if_(self.node, yes, no))


def _kleene(a: Term, b: Term, decides: Callable[[Expression], Expression]) -> Expression:
    """Where `a & b` (or, dually, `a | b`) has a value: both have one, or one of them decides alone."""
    if a.defined is TRUE and b.defined is TRUE:
        return TRUE
    return e.or_(e.and_(a.defined, b.defined), e.and_(a.defined, decides(a.node)), e.and_(b.defined, decides(b.node)))


@dataclass(frozen=True, eq=False)
class Choice(OfTheState):
    """`when` between two plain values: of which domain shows where it is stored or compared."""

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

    def __or__(self, other: Any) -> Any:
        return self._each(other, operator.or_)

    def __and__(self, other: Any) -> Any:
        return self._each(other, operator.and_)

    def __sub__(self, other: Any) -> Any:
        return self._each(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._each(other, lambda mine, theirs: theirs - mine)

    __ror__, __rand__ = __or__, __and__

    def _shown(self) -> str:
        return f": {self!r}"

    __hash__ = OfTheState.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise mistake(
            f"{self!r} has no .{name}: both its values are plain", f"write when(condition, a.{name}, b.{name})"
        )

    def __repr__(self) -> str:
        return f"when({self.condition!r}, {self.yes!r}, {self.no!r})"


def _of_plain(value: int) -> Term:
    if isinstance(value, bool):
        return TracedFlag(FALSE, TRUE, Flag())
    return TracedNumber(e.constant("number", value), TRUE, Number(value, value))


class TracedNumber(Term):
    __slots__ = ()

    def _constant(self, value: object) -> Expression | None:
        number = isinstance(value, int) and not isinstance(value, bool)
        return _fitting(e.constant("number", value)) if number else None  # type: ignore[arg-type]

    def _compare(self, other: Any, test: Callable[[Expression, Expression], Expression]) -> TracedFlag:
        b = self._lift(other)
        return TracedFlag(test(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def _combine(self, other: Any, operation: Callable[[Expression, Expression], Expression]) -> TracedNumber:
        b = self._lift(other)
        node = _fitting(operation(self.node, b.node))
        return TracedNumber(node, e.and_(self.defined, b.defined), Number(node.low, node.high))

    def __le__(self, other: Any) -> TracedFlag:
        return self._compare(other, e.le)

    def __lt__(self, other: Any) -> TracedFlag:
        return self._compare(other, e.lt)

    def __ge__(self, other: Any) -> TracedFlag:
        return self._compare(other, lambda a, b: e.le(b, a))

    def __gt__(self, other: Any) -> TracedFlag:
        return self._compare(other, lambda a, b: e.lt(b, a))

    def __add__(self, other: Any) -> TracedNumber:
        return self._combine(other, e.add)

    def __sub__(self, other: Any) -> TracedNumber:
        return self._combine(other, e.subtract)

    def __rsub__(self, other: Any) -> TracedNumber:
        return self._combine(other, lambda a, b: e.subtract(b, a))

    def __mul__(self, other: Any) -> TracedNumber:
        return self._combine(other, e.multiply)

    def __neg__(self) -> TracedNumber:
        return 0 - self

    __radd__ = __add__
    __rmul__ = __mul__


class TracedMember(Term):
    """A value of an enum."""

    __slots__ = ()

    def _constant(self, value: object) -> Expression | None:
        return e.constant("enum", member(self.domain, value)) if isinstance(value, str) else None

    def _lift(self, other: object) -> Term:
        if isinstance(other, TracedMember) and other.domain != self.domain:
            raise mistake(f"{other!r} is {other.domain}", f"compare {self!r} with {self.domain}")
        return super()._lift(other)


def _fitting(node: Expression) -> Expression:
    """The number; `ModelError` where it may be too large for an engine that computes with 64 bits."""
    if node.low < -LARGEST or node.high > LARGEST:
        what = f"{e.render(node)} can be from {node.low} to {node.high}, more than 63 bits hold"
        raise mistake(what, "compute with smaller numbers")
    return node


def member(domain: Domain, name: str) -> int:
    """The position of an enum's member."""
    assert isinstance(domain, Enum)
    if name not in domain.members:
        raise ModelError(f"{caller()}: {name!r} is not {domain}; {nearest(name, domain.members)}")
    return domain.members.index(name)


class TracedBroker(Term):
    """A broker held in the state, or none."""

    __slots__ = ()
    domain: Broker

    def _may_be_none(self) -> bool:
        return self.domain.optional

    @property
    def is_none(self) -> TracedFlag:
        return TracedFlag(e.eq(self.node, e.constant("broker", -1)), self.defined, Flag())

    def _constant(self, value: object) -> Expression | None:
        if isinstance(value, BrokerId):
            return e.constant("broker", value.number)
        return e.constant("broker", -1) if value is None or isinstance(value, NoBroker) else None


class TracedSet(Term):
    """A set of brokers."""

    __slots__ = ()
    domain: BrokerSet

    @property
    def _count(self) -> int:
        return self.domain.element.count

    def _constant(self, value: object) -> Expression | None:
        if not isinstance(value, set | frozenset | list | tuple) or not all(isinstance(x, BrokerId) for x in value):
            return None
        return e.constant("set", sum(1 << x.number for x in set(value)))

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
        """Whether the broker is in the set; none is in no set."""
        b = self._broker(broker)
        return TracedFlag(e.has(self.node, b.node), e.and_(self.defined, b.defined), Flag())

    def including(self, broker: Any) -> TracedSet:
        """The set with the broker; none adds nothing."""
        return self | self._only(broker)

    def excluding(self, broker: Any) -> TracedSet:
        """The set without the broker."""
        return self - self._only(broker)

    def every(self, holds: Callable[[BrokerId], Any]) -> Any:
        """Whether it holds for every member."""
        from isrcheck.model.language.logic import every

        return every(~self.has(b) | holds(b) for b in map(BrokerId, range(self._count)))

    def some(self, holds: Callable[[BrokerId], Any]) -> Any:
        """Whether it holds for some member."""
        from isrcheck.model.language.logic import some

        return some(self.has(b) & holds(b) for b in map(BrokerId, range(self._count)))

    @property
    def size(self) -> TracedNumber:
        return TracedNumber(e.size(self.node), self.defined, Number(0, self._count))

    @property
    def is_empty(self) -> TracedFlag:
        return TracedFlag(e.eq(self.node, e.constant("set", 0)), self.defined, Flag())

    def _broker(self, broker: Any) -> Term:
        return TracedBroker(e.constant("broker", -1), TRUE, Broker(True, self._count))._lift(broker)

    def _only(self, broker: Any) -> TracedSet:
        b = self._broker(broker)
        return TracedSet(e.only(b.node, self._count), b.defined, self.domain)


# --- places and structures ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A choice among `count` elements of `stride` leaves by an expression; `first` is the code of element 0."""

    index: Expression
    first: int
    stride: int
    count: int

    def chosen(self, element: int) -> Expression:
        return e.eq(self.index, e.constant(self.index.kind, self.first + element))


class Traced(Protocol):
    """What places ask of the state that they lie in; `tracing` has it."""

    _leaves: Sequence[Leaf]

    def _read(self, leaf: int) -> Expression: ...
    def _assign(self, condition: Expression) -> None: ...
    def _write(self, leaf: int, node: Expression) -> None: ...
    def _path(self, start: int, domain: Domain) -> str: ...


@dataclass(frozen=True)
class Place:
    """Where a value lies in the state: the leaves from `start` on, after the steps that the state decides."""

    state: Traced
    start: int
    steps: tuple[Step, ...] = ()
    defined: Expression = TRUE

    def within(self, offset: int) -> Place:
        return Place(self.state, self.start + offset, self.steps, self.defined)

    def locations(self) -> Iterator[tuple[Expression, int]]:
        """Each place in the state that it can be, with the condition under which it is that one."""
        for choice in itertools.product(*(range(step.count) for step in self.steps)):
            chosen = [step.chosen(i) for step, i in zip(self.steps, choice, strict=True)]
            offset = sum(step.stride * i for step, i in zip(self.steps, choice, strict=True))
            yield e.and_(*chosen), self.start + offset

    def read(self, width: int) -> list[Expression]:
        nodes: list[Expression] | None = None
        for condition, start in self.locations():
            here = [self.state._read(start + i) for i in range(width)]
            nodes = here if nodes is None else [e.if_(condition, x, y) for x, y in zip(here, nodes, strict=True)]
        assert nodes is not None
        return nodes

    def write(self, nodes: list[Expression], defined: Expression) -> None:
        self.state._assign(e.and_(self.defined, defined))
        for condition, start in self.locations():
            for i, node in enumerate(nodes):
                self.state._write(
                    start + i, node if condition is TRUE else e.if_(condition, node, self._old(start + i))
                )

    def _old(self, leaf: int) -> Expression:
        return e.leaf(self.state._leaves[leaf])


class Structure(OfTheState):
    """A value of several leaves, at a place of the state or by itself."""

    __slots__ = ("_domain", "_place", "_value", "_defined")
    _domain: Domain
    _place: Place | None
    _value: list[Expression] | None
    _defined: Expression

    def __init__(
        self, domain: Domain, place: Place | None, value: list[Expression] | None, defined: Expression
    ) -> None:
        for name, content in (("_domain", domain), ("_place", place), ("_value", value), ("_defined", defined)):
            object.__setattr__(self, name, content)

    def __setattr__(self, name: str, value: Any) -> None:
        raise mistake(f"{self!r}.{name} is assigned", f"assign {self!r} as a whole, through s")

    @property
    def _nodes(self) -> list[Expression]:
        if self._place is not None:
            return self._place.read(self._domain.width)
        return self._given

    @property
    def _is_defined(self) -> Expression:
        return self._place.defined if self._place is not None else self._defined

    def _part(self, domain: Domain, offset: int) -> Any:
        """The value of `domain` that begins `offset` leaves into this one."""
        if self._place is not None:
            return placed(domain, self._place.within(offset))
        return wrapped(domain, self._given[offset : offset + domain.width], self._defined)

    @property
    def _given(self) -> list[Expression]:
        """The expressions of a value that lies at no place."""
        assert self._value is not None
        return self._value

    def _assign(self, nodes: list[Expression], defined: Expression, what: str) -> None:
        if self._place is None:
            raise mistake(f"{what} changes a value that is not in the state", "change it through s, where it is kept")
        self._place.write(nodes, defined)

    def _part_assign(self, domain: Domain, offset: int, value: Any) -> None:
        if self._place is None:
            raise mistake("an assignment into a value that is not in the state", "assign through s, where it is kept")
        nodes, defined = nodes_of(domain, value)
        self._place.within(offset).write(nodes, defined)

    def __eq__(self, other: object) -> Any:
        nodes, defined = nodes_of(self._domain, other)
        same = e.and_(*(e.eq(x, y) for x, y in zip(self._nodes, nodes, strict=True)))
        return TracedFlag(same, e.and_(self._is_defined, defined), Flag())

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    def _shown(self) -> str:
        return f": {self!r}"

    __hash__ = OfTheState.__hash__

    def __repr__(self) -> str:
        if self._place is None:
            return f"a value ({self._domain})"
        return self._place.state._path(self._place.start, self._domain)


class TracedRecord(Structure):
    __slots__ = ()
    _domain: Record

    def __getattr__(self, name: str) -> Any:
        return self._part(*self._field(name))

    def __setattr__(self, name: str, value: Any) -> None:
        self._part_assign(*self._field(name), value)

    def _field(self, name: str) -> tuple[Domain, int]:
        if name not in self._domain.names:
            raise ModelError(f"{caller()}: {self!r} has no field {name!r}; {nearest(name, self._domain.names)}")
        position, domain = self._domain.fields[name]
        return domain, sum(d.width for d in self._domain.domains[:position])


class TracedPer(Structure):
    __slots__ = ()
    _domain: Per

    def __getitem__(self, index: Any) -> Any:
        index = index_of(self._domain.index, index)
        if isinstance(index, int):
            return self._part(self._domain.element, index * self._domain.element.width)
        place = self._at(index)
        if self._place is not None:
            return placed(self._domain.element, place)
        return self._choose(place)

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index_of(self._domain.index, index)
        if isinstance(index, int):
            self._part_assign(self._domain.element, index * self._domain.element.width, value)
        elif self._place is None:
            raise mistake("an assignment into a value that is not in the state", "assign through s, where it is kept")
        else:
            self._at(index).write(*nodes_of(self._domain.element, value))

    def _at(self, index: Term) -> Place:
        """The place that an index held in the state picks."""
        first = self._domain.index.scalars[0].low
        step = Step(index.node, first, self._domain.element.width, self._domain.count)
        inside = e.and_(*(fits(self._domain.index, [index.node])), index.defined)
        place = self._place
        if place is None:
            return Place(None, 0, (step,), inside)  # type: ignore[arg-type]
        return Place(place.state, place.start, (*place.steps, step), e.and_(place.defined, inside))

    def _choose(self, place: Place) -> Any:
        width = self._domain.element.width
        nodes = self._given[:width]
        for condition, start in list(place.locations())[1:]:
            nodes = [e.if_(condition, x, y) for x, y in zip(self._given[start : start + width], nodes, strict=True)]
        return wrapped(self._domain.element, nodes, e.and_(self._defined, place.defined))


class TracedSequence(Structure):
    """A log or a queue."""

    __slots__ = ()
    _domain: Sequence_

    def __getitem__(self, offset: Any) -> NoReturn:
        raise mistake(f"{self!r}[{offset!r}] indexes a sequence", "write .at(offset), .first or .last")

    def _slots(self) -> list[list[Expression]]:
        width, nodes = self._domain.element.width, self._nodes
        return [nodes[1 + i * width : 1 + (i + 1) * width] for i in range(self._domain.capacity)]

    def _padding(self) -> list[Expression]:
        return constants(self._domain.element, self._domain.element.first)

    @property
    def length(self) -> TracedNumber:
        return TracedNumber(self._nodes[0], self._is_defined, Number(0, self._domain.capacity))

    @property
    def is_empty(self) -> Any:
        return self.length == 0

    @property
    def is_full(self) -> Any:
        return self.length == self._domain.capacity

    @property
    def first(self) -> Any:
        """The element at offset 0; it means something where there is one."""
        return self.at(0)

    @property
    def last(self) -> Any:
        """The element at the greatest offset; it means something where there is one."""
        return self.at(self.length - 1)

    def at(self, offset: Any) -> Any:
        """The element at an offset; it means something where the offset is below the length."""
        at = self.length._lift(offset)
        if at.node.high < 0 or at.node.low >= self._domain.capacity:
            raise mistake(
                f"offset {offset!r} of {self!r} is out of range", f"use an offset from 0 to {self._domain.capacity - 1}"
            )
        inside = e.and_(e.le(e.constant("number", 0), at.node), e.lt(at.node, self.length.node))
        nodes: list[Expression] | None = None
        for i, slot in enumerate(self._slots()):
            here = e.eq(at.node, e.constant("number", i))
            nodes = slot if nodes is None else [e.if_(here, x, y) for x, y in zip(slot, nodes, strict=True)]
        assert nodes is not None
        return wrapped(self._domain.element, nodes, e.and_(self._is_defined, at.defined, inside))

    def appended(self, element: Any) -> TracedSequence:
        """The sequence with an element at the end; it means something where there is room."""
        new, defined = nodes_of(self._domain.element, element)
        end = self.length.node
        slots = [
            e.if_(e.eq(end, e.constant("number", i)), x, y)
            for i, slot in enumerate(self._slots())
            for x, y in zip(new, slot, strict=True)
        ]
        room = e.lt(end, e.constant("number", self._domain.capacity))
        nodes = [e.add(end, e.constant("number", 1)), *slots]
        return TracedSequence(self._domain, None, nodes, e.and_(self._is_defined, defined, room))

    def truncated(self, length: Any) -> TracedSequence:
        """The elements below an offset; it means something where there are at least so many."""
        kept = self.length._lift(length)
        slots = [
            e.if_(e.lt(e.constant("number", i), kept.node), x, y)
            for i, slot in enumerate(self._slots())
            for x, y in zip(slot, self._padding(), strict=True)
        ]
        inside = e.and_(e.le(e.constant("number", 0), kept.node), e.le(kept.node, self.length.node))
        return TracedSequence(self._domain, None, [kept.node, *slots], e.and_(self._is_defined, kept.defined, inside))

    def without_first(self) -> TracedSequence:
        """The sequence without its first element, the others moved up; it means something where there is one."""
        slots = [node for slot in [*self._slots()[1:], self._padding()] for node in slot]
        some = e.lt(e.constant("number", 0), self.length.node)
        length = e.subtract(self.length.node, e.constant("number", 1))
        return TracedSequence(self._domain, None, [length, *slots], e.and_(self._is_defined, some))

    def append(self, element: Any) -> None:
        """Puts an element at the end."""
        self._become(self.appended(element), ".append")

    def truncate(self, length: Any) -> None:
        """Keeps the elements below an offset."""
        self._become(self.truncated(length), ".truncate")

    def remove_first(self) -> None:
        """Takes the first element away."""
        self._become(self.without_first(), ".remove_first")

    def _become(self, value: TracedSequence, what: str) -> None:
        self._assign(value._nodes, value._is_defined, what)


class TracedMessages(Structure):
    __slots__ = ()
    _domain: Messages

    def has(self, element: Any) -> TracedFlag:
        chosen, defined = self._chosen(element)
        found = e.or_(*(e.and_(c, bit) for c, bit in zip(chosen, self._nodes, strict=True)))
        return TracedFlag(found, e.and_(self._is_defined, defined), Flag())

    def add(self, element: Any) -> None:
        chosen, defined = self._chosen(element)
        bits = [e.or_(bit, c) for c, bit in zip(chosen, self._nodes, strict=True)]
        self._assign(bits, e.and_(self._is_defined, defined), ".add")

    def remove(self, element: Any) -> None:
        """Takes the element away if it is there."""
        chosen, defined = self._chosen(element)
        bits = [e.and_(bit, e.not_(c)) for c, bit in zip(chosen, self._nodes, strict=True)]
        self._assign(bits, e.and_(self._is_defined, defined), ".remove")

    @property
    def is_empty(self) -> TracedFlag:
        return TracedFlag(e.not_(e.or_(*self._nodes)), self._is_defined, Flag())

    def _chosen(self, element: Any) -> tuple[list[Expression], Expression]:
        """For each possible element whether it is this one."""
        nodes, defined = nodes_of(self._domain.element, element)
        return [
            e.and_(*(e.eq(x, y) for x, y in zip(nodes, constants(self._domain.element, value), strict=True)))
            for value in self._domain.elements
        ], defined


TERMS: Final[dict[type[Domain], type[Term]]] = {
    Flag: TracedFlag,
    Number: TracedNumber,
    Enum: TracedMember,
    Broker: TracedBroker,
    BrokerSet: TracedSet,
}
STRUCTURES: Final[dict[type[Domain], type[Structure]]] = {
    Record: TracedRecord,
    Sequence_: TracedSequence,
    Messages: TracedMessages,
    Per: TracedPer,
}


def placed(domain: Domain, place: Place) -> Any:
    """The value of a domain at a place; a scalar is read at once."""
    if type(domain) in TERMS:
        return TERMS[type(domain)](place.read(1)[0], place.defined, domain)
    return STRUCTURES[type(domain)](domain, place, None, TRUE)


def wrapped(domain: Domain, nodes: list[Expression], defined: Expression) -> Any:
    """The value of a domain that these expressions make up."""
    if type(domain) in TERMS:
        return TERMS[type(domain)](nodes[0], defined, domain)
    return STRUCTURES[type(domain)](domain, None, nodes, defined)


def constants(domain: Domain, value: Any) -> list[Expression]:
    """A value of a domain as expressions."""
    return [e.constant(s.kind, x) for s, x in zip(domain.scalars, domain.encode(value), strict=True)]


def index_of(domain: Domain, index: Any) -> int | Term:
    """The position of a parameter among an index's values, or the term of an index that the state decides."""
    term = term_of(domain, index, "index by")
    if isinstance(index, Term | Choice):
        return term
    if FALSE in fits(domain, [term.node]):
        raise mistake(f"the index {index!r} is out of range", f"index by {domain}")
    return term.node.low - domain.scalars[0].low


def term_of(domain: Domain, value: Any, use: str) -> Term:
    """A value as a term of a scalar domain; `use` says what it is for."""
    model = TERMS[type(domain)](constants(domain, domain.first)[0], TRUE, domain)
    if isinstance(value, Structure) or (isinstance(value, Term) and type(value) is not type(model)):
        of = value._domain if isinstance(value, Structure) else value.domain
        raise mistake(f"{value!r} is {of}", f"{use} {domain}")
    if not isinstance(value, OfTheState) and model._constant(value) is None:
        raise mistake(f"{value!r} is not {domain}", f"{use} one")
    return model._lift(value)


def nodes_of(domain: Domain, value: Any) -> tuple[list[Expression], Expression]:
    """The expressions of a value to be stored in a domain, and the condition under which it has one that fits."""
    if isinstance(value, Choice):
        (xs, dx), (ys, dy) = nodes_of(domain, value.yes), nodes_of(domain, value.no)
        nodes = [e.if_(value.condition.node, x, y) for x, y in zip(xs, ys, strict=True)]
        return nodes, value.condition._chosen(dx, dy)
    if isinstance(value, Structure):
        if value._domain != domain:
            raise mistake(f"{value!r} is {value._domain}", f"store {domain} there")
        return value._nodes, value._is_defined
    if type(domain) in TERMS:
        return _scalar_of(domain, value)
    parts: Iterable[tuple[Domain, Any]]
    if isinstance(domain, Record) and isinstance(value, dict):
        for name in {*value} ^ {*domain.names}:
            raise ModelError(
                f"{caller()}: {'unknown' if name in value else 'missing'} field {name!r}; "
                f"write exactly: {', '.join(domain.names)}"
            )
        parts = [(d, value[name]) for name, d in zip(domain.names, domain.domains, strict=True)]
    elif isinstance(domain, Per) and isinstance(value, list | tuple) and len(value) == domain.count:
        parts = [(domain.element, x) for x in value]
    elif isinstance(domain, Sequence_) and isinstance(value, list | tuple) and len(value) <= domain.capacity:
        parts = [(domain.element, x) for x in value]
        nodes, defined = _joined(parts)
        padding = constants(domain.element, domain.element.first) * (domain.capacity - len(value))
        return [e.constant("number", len(value)), *nodes, *padding], defined
    elif isinstance(domain, Messages) and isinstance(value, list | tuple):
        holder = TracedMessages(domain, None, constants(domain, frozenset()), TRUE)
        chosen = [holder._chosen(x) for x in value]
        bits = [e.or_(*column) for column in zip(*(c for c, _ in chosen), strict=True)] if chosen else holder._nodes
        return bits, e.and_(*(d for _, d in chosen))
    else:
        raise mistake(f"{value!r} is not {domain}", "store a value of that domain")
    return _joined(parts)


def _joined(parts: Iterable[tuple[Domain, Any]]) -> tuple[list[Expression], Expression]:
    made = [nodes_of(d, x) for d, x in parts]
    return [node for nodes, _ in made for node in nodes], e.and_(*(defined for _, defined in made))


def _scalar_of(domain: Domain, value: Any) -> tuple[list[Expression], Expression]:
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
