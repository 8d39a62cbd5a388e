"""A model's steps for all bounds together, found by running the methods of the model.

Every setting that is a bound becomes an unknown integer. If the setting has a minimum, the integer is not below this
minimum. The methods run unchanged on a state of z3 terms. A parameter is *numeric* if its domain depends on a bound,
and *finite* otherwise. A numeric parameter is an unknown number of its domain. The methods run once for each choice of
their finite parameters, such as brokers. The result is valid for each value that a bound can have, because bounds and
numeric parameters stay unknown. A loop up to an unknown bound cannot run. Models use `below` and `one_past_last`
instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from isrcheck.checker.proofs.unbounded.scalars import UnboundedNumber, as_flag, ofFlag
from isrcheck.checker.proofs.unbounded.shapes import (
    TRUE,
    Book,
    Definitions,
    End,
    Part,
    Term,
    as_term,
    both,
    defining,
    either,
    first,
    inside,
    kind,
    negated,
    shape,
)
from isrcheck.checker.proofs.unbounded.unbounded_values import Place, flat, placed
from isrcheck.model.language.decorators import Action, ParameterDomain
from isrcheck.model.language.domains import Domain, Number
from isrcheck.model.language.errors import ModelError, TheState, caller, line_of, mistake, nearest
from isrcheck.model.language.model import Model, as_parameter, is_there
from isrcheck.model.semantics.method_calls import functions_of, heeded


@dataclass(frozen=True)
class AnyBounds:
    """A model whose bounds are unknown integers.

    `bounds` has these integers by setting. `known` has the conditions on these integers.
    """

    model: Model
    book: Book
    bounds: dict[str, Term]
    known: tuple[Term, ...]


def for_all_bounds(model: type[Model], settings: dict[str, Any]) -> AnyBounds:
    """The model with an unknown integer for each bound. The other settings have their given values."""
    if model.__init__ is not Model.__init__:
        line = line_of(model.__init__)
        raise ModelError(f"{line}: a model with a custom constructor; prove it with its settings, without --unbounded")
    book, values = Book(), dict(model(**settings).settings)
    bounds = {n: book.fresh(n, z3.IntSort()) for n, s in model.declared_settings().items() if s.bound is not None}
    known = []
    for name, term in bounds.items():
        values[name] = UnboundedNumber((term,), Number(0, End(term, name)))  # type: ignore[arg-type]
        least = model.declared_settings()[name].at_least
        known += [] if least is None else [term >= least]
    # The instance is made without `__init__`, because `__init__` would compute with settings that are now terms.
    instance = model.__new__(model)
    own: dict[str, Any] = instance.__dict__
    own["settings"] = values
    own["_domains"] = {name: instance.resolved_domain(d) for name, d in _declared_variables(instance).items()}
    return AnyBounds(instance, book, bounds, tuple(known))


def _declared_variables(model: Model) -> dict[str, Domain]:
    """The variables that a model declares. Overridden methods are heeded, too, because an override calls them."""
    for cls in type(model).__mro__:
        if "variables" in vars(cls):
            functions_of(vars(cls)["variables"], model)
    return heeded(type(model).variables, model)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Layout:
    """The leaves of a state, and for each variable its domain and the index of its first leaf."""

    parts: tuple[Part, ...]
    variables: dict[str, tuple[Domain, int]]

    @staticmethod
    def of(model: Model) -> Layout:
        parts: list[Part] = []
        variables = {}
        for name, domain in model.domains.items():
            variables[name] = domain, len(parts)
            parts += [Part(name + p.path, p.domain, p.index_kind) for p in shape(domain)]
        return Layout(tuple(parts), variables)

    def fresh(self, book: Book) -> tuple[Term, ...]:
        return tuple(book.fresh(part.path, part.sort) for part in self.parts)

    def not_empty(self) -> list[Term]:
        """For each domain with an end that depends on a bound, the condition that the domain has at least one value.

        A model with an empty domain is refused, so these conditions exclude no model.
        """
        ends = [p.domain for p in self.parts if kind(p.domain) is not None]
        return list(dict.fromkeys(as_term(d.low) <= as_term(d.high) for d in ends))  # type: ignore[attr-defined]


class UnboundedState(TheState):
    """The state that a method reads and assigns.

    Every read is of the state before the action. It is a mistake to read a value that was already assigned.
    """

    def __init__(self, model: Model, layout: Layout, terms: Sequence[Term], writable: bool) -> None:
        own: dict[str, Any] = self.__dict__
        own["_model"], own["_layout"], own["_terms"], own["_writable"] = model, layout, terms, writable
        own["_updates"], own["_conditions"] = {}, []
        own["_guard"], own["_required"] = ofFlag(TRUE), False

    def __getattr__(self, name: str) -> Any:
        domain, start = self._variable(name)
        return placed(domain, Place(self, start))

    def __setattr__(self, name: str, value: Any) -> None:
        domain, start = self._variable(name)
        Place(self, start).write(*flat(domain, value))

    def _variable(self, name: str) -> tuple[Domain, int]:
        known = self._layout.variables
        if name not in known:
            message = f"{caller()}: the state has no variable {name!r}; {nearest(name, known)}"
            raise AttributeError(message) if name.startswith("__") else ModelError(message)
        return known[name]  # type: ignore[no-any-return]

    def require(self, *conditions: Any) -> None:
        self.__dict__["_required"] = True
        for condition in conditions:
            self.__dict__["_guard"] = self._guard & as_flag(condition)

    def room(self, condition: Any) -> Any:
        return condition

    def enabled(self, method: Callable[..., Any]) -> Any:
        raise mistake(
            "s.enabled(...) is not supported without bounds", "prove this model with its settings, without --unbounded"
        )

    def fresh(self, domain: Domain) -> Any:
        raise mistake(
            "s.fresh(...) is not supported without bounds", "prove this model with its settings, without --unbounded"
        )

    used_up = fresh

    @property
    def _acts(self) -> bool:
        return bool(self._required or self._updates)

    def _reader(self) -> UnboundedState:
        return UnboundedState(self._model, self._layout, self._terms, False)

    def _before(self, leaf: int) -> Term:
        return self._terms[leaf]

    def _read(self, leaf: int) -> Term:
        if leaf in self._updates:
            raise mistake(
                f"{self._layout.parts[leaf].path} is read after it was assigned",
                "reads refer to the state before the action; read it into a local name first",
            )
        return self._terms[leaf]

    def _assign(self, condition: Term) -> None:
        if not self._writable:
            raise mistake("an assignment in a predicate", "predicates only read the state")
        self._conditions.append(condition)

    def _write(self, leaf: int, term: Term) -> None:
        if leaf in self._updates:
            raise mistake(
                f"{self._layout.parts[leaf].path} is assigned twice",
                "assign it once, with when(condition, a, b) where the value depends on the state",
            )
        self._updates[leaf] = term

    def _after(self) -> tuple[Term, ...]:
        return tuple(self._updates.get(i, term) for i, term in enumerate(self._terms))


@dataclass(frozen=True)
class Relation:
    """The step of an action, for one choice of its finite parameters and all values of its numeric `parameters`.

    A parameter is numeric if its domain depends on a bound. `choice` has the value of each finite parameter, and `...`
    for each numeric parameter. `inside` has the conditions that the numeric parameters lie in their domains. The step
    is undefined if `failure` holds. Otherwise, the step is possible if `guard` holds. `after` has the leaves after the
    step, as terms that may use the names from `definitions`.
    """

    action: str
    choice: tuple[tuple[str, Any], ...]
    parameters: tuple[tuple[Term, str], ...]
    inside: tuple[Term, ...]
    definitions: Definitions
    guard: Term
    failure: Term
    after: tuple[Term, ...]

    @property
    def label(self) -> str:
        shown = {None: "none", ...: "any"}
        values = ", ".join(f"{n}={shown.get(v, v)}" for n, v in self.choice)
        return f"{self.action}({values})"


Name = Callable[[str, str, int], Term]
"""A function that makes a number for a parameter of an action or a statement. It gets the name of the parameter, its
kind, and how many parameters of this kind come before it."""


def arguments(
    model: Model, parameters: dict[str, ParameterDomain], name: Name
) -> Iterator[tuple[tuple[tuple[str, Any], ...], list[Any], list[tuple[Term, str]], list[Term]]]:
    """The arguments of a function with these parameters, once for each choice of values for its finite parameters.

    A parameter is *numeric* if its domain depends on a bound, and *finite* otherwise. The argument of a numeric
    parameter is an unknown number. Yields the choice, all arguments, the unknown numbers with their kinds, and the
    conditions that the unknown numbers lie in their domains.
    """
    domains = {
        n: model.resolved_domain(d if isinstance(d, Domain) else heeded(d, model)) for n, d in parameters.items()
    }
    finite = {n: d for n, d in domains.items() if kind(d) is None}
    for values in itertools.product(*(list(d.values()) for d in finite.values())):
        chosen = dict(zip(finite, values, strict=True))
        given: list[Any] = []
        numbers: list[tuple[Term, str]] = []
        within: list[Term] = []
        for parameter, domain in domains.items():
            if parameter in chosen:
                given.append(as_parameter(domain, chosen[parameter]))
                continue
            of = str(kind(domain))
            number = name(parameter, of, sum(k == of for _, k in numbers))
            numbers.append((number, of))
            within += inside(domain, number)
            given.append(UnboundedNumber((number,), domain))
        yield tuple((n, chosen.get(n, ...)) for n in domains), given, numbers, within


def fresh_numbers(book: Book) -> Name:
    return lambda parameter, of, before: book.fresh(parameter, z3.IntSort())


def relations(free: AnyBounds, layout: Layout, before: Sequence[Term]) -> list[Relation]:
    """The steps of the model from the state `before`."""
    found, model = [], free.model
    for name, method in model.actions().items():
        spec: Action = method.__action__  # type: ignore[attr-defined]
        if not is_there(spec.where, model, name):
            continue
        for choice, given, numbers, within in arguments(model, spec.parameters, fresh_numbers(free.book)):
            s = UnboundedState(model, layout, before, True)
            with defining(free.book) as definitions:
                heeded(method, model, s, *given)
            if not s._acts:
                continue
            guard, can = s._guard.term, s._guard.defined
            failure = either(negated(can), both(guard, negated(both(*s._conditions))))
            found.append(Relation(name, choice, tuple(numbers), tuple(within), definitions, guard, failure, s._after()))
    return found


def initial(free: AnyBounds, layout: Layout) -> tuple[tuple[Term, ...], Definitions]:
    """The initial state, and the definitions that its values use."""
    model = free.model
    s = UnboundedState(model, layout, first(layout.parts), True)
    if getattr(type(model).initial, "__initial__", {}):
        raise ModelError(
            "several initial states are not supported without bounds; prove this model with its settings, "
            "without --unbounded"
        )
    with defining(free.book) as definitions:
        heeded(model.initial, s)
    return s._after(), definitions
