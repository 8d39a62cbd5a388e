"""Exercise one-leader-in-an-epoch: how many leaders may there be at the same time?"""

from __future__ import annotations

from typing import Any

from isrcheck import count, invariant
from isrcheck.model.designs.majority import MajorityVote


class Elections(MajorityVote):
    """Majority vote as it is; settings say what is wrong with it."""


@invariant
def elections_are_safe(m: Any, s: Any) -> Any:
    """What no election may bring about: to be written."""
    return count(m.leads(s, 0, b) for b in m.brokers) <= m.replicas
