"""A concrete state that a model's methods read and assign, and the results of running the methods on it.

The reference engine, replay and explanations use this module. Methods run as they are written; nothing is traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.model.language.capacity import Room
from isrcheck.model.language.domains import Domain, Identity, Per, Record, Value
from isrcheck.model.language.errors import (
    EvaluationError,
    ModelError,
    TheState,
    caller,
    line_of,
    mistake,
    nearest,
    not_a_condition,
    not_an_answer,
    raised_at,
    require_no_answer,
)
from isrcheck.model.language.identities import places, require_identity, require_once
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.language.scalarset_members import BrokerId
from isrcheck.model.semantics.concrete_values import (
    FALSE,
    Failure,
    Index,
    Part,
    Path,
    PlainFlag,
    PlainIdentity,
    State,
    Undefined,
    flag_of,
    part,
    step_to,
    stored,
)
from isrcheck.model.semantics.method_calls import heeded
from isrcheck.model.semantics.side_effects import no_side_effects


class Disabled(Exception):
    """Raised if a condition that a method requires is false in the state."""


# --- the state ------------------------------------------------------------------------------------------------------


class ConcreteState(TheState):
    """The state that a method reads and assigns, for one predicate or one *instance* (an action with arguments).

    The state's own attributes begin with an underscore, because any other name may be a variable.
    """

    _doubt: Undefined | None = None
    _failure: Failure | None = None
    _required: bool = False
    _disabled: bool = False
    _notes: dict[Path, None] | None = None
    _unbounded: bool = False

    def __init__(self, model: Model, state: State, writable: bool = False, unbounded: bool = False) -> None:
        own: dict[str, Any] = self.__dict__
        own["_model"] = model
        own["_before"] = state
        own["_positions"] = model.positions
        own["_writable"] = writable
        own["_writes"] = []
        own["_unbounded"] = unbounded

    def __getattr__(self, name: str) -> Any:
        if name not in self._positions:
            message = f"{caller()}: the state has no variable {name!r}; {nearest(name, self._positions)}"
            raise AttributeError(message) if name.startswith("__") else ModelError(message)
        found = part(self._model.domains[name], self._before[self._positions[name]], self, (name,))
        # A structure notes each read of its parts itself, so it is kept. A read of a scalar is noted only in `part`.
        if isinstance(found, Part):
            self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._positions:
            raise ModelError(f"{caller()}: the state has no variable {name!r}; {nearest(name, self._positions)}")
        self._write((name,), self._model.domains[name], value)

    def require(self, *conditions: Any) -> None:
        self.__dict__["_required"] = True
        for given in conditions:
            if isinstance(given, Room) and self._unbounded:
                continue
            condition = given._condition if isinstance(given, Room) else given
            if isinstance(condition, Undefined):
                if self._doubt is None:
                    self.__dict__["_doubt"] = condition
            elif not isinstance(condition, (bool, PlainFlag)):
                raise not_a_condition(condition)
            elif not (condition if isinstance(condition, bool) else condition.value):
                self.__dict__["_disabled"] = True  # stays true even if the method catches the exception
                raise Disabled

    def room(self, condition: Any) -> Room:
        return Room(condition)

    def enabled(self, method: Callable[..., Any]) -> Any:
        result: Any = FALSE
        for choice in self._model.instances(method):
            arguments = [as_parameter(d, v) for d, v in choice]
            result = result | guard_of(self._model, self._before, method, arguments)
        return result

    def fresh(self, domain: Domain) -> PlainIdentity | Undefined:
        of = require_identity(domain, "s.fresh")
        require_once(self, of)
        held = self._held(of)
        least = next((value for value in range(1, of.high + 1) if value not in held), None)
        if least is None:
            return Undefined(f"no fresh identity of {of.high + 1} is left", of)
        return PlainIdentity(least, of)

    def used_up(self, domain: Domain) -> PlainFlag:
        of = require_identity(domain, "s.used_up")
        return flag_of(self._held(of).issuperset(range(1, of.high + 1)))

    def _held(self, of: Identity) -> set[Value]:
        """The values of the domain `of` that the state holds. Every part that may hold such a value counts as read."""
        held: set[Value] = set()
        for name, domain in self._model.domains.items():
            for path, values in places(domain, self._before[self._positions[name]], of, (name,)):
                self._noticed(tuple(step_to(x, False) if isinstance(x, int) else x for x in path))
                held.update(values)
        return held

    @property
    def _acts(self) -> bool:
        """True if the method has required or assigned something. Only then does the instance exist."""
        return bool(self._required or self._writes)

    def _reader(self) -> ConcreteState:
        """The state before the action, read-only."""
        return ConcreteState(self._model, self._before)

    def _noticed(self, path: Path) -> None:
        """Notes a read of a part of the state for explanations; raises `ModelError` if the part was assigned before."""
        for written, _ in self._writes:
            if written[0] == path[0] and overlap(written, path):
                raise mistake(
                    f"{path[0]} is read after it was assigned",
                    "reads refer to the state before the action; read it into a local name first",
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
    """True if two paths can lead to overlapping parts of the state."""
    for x, y in zip(a, b, strict=False):
        if x is not y and not (x.meets(y) if isinstance(x, Index) else x == y):
            return False
    return True


def path_text(path: Path) -> str:
    return str(path[0]) + "".join(f"[{x.position}]" if isinstance(x, Index) else f".{x}" for x in path[1:])


def replaced(domain: Domain, value: Value, path: list[Any], new: Value) -> Value:
    """A copy of a value in which `new` replaces the part at a path."""
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
    """The state after an instance of an action; None where the instance is disabled or does not exist.

    `method` is the plain function of the class. Raises `EvaluationError` where the instance is undefined.
    """
    s = ConcreteState(model, state, writable=True)
    if _is_disabled(s, method, model, s, *arguments):
        return None
    failure = s._failure if s._doubt is None else s._doubt._failure
    if failure is not None:
        raise EvaluationError(failure.what, failure.where)
    return s._after() if s._required or s._writes else None


def refusal(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> str | None:
    """`file:line` of the condition that disables an instance; None where the instance is enabled or does not exist."""
    try:
        heeded(method, model, ConcreteState(model, state, writable=True), *arguments)
    except Disabled as error:
        return raised_at(error)
    return None


def is_instance(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> bool:
    """True if an instance exists, enabled or not: the method requires or assigns something.

    `method` is the plain function of the class.
    """
    s = ConcreteState(model, state, writable=True)
    return _is_disabled(s, method, model, s, *arguments) or s._acts


def _is_disabled(s: ConcreteState, method: Callable[..., Any], *arguments: Any) -> bool:
    """Runs a method of an action; returns True if a condition that the method requires is false."""
    try:
        require_no_answer(method, method.__name__, heeded(method, *arguments))
    except Disabled:
        return True
    return s._disabled


def guard_of(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> Any:
    """The guard of an instance as a flag, or as `Undefined`; false if the instance does not exist.

    `method` is bound to the model.
    """
    s = ConcreteState(model, state, writable=True)
    if _is_disabled(s, method, s, *arguments):
        return FALSE
    return flag_of(bool(s._required or s._writes)) if s._doubt is None else s._doubt


def would_change(model: Model, state: State, method: Callable[..., Any], arguments: list[Any]) -> bool:
    """True if an instance would change the state if every `s.room` condition were true, or if its effect is undefined.

    `method` is the plain function.
    """
    s = ConcreteState(model, state, writable=True, unbounded=True)
    if _is_disabled(s, method, model, s, *arguments) or s._doubt is not None:
        return False
    return s._failure is not None or s._after() != state


def holds(model: Model, state: State, predicate: Callable[[Any, Any], Any]) -> PlainFlag:
    """The value of a predicate as a flag; raises `EvaluationError` where the predicate is undefined."""
    result = heeded(predicate, model, ConcreteState(model, state))
    if isinstance(result, Undefined):
        raise EvaluationError(result._failure.what, result._failure.where)
    if not isinstance(result, (bool, PlainFlag)):
        raise not_an_answer(predicate, result)
    return flag_of(result) if isinstance(result, bool) else result


def said(model: Model, state: State, method: Callable[[Any, Any], Any]) -> Any:
    """The value that `method`, such as a property of the model, returns in a state."""
    return heeded(method, model, ConcreteState(model, state))


def decided(condition: Any) -> bool:
    """True if a condition holds; raises `EvaluationError` where the condition is undefined."""
    if isinstance(condition, Undefined):
        raise EvaluationError(condition._failure.what, condition._failure.where)
    return condition if isinstance(condition, bool) else bool(condition.value)


def leaves_of(model: Model, state: State) -> tuple[int, ...]:
    """The integers of a state's leaves; states are ordered by these integers."""
    return tuple(x for d, value in zip(model.domains.values(), state, strict=True) for x in d.encode(value))


def initial_states(model: Model) -> list[State]:
    """The initial states, in the order of the choices of `initial`'s parameters.

    Raises `ModelError` if there is no initial state, or if a value of an initial state is undefined.
    """
    first = tuple(d.first for d in model.domains.values())
    states: list[State] = []
    refused: dict[str, None] = {}
    method = type(model).initial
    for choice in model.initial_choices():
        s = ConcreteState(model, first, writable=True)
        try:
            with no_side_effects(method, "initial", model):
                require_no_answer(method, "initial", heeded(method, model, s, *(as_parameter(d, v) for d, v in choice)))
        except Disabled as error:
            refused[raised_at(error)] = None
        failure = s._failure if s._doubt is None else s._doubt._failure
        if s._disabled:
            continue
        if failure is not None:
            raise ModelError(f"{failure.where}: initial: {failure.what}; keep it in its domain")
        states.append(s._after())
    if not states:
        where = ", ".join(refused) or line_of(type(model).initial)
        raise ModelError(
            f"{where}: initial requires something false, so there is no initial state; assign values instead"
        )
    return states


def explain(model: Model, state: State, predicate: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Explains why a predicate is false: returns a choice of parameters of `for_all`, and parts of the state.

    The predicate is false for this choice, and reads these parts for it. Without a `for_all` the choice is
    empty, and the parts are all that the predicate reads. Each element of the choice and each part is a pair of a name
    and JSON data.
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
    """The name of the part of a state at a path, with each index as its value (`table[red]`), not as its position."""
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
