"""A car park, for the tests of mutants in scenarios: some lines matter only at some settings."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, flag, invariant, number, setting


class CarPark(Model):
    """Who has a ticket enters, and the lamp is on while somebody is inside."""

    invariants = ("never-too-many",)
    lots = setting(1, at_least=1, at_most=3, meaning="cars inside at most")
    sold = setting(3, at_least=0, at_most=3, meaning="tickets sold beforehand")

    def variables(self) -> dict[str, Any]:
        return {"inside": number(0, 3), "tickets": number(0, 3), "lamp": flag, "closed": flag}

    def initial(self, s: Any) -> None:
        s.tickets = self.sold

    @action(actor="driver")
    def enter(self, s: Any) -> None:
        """A car goes in; when the park is closed nobody joins those inside."""
        s.require(s.inside < self.lots)
        s.require(s.inside < s.tickets)
        s.require(~(s.closed & (s.inside > 0)))
        s.inside += 1
        s.lamp = True

    @action(actor="driver")
    def leave(self, s: Any) -> None:
        """All leave together."""
        s.require(s.inside > 0, s.lamp)
        s.inside = 0
        s.lamp = False

    @action(actor="clerk")
    def sell(self, s: Any) -> None:
        """One ticket more; the first two while nobody is inside."""
        s.require(s.tickets < 3)
        s.require(~(s.lamp & (s.tickets < 2)))
        s.require(~s.closed)
        s.tickets += 1

    @action(actor="clerk")
    def close(self, s: Any) -> None:
        """For good."""
        s.require(~(s.closed & (s.tickets >= 0)))
        s.closed = True

    @invariant
    def never_too_many(self, s: Any) -> Any:
        """There is a lot for each car."""
        return s.inside <= self.lots

    @invariant
    def each_has_a_ticket(self, s: Any) -> Any:
        """No more cars are inside than tickets are sold."""
        return s.inside <= s.tickets

    @invariant
    def tickets_are_left(self, s: Any) -> Any:
        """There is a ticket for one more: false where all are sold, so it says nothing of a mutant."""
        return s.tickets < 3
