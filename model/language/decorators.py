"""Decorators that mark a function as an action, as the definition of the initial states, or as a predicate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, overload

from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import ModelError, mistake, mistake_in, modellers_frame, require_own, require_takes

Method = TypeVar("Method", bound=Callable[..., Any])
Marked = TypeVar("Marked")
DECORATED = ("__action__", "__predicate__")
"""The attributes of a method that mark it as an action or as a predicate."""
MARKS: Final = (
    "__action__",
    "__predicate__",
    "__initial__",
    "__refinement__",
    "__statement__",
    "__records__",
    "__needs__",
)
"""The attributes by which a decorator of the language marks a function."""
MARKED: Final = "__marked__"
"""The name, in the body of a class and in a file, of the list of all functions that were marked there."""
Fair = Literal["weak", "strong", "none"]
FAIR: Final[tuple[Fair, ...]] = ("weak", "strong", "none")

ParameterDomain = Domain | Callable[[Any], Domain]


@dataclass(frozen=True)
class Action:
    """The arguments of `@action`, as the docstring of `action` explains them."""

    parameters: dict[str, ParameterDomain]
    actor: str
    environment: bool
    fair: Fair | None = None
    together: tuple[str, ...] | None = None
    handler: str | None = None
    where: Callable[[Any], Any] | None = None


def action(
    bare: Any = None,
    /,
    *,
    actor: str = "",
    environment: bool = False,
    fair: Fair | None = None,
    together: tuple[str, ...] | None = None,
    handler: str | None = None,
    where: Callable[[Any], Any] | None = None,
    **parameters: ParameterDomain,
) -> Callable[[Method], Method]:
    """Marks a method `(self, s, ...)` as an action.

    `actor` says who acts: it is a plain word ("controller"), or the name of a parameter whose value is the actor. Each
    further keyword declares a parameter: its value is the parameter's domain, or a function that computes the domain
    from the model. An *environment action* (`environment=True`: a crash, an expiry, a client's write, an arbitrary
    election) may happen or not. Every other action is *healing*.

    `where` says at which settings the action exists: it is a function from the model to true or false. At other
    settings the action is switched off: it has no instance, and no report counts it as missing.

    The other arguments state the fairness of a healing action. With `fair="weak"`, no instance stays enabled for ever
    without happening. With `fair="strong"`, no instance is enabled again and again without ever happening. Use `strong`
    for an action that Kafka does in one step with the action that enables it. With `fair="none"` nothing is promised.
    Use `none` for an action of an administrator. With `together`, one promise covers all instances that agree in the
    parameters that `together` names. `handler` is a name that several actions may give. One promise then covers all
    instances of these actions that agree in every parameter that the actions share.
    """
    if bare is not None or not isinstance(actor, str) or not actor:
        raise mistake("@action without an actor", 'write @action(actor="controller"), or name a parameter')
    if "perturbation" in parameters:
        raise mistake("perturbation= is now called environment=", "write environment=True")
    if not isinstance(environment, bool):
        raise mistake(f"environment={environment!r}", "write True or False")
    if where is not None:
        require_own(where, 1, "the where of @action", "(model)")
    _require_valid_fairness(environment, fair, together, handler, parameters)

    def decorate(method: Method) -> Method:
        _require_undecorated(method, "action")
        named = list(inspect.signature(method).parameters)[2:]
        if named != list(parameters):
            raise mistake_in(
                method, f"action {method.__name__} takes ({', '.join(named)})", "declare exactly these parameters"
            )
        if not (method.__doc__ or "").strip():
            raise mistake_in(
                method, f"action {method.__name__} has no docstring", "describe in one sentence what happens"
            )
        _require_domains(method, f"action {method.__name__}", parameters)
        method.__action__ = Action(parameters, actor, environment, fair, together, handler, where)  # type: ignore[attr-defined]
        return listed(method)

    return decorate


def _require_valid_fairness(environment: bool, fair: Any, together: Any, handler: Any, parameters: Any) -> None:
    """Raises `ModelError` for arguments about fairness that are invalid or contradict each other."""
    if fair is not None and fair not in FAIR:
        raise mistake(f"fair={fair!r}", 'write "weak", "strong" or "none"')
    if environment and (fair, together, handler) != (None, None, None):
        raise mistake("an environment action with fairness", "remove fair, together and handler")
    if handler is not None and (together is not None or not isinstance(handler, str) or not handler):
        raise mistake(f"handler={handler!r} with together={together!r}", "use one of them; handler takes a name")
    if together is not None and (not isinstance(together, tuple) or not {*together} <= {*parameters}):
        raise mistake(f"together={together!r}", f"write a tuple of parameters: {', '.join(parameters) or 'none'}")


def decorator_for(kind: str) -> Callable[[Method], Method]:
    def decorate(method: Method) -> Method:
        _require_undecorated(method, kind)
        if not (method.__doc__ or "").strip():
            raise mistake_in(
                method, f"{kind} {method.__name__} has no docstring", "describe its meaning in one sentence"
            )
        require_takes(method, 2, f"{kind} {method.__name__}", "(self, s)")
        method.__predicate__ = kind  # type: ignore[attr-defined]
        return listed(method)

    return decorate


def invariant(method: Method) -> Method:
    """Marks a function `(model, s)` as an invariant; users see its docstring when the invariant is violated."""
    return decorator_for("invariant")(method)


def needs(*variables: str, setting: str | None = None, family: str | None = None) -> Callable[[Method], Method]:
    """Declares the variables and the setting that a predicate needs. Models without them do not have the predicate.

    Do not declare a variable that exists only for some values of the setting. `family` is a folder below `model/`, such
    as `designs`. It restricts the predicate to the models of this folder and to models derived from them, even if other
    models have the variables.
    """

    def decorate(method: Method) -> Method:
        method.__needs__ = variables  # type: ignore[attr-defined]
        method.__needs_setting__ = setting  # type: ignore[attr-defined]
        method.__needs_family__ = family  # type: ignore[attr-defined]
        return listed(method)

    return decorate


@overload
def goal(method: Method) -> Method: ...
@overload
def goal(*, where: Callable[[Any], Any]) -> Callable[[Method], Method]: ...
def goal(method: Any = None, *, where: Callable[[Any], Any] | None = None) -> Any:
    """Marks a function `(model, s)` as a goal: some state where it holds should be reachable.

    `where` says at which settings the goal exists. At other settings the goal is switched off and need not be reached.
    """
    if method is None:
        return lambda of: _aimed_at(decorator_for("goal")(of), where)
    return decorator_for("goal")(method)


def _aimed_at(method: Method, where: Callable[[Any], Any] | None) -> Method:
    method.__where__ = where  # type: ignore[attr-defined]
    return method


def constraint(method: Method) -> Method:
    """Marks a function `(model, s)` as a state constraint: states where it is false are checked, but not expanded."""
    return decorator_for("constraint")(method)


def initial(**parameters: ParameterDomain) -> Callable[[Method], Method]:
    """Marks the method `initial(self, s, ...)`: one initial state for each choice of its parameters."""

    def decorate(method: Method) -> Method:
        _require_domains(method, "initial", parameters)
        method.__initial__ = parameters  # type: ignore[attr-defined]
        return listed(method)

    return decorate


def listed(marked: Marked) -> Marked:
    """Lists a marked function, or a class of the language, in the class body or file in which it is defined.

    So `refuse_unused` finds it even if its name has another value at the end.
    """
    frame = modellers_frame()
    if frame.f_locals is frame.f_globals or "__qualname__" in frame.f_locals:
        frame.f_locals.setdefault(MARKED, []).append(marked)
    return marked


def marks_of(value: Any) -> list[str]:
    """The names of the decorators that marked a function; none for any other value."""
    found = [n.strip("_") for n in MARKS if hasattr(value, n)] if inspect.isfunction(value) else []
    if "predicate" in found:
        found = [value.__predicate__ if n == "predicate" else n for n in found if n != "needs"]
    return [value.__statement__.kind if n == "statement" else n for n in found]


def refuse_unused(names: Mapping[str, Any], used: Collection[str], place: str, remedy: str) -> None:
    """Raises `ModelError` for a marked function of a class body or a file that nothing uses.

    The reason is that another value has its name now, or that it has a mark that is not in `used`.
    """
    held = {id(x) for x in names.values()}
    for one in names.get(MARKED, ()):
        if id(one) in held:
            continue
        if inspect.isfunction(one):
            what = f"{(marks_of(one) or ['function'])[0]} {one.__name__} is not used: its name has another value later"
            raise mistake_in(one, what, "give each a name of its own")
        if isinstance(names.get(one.__name__), type):
            what = f"class {one.__name__} is not used: another class has its name"
            raise ModelError(f"{one.__stands__}: {what}; give each a name of its own")
    for value in names.values():
        for mark in marks_of(value):
            if mark not in used:
                raise mistake_in(value, f"@{mark} {value.__name__} {place}, where nothing uses it", remedy)


def _require_domains(method: Callable[..., Any], who: str, parameters: dict[str, ParameterDomain]) -> None:
    """Raises `ModelError` if a parameter is declared with anything but a domain or a function."""
    for name, domain in parameters.items():
        if not isinstance(domain, Domain) and not callable(domain):
            raise mistake_in(method, f"parameter {name} of {who} is {domain!r}", "use a domain, such as number(0, 3)")
        if not isinstance(domain, Domain):
            require_own(domain, 1, f"the domain of parameter {name} of {who}", "(model)")


def _require_undecorated(method: Any, decorate: str) -> None:
    """Raises `ModelError` if the mark cannot be put on `method`."""
    if not inspect.isfunction(method):
        raise mistake(
            f"@{decorate} decorates a {type(method).__name__}",
            "decorate a plain function, without other decorators in between",
        )
    require_plain(method, f"{decorate} {method.__name__}")
    if any(hasattr(method, kind) for kind in DECORATED):
        raise mistake_in(method, f"{method.__name__} is decorated twice", "decorate it once")
    body = modellers_frame().f_locals  # the body of the class that is being defined
    if "__qualname__" in body and any(hasattr(body.get(method.__name__), kind) for kind in DECORATED):
        raise mistake_in(method, f"{method.__name__} is defined twice in one class", "use different names")


def require_plain(method: Callable[..., Any], who: str) -> None:
    """Raises `ModelError` for an asynchronous function or a generator, which does not run when it is called."""
    if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
        raise mistake_in(method, f"{who} is async and would never run", "write def")
    if inspect.isgeneratorfunction(method):
        raise mistake_in(method, f"{who} has a yield and would never run", "remove the yield")
