"""Shows a specification beside a walk through a model: the specification's states, and the steps that it refuses.

The explorer shows refinement as an invariant that is false if the specification does not allow the last step. The
reference semantics computes the specification's states. A search through the specification, as in `isrcheck refine`,
decides whether one of these states leads to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.checker.analysis.refinement.mapping_registry import Mapping
from isrcheck.checker.analysis.refinement.refinement_result import PREFIX
from isrcheck.checker.analysis.refinement.refused_step import Change, begins_otherwise, refusals
from isrcheck.checker.analysis.refinement.specification_steps import Allowed, TooMany
from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.results.result import Trace
from isrcheck.checker.trace.refinement_replay import Implementation, widened
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model
from isrcheck.model.language.refinements import specified
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace


class SpecificationView:
    """A specification, and a mapping from the states of a walk to the specification's states.

    `settings` override the settings that the mapping chooses for the specification.
    """

    def __init__(self, specification: LoadedModel, mapping: Mapping, model: Model, settings: dict[str, Any]) -> None:
        self._specification = specification
        with blaming(specification.source_file):
            target = specified(specification.cls, model, mapping, settings)
            interpreter = Interpreter(target, {})
            self._allowed = Allowed(trace(target), interpreter, None)
        self._implementation = Implementation(model, interpreter, mapping, None)

    @property
    def name(self) -> str:
        """The name of the refinement, under which the explorer shows whether each step is allowed."""
        return f"{PREFIX}{self._specification.name}"

    @property
    def sentence(self) -> str:
        return f"{self._specification.name} allows the last step."

    @property
    def _variables(self) -> Sequence[Any]:
        return tuple(self._implementation.specification.model.domains.items())

    def stands_for(self, state: State) -> State:
        """The specification's state to which a state is mapped. Raises `EvaluationError` if there is no such state."""
        return self._implementation.stands_for(state)

    def along(self, walked: Trace) -> Trace:
        """The trace with the specification's state added to each state."""
        beside = tuple(self.stands_for(step.state) for step in walked.steps)
        return widened(walked, self._specification.name, self._variables, beside)

    def allows(self, old: State | None, new: State) -> bool | None:
        """Whether the specification allows a step (or, without `old`, an initial state); None if this is unknown.

        Raises `EvaluationError` if `stands_for` raises it.
        """
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
        """The changes of the specification's state in a step that is not allowed. Refused changes have a reason.

        Without `old`, `new` is an initial state that is not allowed. Then every part of the specification's state is a
        refused change.
        """
        rows = self._rows(old, new)
        return begins_otherwise(self._allowed, rows[0]) if len(rows) == 1 else refusals(self._allowed, *rows)

    def _rows(self, *states: State | None) -> Any:
        found = [self._allowed.system.encode(self.stands_for(x)) for x in states if x is not None]
        return self._allowed.kernel.layout.pack(found)
