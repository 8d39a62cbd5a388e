"""Missionaries and cannibals cross a river two at a time; people are the brokers, the first half missionaries."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, broker, enum, invariant, set_of, setting, when


class Missionaries(Model):
    people = setting(6, at_least=2, at_most=6, counts=broker, meaning="missionaries and as many cannibals")
    invariants = ("somebody-is-left-behind",)

    def variables(self) -> dict[str, Any]:
        return {"boat": enum("east", "west"), "east": set_of(broker)}

    def initial(self, s: Any) -> None:
        s.east = set(self.brokers)

    def is_safe(self, bank: Any) -> Any:
        missionaries = set(self.brokers[: self.people // 2])
        kind, others = bank & missionaries, bank - missionaries
        return kind.is_empty | (others.size <= kind.size)

    @action(party=set_of(broker), actor="boat")
    def cross(self, s: Any, party: Any) -> None:
        """One or two people row to the other bank; on neither bank may cannibals outnumber missionaries."""
        if not 1 <= len(party) <= 2:
            return
        leaving = s.boat == "east"
        east = when(leaving, s.east - party, s.east | party)
        s.require(when(leaving, s.east >= party, (s.east & party).is_empty))
        s.require(self.is_safe(east), self.is_safe(set(self.brokers) - east))
        s.east = east
        s.boat = when(leaving, "west", "east")

    @invariant
    def somebody_is_left_behind(self, s: Any) -> Any:
        """Somebody is still on the east bank."""
        return ~s.east.is_empty
