"""Finite domains: the values that a variable, a field or a parameter can hold.

A *value* is plain Python data. A flag is a bool, a number an int, an enum a str. A broker is an int, or None for no
broker. A set of brokers is a frozenset of ints, and messages are a frozenset of elements. A record is a tuple in the
order of its fields, and per(...) is a tuple in the order of its index. A sequence, a channel and a bag are tuples of
elements; the elements of a bag are sorted.

A state stores each value as integers, the value's *leaves*. Every domain orders its values by their leaves, compared
one after the other. A *scalarset* is a set of values that can only be compared for equality, such as the brokers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from isrcheck.model.language.errors import UNKNOWN_OPERATOR, ModelError, mistake
from isrcheck.model.language.scalarset_members import BROKER, no_order
from isrcheck.model.semantics.expressions import Kind
from isrcheck.model.semantics.operators import signs

Value = Any
LARGEST_RANGE: Final = 1 << 63
LARGEST_SET: Final = 4096
"""The limit on the possible elements of a set of messages or a bag. Each possible element is a leaf of the state."""


@dataclass(frozen=True)
class Scalar:
    """One leaf of a domain: an integer of `low..high`. The leaf `log[1].length` of `log` has the path `[1].length`.

    If the leaf holds a member of a scalarset or a set of members, `of` is the name of the scalarset.
    """

    path: str
    kind: Kind
    low: int
    high: int
    of: str = BROKER


@dataclass(frozen=True)
class Domain:
    """The values of a variable; subclasses define how a value is stored, ordered, checked and written as JSON."""

    operators: ClassVar[tuple[str, str]]
    """The error text and the remedy for an operator that the values lack. Only domains of one leaf define this."""

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        """The leaves of a value, in order. The first leaf in which two values differ decides which value is less."""
        return tuple(self._scalars())

    def _scalars(self) -> list[Scalar]:
        raise NotImplementedError

    def encode(self, value: Value) -> list[int]:
        """The integers of a value's leaves."""
        raise NotImplementedError

    def decode(self, leaves: Iterator[int]) -> Value:
        """The value whose leaves are the next integers of the iterator."""
        raise NotImplementedError

    def contains(self, value: Value) -> bool:
        raise NotImplementedError

    def values(self) -> Iterator[Value]:
        """Every value, in order."""
        raise NotImplementedError

    def text(self, value: Value) -> str:
        """A value as text: `{0, 1}`, `[0: (id 0, epoch 1)]` (a log), `(id 0, epoch 1)` (a record), `none` (no broker).

        >>> from isrcheck.model.language.domains import broker, set_of
        >>> set_of(broker).text(frozenset({1, 0}))
        '{0, 1}'
        """
        return str(value)

    def to_json(self, value: Value) -> Any:
        return value

    def from_json(self, data: Any) -> Value:
        """The value that JSON data represents; raises `ValueError` if the data represents no value of this domain."""
        if not self.contains(data):
            raise ValueError(f"{data!r} is not {self}")
        return data

    @cached_property
    def first(self) -> Value:
        """The least value. A variable starts with this value unless the model assigns another initial value."""
        return self.decode(iter([s.low for s in self.scalars]))

    @property
    def width(self) -> int:
        return len(self.scalars)


@dataclass(frozen=True)
class Flag(Domain):
    """The values false and true, in this order."""

    operators = (UNKNOWN_OPERATOR, "combine flags with & | ~, compare them with == and !=")

    def _scalars(self) -> list[Scalar]:
        return [Scalar("", "flag", 0, 1)]

    def encode(self, value: Value) -> list[int]:
        return [int(value)]

    def decode(self, leaves: Iterator[int]) -> Value:
        return bool(next(leaves))

    def contains(self, value: Value) -> bool:
        return isinstance(value, bool)

    def values(self) -> Iterator[Value]:
        yield from (False, True)

    def text(self, value: Value) -> str:
        return "true" if value else "false"

    def __str__(self) -> str:
        return "a flag"


@dataclass(frozen=True)
class Number(Domain):
    """The integers low..high, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if isinstance(self.low, int) and isinstance(self.high, int) and not self.low <= self.high:
            raise mistake(f"number({self.low}, {self.high}) has no values", "write the lower bound first")

    @property
    def operators(self) -> tuple[str, str]:  # type: ignore[override]
        return UNKNOWN_OPERATOR, f"compute with {signs('number')}, compare with == != < <= > >="

    def _scalars(self) -> list[Scalar]:
        return [Scalar("", "number", self.low, self.high)]

    def encode(self, value: Value) -> list[int]:
        return [value]

    def decode(self, leaves: Iterator[int]) -> Value:
        return next(leaves)

    def contains(self, value: Value) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def values(self) -> Iterator[Value]:
        yield from range(self.low, self.high + 1)

    def __str__(self) -> str:
        return f"a number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Identity(Number):
    """Values that can only be compared for equality. They are stored as numbers. The initial value is 0."""

    operators = ("identities have no order and no arithmetic", "compare them with == and !=")

    def __str__(self) -> str:
        return f"an identity of {self.high + 1}: 0, the initial one, or a result of s.fresh"


@dataclass(frozen=True)
class Enum(Domain):
    """Named values, in the order written."""

    operators = (UNKNOWN_OPERATOR, "compare named values with == and !=")
    members: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.members or len(set(self.members)) < len(self.members):
            raise mistake(f"enum{self.members} is empty or repeats a name", "name each value once")

    def _scalars(self) -> list[Scalar]:
        return [Scalar("", "enum", 0, len(self.members) - 1)]

    def encode(self, value: Value) -> list[int]:
        return [self.members.index(value)]

    def decode(self, leaves: Iterator[int]) -> Value:
        return self.members[next(leaves)]

    def contains(self, value: Value) -> bool:
        return isinstance(value, str) and value in self.members

    def values(self) -> Iterator[Value]:
        yield from self.members

    def __str__(self) -> str:
        return f"one of {', '.join(self.members)}"


@dataclass(frozen=True)
class Broker(Domain):
    """A member of the scalarset `of` or, if `optional`, None (the first value). Only `==` and `!=` compare members."""

    operators = no_order(BROKER)
    optional: bool = False
    count: int = 0
    of: str = BROKER

    def _scalars(self) -> list[Scalar]:
        return [Scalar("", "broker", -1 if self.optional else 0, self.count - 1, self.of)]

    def encode(self, value: Value) -> list[int]:
        return [-1 if value is None else value]

    def decode(self, leaves: Iterator[int]) -> Value:
        broker = next(leaves)
        return None if broker < 0 else broker

    def contains(self, value: Value) -> bool:
        if value is None:
            return self.optional
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < self.count

    def values(self) -> Iterator[Value]:
        yield from [None] if self.optional else []
        yield from range(self.count)

    def text(self, value: Value) -> str:
        return "none" if value is None else str(value)

    def __str__(self) -> str:
        numbers = f" from 0 to {self.count - 1}" if self.count else ""
        return f"{a_or_an(self.of)}{numbers}{' or none' if self.optional else ''}"


@dataclass(frozen=True)
class BrokerSet(Domain):
    """A set of members of a scalarset, ordered by their bit masks: {}, {0}, {1}, {0, 1}, {2}, ..."""

    element: Broker

    @property
    def operators(self) -> tuple[str, str]:  # type: ignore[override]
        return UNKNOWN_OPERATOR, f"combine sets with {signs('set')}, compare them with == != <= >="

    def _scalars(self) -> list[Scalar]:
        return [Scalar("", "set", 0, (1 << self.element.count) - 1, self.element.of)]

    def encode(self, value: Value) -> list[int]:
        return [sum(1 << broker for broker in value)]

    def decode(self, leaves: Iterator[int]) -> Value:
        mask = next(leaves)
        return frozenset(i for i in range(self.element.count) if mask >> i & 1)

    def contains(self, value: Value) -> bool:
        return isinstance(value, frozenset) and all(self.element.contains(x) for x in value)

    def values(self) -> Iterator[Value]:
        yield from (self.decode(iter([mask])) for mask in range(1 << self.element.count))

    def to_json(self, value: Value) -> Any:
        return sorted(value)

    def from_json(self, data: Any) -> Value:
        if not isinstance(data, list) or len({*map(repr, data)}) < len(data):
            raise ValueError(f"{data!r} is not {self}: a set is a list without duplicates")
        return frozenset(self.element.from_json(x) for x in data)

    def text(self, value: Value) -> str:
        return "{" + ", ".join(map(str, sorted(value))) + "}"

    def __str__(self) -> str:
        return f"a set of {self.element.of}s{str(self.element).removeprefix(a_or_an(self.element.of))}"


@dataclass(frozen=True)
class Record(Domain):
    """Named fields, in the order written."""

    names: tuple[str, ...]
    domains: tuple[Domain, ...]

    @cached_property
    def fields(self) -> dict[str, tuple[int, Domain]]:
        """Position and domain of each field."""
        return {name: (i, d) for i, (name, d) in enumerate(zip(self.names, self.domains, strict=True))}

    def _scalars(self) -> list[Scalar]:
        return [
            replace(s, path=f".{name}{s.path}")
            for name, d in zip(self.names, self.domains, strict=True)
            for s in d.scalars
        ]

    def encode(self, value: Value) -> list[int]:
        return [leaf for d, x in zip(self.domains, value, strict=True) for leaf in d.encode(x)]

    def decode(self, leaves: Iterator[int]) -> Value:
        return tuple(d.decode(leaves) for d in self.domains)

    def contains(self, value: Value) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == len(self.domains)
            and all(d.contains(x) for d, x in zip(self.domains, value, strict=True))
        )

    def values(self) -> Iterator[Value]:
        yield from itertools.product(*(tuple(d.values()) for d in self.domains))

    def to_json(self, value: Value) -> Any:
        return {name: d.to_json(x) for name, d, x in zip(self.names, self.domains, value, strict=True)}

    def from_json(self, data: Any) -> Value:
        if not isinstance(data, dict) or set(data) != set(self.names):
            raise ValueError(f"{data!r} does not have the fields {', '.join(self.names)}")
        return tuple(d.from_json(data[name]) for name, d in zip(self.names, self.domains, strict=True))

    def text(self, value: Value) -> str:
        parts = zip(self.names, self.domains, value, strict=True)
        return "(" + ", ".join(f"{name} {domain.text(x)}" for name, domain, x in parts) + ")"

    def __str__(self) -> str:
        return "a record of " + ", ".join(self.names)


@dataclass(frozen=True)
class Sequence_(Domain):
    """A log or a queue of at most `capacity` elements. Values are ordered by length, then element by element."""

    element: Domain
    capacity: int

    def __post_init__(self) -> None:
        if isinstance(self.capacity, int) and self.capacity < 1:
            what = f"a {type(self).__name__.lower().removesuffix('_')} of capacity {self.capacity}"
            raise mistake(f"{what} cannot hold anything", "give it a capacity of at least 1")

    def _scalars(self) -> list[Scalar]:
        slots = [
            replace(s, path=f"[{offset}]{s.path}") for offset in range(self.capacity) for s in self.element.scalars
        ]
        return [Scalar(".length", "number", 0, self.capacity), *slots]

    def encode(self, value: Value) -> list[int]:
        padding = [self.element.first] * (self.capacity - len(value))
        return [len(value), *(leaf for x in [*value, *padding] for leaf in self.element.encode(x))]

    def decode(self, leaves: Iterator[int]) -> Value:
        length = next(leaves)
        return tuple([self.element.decode(leaves) for _ in range(self.capacity)][:length])

    def contains(self, value: Value) -> bool:
        return isinstance(value, tuple) and len(value) <= self.capacity and all(map(self.element.contains, value))

    def values(self) -> Iterator[Value]:
        elements = tuple(self.element.values())
        for length in range(self.capacity + 1):
            yield from itertools.product(elements, repeat=length)

    def to_json(self, value: Value) -> Any:
        return [self.element.to_json(x) for x in value]

    def from_json(self, data: Any) -> Value:
        if not isinstance(data, list) or len(data) > self.capacity:
            raise ValueError(f"{data!r} is not {self}")
        return tuple(self.element.from_json(x) for x in data)

    def text(self, value: Value) -> str:
        return "[" + ", ".join(f"{i}: {self.element.text(x)}" for i, x in enumerate(value)) + "]"

    def __str__(self) -> str:
        return f"a sequence of at most {self.capacity} elements"


@dataclass(frozen=True)
class Messages(Domain):
    """A set of elements of a small domain, stored as one flag for each possible element."""

    element: Domain

    @cached_property
    def elements(self) -> tuple[Value, ...]:
        """The possible elements of the set, in order."""
        return _elements(self.element, "a set of messages", "a bit")

    def _scalars(self) -> list[Scalar]:
        return [Scalar(f"{{{self.element.to_json(x)}}}", "flag", 0, 1) for x in self.elements]

    def encode(self, value: Value) -> list[int]:
        return [int(x in value) for x in self.elements]

    def decode(self, leaves: Iterator[int]) -> Value:
        return frozenset([x for x in self.elements if next(leaves)])

    def contains(self, value: Value) -> bool:
        return isinstance(value, frozenset) and all(map(self.element.contains, value))

    def values(self) -> Iterator[Value]:
        # The flag of the first element changes most slowly in the product, so the values come in order.
        for flags in itertools.product((0, 1), repeat=len(self.elements)):
            yield self.decode(iter(flags))

    def to_json(self, value: Value) -> Any:
        return [self.element.to_json(x) for x in self.elements if x in value]

    def from_json(self, data: Any) -> Value:
        if not isinstance(data, list) or len({*map(repr, data)}) < len(data):
            raise ValueError(f"{data!r} is not {self}: a set is a list without duplicates")
        return frozenset(self.element.from_json(x) for x in data)

    def text(self, value: Value) -> str:
        return "{" + ", ".join(self.element.text(x) for x in self.elements if x in value) + "}"

    def __str__(self) -> str:
        return f"a set over {self.element}"


def _elements(domain: Domain, what: str, each: str) -> tuple[Value, ...]:
    """The values of a domain; raises `ModelError` if there are too many to give each value a leaf of the state."""
    found = tuple(itertools.islice(domain.values(), LARGEST_SET + 1))
    if len(found) > LARGEST_SET:
        raise ModelError(
            f"{what} over {domain} has more than {LARGEST_SET} possible elements, and each is {each} of "
            "the state; use fewer values or per(index, record)"
        )
    return found


@dataclass(frozen=True)
class Bag(Domain):
    """At most `capacity` elements in no order, with repetitions; stored as a count for each possible element."""

    element: Domain
    capacity: int

    def __post_init__(self) -> None:
        if isinstance(self.capacity, int) and self.capacity < 1:
            raise mistake(f"a bag of size {self.capacity} cannot hold anything", "give it a capacity of at least 1")

    @cached_property
    def elements(self) -> tuple[Value, ...]:
        """The possible elements of the bag, in order."""
        return _elements(self.element, "a bag", "a number")

    @cached_property
    def positions(self) -> dict[Value, int]:
        return {x: i for i, x in enumerate(self.elements)}

    def of(self, elements: Iterable[Value]) -> Value:
        """The bag with these elements; they are sorted, so that equal bags are equal tuples."""
        return tuple(sorted(elements, key=self.positions.__getitem__))

    def _scalars(self) -> list[Scalar]:
        return [Scalar(f"{{{self.element.to_json(x)}}}", "number", 0, self.capacity) for x in self.elements]

    def encode(self, value: Value) -> list[int]:
        leaves = [0] * len(self.elements)
        for x in value:
            leaves[self.positions[x]] += 1
        return leaves

    def decode(self, leaves: Iterator[int]) -> Value:
        return tuple([x for x in self.elements for _ in range(next(leaves))])

    def contains(self, value: Value) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) <= self.capacity
            and all(map(self.element.contains, value))
            and self.of(value) == value
        )

    def values(self) -> Iterator[Value]:
        yield from self._values(len(self.elements), self.capacity)

    def _values(self, kinds: int, room: int) -> Iterator[Value]:
        """Yields, in order, the bags of at most `room` elements that use only the last `kinds` possible elements."""
        if kinds == 0:
            yield ()
            return
        for times in range(room + 1):
            mine = (self.elements[-kinds],) * times
            yield from ((*mine, *others) for others in self._values(kinds - 1, room - times))

    def to_json(self, value: Value) -> Any:
        return [self.element.to_json(x) for x in value]

    def from_json(self, data: Any) -> Value:
        if not isinstance(data, list) or len(data) > self.capacity:
            raise ValueError(f"{data!r} is not {self}")
        return self.of(self.element.from_json(x) for x in data)

    def text(self, value: Value) -> str:
        return "{" + ", ".join(self.element.text(x) for x in value) + "}"

    def __str__(self) -> str:
        return f"a bag of at most {self.capacity} elements"


@dataclass(frozen=True)
class Channel(Sequence_):
    """At most `capacity` elements in transit: put at the end, taken from the head. It is stored like a sequence."""

    def __str__(self) -> str:
        return f"a channel of at most {self.capacity} elements"


@dataclass(frozen=True)
class Per(Domain):
    """One element for each value of an index, which is a broker, a number, an enum or a flag."""

    index: Domain
    element: Domain

    @cached_property
    def positions(self) -> dict[Value, int]:
        """The position of each value of the index."""
        return {value: i for i, value in enumerate(self.index.values())}

    @property
    def count(self) -> int:
        return len(self.positions)

    def _scalars(self) -> list[Scalar]:
        return [
            replace(s, path=f"[{self.index.to_json(i)}]{s.path}")
            for i in self.index.values()
            for s in self.element.scalars
        ]

    def encode(self, value: Value) -> list[int]:
        return [leaf for x in value for leaf in self.element.encode(x)]

    def decode(self, leaves: Iterator[int]) -> Value:
        return tuple(self.element.decode(leaves) for _ in range(self.count))

    def contains(self, value: Value) -> bool:
        return isinstance(value, tuple) and len(value) == self.count and all(map(self.element.contains, value))

    def values(self) -> Iterator[Value]:
        yield from itertools.product(tuple(self.element.values()), repeat=self.count)

    def to_json(self, value: Value) -> Any:
        return [self.element.to_json(x) for x in value]

    def from_json(self, data: Any) -> Value:
        if not isinstance(data, list) or len(data) != self.count:
            raise ValueError(f"{data!r} is not a list of {self.count}")
        return tuple(self.element.from_json(x) for x in data)

    def text(self, value: Value) -> str:
        pairs = zip(self.index.values(), value, strict=True)
        return "<" + ", ".join(f"{self.index.text(key)}: {self.element.text(x)}" for key, x in pairs) + ">"

    def __str__(self) -> str:
        return f"a list of {self.count}, each {self.element}"


def _end(number: Any) -> Any:
    """`number` as the limit of a domain. In a proof for all bounds, it may be a term, whose `as_end()` is the limit."""
    return number.as_end() if hasattr(type(number), "as_end") else number


def a_or_an(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


# --- how a model writes them ----------------------------------------------------------------------------------------

flag: Final = Flag()
broker: Final = Broker()
"""One of the model's brokers; the model's setting with `counts=broker` gives the number of brokers."""


def scalarset(name: str) -> Broker:
    """Declares named values that can only be compared for equality: `client = scalarset("client")`.

    The model's setting with `counts=client` gives the number of values; reports call them `client 0`, `client 1`.
    """
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise mistake(f"scalarset({name!r})", 'use a lower-case word in the singular: scalarset("client")')
    return Broker(of=name)


def number(low: int, high: int) -> Number:
    """Whole numbers from `low` to `high`, both included."""
    ends = _end(low), _end(high)
    if not all(_is_whole(end) or hasattr(type(x), "as_end") for end, x in zip(ends, (low, high), strict=True)):
        raise mistake(f"number({low!r}, {high!r})", "write two integers")
    if all(map(_is_whole, ends)) and high - low >= LARGEST_RANGE:
        raise mistake(f"number({low}, {high}) has more values than fit in 63 bits", "use a smaller range")
    return Number(*ends)


def identity(size: int) -> Identity:
    """Declares `size` values (such as versions) that can only be compared for equality: 0, and results of `s.fresh`."""
    if hasattr(type(size), "as_end"):
        raise mistake(
            "identities are not supported without bounds", "prove this model with its settings, without --unbounded"
        )
    if not _is_whole(size):
        raise mistake(f"identity({size!r})", "give the number of values as an integer")
    if size < 2:
        raise mistake(f"identity({size}) has no fresh value", "give it at least 2 values")
    return Identity(0, size - 1)


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _require_domain(domain: Any, what: str) -> None:
    if not isinstance(domain, Domain):
        raise mistake(f"{domain!r} {what}", "use a domain, such as number(0, 3)")


def enum(*members: str) -> Enum:
    """One of the given names, in the given order; a value is compared to a string with `==`."""
    if not all(isinstance(member, str) for member in members):
        raise mistake(f"enum{members}", "write names as strings")
    return Enum(members)


def optional(of: Broker) -> Broker:
    """A member of a scalarset or `none`: `optional(broker)`."""
    if not isinstance(of, Broker):
        raise mistake(
            f"optional({of}) is not supported", "only brokers and members of other scalarsets can be optional"
        )
    return replace(of, optional=True)


def set_of(element: Broker) -> BrokerSet:
    """A set of members of a scalarset: `set_of(broker)`."""
    if not isinstance(element, Broker) or element.optional:
        raise mistake(
            f"set_of({element}) is not supported", "write set_of(broker), or messages(domain) for other elements"
        )
    return BrokerSet(element)


def record(**fields_: Domain) -> Record:
    """A record of named values: `record(epoch=number(0, 3), leader=optional(broker))`."""
    if not fields_:
        raise mistake("a record without fields", "add fields, such as record(epoch=number(0, 3))")
    for name in fields_:
        if name.startswith("_"):
            raise mistake(f"a field called {name!r}", "use a name that begins with a letter")
        _require_domain(fields_[name], f"as field {name!r} of a record")
    return Record(tuple(fields_), tuple(fields_.values()))


def sequence(element: Domain, capacity: int) -> Sequence_:
    """A log: at most `capacity` values, appended and truncated at the end."""
    return Sequence_(element, _room(element, capacity, "a sequence of capacity"))


def channel(element: Domain, capacity: int) -> Channel:
    """At most `capacity` messages in transit, in order: put at the end, taken from the head."""
    return Channel(element, _room(element, capacity, "a channel of capacity"))


def bag(element: Domain, size: int) -> Bag:
    """At most `size` messages in transit, in no order; equal messages count separately."""
    return Bag(element, _room(element, size, "a bag of size"))


def _room(element: Any, capacity: Any, what: str) -> Any:
    """`capacity` as a limit of a domain. Raises `ModelError` if `capacity` is no number or `element` is no domain."""
    _require_domain(element, f"in {what.rpartition(' of')[0]}")
    if not _is_whole(capacity) and not hasattr(type(capacity), "as_end"):
        raise mistake(f"{what} {capacity!r}", "write an integer")
    return _end(capacity)


def messages(element: Domain) -> Messages:
    """A set of values of a domain: messages in transit, in no order, each at most once."""
    _require_domain(element, "in a set of messages")
    return Messages(element)


def per(index: Domain, element: Domain) -> Per:
    """One element for each value of an index: `per(broker, number(0, 3))`."""
    known = isinstance(index, Broker | Number | Enum | Flag) and not isinstance(index, Identity)
    if not known or (isinstance(index, Broker) and index.optional):
        raise mistake(f"per({index}, ...) is not supported", "index by a broker, number, enum or flag")
    _require_domain(element, "per something")
    return Per(index, element)


def scalarsets(domain: Domain) -> Iterator[Broker]:
    """Each use of a scalarset in a domain, in order."""
    if isinstance(domain, Broker):
        yield domain
    for f in fields(domain):
        part = getattr(domain, f.name)
        for inner in part if isinstance(part, tuple) else (part,):
            if isinstance(inner, Domain):
                yield from scalarsets(inner)


def resolved(domain: Domain, counts: Mapping[str, int]) -> Domain:
    """The domain with the number of members of each scalarset filled in; `counts` has these numbers by scalarset."""
    if isinstance(domain, Broker):
        return replace(domain, count=counts.get(domain.of, 0))
    changes: dict[str, Any] = {}
    for f in fields(domain):
        part = getattr(domain, f.name)
        if isinstance(part, Domain):
            changes[f.name] = resolved(part, counts)
        elif isinstance(part, Sequence) and part and isinstance(part[0], Domain):
            changes[f.name] = tuple(resolved(p, counts) for p in part)
    return replace(domain, **changes)
