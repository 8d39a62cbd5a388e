"""Runs the methods of a model as they are written, on concrete states, for the reference engine and for replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from isrcheck.model.language.decorators import Action
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.language.properties import Asked, questions_of
from isrcheck.model.semantics.concrete_state import (
    decided,
    holds,
    is_instance,
    leaves_of,
    refusal,
    run,
    said,
    would_change,
)
from isrcheck.model.semantics.concrete_values import PlainFlag, State, Undefined
from isrcheck.model.semantics.transition_system import Label, actor_of

Predicate = Callable[[Any, Any], Any]


class Interpreter:
    """Runs a model's action instances and evaluates its predicates. An instance is given as its index in `labels`."""

    def __init__(
        self, model: Model, invariants: dict[str, Predicate], properties: dict[str, Predicate] | None = None
    ) -> None:
        self.model = model
        self.invariants = dict(sorted(invariants.items()))
        self.properties = dict(sorted((properties or {}).items()))
        self.constraints = model.predicates("constraint")
        self.goals = model.predicates("goal")
        self.bounds = {n: s.bound for n, s in model.declared_settings().items() if s.bound is not None}
        self.actions = tuple(model.actions())
        self.labels: list[Label] = []
        self.actors: list[str] = []
        self._calls: list[tuple[Callable[..., Any], list[Any]]] = []
        for name, method in model.actions().items():
            self._add(name, method)

    def _add(self, name: str, method: Callable[..., Any]) -> None:
        spec: Action = method.__action__  # type: ignore[attr-defined]
        for choice in self.model.instances(method):
            values = tuple(zip(spec.parameters, (v for _, v in choice), strict=True))
            label = Label(name, values, tuple(d for d, _ in choice))
            self.labels.append(label)
            self.actors.append(actor_of(spec.actor, label))
            self._calls.append((method, [as_parameter(d, v) for d, v in choice]))

    @property
    def switched_off(self) -> set[str]:
        """The names of the actions that have no instance at the model's settings."""
        return {*self.actions} - {label.action for label in self.labels}

    def step(self, state: State, instance: int) -> State | None:
        """The state after an instance, or None if the instance is disabled or does not exist (see `exists`).

        Raises `EvaluationError` if the instance fails.
        """
        method, arguments = self._calls[instance]
        return run(self.model, state, method, arguments)

    def steps(self, state: State) -> Iterator[tuple[int, State | EvaluationError]]:
        """Yields each enabled instance with the state after it, and each failing instance with its error."""
        for instance in range(len(self.labels)):
            try:
                after = self.step(state, instance)
            except EvaluationError as error:
                yield instance, error
            else:
                if after is not None:
                    yield instance, after

    def would_change(self, state: State, instance: int) -> bool:
        """Whether an instance would change a state without the conditions that keep the search finite (`s.room`)."""
        method, arguments = self._calls[instance]
        return would_change(self.model, state, method, arguments)

    def refusal(self, state: State, instance: int) -> str | None:
        """The place (`file:line`) of the condition that disables an instance, or None if no condition does."""
        method, arguments = self._calls[instance]
        return refusal(self.model, state, method, arguments)

    def exists(self, state: State, instance: int) -> bool:
        """Whether an instance exists at the model's settings: its method requires or assigns something.

        An instance that exists need not be enabled in the state.
        """
        method, arguments = self._calls[instance]
        return is_instance(self.model, state, method, arguments)

    def asked(self, state: State, name: str) -> dict[Asked, tuple[bool, ...]]:
        """For each choice of a property's parameters, whether the property's one or two conditions hold in a state.

        Raises `EvaluationError` if a condition is undefined.
        """
        method = self.properties[name]
        answer = said(self.model, state, method)
        found = {}
        for choice, conditions in questions_of(method, answer, lambda x: isinstance(x, bool | PlainFlag | Undefined)):
            given = conditions if isinstance(conditions, tuple) else (conditions,)
            found[choice] = tuple(decided(condition) for condition in given)
        return found

    def evaluated(self, state: State, predicates: dict[str, Predicate]) -> dict[str, bool | None]:
        """For each predicate, whether it holds in a state, or None if it is undefined in this state."""
        return {name: self._holds(state, predicate) for name, predicate in predicates.items()}

    def _holds(self, state: State, predicate: Predicate) -> bool | None:
        try:
            return holds(self.model, state, predicate).value
        except EvaluationError:
            return None

    def true(self, state: State, predicates: dict[str, Predicate]) -> set[str]:
        """The names of the predicates that hold in a state. Raises `EvaluationError` if a predicate is undefined."""
        return {name for name, predicate in predicates.items() if holds(self.model, state, predicate).value}

    def counted(self, state: State) -> bool:
        """Whether a state satisfies every constraint. Raises `EvaluationError` if a constraint is undefined."""
        return len(self.true(state, self.constraints)) == len(self.constraints)

    def violated(self, state: State) -> set[str]:
        """The names of the invariants that are false in a state."""
        return {name for name, answer in self.evaluated(state, self.invariants).items() if answer is False}

    def leaves(self, state: State) -> tuple[int, ...]:
        """The leaves of a state, as integers. States are ordered by their leaves."""
        return leaves_of(self.model, state)
