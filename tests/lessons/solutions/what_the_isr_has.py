"""Exercise what-the-isr-has: what does every member of an ISR have?"""

from __future__ import annotations

from typing import Any

from isrcheck import every, implies, invariant
from isrcheck.model.published.kip_101 import Kip101
from isrcheck.model.published.kip_320 import Kip320
from isrcheck.model.published.truncate_to_hw import TruncateToHighWatermark


class Right(Kip320):
    """KIP-320: a right one, of which the invariant must hold."""


class TruncatesToHighWatermark(TruncateToHighWatermark):
    """Before KIP-101: a wrong one, of which the invariant must be false somewhere."""


class MissesAnEpoch(Kip101):
    """KIP-101: a wrong one as well."""


@invariant
def isr_has_what_is_committed(m: Any, s: Any) -> Any:
    """What a leader has committed is in the log of every member of its ISR: to be written."""
    return every(
        implies(counts_on(s, leader, member, offset), same(s.log[leader], s.log[member], offset))
        for leader in m.brokers
        for member in m.brokers
        for offset in range(m.log_size)
    )


def counts_on(s: Any, leader: Any, member: Any, offset: int) -> Any:
    own = s.replica[leader]
    return (own.leader == leader) & own.isr.has(member) & (own.high_watermark > offset)


def same(one: Any, other: Any, offset: int) -> Any:
    return (one.length > offset) & (other.length > offset) & (one.at(offset) == other.at(offset))
