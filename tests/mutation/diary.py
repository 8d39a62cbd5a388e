"""A gate with a keeper's diary, for the tests of mutants that differ only in values that nobody reads."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, flag, invariant, number


class Diary(Model):
    """Of what is written down `last` is read by nobody, and `count` by an invariant."""

    invariants = ("open-or-counted",)

    def variables(self) -> dict[str, Any]:
        return {"open": flag, "last": number(0, 3), "count": number(0, 3), "asleep": number(0, 2)}

    @action(actor="keeper")
    def unlock(self, s: Any) -> None:
        """The gate opens."""
        s.require(~s.open, s.count < 3)
        s.open = True
        s.last = s.count
        s.count += 1

    @action(actor="keeper")
    def lock(self, s: Any) -> None:
        """The gate closes; a gate that is closed already stays so."""
        s.require(s.open, s.asleep == 0)
        s.open = False

    @action(actor="keeper")
    def doze(self, s: Any) -> None:
        """The keeper falls asleep, and deeper."""
        s.require(s.asleep < 2)
        s.asleep += 1

    @invariant
    def open_or_counted(self, s: Any) -> Any:
        """The gate has been opened where it is open."""
        return ~s.open | (s.count > 0)
