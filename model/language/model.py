"""The base class of every model, `Model`: its settings, its variables, and the checks of its decorated methods."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar, Final, NoReturn

from isrcheck.model.language.decorators import (
    DECORATED,
    Action,
    ParameterDomain,
    listed,
    marks_of,
    refuse_unused,
    require_plain,
)
from isrcheck.model.language.domain_size import HUGE, MOST_INSTANCES, MOST_LEAVES, leaves, product
from isrcheck.model.language.domain_size import values as values_of
from isrcheck.model.language.domains import (
    Bag,
    Broker,
    BrokerSet,
    Domain,
    Messages,
    Per,
    Record,
    Sequence_,
    Value,
    resolved,
    scalarsets,
)
from isrcheck.model.language.errors import (
    ModelError,
    OfTheState,
    UnknownName,
    caller,
    is_running,
    line_of,
    mistake,
    mistake_in,
    modellers_frame,
    nearest,
    require_takes,
)
from isrcheck.model.language.identities import has_identities
from isrcheck.model.language.scalarset_members import BROKER, BrokerId, none
from isrcheck.model.language.setting_constraints import SettingConstraints, refuse_conflicts
from isrcheck.model.language.settings import Declared, Releases, Setting, check_profiles
from isrcheck.model.semantics.method_calls import heeded

RESERVED = frozenset({"require", "enabled", "room", "fresh", "used_up"})
LARGEST_SET: Final = 62
"""The largest number of members of a scalarset of which there is a set: a set is a number below 2^62."""
DESCRIBE = "describe_"
"""Prefix of the names of methods that describe a step in a sentence; see `descriptions`."""
_TOLD = "told_"
"""The former prefix, which is refused."""


def kebab(name: str) -> str:
    return name.replace("_", "-")


class Model:
    """A protocol: variables, initial states, actions, and predicates on its states.

    A subclass declares settings, defines `variables()`, and decorates methods with `@action`, `@constraint`, `@goal`,
    `@invariant`. `invariants` names the invariants checked by default, in kebab-case. `profiles` defines named sets of
    values of the settings (see the module `settings`), and `releases` the releases of the system that the model
    describes. `setting_constraints` declares which settings must not be
    combined, and when a setting has no effect. A subclass that is only a base of other models sets `abstract = True` in
    its body.
    """

    abstract: ClassVar[bool] = True
    invariants: ClassVar[tuple[str, ...]] = ()
    profiles: ClassVar[Declared] = {}
    releases: ClassVar[Releases | None] = None
    setting_constraints: ClassVar[SettingConstraints] = ()
    settings: dict[str, Any]
    __stands__: ClassVar[str]
    __file_names__: ClassVar[Mapping[str, Any]] = {}
    """All names of the file that defines the class, with their values."""

    def __init_subclass__(cls) -> None:
        cls.abstract = cls.__dict__.get("abstract", False)
        cls.__stands__ = caller()
        cls.__file_names__ = modellers_frame().f_globals
        listed(cls)
        _check_names(cls)
        for name, method in cls.__dict__.items():
            inherited = next((b.__dict__[name] for b in cls.__mro__[1:] if name in b.__dict__), None)
            _check_decorators(cls, name, method, inherited)
            if isinstance(inherited, Setting) and not isinstance(method, Setting | property):
                _check_fixed(cls, inherited, method)
        for name in _members(cls):
            if name.startswith(DESCRIBE):
                _check_description(cls, name)
            if name.startswith(_TOLD) and inspect.isfunction(cls.__dict__.get(name)):
                new = DESCRIBE + name.removeprefix(_TOLD)
                raise mistake_in(cls.__dict__[name], f"{name} is now called {new}", "rename it")
        _check_unused(cls)
        check_profiles(cls)

    def __init__(self, **values: Any) -> None:
        declared = self.declared_settings()
        for name in values:
            if name not in declared:
                raise UnknownName(f"model {self.name()} has no setting {name!r}; {nearest(name, declared)}")
        self.settings = {name: s.checked(values.get(name, s.default)) for name, s in declared.items()}
        refuse_conflicts(self)
        self.check_settings()
        self._domains = {name: self.resolved_domain(d) for name, d in self._declared_variables().items()}
        for name, domain in self._domains.items():
            self._require_counted(domain)
            if leaves(domain) > MOST_LEAVES:
                what = f"variable {name!r} has {_many(leaves(domain))} parts; the limit is {MOST_LEAVES:,}"
                raise mistake_in(type(self).variables, what, "use smaller domains")
            largest = max((x.high.bit_length() for x in domain.scalars if x.kind == "set"), default=0)
            if largest > LARGEST_SET:
                what = f"variable {name!r} has sets of {largest} members; the limit is {LARGEST_SET}"
                raise mistake_in(type(self).variables, what, "let the setting that counts them be smaller")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_domains", ()):
            raise mistake(f"self.{name} is assigned, but is not part of the state", f"write s.{name}")
        if name in self.declared_settings():
            raise mistake(
                f"self.{name} is a setting and cannot be assigned", "write `name = value` in the class to fix it"
            )
        if is_running():
            raise mistake(f"self.{name} is assigned, and would survive the step", "keep it in a variable of the state")
        super().__setattr__(name, value)

    def _declared_variables(self) -> dict[str, Domain]:
        if type(self).variables is Model.variables:
            raise ModelError(f"{self.__stands__}: model {type(self).__name__} has no variables; define variables(self)")
        method, found = type(self).variables, self.variables()
        if not isinstance(found, dict):
            raise mistake_in(method, f"variables returns {found!r}", "return a dict of names and domains")
        for name, domain in found.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise mistake_in(method, f"variable {name!r} is not a valid name", "use a valid name")
            if name in RESERVED or name.startswith("_"):
                raise ModelError(f"{line_of(method)}: variable {name!r}: this name is reserved; choose another one")
            if not isinstance(domain, Domain):
                raise mistake_in(method, f"variable {name!r} is {domain!r}", "use a domain, such as number(0, 3)")
        return found

    def variables(self) -> dict[str, Domain]:
        """Name and domain of every variable."""
        raise NotImplementedError

    def initial(self, s: Any) -> None:
        """Assigns the initial values of variables that do not start at the first value of their domain."""

    def check_settings(self) -> None:
        """Raises `UnknownName` for settings that must not be combined; models override this method."""

    def lifeline(self, actor: str, parameters: dict[str, Value]) -> str:
        """The lane in which a drawing shows an action instance: the actor, unless a model overrides this method."""
        return actor

    @classmethod
    def name(cls) -> str:
        """The module's name in kebab-case. All models in one file have the same name."""
        return kebab(cls.__module__.rpartition(".")[2])

    @classmethod
    def declared_settings(cls) -> dict[str, Setting]:
        """Settings by name, except settings that a class fixes to a value. The settings of base classes come first."""
        found: dict[str, Setting] = {}
        for base in reversed(cls.__mro__):
            found.update({n: s for n, s in base.__dict__.items() if isinstance(s, Setting)})
        return {name: s for name, s in found.items() if getattr(cls, name) is s}

    @classmethod
    def actions(cls) -> dict[str, Callable[..., Any]]:
        """The methods decorated as actions, by name in kebab-case, in alphabetical order."""
        marked = [n for n in _members(cls) if hasattr(getattr(cls, n), "__action__")]
        return {kebab(n): getattr(cls, n) for n in sorted(marked, key=kebab)}

    @classmethod
    def predicates(cls, kind: str) -> dict[str, Callable[..., Any]]:
        """The methods decorated as `kind` (invariant, goal, constraint), by name in kebab-case, sorted."""
        marked = [n for n in _members(cls) if getattr(getattr(cls, n), "__predicate__", None) == kind]
        return {kebab(n): getattr(cls, n) for n in sorted(marked, key=kebab)}

    @property
    def goals_switched_off(self) -> list[str]:
        """The goals that the model's settings switch off."""
        goals = {name: getattr(method, "__where__", None) for name, method in self.predicates("goal").items()}
        return [name for name, where in goals.items() if not is_there(where, self, name)]

    @property
    def unrecorded(self) -> list[str]:
        """The settings that files may omit: settings with `recorded=False` that have their default values."""
        declared = self.declared_settings().items()
        return [name for name, s in declared if not s.recorded and self.settings[name] == s.default]

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each variable in a state."""
        return {name: i for i, name in enumerate(self._domains)}

    @property
    def domains(self) -> dict[str, Domain]:
        """Name and domain of every variable, with the number of members of each scalarset filled in."""
        return self._domains

    @cached_property
    def member_counts(self) -> dict[str, int]:
        """The number of members of each scalarset, such as the brokers, by the scalarset's name."""
        found: dict[str, int] = {}
        for name, declared in self.declared_settings().items():
            if declared.counts is not None:
                if declared.counts.of in found:
                    what = f"{self.__stands__}: two settings of model {self.name()} count {declared.counts.of}s"
                    raise ModelError(f"{what}; remove counts={declared.counts.of} from {name}")
                found[declared.counts.of] = self.settings[name]
        return found

    @property
    def broker_count(self) -> int:
        return self.member_counts.get(BROKER, 0)

    @cached_property
    def brokers(self) -> tuple[BrokerId, ...]:
        """Every broker."""
        return tuple(map(BrokerId, range(self.broker_count)))

    def members(self, of: Broker) -> tuple[BrokerId, ...]:
        """Every member of a scalarset: `self.members(client)`."""
        self._require_counted(of)
        return tuple(x for x in self.everybody if x.of == of.of)

    @cached_property
    def everybody(self) -> tuple[BrokerId, ...]:
        """The members of all scalarsets, in the order of the settings that count them."""
        return tuple(BrokerId(number, name) for name, count in self.member_counts.items() for number in range(count))

    def resolved_domain(self, domain: Domain) -> Domain:
        """The domain with the number of members of each scalarset filled in from the settings."""
        return resolved(domain, self.member_counts)

    def broker(self, number: int) -> BrokerId:
        """The broker with this number. A model that calls this method treats one broker differently from the others."""
        if not 0 <= number < self.broker_count:
            raise mistake(f"there is no broker {number}", f"brokers are 0 to {self.broker_count - 1}")
        return BrokerId(number)

    def instances(self, method: Callable[..., Any]) -> Iterator[tuple[tuple[Domain, Value], ...]]:
        """Each choice of an action's parameters as pairs (domain, value). A switched-off action has no choices."""
        spec: Action = method.__action__  # type: ignore[attr-defined]
        if is_there(spec.where, self, method.__name__):
            yield from self._choices(spec.parameters, method)

    def initial_choices(self) -> Iterator[tuple[tuple[Domain, Value], ...]]:
        """Each choice of the parameters of `initial`."""
        yield from self._choices(getattr(type(self).initial, "__initial__", {}), type(self).initial)

    def parameter_domains(self, method: Callable[..., Any]) -> dict[str, Domain]:
        """The domain of each parameter of an action at these settings, even if the settings switch the action off."""
        spec: Action = method.__action__  # type: ignore[attr-defined]
        return self._resolved(spec.parameters, method)

    def _resolved(self, parameters: dict[str, ParameterDomain], method: Callable[..., Any]) -> dict[str, Domain]:
        given = {name: d if isinstance(d, Domain) else d(self) for name, d in parameters.items()}
        for name, domain in given.items():
            if not isinstance(domain, Domain):
                what = f"the domain of parameter {name} of {method.__name__} is {domain!r}"
                raise mistake_in(method, what, "return a domain, such as number(0, 3)")
            if has_identities(domain):
                what = f"parameter {name} of {method.__name__} is {domain}"
                raise mistake_in(method, what, "read it from the state, its only source")
        for domain in given.values():
            self._require_counted(domain)
        return {name: self.resolved_domain(domain) for name, domain in given.items()}

    def _choices(
        self, parameters: dict[str, ParameterDomain], method: Callable[..., Any]
    ) -> Iterator[tuple[tuple[Domain, Value], ...]]:
        domains = list(self._resolved(parameters, method).values())
        count = product(map(values_of, domains))
        if count > MOST_INSTANCES:
            what = f"{method.__name__} has {_many(count)} choices of its parameters; the limit is {MOST_INSTANCES:,}"
            raise mistake_in(method, what, "use smaller domains")
        for values in itertools.product(*(list(d.values()) for d in domains)):
            yield tuple(zip(domains, values, strict=True))

    def _require_counted(self, domain: Domain) -> None:
        """Raises `ModelError` if a scalarset in a domain has no member, or if no setting counts its members.

        Without a member, every predicate about all members would hold.
        """
        for name in (broker.of for broker in scalarsets(domain)):
            where = f"{self.__stands__}: model {self.name()} has {name}s"
            if name not in self.member_counts:
                raise ModelError(f"{where} but no setting that counts them; add counts={name} to a setting")
            if not self.member_counts[name]:
                raise ModelError(f"{where}, but the setting that counts them is 0; set it to 1 or more")


def is_there(where: Callable[[Any], Any] | None, model: Any, name: str) -> bool:
    """True if an action or a goal exists at the model's settings; raises `ModelError` if `where` returns no condition.

    `where` runs with the checks for a model's methods: randomness and hidden effects are refused.
    """
    if where is None:
        return True
    answer = heeded(where, model)
    if isinstance(answer, bool | int) and not isinstance(answer, OfTheState):
        return bool(answer)
    if isinstance(answer, OfTheState):
        raise mistake_in(
            where, f"the where of {name} uses a bound, but there are no bounds here", "use another setting"
        )
    what = f"the where of {name} returns a {type(answer).__name__}"
    raise mistake_in(where, what, "return True, False or a number")


def _many(count: int) -> str:
    return "too many to count" if count >= HUGE else f"{count:,}"


def _check_names(cls: type[Model]) -> None:
    """Raises `ModelError` if a class reuses a name of `Model` for something else, or gives it a malformed value."""
    where, names = f"{cls.__stands__}: {cls.__name__}", cls.invariants
    if isinstance(names, str):
        raise ModelError(f"{where}.invariants is a string, not a tuple of names; write ({names!r},)")
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"{where}.invariants is {names!r}; write a tuple of names")
    for old, new in _RENAMED.items():
        if old in cls.__dict__:
            raise ModelError(f"{where}.{old} is now called {new}; rename it")
    if not isinstance(cls.setting_constraints, tuple | list):
        what = f"{where}.setting_constraints is {cls.setting_constraints!r}"
        raise ModelError(f"{what}; write a tuple of conflict(...) and inert(...)")
    if not isinstance(cls.profiles, Mapping):
        raise ModelError(f"{where}.profiles is {cls.profiles!r}; write a dict of profiles")
    for name, value in cls.__dict__.items():
        own = Model.__dict__.get(name)
        if name == "settings" or (
            isinstance(own, _METHODS) and not name.startswith("__") and not isinstance(value, _METHODS)
        ):
            raise ModelError(f"{where}.{name} is {value!r}, but every model already has a {name}; choose another name")
        if own is not None and isinstance(value, FunctionType) and name not in _REPLACED and not name.startswith("_"):
            raise ModelError(f"{where}: every model already has a {name}, which is not an action; choose another name")
    for name, (count, taken) in _TAKES.items():
        if name in cls.__dict__:
            require_takes(cls.__dict__[name], count, name, taken)


_RENAMED = {"together": "setting_constraints", "lane": "lifeline"}
"""Former names of what a model's class may define. They are refused, because nothing would use them."""
_METHODS = (FunctionType, classmethod, property, cached_property)
_REPLACED = {"variables", "initial", "lifeline", "check_settings", "name"}
"""Methods of `Model` that models override."""
_TAKES = {"variables": (1, "(self)"), "check_settings": (1, "(self)"), "lifeline": (3, "(self, actor, parameters)")}


def _check_decorators(cls: type, name: str, member: Any, inherited: Any) -> None:
    """Raises `ModelError` if a wrapper around a method hides the method's decorator, or if a decorator is missing.

    A decorator is missing if the class replaces a decorated method by a plain one.
    """
    for attribute in DECORATED:
        if hasattr(member, attribute):
            continue
        hidden = next((x for x in _inside(name, member) if hasattr(x, attribute)), None)
        if hidden is not None:
            raise mistake_in(hidden, f"the decorator of {name} is hidden by another one", "put this decorator first")
        if hasattr(inherited, attribute) and callable(member):
            kind = "action" if attribute == "__action__" else getattr(inherited, attribute)
            what = f"{name} replaces {'an' if kind[0] in 'ai' else 'a'} {kind} of {cls.__mro__[1].__name__}"
            raise mistake_in(member, what, f"decorate it with @{kind}")
    if name in ("initial", "variables", "check_settings") and inspect.isfunction(member):
        require_plain(member, name)


IN_A_MODEL: Final = (
    *("action", "invariant", "goal", "constraint", "initial"),
    *("eventually", "leads_to", "always_eventually", "eventually_always", "eventually_never", "stable"),
)
"""The decorators of a model's methods."""


def _check_unused(cls: type[Model]) -> None:
    """Raises `ModelError` for a method that says something about the model, but that nothing would use."""
    beneath = [c for c in cls.__mro__ if c is not object and not issubclass(c, Model)]
    for names in (cls.__dict__, *(c.__dict__ for c in beneath)):
        refuse_unused(names, IN_A_MODEL, "is in a model", "use it only where the language allows it")
        for name, member in names.items():
            if "initial" in marks_of(member) and name != "initial":
                raise mistake_in(member, f"@initial marks {name}, where nothing uses it", "call it initial")
    begins = cls.__dict__.get("begins")
    if not inspect.isfunction(begins) or marks_of(begins) or cls.__module__ == PARTS:
        return
    if not hasattr(super(cls, cls), "begins"):
        raise mistake_in(
            begins, f"begins of {cls.__name__} is not used, because {cls.__name__} is no Part", "call it initial"
        )


PARTS: Final = "isrcheck.model.language.parts"


def _inside(name: str, member: Any) -> list[Any]:
    """The functions inside a property, a class method, or a wrapper that a decorator made."""
    held = [getattr(member, attribute, None) for attribute in ("fget", "func", "__func__", "__wrapped__")]
    names = getattr(getattr(member, "__code__", None), "co_freevars", ())
    cells = dict(zip(names, getattr(member, "__closure__", None) or (), strict=False))
    cells.pop("__class__", None)  # this cell is still empty
    enclosed = [cell.cell_contents for cell in cells.values()]
    return held + [x for x in enclosed if getattr(x, "__name__", None) == name]


def _check_fixed(cls: type, inherited: Setting, value: Any) -> None:
    """Raises `ModelError` if a class fixes an inherited setting to a value that the setting cannot have."""
    try:
        inherited.checked(value)
    except UnknownName as error:
        raise ModelError(f"{cls.__name__}.{inherited.name} has a fixed value, but {error}") from None


def _check_description(cls: type, name: str) -> None:
    """Raises `ModelError` if a class defines `describe_*` for no action, or with parameters that the action lacks."""
    method, spec = getattr(cls, name), getattr(getattr(cls, name[len(DESCRIBE) :], None), "__action__", None)
    if spec is None and name not in cls.__dict__:
        return  # a model may remove an inherited action, and keep its `describe_*` method
    if spec is None:
        raise mistake_in(
            method, f"{name} does not belong to an action", f"name it {DESCRIBE} followed by the name of an action"
        )
    found = list(inspect.signature(method).parameters)[1:]
    wanted = [*found[:2], *spec.parameters]
    if found != wanted or len(found) < 2:
        taken = ", ".join(["old", "new", *spec.parameters])
        raise mistake_in(method, f"{name} takes ({', '.join(found)})", f"take ({taken}), as the action does")


def _members(cls: type) -> list[str]:
    return [n for n in dir(cls) if not n.startswith("__")]


def _unchanged(given: Any, *operands: Any, **values: Any) -> NoReturn:
    raise mistake("a parameter is changed", "create a new value: {**record, ...}, [*sequence, ...]")


class GivenRecord(dict[str, Any]):
    """A record as a parameter. The dict is immutable, because other runs of the method receive the same object."""

    _refuse: Any = _unchanged
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


class GivenSequence(list[Any]):
    """A sequence as a parameter. The list is immutable."""

    _refuse: Any = _unchanged
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _refuse
    pop = remove = reverse = sort = _refuse


def as_parameter(domain: Domain, value: Value) -> Any:
    """A value of a domain as a parameter of a model's method: a broker is a `BrokerId`, and a record is a dict."""
    match domain:
        case Broker():
            return none if value is None else BrokerId(value, domain.of)
        case BrokerSet():
            return frozenset(BrokerId(x, domain.element.of) for x in value)
        case Record():
            values = map(as_parameter, domain.domains, value)
            return GivenRecord(zip(domain.names, values, strict=True))
        case Per() | Sequence_() | Bag():
            return GivenSequence(as_parameter(domain.element, x) for x in value)
        case Messages():
            return GivenSequence(as_parameter(domain.element, x) for x in domain.elements if x in value)
        case _:
            return value
