"""Stories: handwritten sequences of actions, one in each line, that a model must allow exactly."""

from __future__ import annotations

from typing import Any

from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.model.semantics.concrete_state import State, initial_states
from isrcheck.model.semantics.interpreter import Interpreter


class Story:
    """A model that follows a story. `holds` gives the invariants that are true in the present state."""

    def __init__(self, loaded: LoadedModel, invariants: tuple[str, ...], **settings: Any) -> None:
        self.interpreter = Interpreter(loaded.cls(**settings), loaded.chosen(invariants))
        self.instances = {str(label): i for i, label in enumerate(self.interpreter.labels)}
        (self.state,) = initial_states(self.interpreter.model)

    def tell(self, text: str) -> None:
        """Takes the step of each line, which must be possible. After `not`, a step must be impossible."""
        for line in filter(None, map(str.strip, text.splitlines())):
            forbidden = line.startswith("not ")
            after = self._after(line.removeprefix("not "))
            assert (after is None) == forbidden, line
            self.state = self.state if after is None else after

    def _after(self, line: str) -> State | None:
        if line not in self.instances and line.partition("(")[0] in self.interpreter.switched_off:
            return None
        return self.interpreter.step(self.state, self.instances[line])

    def holds(self) -> dict[str, bool | None]:
        return self.interpreter.evaluated(self.state, self.interpreter.invariants)

    def value(self, variable: str) -> Any:
        """A variable as JSON data."""
        model = self.interpreter.model
        return model.domains[variable].to_json(self.state[model.positions[variable]])

    def logs(self) -> list[list[int]]:
        """The record ids in each broker's log of the first partition."""
        return [[record["id"] for record in log] for log in self.value("log")[0]]
