"""Statements of a proof as predicates of a bounded model: their parameters run through all values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from model.language.domains import Domain, resolved
from model.language.logic import every
from model.language.model import Model, as_parameter
from model.language.proofs import Proof, Statement

Predicate = Callable[[Any, Any], Any]


def choices(model: Model, statement: Statement) -> Iterator[dict[str, Any]]:
    """Each choice of a statement's parameters, as values of their domains."""
    domains = parameter_domains(model, statement)
    for values in itertools.product(*(list(d.values()) for d in domains.values())):
        yield dict(zip(domains, values, strict=True))


def parameter_domains(model: Model, statement: Statement) -> dict[str, Domain]:
    """The domain of each parameter, brokers counted."""
    given = {n: d if isinstance(d, Domain) else d(model) for n, d in statement.parameters.items()}
    return {n: resolved(d, model.broker_count) for n, d in given.items()}


def instance(proof: type[Proof], statement: Statement, choice: dict[str, Any]) -> Predicate:
    """A statement for one choice of its parameters, as a predicate of a model and a state."""

    def holds(model: Any, s: Any) -> Any:
        domains = parameter_domains(model, statement)
        arguments = [as_parameter(domains[name], value) for name, value in choice.items()]
        return statement.method(proof(model), s, *arguments)

    return holds


def predicate(proof: type[Proof], statement: Statement) -> Predicate:
    """A statement for all values of its parameters; its docstring is the sentence."""

    def holds(model: Any, s: Any) -> Any:
        return every(instance(proof, statement, choice)(model, s) for choice in choices(model, statement))

    holds.__doc__ = statement.sentence
    return holds
