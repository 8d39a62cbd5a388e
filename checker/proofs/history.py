"""Adds the history variables of a proof to a model. They record past events, and do not change the model's steps.

History cannot restrict a model. A *recorder* (a method of the proof that is marked with `@records`) reads the state
before the action and returns values, but cannot call `s.require`. The returned values are stored only in the history
variables, after the model's own method has run. `differences` checks that the steps have stayed the same.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from isrcheck.model.language import Model, ModelError
from isrcheck.model.language.errors import line_of
from isrcheck.model.language.proofs import Proof, recorded_values
from isrcheck.model.language.running import heeded
from isrcheck.model.language.system import TransitionSystem


def with_history(model: type[Model], proof: type[Proof]) -> type[Model]:
    """The model with the history variables of the proof. In a state, they come after the model's own variables."""

    def variables(self: Model) -> dict[str, Any]:
        own, history = model.variables(self), proof(self).history()
        for name in history:
            if name in own:
                raise ModelError(
                    f"proof {proof.name()}: history variable {name!r} is a variable of the model; choose another name"
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
                raise ModelError(f"{line_of(recorder)}: two recorders give {name!r} for one action; give it in one")
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
    found = [] if remembering.leaves[:own] == plain.leaves else ["the variables of the model are others"]
    if {state[:own] for state in remembering.initial} != set(plain.initial):
        found.append("the initial states are others")
    if [t.label for t in plain.transitions] != [t.label for t in remembering.transitions]:
        return [*found, "the instances of actions are others"]
    for bare, full in zip(plain.transitions, remembering.transitions, strict=True):
        kept = {leaf: node for leaf, node in full.updates.items() if leaf < own}
        if bare.guard is not full.guard or kept != dict(bare.updates):
            found.append(f"{bare.label} does something else")
    return found
