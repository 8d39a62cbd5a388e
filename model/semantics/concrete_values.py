"""The values that a model's methods receive from a concrete state: plain Python data, without tracing.

A log is a tuple and a set is a frozenset. An assignment to a part of the state replaces the part and never changes it
in place. These values have the same methods as the values in `symbolic`, but the two share no code: from the registry
of operators comes only which of Python's operators there are, and Python computes with its own numbers and sets.

An undefined operation (such as a read past a log's end) returns `Undefined`. Operations on `Undefined` are undefined,
except `false & undefined` and `true | undefined`. An undefined guard or predicate raises `EvaluationError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NoReturn, Protocol

from isrcheck.model.language.domains import (
    Bag,
    Broker,
    BrokerSet,
    Channel,
    Domain,
    Enum,
    Flag,
    Identity,
    Messages,
    Number,
    Per,
    Record,
    Sequence_,
    Value,
)
from isrcheck.model.language.errors import ModelError, OfTheState, caller, mistake, nearest
from isrcheck.model.language.scalarset_members import BROKER, BrokerId, NoBroker, no_order
from isrcheck.model.semantics.operators import Operator, python_operators

State = tuple[Value, ...]
Path = tuple[Any, ...]


class Changing(Protocol):
    """What `Part` and `Undefined` use of their state; `ConcreteState` in `concrete` implements this interface."""

    _writes: list[tuple[Path, Any]]
    _notes: dict[Path, None] | None

    def _noticed(self, path: Path) -> None: ...
    def _write(self, path: Path, domain: Domain, value: Any) -> None: ...


@dataclass(frozen=True)
class Failure:
    """An error message `what` and its place `where`, `file:line` of the model."""

    what: str
    where: str


def _of_undefined(of: Operator, on_the_right: bool) -> Callable[[Undefined, Any], Undefined]:
    return lambda self, other: self._of(None)


@python_operators("set", _of_undefined)
@python_operators("number", _of_undefined)
class Undefined(OfTheState):
    """The result of an operation that is undefined in this state.

    `_domain` is the domain of the result, or None if the domain is unknown. For a part of the state (such as `s.log[b]`
    with an undefined `b`), `_place` has the state and the path. An assignment to this part or inside it is undefined.
    """

    __slots__ = ("_failure", "_domain", "_place")
    _failure: Failure
    _domain: Domain | None
    _place: tuple[Changing, Path] | None

    def __init__(
        self, what: str | Failure, domain: Domain | None = None, place: tuple[Changing, Path] | None = None
    ) -> None:
        put = object.__setattr__  # this class's __setattr__ is for the model's assignments
        put(self, "_failure", what if isinstance(what, Failure) else Failure(what, caller()))
        put(self, "_domain", domain)
        put(self, "_place", place)

    def _of(self, domain: Domain | None, *steps: Any) -> Undefined:
        """A part of this undefined value. The part is undefined, too, and has the same error message."""
        place = self._place and (self._place[0], (*self._place[1], *steps))
        return Undefined(self._failure, domain, place if steps else None)

    def _spreads(self, *operands: Any) -> Undefined:
        return self._of(None)

    _spread: Any = _spreads

    def __getattr__(self, name: str) -> Any:
        if name in CHANGES and self._place is not None:
            return lambda *operands: self._assign()
        match self._domain:
            case Record():
                return self._of(self._domain.fields[name][1], name)
            case Sequence_() if name in ("first", "last", "at", "head"):
                return self._of(self._domain.element)
        return self._of(None)

    def __getitem__(self, index: Any) -> Any:
        return self._of(self._domain.element, step_to(0, True)) if isinstance(self._domain, Per) else self._of(None)

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)._assign()

    def __setitem__(self, index: Any, value: Any) -> None:
        self[index]._assign()

    def _assign(self) -> None:
        if self._place is None:
            raise mistake("a value outside the state is changed", "change it through s")
        state, path = self._place
        state._write(path, ANY_NUMBER, self)

    def __call__(self, *operands: Any) -> Any:
        return self

    choose = __call__

    def __and__(self, other: Any) -> Any:
        return FALSE if other is False or (isinstance(other, PlainFlag) and not other.value) else self

    def __or__(self, other: Any) -> Any:
        return TRUE if other is True or (isinstance(other, PlainFlag) and other.value) else self

    __rand__, __ror__ = __and__, __or__
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __invert__ = _spread

    __hash__ = OfTheState.__hash__


class Plain(OfTheState):
    """A scalar read from the state."""

    __slots__ = ("value", "domain")

    def __init__(self, value: Any, domain: Domain) -> None:
        self.value, self.domain = value, domain

    __hash__ = OfTheState.__hash__

    def __eq__(self, other: object) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value == plain_value(other))

    def __ne__(self, other: object) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value != plain_value(other))

    def _operators(self) -> tuple[str, str]:
        return self.domain.operators

    def __repr__(self) -> str:
        return repr(self.value)


class PlainFlag(OfTheState):
    """True or false.

    If a quantifier such as `for_all` returned this flag as false, `why` is a pair: the choice of parameters that makes
    the flag false (outermost quantifier first), and a function that evaluates the conditions for this choice again.
    """

    __slots__ = ("value", "why")

    def __init__(self, value: bool, why: tuple[dict[str, Any], Callable[[], Any]] | None = None) -> None:
        self.value, self.why = value, why

    def _operators(self) -> tuple[str, str]:
        return Flag.operators

    __hash__ = OfTheState.__hash__

    def __and__(self, other: Any) -> Any:
        if not self.value:
            return self
        return flag_of(other) if isinstance(other, bool) else other

    def __or__(self, other: Any) -> Any:
        if self.value:
            return TRUE
        if other is False or (isinstance(other, PlainFlag) and not other.value and other.why is None):
            return self
        return flag_of(other) if isinstance(other, bool) else other

    __rand__ = __and__

    def __ror__(self, other: Any) -> Any:
        return self | other

    def __invert__(self) -> PlainFlag:
        return FALSE if self.value else TRUE

    def __eq__(self, other: object) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value == plain_value(other))

    def __ne__(self, other: object) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value != plain_value(other))

    def __repr__(self) -> str:
        return repr(self.value)

    def choose(self, yes: Any, no: Any) -> Any:
        chosen, other = (yes, no) if self.value else (no, yes)
        if isinstance(chosen, CONCRETE):
            return chosen
        domain = other._domain if isinstance(other, Part | Undefined) else None
        domain = other.domain if isinstance(other, PlainIdentity) else domain
        if isinstance(domain, Identity):
            return PlainIdentity(identity_value(domain, chosen), domain)
        if domain is None or type(domain) not in PARTS:
            return lifted(chosen)
        value = stored(domain, chosen)
        return value._of(domain) if isinstance(value, Undefined) else part(domain, value, None, ())

    def because(self, instance: dict[str, Any], parts: list[Callable[..., Any]]) -> PlainFlag:
        """This flag if it is true; otherwise a false flag whose `why` begins with the choice `instance`.

        `instance` is the choice of parameters for which this flag was computed. `parts` has the conditions that the
        function in `why` evaluates again for this choice.
        """
        if self.value:
            return self
        inner, again = self.why if self.why is not None else ({}, None)
        # If the body is itself a quantifier, `again` evaluates the body, so only this quantifier's `where` is kept.
        asked = parts if again is None else parts[:-1]
        return PlainFlag(
            False, ({**instance, **inner}, lambda: [*(part(**instance) for part in asked), again and again()])
        )


FALSE: Final = PlainFlag(False)
TRUE: Final = PlainFlag(True)


def flag_of(value: bool) -> PlainFlag:
    return TRUE if value else FALSE


def _of_numbers(of: Operator, on_the_right: bool) -> Callable[[PlainNumber, Any], Any]:
    compute = of.in_python
    if on_the_right:
        return lambda self, other: PlainNumber(compute(plain_value(other), self.value), ANY_NUMBER)
    return lambda self, other: (
        other if isinstance(other, Undefined) else PlainNumber(compute(self.value, plain_value(other)), ANY_NUMBER)
    )


@python_operators("number", _of_numbers)
class PlainNumber(Plain):
    __slots__ = ()

    def __le__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value <= plain_value(other))

    def __lt__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value < plain_value(other))

    def __ge__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value >= plain_value(other))

    def __gt__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value > plain_value(other))

    def __neg__(self) -> PlainNumber:
        return PlainNumber(-self.value, ANY_NUMBER)


ANY_NUMBER: Final = Number(-(1 << 62), 1 << 62)
ANY_BROKER: Final = Broker(optional=True, count=62)


class PlainMember(Plain):
    __slots__ = ()


class PlainIdentity(Plain):
    __slots__ = ()
    domain: Identity

    def __eq__(self, other: object) -> Any:
        value = identity_value(self.domain, other)
        return value if isinstance(value, Undefined) else flag_of(self.value == value)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return same if isinstance(same, Undefined) else ~same

    __hash__ = OfTheState.__hash__


class PlainBroker(Plain):
    __slots__ = ()
    domain: Broker

    def __eq__(self, other: object) -> Any:
        require_alike(self, other)
        return Plain.__eq__(self, other)

    def __ne__(self, other: object) -> Any:
        require_alike(self, other)
        return Plain.__ne__(self, other)

    __hash__ = OfTheState.__hash__

    def _operators(self) -> tuple[str, str]:
        return no_order(self.domain.of)

    def _may_be_none(self) -> bool:
        return self.domain.optional

    @property
    def is_none(self) -> PlainFlag:
        return flag_of(self.value is None)


def _of_sets(of: Operator, on_the_right: bool) -> Callable[[PlainSet, Any], Any]:
    compute = of.in_python

    def method(self: PlainSet, other: Any) -> Any:
        require_alike(self, other)
        if isinstance(other, Undefined):
            return other
        operands = (plain_value(other), self.value) if on_the_right else (self.value, plain_value(other))
        return self._beside(other, compute(*operands))

    return method


@python_operators("set", _of_sets)
class PlainSet(Plain):
    __slots__ = ()
    domain: BrokerSet

    def _members(self) -> list[BrokerId]:
        return [BrokerId(number, self.domain.element.of) for number in sorted(self.value)]

    def __eq__(self, other: object) -> Any:
        require_alike(self, other)
        return Plain.__eq__(self, other)

    def __ne__(self, other: object) -> Any:
        require_alike(self, other)
        return Plain.__ne__(self, other)

    __hash__ = OfTheState.__hash__

    def __le__(self, other: Any) -> Any:
        require_alike(self, other)
        return other if isinstance(other, Undefined) else flag_of(self.value <= plain_value(other))

    def __ge__(self, other: Any) -> Any:
        require_alike(self, other)
        return other if isinstance(other, Undefined) else flag_of(self.value >= plain_value(other))

    def _beside(self, operand: Any, value: frozenset[int]) -> PlainSet:
        """The set `value`, which was computed from this set and an operand.

        The result has this set's scalarset, or the operand's if this set is empty and the operand has a scalarset.
        """
        of = scalarset_of(self) or scalarset_of(operand) or self.domain.element.of
        return PlainSet(value, BrokerSet(replace(self.domain.element, of=of)))

    def has(self, broker: Any) -> Any:
        require_alike(self, broker)
        return broker if isinstance(broker, Undefined) else flag_of(plain_value(broker) in self.value)

    def including(self, broker: Any) -> Any:
        require_alike(self, broker)
        return broker if isinstance(broker, Undefined) else self._beside(broker, self.value | only(broker))

    def excluding(self, broker: Any) -> Any:
        require_alike(self, broker)
        return broker if isinstance(broker, Undefined) else self._beside(broker, self.value - only(broker))

    def every(self, holds: Callable[[BrokerId], Any]) -> Any:
        result: Any = TRUE
        for member in self._members():
            result = result & holds(member)
        return result

    def some(self, holds: Callable[[BrokerId], Any]) -> Any:
        result: Any = FALSE
        for member in self._members():
            result = result | holds(member)
        return result

    @property
    def size(self) -> PlainNumber:
        return PlainNumber(len(self.value), ANY_NUMBER)

    @property
    def is_empty(self) -> PlainFlag:
        return flag_of(not self.value)


def scalarset_of(operand: Any) -> str | None:
    """The scalarset of a member, or of all members of a set; None for an empty or mixed set and for other values."""
    match operand:
        case BrokerId():
            return operand.of
        case PlainBroker() if operand.value is not None:
            return operand.domain.of
        case PlainSet() if operand.value:
            return operand.domain.element.of
        case set() | frozenset() | list() | tuple():
            found = {scalarset_of(x) for x in operand} - {None}
            return found.pop() if len(found) == 1 else None
    return None


def require_alike(one: Any, other: Any) -> None:
    """Raises `ModelError` where two operands are of different scalarsets."""
    mine, theirs = scalarset_of(one), scalarset_of(other)
    if mine is not None and theirs is not None and mine != theirs:
        raise mistake(f"{other!r} belongs to the {theirs}s", f"use one of the {mine}s")


def require_of(of: str, operand: Any) -> None:
    """Raises `ModelError` where an operand is of another scalarset than `of`."""
    if scalarset_of(operand) not in (of, None):
        raise mistake(f"{operand!r} belongs to the {scalarset_of(operand)}s", f"use one of the {of}s")


def only(broker: Any) -> frozenset[int]:
    value = plain_value(broker)
    return frozenset() if value is None else frozenset([value])


# --- structures -----------------------------------------------------------------------------------------------------


class Part(OfTheState):
    """A structure: its value, the state that holds it (None for a computed value), and its path in that state."""

    __slots__ = ("_domain", "_value", "_state", "_path")
    _domain: Domain

    def __init__(self, domain: Domain, value: Value, state: Changing | None, path: Path) -> None:
        self._domain = domain
        self._value = value
        self._state = state
        self._path = path

    @property
    def _plain(self) -> Value:
        state = self._state
        if state is not None and (state._writes or state._notes is not None):
            state._noticed(self._path)
        return self._value

    def _assign(self, value: Any, key: Path = (), domain: Domain | None = None) -> None:
        if self._state is None:
            raise mistake("a value outside the state is changed", "change it through s")
        self._state._write((*self._path, *key), domain or self._domain, value)

    def _change(self, operand: Any, value: Callable[[], Value]) -> None:
        """Replaces this structure by the result of `value`, or by the operand if the operand is undefined."""
        self._assign(operand if isinstance(operand, Undefined) else Settled(value()))

    def __eq__(self, other: object) -> Any:
        value = plain_value(other, self._domain)
        return value if isinstance(value, Undefined) else flag_of(self._plain == value)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return same if isinstance(same, Undefined) else ~same

    __hash__ = OfTheState.__hash__

    def __repr__(self) -> str:
        return repr(self._value)


class PlainRecord(Part):
    __slots__ = ()
    _domain: Record

    def __init__(self, domain: Domain, value: Value, state: Changing | None, path: Path) -> None:
        put = object.__setattr__  # this class's __setattr__ is for the model's assignments
        put(self, "_domain", domain)
        put(self, "_value", value)
        put(self, "_state", state)
        put(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        found = self._domain.fields.get(name)
        if found is None:
            found = self._field(name)
        return part(found[1], self._value[found[0]], self._state, (*self._path, name))

    def __setattr__(self, name: str, value: Any) -> None:
        _, domain = self._field(name)
        self._assign(value, (name,), domain)

    def _field(self, name: str) -> tuple[int, Domain]:
        if name not in self._domain.names:
            raise ModelError(f"{caller()}: there is no field {name!r}; {nearest(name, self._domain.names)}")
        return self._domain.fields[name]


class PlainPer(Part):
    __slots__ = ()
    _domain: Per

    def __getitem__(self, index: Any) -> Any:
        domain, of = self._domain, self._domain.index
        if type(index) is BrokerId and type(of) is Broker and index.of == of.of:  # nearly every index
            key: Any = index.number
        else:
            self._require_index(index)
            key = plain_value(index)
            if isinstance(key, Undefined):
                return self._undefined(key._failure)
        position = domain.positions.get(key)
        if position is None:
            return self._outside(key)
        step = step_to(position, isinstance(index, SCALAR))
        return part(domain.element, self._value[position], self._state, (*self._path, step))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._require_index(index)
        key = plain_value(index)
        position = None if isinstance(key, Undefined) else self._domain.positions.get(key)
        if position is None:
            value = key if isinstance(key, Undefined) else self._outside(key)
        step = step_to(position or 0, isinstance(index, Plain | PlainFlag | Undefined))
        self._assign(value, (step,), self._domain.element)

    def _require_index(self, index: Any) -> None:
        if isinstance(self._domain.index, Broker):
            require_of(self._domain.index.of, index)

    def _outside(self, key: Any) -> Undefined:
        return self._undefined(f"the index {shown_key(key)} is not {self._domain.index}")

    def _undefined(self, what: str | Failure) -> Undefined:
        # An index that is undefined or outside its domain counts as dynamic: it may clash with any assigned index.
        place = None if self._state is None else (self._state, (*self._path, step_to(0, True)))
        return Undefined(what, self._domain.element, place)


class PlainSequence(Part):
    __slots__ = ()
    _domain: Sequence_

    def __getitem__(self, offset: Any) -> NoReturn:
        raise mistake(f"[{offset!r}] indexes a sequence", "write .at(offset), .first or .last")

    @property
    def length(self) -> PlainNumber:
        return PlainNumber(len(self._plain), ANY_NUMBER)

    @property
    def is_empty(self) -> PlainFlag:
        return flag_of(not self._plain)

    @property
    def is_full(self) -> PlainFlag:
        return flag_of(len(self._plain) == self._domain.capacity)

    @property
    def first(self) -> Any:
        return self.at(0)

    @property
    def last(self) -> Any:
        return self.at(len(self._plain) - 1)

    def at(self, offset: Any) -> Any:
        if isinstance(offset, Undefined):
            return offset._of(self._domain.element)
        where, value = plain_value(offset), self._plain
        if not 0 <= where < len(value):
            return Undefined(f"offset {where} of a sequence of length {len(value)}", self._domain.element)
        return part(self._domain.element, value[where], None, ())

    def has(self, element: Any) -> Any:
        x = stored(self._domain.element, element)
        return x if isinstance(x, Undefined) else flag_of(x in self._plain)

    def index(self, element: Any) -> Any:
        x, value = stored(self._domain.element, element), self._plain
        if isinstance(x, Undefined):
            return x._of(ANY_NUMBER)
        if x not in value:
            return Undefined(f"offset of {self._domain.element.text(x)}, which is not in the sequence")
        return PlainNumber(value.index(x), ANY_NUMBER)

    def is_prefix_of(self, other: Any) -> Any:
        longer = stored(self._domain, other)
        return longer if isinstance(longer, Undefined) else flag_of(longer[: len(self._plain)] == self._plain)

    def without(self, offset: Any) -> Any:
        where, value = plain_value(offset), self._plain
        if isinstance(where, Undefined):
            return where._of(self._domain)
        if not 0 <= where < len(value):
            return Undefined(f"removal at offset {where} of a sequence of length {len(value)}", self._domain)
        return PlainSequence(self._domain, (*value[:where], *value[where + 1 :]), None, ())

    def appended(self, element: Any) -> Any:
        x = stored(self._domain.element, element)
        if isinstance(x, Undefined):
            return x._of(self._domain)
        if len(self._plain) == self._domain.capacity:
            return Undefined(f"append to a full sequence of {self._domain.capacity} elements")
        return PlainSequence(self._domain, (*self._plain, x), None, ())

    def truncated(self, length: Any) -> Any:
        kept = plain_value(length)
        if isinstance(kept, Undefined):
            return kept._of(self._domain)
        if not 0 <= kept <= len(self._plain):
            return Undefined(f"truncation to {kept} of a sequence of length {len(self._plain)}")
        return PlainSequence(self._domain, self._plain[:kept], None, ())

    def without_first(self) -> Any:
        if not self._plain:
            return Undefined("removal of the first element of an empty sequence")
        return PlainSequence(self._domain, self._plain[1:], None, ())

    def append(self, element: Any) -> None:
        self._assign(self.appended(element))

    def truncate(self, length: Any) -> None:
        self._assign(self.truncated(length))

    def remove_first(self) -> None:
        self._assign(self.without_first())


class PlainMessages(Part):
    __slots__ = ()
    _domain: Messages

    def has(self, element: Any) -> Any:
        x = stored(self._domain.element, element)
        return x if isinstance(x, Undefined) else flag_of(x in self._plain)

    def add(self, element: Any) -> None:
        x = stored(self._domain.element, element)
        self._change(x, lambda: self._plain | {x})

    def remove(self, element: Any) -> None:
        x = stored(self._domain.element, element)
        self._change(x, lambda: self._plain - {x})

    @property
    def is_empty(self) -> PlainFlag:
        return flag_of(not self._plain)


class PlainBag(Part):
    __slots__ = ()
    _domain: Bag

    def has(self, element: Any) -> Any:
        x = stored(self._domain.element, element)
        return x if isinstance(x, Undefined) else flag_of(x in self._plain)

    def count(self, element: Any) -> Any:
        x = stored(self._domain.element, element)
        return x._of(ANY_NUMBER) if isinstance(x, Undefined) else PlainNumber(self._plain.count(x), ANY_NUMBER)

    def put(self, element: Any) -> None:
        x, value = stored(self._domain.element, element), self._plain
        if not isinstance(x, Undefined) and len(value) == self._domain.capacity:
            x = Undefined(f"element added to a full bag of {self._domain.capacity} elements")
        self._change(x, lambda: self._domain.of((*value, x)))

    def take(self, element: Any) -> None:
        x, value = stored(self._domain.element, element), self._plain
        if not isinstance(x, Undefined) and x not in value:
            x = Undefined(f"{self._domain.element.text(x)} removed, which is not in the bag")
        self._change(x, lambda: (*value[: value.index(x)], *value[value.index(x) + 1 :]))

    @property
    def size(self) -> PlainNumber:
        return PlainNumber(len(self._plain), ANY_NUMBER)

    @property
    def is_empty(self) -> PlainFlag:
        return flag_of(not self._plain)

    @property
    def is_full(self) -> PlainFlag:
        return flag_of(len(self._plain) == self._domain.capacity)


class PlainChannel(Part):
    """A sequence that changes only at its ends: elements are put at the end and taken from the head."""

    __slots__ = ()
    _domain: Channel

    @property
    def _line(self) -> PlainSequence:
        return PlainSequence(self._domain, self._plain, None, ())

    @property
    def head(self) -> Any:
        if not self._plain:
            return Undefined("head of an empty channel", self._domain.element)
        return self._line.first

    @property
    def length(self) -> PlainNumber:
        return self._line.length

    @property
    def is_empty(self) -> PlainFlag:
        return self._line.is_empty

    @property
    def is_full(self) -> PlainFlag:
        return self._line.is_full

    def has(self, element: Any) -> Any:
        return self._line.has(element)

    def put(self, element: Any) -> None:
        x, value = stored(self._domain.element, element), self._plain
        if not isinstance(x, Undefined) and len(value) == self._domain.capacity:
            x = Undefined(f"element added to a full channel of {self._domain.capacity} elements")
        self._change(x, lambda: (*value, x))

    def take(self) -> None:
        value = self._plain
        x = None if value else Undefined("element taken from an empty channel")
        self._change(x, lambda: value[1:])


class Index:
    """A position in per(...), as a step of a path. `dynamic` is true if the position was computed from the state."""

    __slots__ = ("position", "dynamic")

    def __init__(self, position: int, dynamic: bool) -> None:
        self.position, self.dynamic = position, dynamic

    def meets(self, other: object) -> bool:
        return isinstance(other, Index) and (self.dynamic or other.dynamic or self.position == other.position)


@cache
def step_to(position: int, dynamic: bool) -> Index:
    """The step to a position of per(...); cached, so that equal steps are one object."""
    return Index(position, dynamic)


class Settled:
    """A plain value that is known to fit the domain of the place where it is stored."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


CHANGES: Final = ("append", "truncate", "remove_first", "add", "remove", "put", "take")
"""The methods that change the structure on which they are called."""
LITERAL: Final = frozenset({int, str, bool, type(None)})
SCALAR: Final = (Plain, PlainFlag)
HELD: Final = (Plain, PlainFlag, Part)
CONCRETE: Final = (Plain, PlainFlag, Part, Undefined)
SCALARS: Final[dict[type[Domain], type[Plain]]] = {
    Number: PlainNumber,
    Identity: PlainIdentity,
    Enum: PlainMember,
    Broker: PlainBroker,
    BrokerSet: PlainSet,
}
PARTS: Final[dict[type[Domain], type[Part]]] = {
    Record: PlainRecord,
    Per: PlainPer,
    Sequence_: PlainSequence,
    Messages: PlainMessages,
    Bag: PlainBag,
    Channel: PlainChannel,
}


def shown_key(key: Any) -> str:
    """The text of a value whose domain is unknown."""
    match key:
        case None:
            return "none"
        case bool():
            return str(key).lower()
        case frozenset():
            return "{" + ", ".join(sorted(map(shown_key, key), key=lambda text: (len(text), text))) + "}"
    return str(key)


def part(domain: Domain, value: Value, state: Changing | None, path: Path) -> Any:
    """A value of a domain, wrapped for use in a model's methods."""
    kind = type(domain)
    structure = PARTS.get(kind)
    if structure is not None:
        return structure(domain, value, state, path)
    if state is not None and (state._writes or state._notes is not None):
        state._noticed(path)
    return flag_of(value) if kind is Flag else SCALARS[kind](value, domain)


def lifted(value: Any) -> Any:
    """A plain Python value, wrapped for use in a model's methods."""
    if isinstance(value, bool):
        return flag_of(value)
    if isinstance(value, int):
        return PlainNumber(value, ANY_NUMBER)
    if isinstance(value, str):
        return PlainMember(value, Enum((value,)))
    if isinstance(value, BrokerId | NoBroker):
        return PlainBroker(plain_value(value), _any_of([value]))
    if isinstance(value, set | frozenset):
        return PlainSet(plain_value(value), BrokerSet(_any_of(value)))
    return value


def _any_of(members: Iterable[Any]) -> Broker:
    """A domain of the members' scalarset (`broker` if no member is a `BrokerId`). Callers use only the scalarset."""
    return replace(ANY_BROKER, of=next((x.of for x in members if isinstance(x, BrokerId)), BROKER))


def plain_value(operand: Any, domain: Domain | None = None) -> Value:
    """An operand as the state stores it, without a wrapper: for example a broker's number, or None for `none`."""
    kind = type(operand)
    if domain is None and kind in LITERAL:
        return operand
    if kind is BrokerId:
        return operand.number
    if kind is PlainIdentity:
        raise mistake(f"{Identity.operators[0]}, and cannot be an index", Identity.operators[1])
    if isinstance(operand, SCALAR):
        return operand.value
    if isinstance(operand, Part):
        return operand._plain
    if kind is NoBroker:
        return None
    if isinstance(operand, set | frozenset) or (isinstance(operand, list | tuple) and domain is None):
        return frozenset(plain_value(x) for x in operand)
    return operand if domain is None else stored(domain, operand)


def identity_value(domain: Identity, operand: Any) -> Any:
    """The plain value of an operand, which must be an identity of the domain, the literal 0 or undefined."""
    if isinstance(operand, Undefined):
        return operand
    if isinstance(operand, PlainIdentity) and operand.domain == domain:
        return operand.value
    if type(operand) is int and operand == 0:
        return 0
    raise mistake(f"{operand!r} where an identity is required", f"use {domain}")


def stored(domain: Domain, value: Any) -> Any:
    """The plain value to store in a place of a domain; `Undefined` where the value does not fit."""
    if isinstance(value, Undefined):
        return value
    if type(domain) is Identity and not isinstance(value, Settled):
        return identity_value(domain, value)
    if isinstance(value, Settled):
        return value.value
    if isinstance(domain, (Broker, BrokerSet)):
        require_of(domain.of if isinstance(domain, Broker) else domain.element.of, value)
    made: Any
    if isinstance(value, HELD):
        made = plain_value(value)
    elif isinstance(domain, Record) and isinstance(value, dict):
        # Each field is in its own domain or undefined, so the record need not be checked again.
        return joined([stored(d, value[n]) for n, d in zip(domain.names, domain.domains, strict=True)])
    elif isinstance(domain, (Per, Sequence_)) and isinstance(value, (list, tuple)):
        made = joined(stored(domain.element, x) for x in value)
    elif isinstance(domain, Messages) and isinstance(value, (list, tuple)):
        made = joined(stored(domain.element, x) for x in value)
        made = made if isinstance(made, Undefined) else frozenset(made)
    elif isinstance(domain, Bag) and isinstance(value, (list, tuple)):
        made = joined(stored(domain.element, x) for x in value)
        made = made if isinstance(made, Undefined) else domain.of(made)
    else:
        made = plain_value(value)
    if isinstance(made, Undefined) or domain.contains(made):
        return made
    return Undefined(f"the value {shown_key(made)} is not {domain}")


def joined(values: Iterable[Any]) -> Any:
    made = tuple(values)
    for x in made:
        if isinstance(x, Undefined):
            return x
    return made
