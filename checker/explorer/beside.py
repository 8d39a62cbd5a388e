"""A specification beside a model that is walked: the state that each state stands for, and steps that are not allowed.

Whether the model refines the specification is shown like an invariant that is false where the last step is not allowed.
The specification's states are those of the reference semantics. Which of them lead to which is searched, as in
`isrcheck refine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.library import LoadedModel, blaming
from isrcheck.checker.refinement.allowed import Allowed, TooMany
from isrcheck.checker.refinement.named import Mapping
from isrcheck.checker.refinement.refined import PREFIX
from isrcheck.checker.refinement.refusals import Change, begins_otherwise, refusals
from isrcheck.checker.results import Trace
from isrcheck.checker.traces.refined import Implementation, widened
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model
from isrcheck.model.language.plain import State
from isrcheck.model.language.refinements import specified
from isrcheck.model.language.tracing import trace


class Beside:
    """A specification on a walk through a model, by a mapping. `settings` override those that the mapping gives."""

    def __init__(self, specification: LoadedModel, mapping: Mapping, model: Model, settings: dict[str, Any]) -> None:
        self._specification = specification
        with blaming(specification.origin):
            target = specified(specification.cls, model, mapping, settings)
            interpreter = Interpreter(target, {})
            self._allowed = Allowed(trace(target), interpreter, None)
        self._implementation = Implementation(model, interpreter, mapping, None)

    @property
    def name(self) -> str:
        """The name under which each step is judged."""
        return f"{PREFIX}{self._specification.name}"

    @property
    def sentence(self) -> str:
        return f"The last step is one that {self._specification.name} allows."

    @property
    def _variables(self) -> Sequence[Any]:
        return tuple(self._implementation.specification.model.domains.items())

    def stands_for(self, state: State) -> State:
        """The state of the specification that a state stands for. Raises `EvaluationError` if there is none."""
        return self._implementation.stands_for(state)

    def along(self, walked: Trace) -> Trace:
        """A trace in which each state also has the specification's state."""
        beside = tuple(self.stands_for(step.state) for step in walked.steps)
        return widened(walked, self._specification.name, self._variables, beside)

    def allows(self, old: State | None, new: State) -> bool | None:
        """Whether the specification allows a step, or, without `old`, this initial state. None if it is not known."""
        rows = self._rows(old, new)
        allowed = self._allowed
        try:
            if len(rows) == 1:
                initial = allowed.kernel.layout.pack(allowed.system.initial)
                return bool((initial == rows[0]).all(axis=1).any())
            return allowed.leads(rows[0], rows[1])
        except (TooMany, EvaluationError):
            return None

    def refusals(self, old: State | None, new: State) -> tuple[Change, ...]:
        """A sentence for each change of a step that is not allowed."""
        rows = self._rows(old, new)
        return begins_otherwise(self._allowed, rows[0]) if len(rows) == 1 else refusals(self._allowed, *rows)

    def _rows(self, *states: State | None) -> Any:
        found = [self._allowed.system.encode(self.stands_for(x)) for x in states if x is not None]
        return self._allowed.kernel.layout.pack(found)
