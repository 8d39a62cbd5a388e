"""Turns the statements of a proof (lemmas and targets) into predicates of a model with bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from isrcheck.checker.results import Instance
from isrcheck.model.language.concrete import explain, holds
from isrcheck.model.language.domains import Domain
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.logic import every
from isrcheck.model.language.model import Model, as_parameter
from isrcheck.model.language.proofs import Proof, Statement
from isrcheck.model.language.running import heeded

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
