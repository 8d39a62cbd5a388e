"""What a modeller subclasses and decorates: `Model`, settings, actions, predicates."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NoReturn, TypeVar, overload

from isrcheck.model.language.brokers import BrokerId, none
from isrcheck.model.language.domains import (
    Broker,
    BrokerSet,
    Domain,
    Messages,
    Per,
    Record,
    Sequence_,
    Value,
    broker,
    resolved,
)
from isrcheck.model.language.errors import (
    ModelError,
    UnknownName,
    is_running,
    line_of,
    mistake,
    mistake_in,
    modellers_frame,
    nearest,
)
from isrcheck.model.language.profiles import Declared, check_profiles
from isrcheck.model.language.together import Together, refuse_clashes

Method = TypeVar("Method", bound=Callable[..., Any])
RESERVED = frozenset({"require", "enabled"})
MARKS = ("__action__", "__predicate__")
"""What marks leave on a method."""
TOLD = "told_"
"""How the names of methods begin that tell what an action did; see `telling`."""


def kebab(name: str) -> str:
    return name.replace("_", "-")


# --- settings -------------------------------------------------------------------------------------------------------


@dataclass
class Setting:
    """A named parameter of a model: default, range or choices, and one line of meaning.

    `counts` is `broker` on the setting that says how many brokers there are. `bound` is a predicate over states: the
    states in which the setting keeps the model from going on ("the log is full").
    """

    default: int | bool | str
    at_least: int | None = None
    at_most: int | None = None
    choices: tuple[str, ...] | None = None
    meaning: str = ""
    counts: Broker | None = None
    bound: Callable[[Any, Any], Any] | None = None
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Setting: ...
    @overload
    def __get__(self, instance: Model, owner: type) -> Any: ...
    def __get__(self, instance: Model | None, owner: type) -> Any:
        return self if instance is None else instance.settings[self.name]

    def checked(self, value: Any) -> int | bool | str:
        """The value, if the setting can have it; `UnknownName` otherwise."""
        if type(value) is not type(self.default):
            raise UnknownName(f"setting {self.name} is {self.domain}, not {value!r}")
        outside = isinstance(value, int) and (
            (self.at_least is not None and value < self.at_least) or (self.at_most is not None and value > self.at_most)
        )
        if outside or (self.choices is not None and value not in self.choices):
            raise UnknownName(f"setting {self.name} is {self.domain}, not {value!r}")
        return value

    def parsed(self, text: str) -> int | bool | str:
        """The value that a command line writes."""
        if isinstance(self.default, bool) and text in ("true", "false"):
            return text == "true"
        if isinstance(self.default, int) and not isinstance(self.default, bool):
            try:
                return self.checked(int(text))
            except ValueError:
                raise UnknownName(f"setting {self.name} is {self.domain}, not {text!r}") from None
        return self.checked(text)

    def with_default(self, default: int | bool | str) -> Any:
        """The same setting with another default, for a model that is built upon the one that declares it."""
        return replace(self, default=self.checked(default))

    @property
    def domain(self) -> str:
        """Its values in words."""
        if self.choices is not None:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        low = "" if self.at_least is None else f" from {self.at_least}"
        high = " up" if self.at_most is None else f" to {self.at_most}"
        return f"a whole number{low}{high}" if low or self.at_most is not None else "a whole number"


def setting(
    default: int | bool | str,
    *,
    meaning: str,
    at_least: int | None = None,
    at_most: int | None = None,
    choices: tuple[str, ...] | None = None,
    counts: Broker | None = None,
    bound: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """Declares a setting in the body of a model; see `Setting`."""
    return Setting(default, at_least, at_most, choices, meaning, counts, bound)


# --- methods --------------------------------------------------------------------------------------------------------

ParameterDomain = Domain | Callable[[Any], Domain]


@dataclass(frozen=True)
class Action:
    """What `@action` says of a method: its parameters, who acts, and whether it disturbs or heals."""

    parameters: dict[str, ParameterDomain]
    actor: str
    perturbation: bool


def action(*, actor: str, perturbation: bool = False, **parameters: ParameterDomain) -> Callable[[Method], Method]:
    """Marks a method `(self, s, ...)` as an action.

    `actor` is who acts: the name of a parameter, whose value it then is, or a plain word ("controller"). Each other
    keyword is a parameter with its domain, or with a function from the model to it. A *perturbation* (crash, expiry,
    a client's write, an arbitrary election) may happen or not; everything else is *healing*.
    """

    def mark(method: Method) -> Method:
        _markable(method, "action")
        named = list(inspect.signature(method).parameters)[2:]
        if named != list(parameters):
            raise mistake_in(
                method, f"action {method.__name__} takes ({', '.join(named)})", "declare just these parameters"
            )
        if not (method.__doc__ or "").strip():
            raise mistake_in(method, f"action {method.__name__} has no docstring", "say in a sentence what happens")
        method.__action__ = Action(parameters, actor, perturbation)  # type: ignore[attr-defined]
        return method

    return mark


def _predicate(kind: str) -> Callable[[Method], Method]:
    def mark(method: Method) -> Method:
        _markable(method, kind)
        if not (method.__doc__ or "").strip():
            raise mistake_in(method, f"{kind} {method.__name__} has no docstring", "say in a sentence what it means")
        method.__predicate__ = kind  # type: ignore[attr-defined]
        return method

    return mark


def invariant(method: Method) -> Method:
    """Marks a function `(model, s)` as an invariant; its docstring is the sentence that users see when it breaks."""
    return _predicate("invariant")(method)


def needs(*variables: str, setting: str | None = None) -> Callable[[Method], Method]:
    """Names the variables that a predicate reads and the setting that it is about, for models that may not have them.

    A variable that is there only where the setting has some value is not named.
    """

    def mark(method: Method) -> Method:
        method.__needs__ = variables  # type: ignore[attr-defined]
        method.__needs_setting__ = setting  # type: ignore[attr-defined]
        return method

    return mark


@overload
def goal(method: Method) -> Method: ...
@overload
def goal(*, where: Callable[[Any], Any]) -> Callable[[Method], Method]: ...
def goal(method: Any = None, *, where: Callable[[Any], Any] | None = None) -> Any:
    """Marks a function `(model, s)` as a goal: some state where it holds should be reachable.

    `where` says at which settings: elsewhere the goal is switched off, and that it is never reached says nothing.
    """
    if method is None:
        return lambda of: _aimed_at(_predicate("goal")(of), where)
    return _predicate("goal")(method)


def _aimed_at(method: Method, where: Callable[[Any], Any] | None) -> Method:
    method.__where__ = where  # type: ignore[attr-defined]
    return method


def constraint(method: Method) -> Method:
    """Marks a function `(model, s)` as a state constraint: states where it is false are checked and not explored."""
    return _predicate("constraint")(method)


def initial(**parameters: ParameterDomain) -> Callable[[Method], Method]:
    """Marks the method `initial(self, s, ...)`: one initial state for each choice of its parameters."""

    def mark(method: Method) -> Method:
        method.__initial__ = parameters  # type: ignore[attr-defined]
        return method

    return mark


def _markable(method: Any, mark: str) -> None:
    """Raises `ModelError` for what a mark cannot be put on."""
    if not inspect.isfunction(method):
        raise mistake(f"@{mark} marks a {type(method).__name__}", "mark a plain function, and put nothing around it")
    require_plain(method, f"{mark} {method.__name__}")
    if any(hasattr(method, kind) for kind in MARKS):
        raise mistake_in(method, f"{method.__name__} is marked twice", "mark it once")
    body = modellers_frame().f_locals  # of the class, while it is being made
    if "__qualname__" in body and any(hasattr(body.get(method.__name__), kind) for kind in MARKS):
        raise mistake_in(method, f"{method.__name__} is there twice in one class", "give each a name of its own")


def require_plain(method: Callable[..., Any], who: str) -> None:
    """Raises `ModelError` for a function that does not run when it is called."""
    if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
        raise mistake_in(method, f"{who} is async and would never run", "write def")
    if inspect.isgeneratorfunction(method):
        raise mistake_in(method, f"{who} has a yield and would never run", "take the yield away")


# --- the model ------------------------------------------------------------------------------------------------------


class Model:
    """A protocol: variables, initial states, actions, and what should be said of its states.

    A subclass declares settings, gives `variables()`, and marks methods with `@action`, `@constraint`, `@goal`,
    `@invariant`. `invariants` names those checked by default, in kebab-case. `profiles` has named settings that
    questions begin with, `together` says which settings do not go together. A subclass without a module of its own
    name, made to be built upon, sets `abstract = True` in its body.
    """

    abstract: ClassVar[bool] = True
    invariants: ClassVar[tuple[str, ...]] = ()
    profiles: ClassVar[Declared] = {}
    together: ClassVar[Together] = ()
    settings: dict[str, Any]

    def __init_subclass__(cls) -> None:
        cls.abstract = cls.__dict__.get("abstract", False)
        if isinstance(cls.invariants, str):
            raise ModelError(f"{cls.__name__}.invariants is a text, not a tuple of names; write ({cls.invariants!r},)")
        for name, method in cls.__dict__.items():
            inherited = next((b.__dict__[name] for b in cls.__mro__[1:] if name in b.__dict__), None)
            _check_marks(cls, name, method, inherited)
            if isinstance(inherited, Setting) and not isinstance(method, Setting | property):
                _check_fixed(cls, inherited, method)
        for name in _members(cls):
            if name.startswith(TOLD):
                _check_told(cls, name)
        check_profiles(cls)

    def __init__(self, **values: Any) -> None:
        declared = self.declared_settings()
        for name in values:
            if name not in declared:
                raise UnknownName(f"model {self.name()} has no setting {name!r}; {nearest(name, declared)}")
        self.settings = {name: s.checked(values.get(name, s.default)) for name, s in declared.items()}
        refuse_clashes(self)
        self.check_settings()
        self._domains = {name: resolved(d, self.broker_count) for name, d in self._declared_variables().items()}
        for name in self._domains:
            if name in RESERVED or name.startswith("_"):
                raise ModelError(
                    f"{line_of(type(self).variables)}: variable {name!r}: the name is taken; choose another"
                )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_domains", ()):
            raise mistake(f"self.{name} is assigned, which is not the state", f"write s.{name}")
        if name in self.declared_settings():
            raise mistake(f"self.{name} is assigned, which is a setting", "write `name = value` in the class to fix it")
        if is_running():
            raise mistake(f"self.{name} is assigned, which outlives the step", "keep it in a variable of the state")
        super().__setattr__(name, value)

    def _declared_variables(self) -> dict[str, Domain]:
        method, found = type(self).variables, self.variables()
        if not isinstance(found, dict):
            raise mistake_in(method, f"variables gives back {found!r}", "return a dict of names and domains")
        for name, domain in found.items():
            if not isinstance(domain, Domain):
                raise mistake_in(method, f"variable {name!r} is {domain!r}", "give it a domain, such as number(0, 3)")
        return found

    def variables(self) -> dict[str, Domain]:
        """Name and domain of every variable."""
        raise NotImplementedError

    def initial(self, s: Any) -> None:
        """Assigns what a variable holds at the start where it is not the first value of its domain."""

    def check_settings(self) -> None:
        """Raises `UnknownName` for settings that do not go together."""

    def lane(self, actor: str, parameters: dict[str, Value]) -> str:
        """On which lane of a drawing an action instance stands: its actor, unless a model knows better."""
        return actor

    @classmethod
    def name(cls) -> str:
        """The name on the command line: that of the module, or of the class in a file of several."""
        return kebab(cls.__module__.rpartition(".")[2])

    @classmethod
    def declared_settings(cls) -> dict[str, Setting]:
        """Settings by name, those of the most general class first; one that a class gives a value is none any more."""
        found: dict[str, Setting] = {}
        for base in reversed(cls.__mro__):
            found.update({n: s for n, s in base.__dict__.items() if isinstance(s, Setting)})
        return {name: s for name, s in found.items() if getattr(cls, name) is s}

    @classmethod
    def actions(cls) -> dict[str, Callable[..., Any]]:
        """Methods marked as actions by their name in kebab-case, in alphabetical order."""
        return {
            kebab(n): getattr(cls, n)
            for n in sorted(_members(cls), key=kebab)
            if hasattr(getattr(cls, n), "__action__")
        }

    @classmethod
    def predicates(cls, kind: str) -> dict[str, Callable[..., Any]]:
        """Methods marked as invariant, goal or constraint by their name in kebab-case, in alphabetical order."""
        marked = [n for n in _members(cls) if getattr(getattr(cls, n), "__predicate__", None) == kind]
        return {kebab(n): getattr(cls, n) for n in sorted(marked, key=kebab)}

    @property
    def goals_switched_off(self) -> list[str]:
        """The goals that are none at these settings."""
        goals = {name: getattr(method, "__where__", None) for name, method in self.predicates("goal").items()}
        return [name for name, where in goals.items() if where is not None and not where(self)]

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each variable in a state."""
        return {name: i for i, name in enumerate(self._domains)}

    @property
    def domains(self) -> dict[str, Domain]:
        """Name and domain of every variable, brokers counted."""
        return self._domains

    @cached_property
    def broker_count(self) -> int:
        counting = [n for n, s in self.declared_settings().items() if s.counts is not None]
        return self.settings[counting[0]] if counting else 0

    @cached_property
    def brokers(self) -> tuple[BrokerId, ...]:
        """Every broker."""
        return tuple(map(BrokerId, range(self.broker_count)))

    def broker(self, number: int) -> BrokerId:
        """One particular broker: a model that names one distinguishes it from the others."""
        if not 0 <= number < self.broker_count:
            raise mistake(f"there is no broker {number}", f"brokers are 0 to {self.broker_count - 1}")
        return BrokerId(number)

    def instances(self, method: Callable[..., Any]) -> Iterator[tuple[tuple[Domain, Value], ...]]:
        """Each choice of an action's parameters as (domain, value), in the order of labels."""
        spec: Action = method.__action__  # type: ignore[attr-defined]
        yield from self._choices(spec.parameters)

    def initial_choices(self) -> Iterator[tuple[tuple[Domain, Value], ...]]:
        """Each choice of the parameters of `initial`."""
        yield from self._choices(getattr(type(self).initial, "__initial__", {}))

    def _choices(self, parameters: dict[str, ParameterDomain]) -> Iterator[tuple[tuple[Domain, Value], ...]]:
        domains = [resolved(d if isinstance(d, Domain) else d(self), self.broker_count) for d in parameters.values()]
        if self.broker_count == 0 and any(broker in (d,) for d in parameters.values()):
            raise ModelError(f"model {self.name()} has brokers but no setting that counts them; write counts=broker")
        for values in itertools.product(*(list(d.values()) for d in domains)):
            yield tuple(zip(domains, values, strict=True))


def _check_marks(cls: type, name: str, member: Any, inherited: Any) -> None:
    """Raises `ModelError` where a mark is missing, or hidden by what is around the method."""
    for mark in MARKS:
        if hasattr(member, mark):
            continue
        hidden = next((x for x in _inside(name, member) if hasattr(x, mark)), None)
        if hidden is not None:
            raise mistake_in(hidden, f"the mark of {name} is hidden by what is around it", "put the mark first")
        if hasattr(inherited, mark) and callable(member):
            kind = "action" if mark == "__action__" else getattr(inherited, mark)
            what = f"{name} replaces {'an' if kind[0] in 'ai' else 'a'} {kind} of {cls.__mro__[1].__name__}"
            raise mistake_in(member, what, f"decorate it with @{kind}")
    if name in ("initial", "variables", "check_settings") and inspect.isfunction(member):
        require_plain(member, name)


def _inside(name: str, member: Any) -> list[Any]:
    """What a property, a class method or a wrapper made by a decorator holds."""
    held = [getattr(member, attribute, None) for attribute in ("fget", "func", "__func__", "__wrapped__")]
    names = getattr(getattr(member, "__code__", None), "co_freevars", ())
    cells = dict(zip(names, getattr(member, "__closure__", None) or (), strict=False))
    cells.pop("__class__", None)  # still empty
    enclosed = [cell.cell_contents for cell in cells.values()]
    return held + [x for x in enclosed if getattr(x, "__name__", None) == name]


def _check_fixed(cls: type, inherited: Setting, value: Any) -> None:
    """Raises `ModelError` where a class gives an inherited setting a value that it cannot have."""
    try:
        inherited.checked(value)
    except UnknownName as error:
        raise ModelError(f"{cls.__name__}.{inherited.name} has a fixed value, but {error}") from None


def _check_told(cls: type, name: str) -> None:
    """Raises `ModelError` where a sentence does not go with an action of the class."""
    method, spec = getattr(cls, name), getattr(getattr(cls, name[len(TOLD) :], None), "__action__", None)
    if spec is None and name not in cls.__dict__:
        return  # a model may take an inherited action away
    if spec is None:
        raise mistake_in(method, f"{name} tells of no action", f"call it {TOLD} and the name of an action")
    found = list(inspect.signature(method).parameters)[1:]
    wanted = [*found[:2], *spec.parameters]
    if found != wanted or len(found) < 2:
        taken = ", ".join(["old", "new", *spec.parameters])
        raise mistake_in(method, f"{name} takes ({', '.join(found)})", f"take ({taken}) as the action does")


def _members(cls: type) -> list[str]:
    return [n for n in dir(cls) if not n.startswith("__")]


def _unchanged(given: Any, *operands: Any, **values: Any) -> NoReturn:
    raise mistake("a parameter is changed", "make another value of it: {**record, ...}, [*sequence, ...]")


class GivenRecord(dict[str, Any]):
    """A record as a parameter: a dict that stays as it is, for other runs of the method are given it, too."""

    _refuse: Any = _unchanged
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


class GivenSequence(list[Any]):
    """A sequence as a parameter: a list that stays as it is."""

    _refuse: Any = _unchanged
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _refuse
    pop = remove = reverse = sort = _refuse


def as_parameter(domain: Domain, value: Value) -> Any:
    """A value of a domain as a model's methods take it: brokers opaque, records as dicts."""
    match domain:
        case Broker():
            return none if value is None else BrokerId(value)
        case BrokerSet():
            return frozenset(map(BrokerId, value))
        case Record():
            values = map(as_parameter, domain.domains, value)
            return GivenRecord(zip(domain.names, values, strict=True))
        case Per() | Sequence_():
            return GivenSequence(as_parameter(domain.element, x) for x in value)
        case Messages():
            return GivenSequence(as_parameter(domain.element, x) for x in domain.elements if x in value)
        case _:
            return value
