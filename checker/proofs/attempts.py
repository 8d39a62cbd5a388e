"""An attempt at a proof: the model, the proof and its targets, and the obligations that a solver must prove.

Turns the statements of a proof (lemmas and targets) into predicates of a model with bounds.

Adds the history variables of a proof to a model. They record past events, and do not change the model's steps.

History cannot restrict a model. A *recorder* (a method of the proof that is marked with `@records`) reads the state
before the action and returns values, but cannot call `s.require`. The returned values are stored only in the history
variables, after the model's own method has run. `differences` checks that the steps have stayed the same.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from isrcheck.checker.proofs.bounded_obligations import Bounded
from isrcheck.checker.proofs.obligations import Obligations
from isrcheck.checker.proofs.unbounded.step_relation import for_all_bounds
from isrcheck.checker.proofs.unbounded.unbounded_obligations import Unbounded
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.result import Instance
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import EvaluationError, ModelError, UnknownName, line_of, nearest
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.language.proofs import Proof, Statement, recorded_values
from isrcheck.model.language.quantifiers import every
from isrcheck.model.semantics.concrete_state import explain, holds
from isrcheck.model.semantics.method_calls import heeded
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

Predicate = Callable[[Any, Any], Any]


def choices(model: Model, statement: Statement) -> Iterator[dict[str, Any]]:
    """Every choice of a statement's parameters. A choice maps each parameter to a value of its domain."""
    domains = parameter_domains(model, statement)
    for values in itertools.product(*(list(d.values()) for d in domains.values())):
        yield dict(zip(domains, values, strict=True))


def parameter_domains(model: Model, statement: Statement) -> dict[str, Domain]:
    """The domain of each parameter of a statement. Scalarsets have the sizes that this model gives them."""
    given = {n: d if isinstance(d, Domain) else d(model) for n, d in statement.parameters.items()}
    return {n: model.resolved_domain(d) for n, d in given.items()}


def instance(proof: type[Proof], statement: Statement, choice: dict[str, Any]) -> Predicate:
    """A statement for one choice of its parameters, as a predicate of a model and a state."""

    def of_choice(model: Any, s: Any) -> Any:
        domains = parameter_domains(model, statement)
        arguments = [as_parameter(domains[name], value) for name, value in choice.items()]
        return heeded(statement.method, proof(model), s, *arguments)

    return of_choice


def predicate(proof: type[Proof], statement: Statement) -> Predicate:
    """A predicate that is true if a statement holds for all choices of its parameters.

    The docstring of the predicate is the sentence of the statement.
    """

    def of_all(model: Any, s: Any) -> Any:
        return every(instance(proof, statement, choice)(model, s) for choice in choices(model, statement))

    of_all.__doc__ = statement.sentence
    return of_all


def falsifying(proof: type[Proof], statement: Statement, model: Model, state: Any) -> Instance | None:
    """The first choice of parameters for which a statement is false or undefined in a state.

    If the statement is false for this choice, the result also has the parts of the state that the statement reads.
    Returns None if the statement holds for all choices.
    """
    for choice in choices(model, statement):
        one = instance(proof, statement, choice)
        try:
            if holds(model, state, one).value:
                continue
            inner, reads = explain(model, state, one)
        except EvaluationError:
            inner, reads = (), ()
        domains = parameter_domains(model, statement)
        return Instance((*((n, domains[n].to_json(x)) for n, x in choice.items()), *inner), reads)
    return None


def with_history(model: type[Model], proof: type[Proof]) -> type[Model]:
    """The model with the history variables of the proof. In a state, they come after the model's own variables."""

    def variables(self: Model) -> dict[str, Any]:
        own, history = model.variables(self), heeded(proof.history, proof(self))
        for name in history:
            if name in own:
                raise ModelError(
                    f"proof {proof.name()}: history variable {name!r} is also a variable of the model; "
                    "choose another name"
                )
        return {**own, **history}

    namespace: dict[str, Any] = {
        name.replace("-", "_"): _recording(method, proof, proof.recorders(name))
        for name, method in model.actions().items()
        if proof.recorders(name)
    }
    namespace |= {"variables": variables, "__module__": model.__module__, "__doc__": model.__doc__, "abstract": True}
    return type(model.__name__, (model,), namespace)


def _recording(
    method: Callable[..., Any], proof: type[Proof], recorders: list[Callable[..., Any]]
) -> Callable[..., Any]:
    """The action, extended to store the values that its recorders return for the state before the step."""
    names = list(inspect.signature(method).parameters)[2:]

    @functools.wraps(method)
    def act(self: Model, s: Any, *arguments: Any) -> None:
        given = dict(zip(names, arguments, strict=True))
        own = proof(self)
        values: dict[str, Any] = {}
        heeded(method, self, s, *arguments)
        if not s._acts:
            return
        for recorder in recorders:
            recorded = recorded_values(own, recorder, s._reader(), given)
            for name in recorded.keys() & values.keys():
                raise ModelError(f"{line_of(recorder)}: two recorders set {name!r} for the same action; use only one")
            values |= recorded
        for name, value in values.items():
            setattr(s, name, value)

    return act


def differences(plain: TransitionSystem, remembering: TransitionSystem) -> list[str]:
    """The differences, in words, between the plain model and the model with history. There should be none.

    History variables, and the conditions under which a step is undefined, are not compared. Expressions are compared by
    identity, because equal expressions are the same object.
    """
    own = len(plain.leaves)
    found = [] if remembering.leaves[:own] == plain.leaves else ["it changes the variables of the model"]
    if {state[:own] for state in remembering.initial} != set(plain.initial):
        found.append("it changes the initial states")
    if [t.label for t in plain.transitions] != [t.label for t in remembering.transitions]:
        return [*found, "it changes the action instances"]
    for bare, full in zip(plain.transitions, remembering.transitions, strict=True):
        kept = {leaf: node for leaf, node in full.updates.items() if leaf < own}
        if bare.guard is not full.guard or kept != dict(bare.updates):
            found.append(f"it changes {bare.label}")
    return found


Kind = Literal["bit-vectors", "unbounded"]


@dataclass(frozen=True)
class Attempt:
    """A model at its settings, the proof to try, the names of the targets (None: all), and the form of the obligations.

    With `houdini`, lemmas are dropped before the proof, until the remaining lemmas are inductive. With
    `find_redundant`, a successful proof is followed by a search for lemmas that the proof does not need.
    """

    loaded: LoadedModel
    settings: dict[str, Any]
    proof: type[Proof]
    targets: tuple[str, ...] | None = None
    form: Kind = "bit-vectors"
    find_redundant: bool = False
    houdini: bool = False

    @property
    def model(self) -> type[Model]:
        return with_history(self.loaded.cls, self.proof)

    def chosen(self) -> dict[str, Statement]:
        """The chosen targets by name, or all targets if none is chosen.

        Raises `UnknownName` if the proof does not have a chosen target, or if the model does not have an invariant in
        `Proof.invariants`. Raises `ModelError` if two statements have the same name: a target and any invariant of the
        model, or a lemma (or candidate) and an invariant in `Proof.invariants`.
        """
        known = self.proof.targets(self.loaded.invariants, self.loaded.name)
        for name in self.targets or ():
            if name not in known:
                raise UnknownName(f"proof {self.proof.name()} has no target {name!r}; {nearest(name, known)}")
        return {n: s for n, s in known.items() if not self.targets or n in self.targets}

    def lemmas(self) -> dict[str, Statement]:
        return self.proof.statements("lemma", "candidate")

    def stated(self) -> dict[str, Statement]:
        return {**self.lemmas(), **self.chosen()}


class Bound:
    """A model at its settings: `plain` lacks the proof's history variables, `model` has them.

    `system` is the traced `model`, with the lemmas and targets as predicates.
    """

    def __init__(self, attempt: Attempt, settings: dict[str, Any]) -> None:
        self.attempt = attempt
        self.plain = attempt.loaded.cls(**settings)
        self.model = attempt.model(**settings)
        self.stated = {name: predicate(attempt.proof, s) for name, s in attempt.stated().items()}
        self.system = trace(self.model, self.stated)

    def obligations(self, bounded: Bounded) -> Obligations:
        by_name = {p.name: p for p in self.system.invariants}
        lemmas, targets = (
            tuple(by_name[name] for name in names) for names in (self.attempt.lemmas(), self.attempt.chosen())
        )
        return bounded.obligations(lemmas, targets)


def obligations_of(attempt: Attempt) -> tuple[Obligations, Bound | None, Bounded | None]:
    if attempt.form == "bit-vectors":
        bound = Bound(attempt, attempt.settings)
        bounded = Bounded.of(bound.system)
        return bound.obligations(bounded), bound, bounded
    return unbounded(attempt).obligations(attempt.chosen()), None, None


def unbounded(attempt: Attempt) -> Unbounded:
    return Unbounded(for_all_bounds(attempt.model, attempt.settings), attempt.proof, attempt.lemmas())


def settings_shown(attempt: Attempt) -> dict[str, Any]:
    """All settings of an attempt. A bound that the attempt removes has the value "unbounded"."""
    settings = dict(attempt.loaded.cls(**attempt.settings).settings)
    if attempt.form == "unbounded":
        bounds = {n for n, s in attempt.loaded.cls.declared_settings().items() if s.bound is not None}
        return {n: "unbounded" if n in bounds else value for n, value in settings.items()}
    return settings
