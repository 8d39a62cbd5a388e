"""What members of an ISR have, and who is in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from model.language import for_all, invariant, needs


def _same_record(s: Any, a: Any, b: Any, offset: int) -> Any:
    both = (s.log[a].length > offset) & (s.log[b].length > offset)
    return both & (s.log[a].at(offset) == s.log[b].at(offset))


def _agree_below_high_watermark(m: Any, s: Any, isr: Callable[[Any], Any]) -> Any:
    """Whether each presumed leader shares what lies below its high watermark with every member of an ISR."""

    def agrees(leader: Any) -> Any:
        belief = s.replica[leader]
        return for_all(
            lambda member, offset: _same_record(s, leader, member, offset),
            where=lambda member, offset: isr(leader).has(member) & (belief.high_watermark > offset),
            member=m.brokers,
            offset=range(m.log_size),
        )

    return for_all(agrees, where=lambda leader: s.replica[leader].leader == leader, leader=m.brokers)


@invariant
@needs("log", "replica")
def weak_isr(m: Any, s: Any) -> Any:
    """Below the high watermark of a presumed leader, every member of its own ISR has the same records."""
    return _agree_below_high_watermark(m, s, lambda leader: s.replica[leader].isr)


@invariant
@needs("log", "replica", "quorum")
def strong_isr(m: Any, s: Any) -> Any:
    """Below the high watermark of a presumed leader, every member of the quorum's ISR has the same records."""
    return _agree_below_high_watermark(m, s, lambda leader: s.quorum.isr)


@invariant
@needs("quorum")
def leader_in_isr(m: Any, s: Any) -> Any:
    """There is a leader and it is in the quorum's ISR."""
    return s.quorum.isr.has(s.quorum.leader)


@invariant
@needs("quorum")
def leader_in_isr_or_none(m: Any, s: Any) -> Any:
    """The leader, if there is one, is in the quorum's ISR."""
    return s.quorum.leader.is_none | s.quorum.isr.has(s.quorum.leader)


@invariant
@needs("controller", "leader", "offsets")
def valid_high_watermark(m: Any, s: Any) -> Any:
    """Every member of the controller's ISR reaches the leader's high watermark."""

    return for_all(
        lambda member: s.offsets[member] >= m.high_watermark(s),
        where=lambda member: s.controller.isr.has(member),
        member=m.brokers,
    )
