"""Structures: record, per(...), sequence, channel, messages, bag.

A structure either lies at a place of the state or is a computed value. Only the parts of a structure at a place can be
assigned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NoReturn

from isrcheck.model.language.domains import Bag, Channel, Domain, Flag, Messages, Number, Per, Record, Sequence_
from isrcheck.model.language.errors import ModelError, OfTheState, caller, mistake, nearest
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import FALSE, TRUE, Expression
from isrcheck.model.semantics.symbolic.locations import TERMS, Place, Step, constants, fits, scalar_of, term_of
from isrcheck.model.semantics.symbolic.terms import Choice, Symbolic, Term, TracedFlag, TracedNumber


class Structure(Symbolic):
    """A value of several leaves, either at a place of the state or computed."""

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
        """The part of this structure that has the domain `domain` and begins at the leaf number `offset`."""
        if self._place is not None:
            return placed(domain, self._place.within(offset))
        return wrapped(domain, self._given[offset : offset + domain.width], self._defined)

    @property
    def _given(self) -> list[Expression]:
        """The expressions of this value, which is computed and has no place in the state."""
        assert self._value is not None
        return self._value

    def _assign(self, nodes: list[Expression], defined: Expression, what: str) -> None:
        if self._place is None:
            raise mistake(f"{what} changes a value outside the state", "change it through s")
        self._place.write(nodes, defined)

    def _part_assign(self, domain: Domain, offset: int, value: Any) -> None:
        if self._place is None:
            raise mistake("an assignment to a value outside the state", "assign it through s")
        nodes, defined = nodes_of(domain, value)
        self._place.within(offset).write(nodes, defined)

    def _kind(self) -> Domain:
        return self._domain

    def _either(self, condition: TracedFlag, yes: Any, no: Any) -> Any:
        (xs, dx), (ys, dy) = nodes_of(self._domain, yes), nodes_of(self._domain, no)
        nodes = [e.if_(condition.node, x, y) for x, y in zip(xs, ys, strict=True)]
        return wrapped(self._domain, nodes, condition._chosen(dx, dy))

    def __eq__(self, other: object) -> Any:
        nodes, defined = nodes_of(self._domain, other)
        same = e.and_(*(e.eq(x, y) for x, y in zip(self._nodes, nodes, strict=True)))
        return TracedFlag(same, e.and_(self._is_defined, defined), Flag())

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

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
            raise mistake("an assignment to a value outside the state", "assign it through s")
        else:
            self._at(index).write(*nodes_of(self._domain.element, value))

    def _at(self, index: Term) -> Place:
        """The place of the element at an index that depends on the state."""
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
        """The element at offset 0; defined where the sequence is not empty."""
        return self.at(0)

    @property
    def last(self) -> Any:
        """The element at the greatest offset; defined where the sequence is not empty."""
        return self.at(self.length - 1)

    def at(self, offset: Any) -> Any:
        """The element at an offset; defined where the offset is at least 0 and below the length."""
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

    def has(self, element: Any) -> TracedFlag:
        """True where the element is in the sequence."""
        here, defined = self._places(element)
        return TracedFlag(e.or_(*here), e.and_(self._is_defined, defined), Flag())

    def index(self, element: Any) -> TracedNumber:
        """The least offset of the element; defined where the sequence has the element."""
        here, defined = self._places(element)
        node = e.constant("number", 0)
        for i in reversed(range(self._domain.capacity)):
            node = e.if_(here[i], e.constant("number", i), node)
        return TracedNumber(node, e.and_(self._is_defined, defined, e.or_(*here)), Number(node.low, node.high))

    def _places(self, element: Any) -> tuple[list[Expression], Expression]:
        """A pair: one condition per offset (`element` is there), and the condition that `element` is defined."""
        nodes, defined = nodes_of(self._domain.element, element)
        same = [e.and_(*(e.eq(x, y) for x, y in zip(slot, nodes, strict=True))) for slot in self._slots()]
        return [e.and_(self._below(e.constant("number", i)), x) for i, x in enumerate(same)], defined

    def _below(self, offset: Expression) -> Expression:
        return e.lt(offset, self.length.node)

    def is_prefix_of(self, other: Any) -> TracedFlag:
        """True where another sequence of this domain begins with this sequence."""
        nodes, defined = nodes_of(self._domain, other)
        longer = TracedSequence(self._domain, None, nodes, defined)
        same = [
            e.implies(self._below(e.constant("number", i)), e.and_(*(e.eq(x, y) for x, y in zip(a, b, strict=True))))
            for i, (a, b) in enumerate(zip(self._slots(), longer._slots(), strict=True))
        ]
        fits_in = e.le(self.length.node, longer.length.node)
        return TracedFlag(e.and_(fits_in, *same), e.and_(self._is_defined, defined), Flag())

    def without(self, offset: Any) -> TracedSequence:
        """The sequence without the element at `offset`; defined where that element exists. Later offsets fall by 1."""
        at = self.length._lift(offset)
        slots = [*self._slots(), self._padding()]
        moved = [
            e.if_(e.lt(e.constant("number", i), at.node), x, y)
            for i in range(self._domain.capacity)
            for x, y in zip(slots[i], slots[i + 1], strict=True)
        ]
        inside = e.and_(e.le(e.constant("number", 0), at.node), self._below(at.node))
        length = e.subtract(self.length.node, e.constant("number", 1))
        return TracedSequence(self._domain, None, [length, *moved], e.and_(self._is_defined, at.defined, inside))

    def appended(self, element: Any) -> TracedSequence:
        """The sequence with an element added at the end; defined where the sequence is not full."""
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
        """The first `length` elements; defined where `length` is at least 0 and not above the sequence's length."""
        kept = self.length._lift(length)
        slots = [
            e.if_(e.lt(e.constant("number", i), kept.node), x, y)
            for i, slot in enumerate(self._slots())
            for x, y in zip(slot, self._padding(), strict=True)
        ]
        inside = e.and_(e.le(e.constant("number", 0), kept.node), e.le(kept.node, self.length.node))
        return TracedSequence(self._domain, None, [kept.node, *slots], e.and_(self._is_defined, kept.defined, inside))

    def without_first(self) -> TracedSequence:
        """The sequence without its first element; other offsets fall by 1. Defined where the sequence is not empty."""
        slots = [node for slot in [*self._slots()[1:], self._padding()] for node in slot]
        some = e.lt(e.constant("number", 0), self.length.node)
        length = e.subtract(self.length.node, e.constant("number", 1))
        return TracedSequence(self._domain, None, [length, *slots], e.and_(self._is_defined, some))

    def append(self, element: Any) -> None:
        """Adds an element at the end."""
        self._become(self.appended(element), ".append")

    def truncate(self, length: Any) -> None:
        """Keeps the first `length` elements."""
        self._become(self.truncated(length), ".truncate")

    def remove_first(self) -> None:
        """Removes the first element."""
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
        """Removes the element if it is in the set."""
        chosen, defined = self._chosen(element)
        bits = [e.and_(bit, e.not_(c)) for c, bit in zip(chosen, self._nodes, strict=True)]
        self._assign(bits, e.and_(self._is_defined, defined), ".remove")

    @property
    def is_empty(self) -> TracedFlag:
        return TracedFlag(e.not_(e.or_(*self._nodes)), self._is_defined, Flag())

    def _chosen(self, element: Any) -> tuple[list[Expression], Expression]:
        return which(self._domain, element)


def which(domain: Messages | Bag, element: Any) -> tuple[list[Expression], Expression]:
    """A pair: one condition per possible element (it is `element`), and the condition that `element` is defined."""
    nodes, defined = nodes_of(domain.element, element)
    return [
        e.and_(*(e.eq(x, y) for x, y in zip(nodes, constants(domain.element, value), strict=True)))
        for value in domain.elements
    ], defined


class TracedBag(Structure):
    """A bag: for each possible element, the number of its occurrences."""

    __slots__ = ()
    _domain: Bag

    def _total(self) -> Expression:
        total = e.constant("number", 0)
        for times in self._nodes:
            total = e.add(total, times)
        return total

    def count(self, element: Any) -> TracedNumber:
        """The number of occurrences of the element."""
        chosen, defined = which(self._domain, element)
        node = e.constant("number", 0)
        for is_it, times in zip(chosen, self._nodes, strict=True):
            node = e.if_(is_it, times, node)
        return TracedNumber(node, e.and_(self._is_defined, defined), Number(0, self._domain.capacity))

    def has(self, element: Any) -> TracedFlag:
        return self.count(element) > 0

    @property
    def size(self) -> TracedNumber:
        """The number of elements; equal elements count separately."""
        total = self._total()
        return TracedNumber(total, self._is_defined, Number(total.low, total.high))

    @property
    def is_empty(self) -> TracedFlag:
        none = [e.eq(times, e.constant("number", 0)) for times in self._nodes]
        return TracedFlag(e.and_(*none), self._is_defined, Flag())

    @property
    def is_full(self) -> Any:
        return self.size == self._domain.capacity

    def put(self, element: Any) -> None:
        """Adds an element; defined where the bag is not full."""
        chosen, defined = which(self._domain, element)
        room = e.lt(self._total(), e.constant("number", self._domain.capacity))
        self._change(chosen, e.and_(defined, room), 1, ".put")

    def take(self, element: Any) -> None:
        """Removes one occurrence of an element; defined where the bag has the element."""
        chosen, defined = which(self._domain, element)
        self._change(chosen, e.and_(defined, self.has(element).node), -1, ".take")

    def _change(self, chosen: list[Expression], defined: Expression, by: int, what: str) -> None:
        cells = [e.if_(c, e.add(x, e.constant("number", by)), x) for c, x in zip(chosen, self._nodes, strict=True)]
        self._assign(cells, e.and_(self._is_defined, defined), what)


class TracedChannel(Structure):
    """A sequence that changes only at its ends: elements are put at the end and taken from the head."""

    __slots__ = ()
    _domain: Channel

    @property
    def _line(self) -> TracedSequence:
        return TracedSequence(self._domain, None, self._nodes, self._is_defined)

    @property
    def head(self) -> Any:
        """The oldest element; defined where the channel is not empty."""
        return self._line.first

    @property
    def length(self) -> TracedNumber:
        return self._line.length

    @property
    def is_empty(self) -> Any:
        return self._line.is_empty

    @property
    def is_full(self) -> Any:
        return self._line.is_full

    def has(self, element: Any) -> TracedFlag:
        return self._line.has(element)

    def put(self, element: Any) -> None:
        """Adds an element at the end; defined where the channel is not full."""
        self._become(self._line.appended(element), ".put")

    def take(self) -> None:
        """Removes the head; defined where the channel is not empty."""
        self._become(self._line.without_first(), ".take")

    def _become(self, value: TracedSequence, what: str) -> None:
        self._assign(value._nodes, value._is_defined, what)


STRUCTURES: Final[dict[type[Domain], type[Structure]]] = {
    Record: TracedRecord,
    Sequence_: TracedSequence,
    Channel: TracedChannel,
    Messages: TracedMessages,
    Bag: TracedBag,
    Per: TracedPer,
}


def placed(domain: Domain, place: Place) -> Any:
    """The value of a domain at a place. A scalar is read immediately; a structure keeps the place."""
    if type(domain) in TERMS:
        return TERMS[type(domain)](place.read(1)[0], place.defined, domain)
    return STRUCTURES[type(domain)](domain, place, None, TRUE)


def wrapped(domain: Domain, nodes: list[Expression], defined: Expression) -> Any:
    """A value of a domain, made from the expressions of its leaves."""
    if type(domain) in TERMS:
        return TERMS[type(domain)](nodes[0], defined, domain)
    return STRUCTURES[type(domain)](domain, None, nodes, defined)


def index_of(domain: Domain, index: Any) -> int | Term:
    """The position of an index that is a plain value, or the term of an index that depends on the state."""
    term = term_of(domain, index, "index by")
    if isinstance(index, Term | Choice):
        return term
    if FALSE in fits(domain, [term.node]):
        raise mistake(f"the index {index!r} is out of range", f"index by {domain}")
    return term.node.low - domain.scalars[0].low


def nodes_of(domain: Domain, value: Any) -> tuple[list[Expression], Expression]:
    """Expressions of a value, one for each leaf of `domain`, and the condition that the value is defined and fits."""
    if isinstance(value, Choice):
        (xs, dx), (ys, dy) = nodes_of(domain, value.yes), nodes_of(domain, value.no)
        nodes = [e.if_(value.condition.node, x, y) for x, y in zip(xs, ys, strict=True)]
        return nodes, value.condition._chosen(dx, dy)
    if isinstance(value, Structure):
        if value._domain != domain:
            raise mistake(f"{value!r} is {value._domain}", f"store {domain} there")
        return value._nodes, value._is_defined
    if type(domain) in TERMS:
        return scalar_of(domain, value)
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
    elif isinstance(domain, Bag) and isinstance(value, list | tuple) and len(value) <= domain.capacity:
        return _bag(domain, value)
    else:
        raise mistake(f"{value!r} is not {domain}", "store a value of that domain")
    return _joined(parts)


def _bag(domain: Bag, elements: Iterable[Any]) -> tuple[list[Expression], Expression]:
    one, none = e.constant("number", 1), e.constant("number", 0)
    cells, where = constants(domain, ()), TRUE
    for chosen, defined in (which(domain, x) for x in elements):
        cells = [e.add(x, e.if_(c, one, none)) for x, c in zip(cells, chosen, strict=True)]
        where = e.and_(where, defined)
    return cells, where


def _joined(parts: Iterable[tuple[Domain, Any]]) -> tuple[list[Expression], Expression]:
    made = [nodes_of(d, x) for d, x in parts]
    return [node for nodes, _ in made for node in nodes], e.and_(*(defined for _, defined in made))
