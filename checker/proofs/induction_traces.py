"""Turns the states that a solver has found into traces that people can read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import z3

from isrcheck.checker.proofs.bounded_obligations import Bounded
from isrcheck.checker.proofs.proof_result import Counterexample, Failing, reachability
from isrcheck.checker.results.result import Instance, Step, Trace
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.concrete_state import explain
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import TransitionSystem

Why = Callable[[Model, Any], "Instance | None"]
"""A function that says for which parameters a goal is false in a state of a model. It returns None if it cannot say."""


def counterexample(
    model: Model, system: TransitionSystem, states: Sequence[tuple[int, ...]], labels: Sequence[str], why: Why
) -> Counterexample:
    """The counterexample with these states and labels. `why` explains why the goal is false in the last state."""
    trace = trace_of(model, system, states, labels)
    return Counterexample(trace, why(model, trace.steps[-1].state), None)


def with_reachability(system: TransitionSystem, failing: Sequence[Failing]) -> list[Failing]:
    """The failing goals, with the result of a search for the first state of each counterexample."""
    shown = [each.counterexample.trace.steps[0].state for each in failing if each.counterexample is not None]
    found = iter(reachability(system, [system.encode(state) for state in shown]) if shown else [])
    return [
        each
        if each.counterexample is None
        else replace(each, counterexample=replace(each.counterexample, reachability=next(found)))
        for each in failing
    ]


def trace_of(model: Model, system: TransitionSystem, states: Sequence[tuple[int, ...]], labels: Sequence[str]) -> Trace:
    """The trace with these states and labels.

    To check the solver, the model's own methods repeat each step. Raises `AssertionError` if a step is disabled or
    leads to another state. A step that is undefined is accepted.
    """
    it = Interpreter(model, {})
    numbers = {str(label): i for i, label in enumerate(it.labels)}
    values = [system.decode(state) for state in states]
    steps = [Step(None, None, values[0])]
    for before, after, label in zip(values[:-1], values[1:], labels, strict=True):
        number = numbers[label]
        try:
            reached = it.step(before, number)
        except EvaluationError:
            reached = after
        if reached != after:
            raise AssertionError(f"the reference semantics does not allow the solver's {label}")
        steps.append(Step(it.labels[number], it.actors[number], after))
    return Trace(tuple(model.domains.items()), tuple(steps))


def of_predicate(predicate: Any) -> Why:
    """A function that says why a predicate is false in a state.

    The function returns None if there is no predicate, or if the predicate is undefined in the state.
    """

    def why(model: Model, state: Any) -> Instance | None:
        try:
            return None if predicate is None else Instance(*explain(model, state, predicate))
        except EvaluationError:
            return None

    return why


def pair(bounded: Bounded, model: z3.ModelRef) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The leaves of the states before and after a step, according to a solution that z3 found (`model`)."""
    terms, leaves = bounded.terms, bounded.system.leaves
    return terms.values(model, leaves, bounded.before), terms.values(model, leaves, bounded.after)
