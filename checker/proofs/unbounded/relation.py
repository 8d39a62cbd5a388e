"""A model's steps without bounds, from the methods of the model itself.

Every setting that is a bound becomes infinite, so that domains have no greatest number and logs no end. The methods run
as they are, on a state of z3's terms, once for each choice of their finite parameters (brokers); a numeric parameter is
any number of its domain. What loops up to a bound cannot run: the proof has a method in its place, marked
`@without_bounds`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from isrcheck.checker.proofs.unbounded.shapes import (
    FALSE,
    TRUE,
    Infinity,
    Part,
    Term,
    both,
    either,
    first,
    inside,
    kind,
    negated,
    shape,
)
from isrcheck.checker.proofs.unbounded.values import Place, UnboundedFlag, UnboundedNumber, flat, ofFlag, placed
from isrcheck.model.language.domains import Domain, resolved
from isrcheck.model.language.errors import ModelError, caller, mistake, nearest, not_a_condition
from isrcheck.model.language.model import Action, Model, ParameterDomain, as_parameter
from isrcheck.model.language.proofs import Proof


def without_bounds(model: type[Model], proof: type[Proof], settings: dict[str, Any]) -> Model:
    """An instance of a model in which every bound is infinite; other settings are as given."""
    instance = model(**settings)
    for name, declared in model.declared_settings().items():
        if declared.bound is not None:
            instance.settings[name] = Infinity(name)
    domains = {name: resolved(d, instance.broker_count) for name, d in instance.variables().items()}
    instance._domains = domains
    for name, method in proof.replacements().items():
        setattr(instance, name, _bound(method, proof(instance)))
    return instance


def _bound(method: Callable[..., Any], proof: Proof) -> Callable[..., Any]:
    return lambda *arguments: method(proof, *arguments)


@dataclass(frozen=True)
class Quantified:
    """A condition for all values of some numbers, each with its kind."""

    numbers: tuple[tuple[Term, str], ...]
    condition: Term


@dataclass(frozen=True)
class Definition:
    """A number of a kind, and the conditions that fix it."""

    number: Term
    kind: str
    conditions: tuple[Quantified, ...]


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
            parts += [Part(name + p.path, p.domain, p.endless) for p in shape(domain)]
        return Layout(tuple(parts), variables)

    def fresh(self, name: str) -> tuple[Term, ...]:
        return tuple(z3.Const(f"{name}!{part.path}", part.sort) for part in self.parts)


class UnboundedState:
    """The state that a method reads and assigns: every read is of the state before the action."""

    def __init__(
        self, model: Model, layout: Layout, terms: Sequence[Term], writable: bool, definitions: list[Definition]
    ) -> None:
        own: dict[str, Any] = self.__dict__
        own["_model"], own["_layout"], own["_terms"], own["_writable"] = model, layout, terms, writable
        own["_updates"], own["_conditions"], own["_definitions"] = {}, [], definitions
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

    def enabled(self, method: Callable[..., Any]) -> Any:
        raise mistake("s.enabled(...) without bounds", "prove this model at its settings, without --unbounded")

    @property
    def _acts(self) -> bool:
        return bool(self._required or self._updates)

    def _reader(self) -> UnboundedState:
        return UnboundedState(self._model, self._layout, self._terms, False, self._definitions)

    def _one_past_last(self, limit: Any, holds: Callable[[Any], Any]) -> UnboundedNumber:
        """A number that its definition fixes; there is one, whatever the condition: offsets below a limit are few."""
        up_to, number = limit.term, len(self._definitions)
        end, offset = z3.Int(f"end!{number}"), z3.Int(f"offset!{number}")

        def truth(at: Term) -> Term:
            return as_flag(holds(UnboundedNumber((at,), limit.domain))).truth

        fixed = z3.And(end >= 0, end <= z3.If(up_to < 0, 0, up_to), z3.Or(end == 0, truth(end - 1)))
        beyond = z3.Implies(z3.And(end <= offset, offset < up_to), z3.Not(truth(offset)))
        of = str(kind(limit.domain))
        self._definitions.append(Definition(end, of, (Quantified((), fixed), Quantified(((offset, of),), beyond))))
        return UnboundedNumber((end,), limit.domain, limit.defined)

    def _before(self, leaf: int) -> Term:
        return self._terms[leaf]

    def _read(self, leaf: int) -> Term:
        if leaf in self._updates:
            raise mistake(
                f"{self._layout.parts[leaf].path} is read after it was assigned",
                "every read is of the state before the action: read it into a name first",
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


def as_flag(condition: Any) -> UnboundedFlag:
    if isinstance(condition, bool):
        return ofFlag(TRUE if condition else FALSE)
    if not isinstance(condition, UnboundedFlag):
        raise not_a_condition(condition)
    return condition


@dataclass(frozen=True)
class Relation:
    """An instance of an action: any numbers `parameters` for which `inside` holds.

    The step happens where `guard` holds; there `after` are the leaves after it, with the names that `definitions` fix.
    Where `failure` holds it has no meaning.
    """

    action: str
    choice: tuple[tuple[str, Any], ...]
    parameters: tuple[tuple[Term, str], ...]
    inside: tuple[Term, ...]
    definitions: tuple[Definition, ...]
    guard: Term
    failure: Term
    after: tuple[Term, ...]

    @property
    def label(self) -> str:
        return f"{self.action}({', '.join(f'{n}={v}' for n, v in self.choice)})"


def arguments(
    model: Model, parameters: dict[str, ParameterDomain], prefix: str
) -> Iterator[tuple[tuple[tuple[str, Any], ...], list[Any], list[tuple[Term, str]], list[Term]]]:
    """Each choice of finite parameters; what a method is called with; its endless numbers, and that they are inside.

    The names of the numbers depend on the prefix, on their kinds and on how many of the kind there are before them.
    """
    domains = {n: resolved(d if isinstance(d, Domain) else d(model), model.broker_count) for n, d in parameters.items()}
    finite = {n: d for n, d in domains.items() if kind(d) is None}
    for values in itertools.product(*(list(d.values()) for d in finite.values())):
        chosen = dict(zip(finite, values, strict=True))
        given: list[Any] = []
        numbers: list[tuple[Term, str]] = []
        within: list[Term] = []
        for name, domain in domains.items():
            if name in chosen:
                given.append(as_parameter(domain, chosen[name]))
                continue
            of = str(kind(domain))
            number = z3.Int(f"{prefix}!{of}!{sum(k == of for _, k in numbers)}")
            numbers.append((number, of))
            within += inside(domain, number)
            given.append(UnboundedNumber((number,), domain))
        shown = tuple((n, "any" if n not in chosen else "none" if chosen[n] is None else chosen[n]) for n in domains)
        yield shown, given, numbers, within


def relations(model: Model, layout: Layout, before: Sequence[Term]) -> list[Relation]:
    """The steps of the model from a state."""
    found = []
    for name, method in model.actions().items():
        spec: Action = method.__action__  # type: ignore[attr-defined]
        for choice, given, numbers, within in arguments(model, spec.parameters, name):
            s = UnboundedState(model, layout, before, True, [])
            method(model, s, *given)
            if not s._acts:
                continue
            guard, can = s._guard.term, s._guard.defined
            failure = either(negated(can), both(guard, negated(both(*s._conditions))))
            relation = Relation(
                name, choice, tuple(numbers), tuple(within), tuple(s._definitions), guard, failure, s._after()
            )
            found.append(relation)
    return found


def initial(model: Model, layout: Layout) -> tuple[Term, ...]:
    """The initial state."""
    s = UnboundedState(model, layout, first(layout.parts), True, [])
    if getattr(type(model).initial, "__initial__", {}):
        raise ModelError("several initial states without bounds; prove this model at its settings, without --unbounded")
    model.initial(s)
    return s._after()
