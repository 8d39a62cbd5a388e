"""Refinement mappings: functions from the states of a model to the states of a specification.

A mapping is a function `(model, s)`. The function computes a value for each variable of the specification from the
variables of the model. Source: Abadi and Lamport, "The Existence of Refinement Mappings", 1991. If a state lacks
information that the mapping needs, the model gets history variables. Steps write history variables and never read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from isrcheck.model.language.decorators import listed, require_plain
from isrcheck.model.language.errors import (
    EvaluationError,
    ModelError,
    caller,
    line_of,
    mistake,
    mistake_in,
    nearest,
    require_takes,
)
from isrcheck.model.language.model import Model
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.concrete_state import ConcreteState
from isrcheck.model.semantics.concrete_values import State, Undefined, stored
from isrcheck.model.semantics.expressions import Expression
from isrcheck.model.semantics.method_calls import heeded
from isrcheck.model.semantics.side_effects import no_side_effects
from isrcheck.model.semantics.symbolic.structures import nodes_of
from isrcheck.model.semantics.tracing import SymbolicState, layout

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Refinement:
    """The arguments of `@refinement`: a specification's name, and functions for its settings and history variables."""

    of: str
    settings: Callable[[Any], dict[str, Any]] | None
    history: Callable[[type[Model]], type[Model]] | None


def refinement(
    *,
    of: str,
    settings: Callable[[Any], dict[str, Any]] | None = None,
    history: Callable[[type[Model]], type[Model]] | None = None,
) -> Callable[[Method], Method]:
    """Marks a function `(model, s)` as a mapping to the specification named `of`.

    The specification takes the values of the model's settings with the same names. `settings` is a
    function that takes the model and returns further values, which take precedence. `history` is a function that takes
    the model's class and returns a subclass with history variables for the mapping.
    """
    if not isinstance(of, str) or not of:
        raise mistake(f"@refinement of {of!r}", 'name the specification: @refinement(of="replicated-log")')

    def decorate(method: Method) -> Method:
        require_plain(method, f"refinement {method.__name__}")
        if not (method.__doc__ or "").strip():
            raise mistake_in(method, f"refinement {method.__name__} has no docstring", "describe the mapping")
        require_takes(method, 2, f"refinement {method.__name__}", "(model, s)")
        method.__refinement__ = Refinement(of, settings, history)  # type: ignore[attr-defined]
        return listed(method)

    return decorate


def refinement_of(method: Any) -> Refinement | None:
    """The arguments of a mapping's decorator; None for a function that is not a mapping."""
    found = getattr(method, "__refinement__", None)
    return found if isinstance(found, Refinement) else None


def specified(specification: type[Model], model: Model, mapping: Callable[..., Any], settings: dict[str, Any]) -> Model:
    """The specification with the settings that a mapping chooses for a model. Values in `settings` take precedence."""
    declared, said = specification.declared_settings(), refinement_of(mapping)
    taken = {name: model.settings[name] for name in declared if name in model.settings}
    given = {} if said is None or said.settings is None else said.settings(model)
    for name in given:
        if name not in declared:
            what = f"{_name(mapping)} passes {specification.name()} a setting {name!r}"
            raise mistake_in(mapping, what, nearest(name, declared))
    return specification(**{**taken, **given, **settings})


def traced(model: Model, specification: Model, mapping: Callable[..., Any]) -> tuple[list[Expression], Expression]:
    """The specification's leaves as expressions over the model's leaves, and the condition that some leaf is undefined.

    Raises `ModelError` if the mapping returns anything but values of the specification's variables.
    """
    s = SymbolicState(model, *layout(model), writable=False)
    with no_side_effects(mapping, _name(mapping), model):
        answer = _answer(mapping, specification, heeded(mapping, model, s))
    nodes, defined = list[Expression](), e.TRUE
    for name, domain in specification.domains.items():
        found, has = _checked(mapping, name, lambda d=domain, x=answer[name]: nodes_of(d, x))  # type: ignore[misc]
        nodes += found
        defined = e.and_(defined, has)
    return nodes, e.not_(defined)


def mapped(model: Model, specification: Model, mapping: Callable[..., Any], state: State) -> State:
    """The specification's state for a state of the model; raises `EvaluationError` where the mapping is undefined."""
    answer = _answer(mapping, specification, heeded(mapping, model, ConcreteState(model, state)))
    values = []
    for name, domain in specification.domains.items():
        value = _checked(mapping, name, lambda d=domain, x=answer[name]: stored(d, x))  # type: ignore[misc]
        if isinstance(value, Undefined):
            failure, ours = value._failure, caller().partition(":")[0]
            where = line_of(mapping) if failure.where.partition(":")[0] == ours else failure.where
            raise EvaluationError(f"{_name(mapping)} returns no value for {name}: {failure.what}", where)
        values.append(value)
    return tuple(values)


def _answer(mapping: Callable[..., Any], specification: Model, answer: Any) -> Mapping[str, Any]:
    """The result of a mapping; raises `ModelError` unless the result has one value for each variable."""
    domains = specification.domains
    if not isinstance(answer, Mapping):
        what = f"{_name(mapping)} returns {type(answer).__name__}, not a dict of variables"
        raise mistake_in(mapping, what, f"return a dict of {', '.join(domains)}")
    for name in answer:
        if name not in domains:
            what = f"{_name(mapping)} returns {name!r}, which is not a variable of {specification.name()}"
            raise mistake_in(mapping, what, nearest(str(name), domains))
    missing = [name for name in domains if name not in answer]
    if missing:
        what = f"{_name(mapping)} does not return {', '.join(missing)} of {specification.name()}"
        raise mistake_in(mapping, what, "return a value for each variable")
    return answer


def _checked(mapping: Callable[..., Any], name: str, made: Callable[[], Any]) -> Any:
    """The result of calling `made`; reports a `ModelError` as a mistake of the mapping."""
    try:
        return made()
    except ModelError as error:
        what = str(error).partition(": ")[2] or str(error)
        raise mistake_in(mapping, f"{_name(mapping)} returns a value outside the domain of {name}", what) from None


def _name(mapping: Callable[..., Any]) -> str:
    return f"refinement {mapping.__name__}"
