"""A letter and its courier, for the tests of mutants that only a liveness property notices."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, flag, implies, invariant, leads_to, number


class Courier(Model):
    """The letter is carried to the door (place 1) and delivered; it may be given back once."""

    invariants = ("delivered-at-the-door",)

    def variables(self) -> dict[str, Any]:
        return {"at": number(0, 2), "returned": flag, "delivered": flag}

    @action(actor="courier")
    def carry(self, s: Any) -> None:
        """The letter is carried to the door."""
        s.require(s.at == 0, ~(s.delivered & s.returned))
        s.at = 1

    @action(actor="courier")
    def give_back(self, s: Any) -> None:
        """The letter is given back, once."""
        s.require(s.at == 1, ~s.delivered, ~s.returned)
        s.at = 0
        s.returned = True

    @action(actor="courier")
    def deliver(self, s: Any) -> None:
        """The letter is delivered."""
        s.require(s.at == 1, ~(s.delivered & (s.at == 1)))
        s.delivered = True

    @invariant
    def delivered_at_the_door(self, s: Any) -> Any:
        """What is delivered is at the door."""
        return implies(s.delivered, s.at == 1)

    @leads_to
    def is_delivered(self, s: Any) -> Any:
        """The letter is delivered in the end."""
        return ~s.delivered, s.delivered

    @leads_to
    def is_handed_over(self, s: Any) -> Any:
        """The letter is delivered in the end, once it was at the door."""
        return s.at == 1, s.delivered

    @leads_to
    def comes_back(self, s: Any) -> Any:
        """The letter is given back in the end: false where it is delivered at once."""
        return ~s.returned, s.returned

    @leads_to
    def is_found(self, s: Any) -> Any:
        """A letter that is lost (place 2) is found: no letter is."""
        return s.at == 2, s.at == 0
