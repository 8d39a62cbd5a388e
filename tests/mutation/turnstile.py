"""A turnstile, for the tests of guard mutation: one guard of each kind.

Coins are paid one by one, at most two in advance. Whoever is let in has paid. A lamp without effect goes on and off.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, flag, implies, invariant, number


class Turnstile(Model):
    invariants = ("who-is-in-has-paid",)

    def variables(self) -> dict[str, Any]:
        return {"paid": number(0, 3), "inside": number(0, 9), "lamp": flag, "asked": flag}

    def is_paid_for(self, s: Any) -> Any:
        return s.inside <= s.paid

    @action(actor="guest")
    def pay(self, s: Any) -> None:
        """One coin."""
        s.require(s.paid < 3, self.is_paid_for(s))
        s.paid += 1

    @action(actor="guest")
    def enter(self, s: Any) -> None:
        """One guest more, who leaves the lamp on."""
        s.require(s.inside < s.paid)
        s.require(~s.lamp)
        s.inside += 1
        s.lamp = True

    @action(actor="guard")
    def switch_off(self, s: Any) -> None:
        """The lamp goes off when someone has asked for it."""
        s.require(s.lamp & s.asked)
        s.lamp = False
        s.asked = False

    @action(actor="guard")
    def ask(self, s: Any) -> None:
        """Someone asks for the lamp to go off."""
        s.require(~s.asked, implies(s.lamp, s.paid > 0))
        s.asked = True

    @invariant
    def who_is_in_has_paid(self, s: Any) -> Any:
        """No more guests are inside than have paid."""
        return self.is_paid_for(s)
