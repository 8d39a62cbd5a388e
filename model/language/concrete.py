"""What a model's methods compute with on a concrete state: plain Python values, nothing traced.

The reference engine, replay and explanations run on this. It shares no code with `symbolic`: a log is a tuple, a set
a frozenset, an assignment replaces a part of the state. Names of methods are those of `symbolic`.

An operation without a meaning (the record past a log's end) gives `Undefined`, which spreads, except that
`false & undefined` is false and `true | undefined` is true: it becomes an `EvaluationError` only if it decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NoReturn

from model.language.brokers import BrokerId, NoBroker
from model.language.domains import (
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
    Value,
)
from model.language.errors import EvaluationError, ModelError, OfTheState, caller, mistake, nearest, not_a_condition
from model.language.model import Model, as_parameter

State = tuple[Value, ...]
Path = tuple[Any, ...]


class Disabled(Exception):
    """The guard of an instance is false in this state."""


@dataclass(frozen=True)
class Failure:
    """`what` went wrong at `where`, `file:line` of the model."""

    what: str
    where: str


class Undefined(OfTheState):
    """The result of an operation that means nothing here.

    It knows its domain where that is a structure's, and at which path of which state it would be assigned: to assign
    there, or into it, means nothing either.
    """

    __slots__ = ("_failure", "_domain", "_place")
    _failure: Failure
    _domain: Domain | None
    _place: tuple[ConcreteState, Path] | None

    def __init__(
        self, what: str | Failure, domain: Domain | None = None, place: tuple[ConcreteState, Path] | None = None
    ) -> None:
        put = object.__setattr__  # assignments of fields are the model's
        put(self, "_failure", what if isinstance(what, Failure) else Failure(what, caller()))
        put(self, "_domain", domain)
        put(self, "_place", place)

    def _of(self, domain: Domain | None, *steps: Any) -> Undefined:
        """What a part of it is: as undefined."""
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
            case Sequence_() if name in ("first", "last", "at"):
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
            raise mistake("a change of a value that is not in the state", "change it through s, where it is kept")
        state, path = self._place
        state._write(path, ANY_NUMBER, self)

    def __call__(self, *arguments: Any) -> Any:
        return self

    def __and__(self, other: Any) -> Any:
        return FALSE if other is False or (isinstance(other, PlainFlag) and not other.value) else self

    def __or__(self, other: Any) -> Any:
        return TRUE if other is True or (isinstance(other, PlainFlag) and other.value) else self

    __rand__, __ror__ = __and__, __or__
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _spread
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __invert__ = _spread

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
    """True or false; `why` is the choice of a `for_all` for which it is false, outermost first."""

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
        if domain is None or type(domain) not in PARTS:
            return lifted(chosen)
        value = stored(domain, chosen)
        return value._of(domain) if isinstance(value, Undefined) else part(domain, value, None, ())

    def because(self, instance: dict[str, Any], parts: list[Callable[..., Any]]) -> PlainFlag:
        """This flag; where it is false it remembers for which choice, and what was asked of it."""
        if self.value:
            return self
        inner, again = self.why if self.why is not None else ({}, None)
        # Of a quantifier around another, only the condition: its body is the other.
        asked = parts if again is None else parts[:-1]
        return PlainFlag(
            False, ({**instance, **inner}, lambda: [*(part(**instance) for part in asked), again and again()])
        )


FALSE: Final = PlainFlag(False)
TRUE: Final = PlainFlag(True)


def flag_of(value: bool) -> PlainFlag:
    return TRUE if value else FALSE


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

    def __add__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else PlainNumber(self.value + plain_value(other), ANY_NUMBER)

    def __sub__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else PlainNumber(self.value - plain_value(other), ANY_NUMBER)

    def __rsub__(self, other: Any) -> Any:
        return PlainNumber(plain_value(other) - self.value, ANY_NUMBER)

    def __mul__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else PlainNumber(self.value * plain_value(other), ANY_NUMBER)

    def __neg__(self) -> PlainNumber:
        return PlainNumber(-self.value, ANY_NUMBER)

    __radd__ = __add__
    __rmul__ = __mul__


ANY_NUMBER: Final = Number(-(1 << 62), 1 << 62)
ANY_BROKER: Final = Broker(optional=True, count=62)


class PlainMember(Plain):
    __slots__ = ()


class PlainBroker(Plain):
    __slots__ = ()

    @property
    def is_none(self) -> PlainFlag:
        return flag_of(self.value is None)


class PlainSet(Plain):
    __slots__ = ()
    domain: BrokerSet

    def __or__(self, other: Any) -> Any:
        return self._binary(other, frozenset.union)

    def __and__(self, other: Any) -> Any:
        return self._binary(other, frozenset.intersection)

    def __sub__(self, other: Any) -> Any:
        return self._binary(other, frozenset.difference)

    def __rsub__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: b - a)

    def __le__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value <= plain_value(other))

    def __ge__(self, other: Any) -> Any:
        return other if isinstance(other, Undefined) else flag_of(self.value >= plain_value(other))

    __ror__, __rand__ = __or__, __and__

    def _binary(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Undefined):
            return other
        return PlainSet(operation(self.value, plain_value(other)), self.domain)

    def has(self, broker: Any) -> Any:
        return broker if isinstance(broker, Undefined) else flag_of(plain_value(broker) in self.value)

    def including(self, broker: Any) -> Any:
        return broker if isinstance(broker, Undefined) else PlainSet(self.value | only(broker), self.domain)

    def excluding(self, broker: Any) -> Any:
        return broker if isinstance(broker, Undefined) else PlainSet(self.value - only(broker), self.domain)

    def every(self, holds: Callable[[BrokerId], Any]) -> Any:
        result: Any = TRUE
        for broker in sorted(self.value):
            result = result & holds(BrokerId(broker))
        return result

    def some(self, holds: Callable[[BrokerId], Any]) -> Any:
        result: Any = FALSE
        for broker in sorted(self.value):
            result = result | holds(BrokerId(broker))
        return result

    @property
    def size(self) -> PlainNumber:
        return PlainNumber(len(self.value), ANY_NUMBER)

    @property
    def is_empty(self) -> PlainFlag:
        return flag_of(not self.value)


def only(broker: Any) -> frozenset[int]:
    value = plain_value(broker)
    return frozenset() if value is None else frozenset([value])


# --- structures -----------------------------------------------------------------------------------------------------


class Part(OfTheState):
    """A structure: its value, and where it is in the state being changed (None: a value of its own)."""

    __slots__ = ("_domain", "_value", "_state", "_path")
    _domain: Domain

    def __init__(self, domain: Domain, value: Value, state: ConcreteState | None, path: Path) -> None:
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
            raise mistake("a change of a value that is not in the state", "change it through s, where it is kept")
        self._state._write((*self._path, *key), domain or self._domain, value)

    def _change(self, operand: Any, value: Callable[[], Value]) -> None:
        """Assigns a value made from an operand, which may be undefined."""
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

    def __init__(self, domain: Domain, value: Value, state: ConcreteState | None, path: Path) -> None:
        put = object.__setattr__  # assignments of fields are the model's
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
        key = plain_value(index)
        if isinstance(key, Undefined):
            return self._undefined(key._failure)
        position = self._domain.positions.get(key)
        if position is None:
            return self._outside(key)
        step = step_to(position, isinstance(index, Plain | PlainFlag))
        return part(self._domain.element, self._value[position], self._state, (*self._path, step))

    def __setitem__(self, index: Any, value: Any) -> None:
        key = plain_value(index)
        position = None if isinstance(key, Undefined) else self._domain.positions.get(key)
        if position is None:
            value = key if isinstance(key, Undefined) else self._outside(key)
        step = step_to(position or 0, isinstance(index, Plain | PlainFlag | Undefined))
        self._assign(value, (step,), self._domain.element)

    def _outside(self, key: Any) -> Undefined:
        return self._undefined(f"the index {shown_key(key)} is not {self._domain.index}")

    def _undefined(self, what: str | Failure) -> Undefined:
        # Like any index that the state decides, one outside stands for all of them where assignments may clash.
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

    def appended(self, element: Any) -> Any:
        x = stored(self._domain.element, element)
        if isinstance(x, Undefined):
            return x
        if len(self._plain) == self._domain.capacity:
            return Undefined(f"an append to a full sequence of {self._domain.capacity} elements")
        return PlainSequence(self._domain, (*self._plain, x), None, ())

    def truncated(self, length: Any) -> Any:
        kept = plain_value(length)
        if isinstance(kept, Undefined):
            return kept
        if not 0 <= kept <= len(self._plain):
            return Undefined(f"a truncation to {kept} of a sequence of length {len(self._plain)}")
        return PlainSequence(self._domain, self._plain[:kept], None, ())

    def without_first(self) -> Any:
        if not self._plain:
            return Undefined("the first element of an empty sequence is removed")
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


class Index:
    """A step of a path into per(...): the position, and whether the state decided it."""

    __slots__ = ("position", "dynamic")

    def __init__(self, position: int, dynamic: bool) -> None:
        self.position, self.dynamic = position, dynamic

    def meets(self, other: object) -> bool:
        return isinstance(other, Index) and (self.dynamic or other.dynamic or self.position == other.position)


@cache
def step_to(position: int, dynamic: bool) -> Index:
    """The one step of this kind."""
    return Index(position, dynamic)


class Settled:
    """A plain value that is known to be in the domain it is stored in."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


CHANGES: Final = ("append", "truncate", "remove_first", "add", "remove")
"""Methods that assign."""
CONCRETE: Final = (Plain, PlainFlag, Part, Undefined)
SCALARS: Final[dict[type[Domain], type[Plain]]] = {
    Number: PlainNumber,
    Enum: PlainMember,
    Broker: PlainBroker,
    BrokerSet: PlainSet,
}
PARTS: Final[dict[type[Domain], type[Part]]] = {
    Record: PlainRecord,
    Per: PlainPer,
    Sequence_: PlainSequence,
    Messages: PlainMessages,
}


def shown_key(key: Any) -> str:
    return "none" if key is None else str(key)


def part(domain: Domain, value: Value, state: ConcreteState | None, path: Path) -> Any:
    """A value of a domain as methods use it."""
    kind = type(domain)
    structure = PARTS.get(kind)
    if structure is not None:
        return structure(domain, value, state, path)
    if state is not None and (state._writes or state._notes is not None):
        state._noticed(path)
    return flag_of(value) if kind is Flag else SCALARS[kind](value, domain)


def lifted(value: Any) -> Any:
    """A plain Python value as methods use it."""
    if isinstance(value, bool):
        return flag_of(value)
    if isinstance(value, int):
        return PlainNumber(value, ANY_NUMBER)
    if isinstance(value, str):
        return PlainMember(value, Enum((value,)))
    if isinstance(value, BrokerId | NoBroker):
        return PlainBroker(plain_value(value), ANY_BROKER)
    if isinstance(value, set | frozenset):
        return PlainSet(plain_value(value), BrokerSet(ANY_BROKER))
    return value


def plain_value(operand: Any, domain: Domain | None = None) -> Value:
    """The plain value of an operand: what the state holds, a broker's number, None for none."""
    if isinstance(operand, BrokerId):
        return operand.number
    if isinstance(operand, Plain | PlainFlag):
        return operand.value
    if isinstance(operand, Part):
        return operand._plain
    if isinstance(operand, NoBroker):
        return None
    if isinstance(operand, set | frozenset) or (isinstance(operand, list | tuple) and domain is None):
        return frozenset(plain_value(x) for x in operand)
    return operand if domain is None else stored(domain, operand)


def stored(domain: Domain, value: Any) -> Any:
    """The plain value of a domain that an assignment stores; `Undefined` where it does not fit."""
    if isinstance(value, Undefined):
        return value
    if isinstance(value, Settled):
        return value.value
    made: Any
    if isinstance(value, Plain | PlainFlag | Part):
        made = plain_value(value)
    elif isinstance(domain, Record) and isinstance(value, dict):
        made = joined(stored(d, value[n]) for n, d in zip(domain.names, domain.domains, strict=True))
    elif isinstance(domain, Per | Sequence_) and isinstance(value, list | tuple):
        made = joined(stored(domain.element, x) for x in value)
    elif isinstance(domain, Messages) and isinstance(value, list | tuple):
        made = joined(stored(domain.element, x) for x in value)
        made = made if isinstance(made, Undefined) else frozenset(made)
    else:
        made = plain_value(value)
    if isinstance(made, Undefined) or domain.contains(made):
        return made
    return Undefined(f"the value {shown_key(made)} is not {domain}")


def joined(values: Iterator[Any]) -> Any:
    made = tuple(values)
    wrong = next((x for x in made if isinstance(x, Undefined)), None)
    return made if wrong is None else wrong


# --- the state ------------------------------------------------------------------------------------------------------


class ConcreteState:
    """The state that a method reads and assigns, for one instance of an action or one predicate.

    Names of its own begin with an underscore: every other name may be a variable's.
    """

    _doubt: Undefined | None = None
    _failure: Failure | None = None
    _required: bool = False
    _notes: dict[Path, None] | None = None

    def __init__(self, model: Model, state: State, writable: bool = False) -> None:
        own: dict[str, Any] = self.__dict__
        own["_model"] = model
        own["_before"] = state
        own["_positions"] = model.positions
        own["_writable"] = writable
        own["_writes"] = []

    def __getattr__(self, name: str) -> Any:
        if name not in self._positions:
            message = f"{caller()}: the state has no variable {name!r}; {nearest(name, self._positions)}"
            raise AttributeError(message) if name.startswith("__") else ModelError(message)
        found = part(self._model.domains[name], self._before[self._positions[name]], self, (name,))
        if isinstance(found, Part):  # a structure notices reads of its parts; a scalar must be read anew
            self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._positions:
            raise ModelError(f"{caller()}: the state has no variable {name!r}; {nearest(name, self._positions)}")
        self._write((name,), self._model.domains[name], value)

    def require(self, *conditions: Any) -> None:
        self.__dict__["_required"] = True
        for condition in conditions:
            if isinstance(condition, Undefined):
                if self._doubt is None:
                    self.__dict__["_doubt"] = condition
            elif not isinstance(condition, bool | PlainFlag):
                raise not_a_condition(condition)
            elif not (condition if isinstance(condition, bool) else condition.value):
                raise Disabled

    def enabled(self, method: Callable[..., Any]) -> Any:
        result: Any = FALSE
        for choice in self._model.instances(method):
            arguments = [as_parameter(d, v) for d, v in choice]
            result = result | guard_of(self._model, self._before, method, arguments)
        return result

    def _noticed(self, path: Path) -> None:
        """A part of the state is read: refused if it was assigned, and noted for explanations."""
        for written, _ in self._writes:
            if overlap(written, path):
                raise mistake(
                    f"{path[0]} is read after it was assigned",
                    "every read is of the state before the action: read it into a name first",
                )
        if self._notes is not None:
            self._notes[tuple(x.position if isinstance(x, Index) else x for x in path)] = None

    def _write(self, path: Path, domain: Domain, value: Any) -> None:
        if not self._writable:
            raise mistake("an assignment in a predicate", "predicates only read the state")
        value = stored(domain, value)
        for written, _ in self._writes:
            if overlap(written, path):
                raise mistake(
                    f"{path[0]} is assigned twice",
                    "assign it once, with when(condition, a, b) where the value depends on the state",
                )
        if isinstance(value, Undefined) and self._failure is None:
            self.__dict__["_failure"] = Failure(f"{path_text(path)}: {value._failure.what}", value._failure.where)
        self._writes.append((path, value))

    def _after(self) -> State:
        """The state after the assignments."""
        state = list(self._before)
        for (name, *path), value in self._writes:
            position = self._positions[name]
            state[position] = replaced(self._model.domains[name], state[position], path, value)
        return tuple(state)


def overlap(a: Path, b: Path) -> bool:
    """Whether two paths can name a common part of the state."""
    return all(x.meets(y) if isinstance(x, Index) else x == y for x, y in zip(a, b, strict=False))


def path_text(path: Path) -> str:
    return str(path[0]) + "".join(f"[{x.position}]" if isinstance(x, Index) else f".{x}" for x in path[1:])


def replaced(domain: Domain, value: Value, path: list[Any], new: Value) -> Value:
    """A value in which the part at a path is another."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(domain, Record):
        position, inner = domain.fields[step]
    else:
        assert isinstance(domain, Per)
        position, inner = step.position, domain.element
    return (*value[:position], replaced(inner, value[position], rest, new), *value[position + 1 :])


def run(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> State | None:
    """The state after an instance of an action; None where it is disabled or does not exist.

    `method` is the plain function of the class. Raises `EvaluationError` where the instance has no meaning.
    """
    s = ConcreteState(model, state, writable=True)
    try:
        method(model, s, *arguments)
    except Disabled:
        return None
    failure = s._failure if s._doubt is None else s._doubt._failure
    if failure is not None:
        raise EvaluationError(failure.what, failure.where)
    return s._after() if s._required or s._writes else None


def guard_of(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> Any:
    """Whether an instance is enabled, as a flag; `method` is bound to the model."""
    s = ConcreteState(model, state, writable=True)
    try:
        method(s, *arguments)
    except Disabled:
        return FALSE
    return flag_of(bool(s._required or s._writes)) if s._doubt is None else s._doubt


def holds(model: Model, state: State, predicate: Callable[[Any, Any], Any]) -> PlainFlag:
    """Whether a predicate holds; `EvaluationError` where it has no meaning."""
    result = predicate(model, ConcreteState(model, state))
    if isinstance(result, Undefined):
        raise EvaluationError(result._failure.what, result._failure.where)
    return flag_of(result) if isinstance(result, bool) else result


def leaves_of(model: Model, state: State) -> tuple[int, ...]:
    """The integers of a state, by which states are ordered."""
    return tuple(x for d, value in zip(model.domains.values(), state, strict=True) for x in d.encode(value))


def initial_states(model: Model) -> list[State]:
    """Every initial state, in the order of the choices that `initial` is given."""
    first = tuple(d.first for d in model.domains.values())
    states = []
    for choice in model.initial_choices():
        state = run_initial(model, first, [as_parameter(d, v) for d, v in choice])
        if state is not None:
            states.append(state)
    return states


def run_initial(model: Model, first: State, arguments: list[Any]) -> State | None:
    s = ConcreteState(model, first, writable=True)
    try:
        model.initial(s, *arguments)
    except Disabled:
        return None
    if s._failure is not None:
        raise ModelError(f"{s._failure.where}: initial: {s._failure.what}; keep it in its domain")
    return s._after()


def explain(model: Model, state: State, predicate: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Why a predicate is false: the choice of `for_all` that falsifies it, and the parts of the state read for that.

    Both are pairs of a name and JSON data; without a `for_all` the choice is empty.
    """
    s = ConcreteState(model, state)
    result = predicate(model, s)
    why = result.why if isinstance(result, PlainFlag) else None
    choice, again = ({}, lambda: predicate(model, s)) if why is None else why
    notes: dict[Path, None] = {}
    s.__dict__["_notes"] = notes
    again()
    return (
        tuple((name, _parameter_json(value)) for name, value in choice.items()),
        tuple((note_text(model, path), json_at(model, state, path)) for path in notes),
    )


def _parameter_json(value: Any) -> Any:
    return value.number if isinstance(value, BrokerId) else value


def note_text(model: Model, path: Path) -> str:
    """The name of the part of a state at a path: indices by their values (`table[red]`), not by their positions."""
    text, domain = str(path[0]), model.domains[path[0]]
    for step in path[1:]:
        if isinstance(domain, Record):
            text, domain = f"{text}.{step}", domain.fields[step][1]
        else:
            assert isinstance(domain, Per)
            key = domain.index.to_json(list(domain.positions)[step])
            text, domain = f"{text}[{str(key).lower() if isinstance(key, bool) else key}]", domain.element
    return text


def json_at(model: Model, state: State, path: Path) -> Any:
    """The JSON data of the part of a state at a path."""
    domain, value = model.domains[path[0]], state[model.positions[path[0]]]
    for step in path[1:]:
        position, domain = domain.fields[step] if isinstance(domain, Record) else (step, domain.element)  # type: ignore[attr-defined]
        value = value[position]
    return domain.to_json(value)
