"""Steps of a trace held against a specification anew: by the methods of both models and the mapping alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.model.language.concrete import initial_states
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import Model
from isrcheck.model.language.plain import State
from isrcheck.model.language.refinements import mapped


@dataclass(frozen=True)
class Implementation:
    """A model, the specification that it is to refine, and the mapping between them.

    Each step of the model is to be at most `steps` of the specification; None is any number.
    """

    model: Model
    specification: Interpreter
    mapping: Callable[[Any, Any], Any]
    steps: int | None

    def stands_for(self, state: State) -> State:
        """The specification's state; `EvaluationError` where there is none."""
        return mapped(self.model, self.specification.model, self.mapping, state)

    def objection(self, states: list[State]) -> str | None:
        """Why a path is no violation whose last state is its first mistake; None where it is one."""
        seen = [self.stands_for(state) for state in states]
        begins = seen[0] in initial_states(self.specification.model)
        if len(seen) == 1:
            return "the specification begins so, too" if begins else None
        if not begins:
            return "the specification does not begin so"
        for k in range(1, len(seen)):
            if self.allows(seen[k - 1], seen[k]) == (k == len(seen) - 1):
                return f"the specification {'allows' if k == len(seen) - 1 else 'does not allow'} step {k + 1}"
        return None

    def allows(self, a: State, b: State) -> bool:
        """Whether the specification leads from a to b, breadth first; where it has no meaning, it does not."""
        seen, last, taken = {a}, [a], 0
        while b not in seen and last and taken != self.steps:
            found = (after for state in last for _, after in self.specification.steps(state))
            last = list(dict.fromkeys(x for x in found if not isinstance(x, EvaluationError) and x not in seen))
            seen.update(last)
            taken += 1
        return b in seen
