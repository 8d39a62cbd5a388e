"""A tank and its valve, for a test of mutants: an invariant asks whether an action is enabled."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, implies, invariant, minimum, number


class Valve(Model):
    """The tank is filled while it is not full, and emptied."""

    invariants = ("a-full-tank-is-not-filled",)

    def variables(self) -> dict[str, Any]:
        return {"level": number(0, 2)}

    @action(actor="valve")
    def fill(self, s: Any) -> None:
        """The tank is filled, and runs over if it is full."""
        s.require(s.level < 2)
        s.level = minimum(s.level + 1, 2)

    @action(actor="valve")
    def empty(self, s: Any) -> None:
        """The tank is emptied."""
        s.require(s.level > 0)
        s.level = 0

    @invariant
    def a_full_tank_is_not_filled(self, s: Any) -> Any:
        """Nobody may fill a full tank."""
        return implies(s.enabled(self.fill), s.level < 2)
