"""Exercise one-leader-in-an-epoch: how many leaders may there be at the same time?"""

from __future__ import annotations

from typing import Any

from isrcheck import every, implies, invariant
from isrcheck.model.designs.majority import MajorityVote


class Elections(MajorityVote):
    """Majority vote as it is; settings say what is wrong with it."""


@invariant
def elections_are_safe(m: Any, s: Any) -> Any:
    """What no election may bring about: to be written."""
    return every(
        implies(m.leads(s, 0, a) & m.leads(s, 0, b), s.replica[0][a].epoch != s.replica[0][b].epoch)
        for a in m.brokers
        for b in m.brokers
        if a != b
    )
