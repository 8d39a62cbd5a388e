"""Availability: partitions keep leaders that can acknowledge writes, and committed records stay on running brokers."""

from __future__ import annotations

from typing import Any

from isrcheck.invariants.quiescence import quiescent
from isrcheck.model.language import for_all, invariant, needs, some


@invariant
@needs("log", "replica", family="designs")
def service_goes_on(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, every partition has a leader that has committed its whole log."""
    rest = quiescent(m, s)
    return for_all(
        lambda p: some(
            m.is_legitimate(s, p, b) & (s.replica[p][b].high_watermark == s.log[p][b].length) for b in m.brokers
        ),
        where=lambda p: rest,
        p=m.all_partitions,
    )


@invariant
@needs("log", "replica", family="designs")
def a_write_can_be_acknowledged(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, every partition has a leader that would acknowledge a write (acks=all).

    Such a leader has committed its whole log, and enough replicas fetch from it to commit another record (the model's
    method `has_a_quorum`). A leader without other replicas can serve readers, but may be unable to acknowledge writes.
    """
    rest = quiescent(m, s)

    def takes_another(p: int, b: Any) -> Any:
        return (s.replica[p][b].high_watermark == s.log[p][b].length) & m.has_a_quorum(s, p, b)

    return for_all(
        lambda p: some(m.is_legitimate(s, p, b) & takes_another(p, b) for b in m.brokers),
        where=lambda p: rest,
        p=m.all_partitions,
    )


@invariant
@needs("replica", "state", "live")
def live_isr_has_a_leader(m: Any, s: Any) -> Any:
    """Where nothing more happens by itself, a partition with a live member of its ISR has a live leader."""
    rest = quiescent(m, s)
    return for_all(
        lambda p: some(m.is_legitimate(s, p, b) for b in m.brokers),
        where=lambda p: rest & some(s.state[p].isr.has(b) & s.live.has(b) & m.is_up(s, b) for b in m.brokers),
        p=m.all_partitions,
    )


@invariant
@needs("log", "committed")
def committed_survives(m: Any, s: Any) -> Any:
    """Every committed record is in the log of some broker that is up."""

    def holds(p: int, b: Any, offset: int) -> Any:
        log = s.log[p][b]
        return m.is_up(s, b) & (log.length > offset) & (log.at(offset) == s.committed[p].records.at(offset))

    return for_all(
        lambda p, offset: some(holds(p, b, offset) for b in m.brokers),
        where=lambda p, offset: s.committed[p].records.length > offset,
        p=m.all_partitions,
        offset=range(m.log_size),
    )
