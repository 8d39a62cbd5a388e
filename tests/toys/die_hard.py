"""Die Hard's jugs of three and five gallons (Lamport's TLA+ example)."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, invariant, minimum, number


class DieHard(Model):
    invariants = ("big-jug-never-holds-four",)

    def variables(self) -> dict[str, Any]:
        return {"big": number(0, 5), "small": number(0, 3)}

    @action(actor="hero")
    def fill_small(self, s: Any) -> None:
        """Fills the small jug."""
        s.small = 3

    @action(actor="hero")
    def fill_big(self, s: Any) -> None:
        """Fills the big jug."""
        s.big = 5

    @action(actor="hero")
    def empty_small(self, s: Any) -> None:
        """Empties the small jug."""
        s.small = 0

    @action(actor="hero")
    def empty_big(self, s: Any) -> None:
        """Empties the big jug."""
        s.big = 0

    @action(actor="hero")
    def small_to_big(self, s: Any) -> None:
        """Pours until the big jug is full or the small one empty."""
        poured = minimum(s.small, 5 - s.big)
        s.big += poured
        s.small -= poured

    @action(actor="hero")
    def big_to_small(self, s: Any) -> None:
        """Pours until the small jug is full or the big one empty."""
        poured = minimum(s.big, 3 - s.small)
        s.small += poured
        s.big -= poured

    @invariant
    def big_jug_never_holds_four(self, s: Any) -> Any:
        """There are never four gallons in the big jug."""
        return s.big != 4
