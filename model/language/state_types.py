"""Types of a state and of its values for editors and type checkers: a model's methods receive the state as `s`.

No class of this file is ever instantiated. At run time each engine has its own classes of values, which also determine
where an operation is defined. `isrcheck models MODEL --types` writes the class of a model's state with these types.
Models annotate `s` with that class, and import the class only `if TYPE_CHECKING`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, Generic, TypeVar, overload

from isrcheck.model.language.scalarset_members import BrokerId

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741
G = TypeVar("G")


class Value:
    """Any part of a state."""

    def __eq__(self, other: object) -> Flag: ...  # type: ignore[override, empty-body]
    def __ne__(self, other: object) -> Flag: ...  # type: ignore[override, empty-body]


class Flag(Value):
    """A condition on the state. Python's `if` cannot branch on a condition: use `when`."""

    def __and__(self, other: Flag | bool) -> Flag: ...  # type: ignore[empty-body]
    def __rand__(self, other: Flag | bool) -> Flag: ...  # type: ignore[empty-body]
    def __or__(self, other: Flag | bool) -> Flag: ...  # type: ignore[empty-body]
    def __ror__(self, other: Flag | bool) -> Flag: ...  # type: ignore[empty-body]
    def __invert__(self) -> Flag: ...  # type: ignore[empty-body]


class Number(Value):
    """A whole number that the state holds."""

    def __lt__(self, other: Number | int) -> Flag: ...  # type: ignore[empty-body]
    def __le__(self, other: Number | int) -> Flag: ...  # type: ignore[empty-body]
    def __gt__(self, other: Number | int) -> Flag: ...  # type: ignore[empty-body]
    def __ge__(self, other: Number | int) -> Flag: ...  # type: ignore[empty-body]
    def __add__(self, other: Number | int) -> Number: ...  # type: ignore[empty-body]
    def __radd__(self, other: int) -> Number: ...  # type: ignore[empty-body]
    def __sub__(self, other: Number | int) -> Number: ...  # type: ignore[empty-body]
    def __rsub__(self, other: int) -> Number: ...  # type: ignore[empty-body]
    def __mul__(self, other: Number | int) -> Number: ...  # type: ignore[empty-body]
    def __neg__(self) -> Number: ...  # type: ignore[empty-body]


class Name(Value):
    """One of the names of an enum, which a model can compare with strings."""


class Broker(Value):
    """A broker that the state holds; only an optional broker has `is_none`."""

    @property
    def is_none(self) -> Flag: ...  # type: ignore[empty-body]


class Brokers(Value):
    """A set of brokers."""

    def has(self, member: Broker | BrokerId) -> Flag: ...  # type: ignore[empty-body]
    def including(self, member: Broker | BrokerId) -> Brokers: ...  # type: ignore[empty-body]
    def excluding(self, member: Broker | BrokerId) -> Brokers: ...  # type: ignore[empty-body]
    def __or__(self, other: Brokers | set[Any] | frozenset[Any]) -> Brokers: ...  # type: ignore[empty-body]
    def __and__(self, other: Brokers | set[Any] | frozenset[Any]) -> Brokers: ...  # type: ignore[empty-body]
    def __sub__(self, other: Brokers | set[Any] | frozenset[Any]) -> Brokers: ...  # type: ignore[empty-body]
    def __rsub__(self, other: set[Any] | frozenset[Any]) -> Brokers: ...  # type: ignore[empty-body]
    def __le__(self, other: Brokers | set[Any] | frozenset[Any]) -> Flag: ...  # type: ignore[empty-body]
    def __ge__(self, other: Brokers | set[Any] | frozenset[Any]) -> Flag: ...  # type: ignore[empty-body]
    def every(self, holds: Callable[[BrokerId], Any]) -> Any: ...
    def some(self, holds: Callable[[BrokerId], Any]) -> Any: ...

    @property
    def size(self) -> Number: ...  # type: ignore[empty-body]
    @property
    def is_empty(self) -> Flag: ...  # type: ignore[empty-body]


class Sequence(Value, Generic[T]):
    """A log or a queue, read by `at(offset)`."""

    def at(self, offset: Number | int) -> T: ...  # type: ignore[empty-body]
    def has(self, element: Any) -> Flag: ...  # type: ignore[empty-body]
    def index(self, element: Any) -> Number: ...  # type: ignore[empty-body]
    def is_prefix_of(self, other: Sequence[T]) -> Flag: ...  # type: ignore[empty-body]
    def without(self, offset: Number | int) -> Sequence[T]: ...  # type: ignore[empty-body]
    def appended(self, element: Any) -> Sequence[T]: ...  # type: ignore[empty-body]
    def truncated(self, length: Number | int) -> Sequence[T]: ...  # type: ignore[empty-body]
    def without_first(self) -> Sequence[T]: ...  # type: ignore[empty-body]
    def append(self, element: Any) -> None: ...
    def truncate(self, length: Number | int) -> None: ...
    def remove_first(self) -> None: ...

    @property
    def length(self) -> Number: ...  # type: ignore[empty-body]
    @property
    def first(self) -> T: ...  # type: ignore[empty-body]
    @property
    def last(self) -> T: ...  # type: ignore[empty-body]
    @property
    def is_empty(self) -> Flag: ...  # type: ignore[empty-body]
    @property
    def is_full(self) -> Flag: ...  # type: ignore[empty-body]


class Messages(Value, Generic[T]):
    """A set of messages."""

    def has(self, element: Any) -> Flag: ...  # type: ignore[empty-body]
    def add(self, element: Any) -> None: ...
    def remove(self, element: Any) -> None: ...

    @property
    def is_empty(self) -> Flag: ...  # type: ignore[empty-body]


class Bag(Value, Generic[T]):
    """Messages in no order; a message may be in the bag several times."""

    def has(self, element: Any) -> Flag: ...  # type: ignore[empty-body]
    def count(self, element: Any) -> Number: ...  # type: ignore[empty-body]
    def put(self, element: Any) -> None: ...
    def take(self, element: Any) -> None: ...

    @property
    def size(self) -> Number: ...  # type: ignore[empty-body]
    @property
    def is_empty(self) -> Flag: ...  # type: ignore[empty-body]
    @property
    def is_full(self) -> Flag: ...  # type: ignore[empty-body]


class Channel(Value, Generic[T]):
    """Messages in order: put at the end, taken from the head."""

    def has(self, element: Any) -> Flag: ...  # type: ignore[empty-body]
    def put(self, element: Any) -> None: ...
    def take(self) -> None: ...

    @property
    def head(self) -> T: ...  # type: ignore[empty-body]
    @property
    def length(self) -> Number: ...  # type: ignore[empty-body]
    @property
    def is_empty(self) -> Flag: ...  # type: ignore[empty-body]
    @property
    def is_full(self) -> Flag: ...  # type: ignore[empty-body]


class Per(Value, Generic[I, T]):
    """One part for each value of an index."""

    def __getitem__(self, index: I) -> T: ...  # type: ignore[empty-body]
    def __setitem__(self, index: I, value: Any) -> None: ...


class Place(Generic[T, G]):
    """A variable or a field of a record: read as T, assigned as T or as the corresponding Python type G."""

    @overload
    def __get__(self, instance: None, owner: type) -> Place[T, G]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> Any: ...
    def __set__(self, instance: object, value: T | G) -> None: ...


class State:
    """The methods of every state."""

    def require(self, *conditions: Any) -> None: ...
    def room(self, condition: Any) -> Flag: ...  # type: ignore[empty-body]
    def enabled(self, method: Callable[..., Any]) -> Flag: ...  # type: ignore[empty-body]
    def fresh(self, domain: Any) -> Value: ...  # type: ignore[empty-body]
    def used_up(self, domain: Any) -> Flag: ...  # type: ignore[empty-body]


def _public(kind: type) -> dict[str, Any]:
    """The public names that the classes of values define, if they are of a kind, such as properties."""
    found = (item for cls in Value.__subclasses__() for item in vars(cls).items())
    return {name: x for name, x in found if isinstance(x, kind) and not name.startswith("_")}


PROPERTIES: Final = frozenset(_public(property))
"""The names of the properties of values."""
METHODS: Final = frozenset(n for n, x in _public(FunctionType).items() if x.__annotations__["return"] != "None")
"""The names of the methods that read a value of the state and do not change the state."""
