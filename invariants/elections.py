"""Elections by majority: how many leaders there are, and which records an elected leader has.

Two brokers that lead one partition at the same time.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import for_all, invariant, needs


@invariant
@needs("log", "replica", family="designs")
def no_split_brain(m: Any, s: Any) -> Any:
    """No two brokers lead a partition at the same time and have committed different records at one offset."""

    def both_committed(p: int, a: Any, b: Any, offset: int) -> Any:
        high_watermarks = (s.replica[p][a].high_watermark > offset) & (s.replica[p][b].high_watermark > offset)
        return m.leads(s, p, a) & m.leads(s, p, b) & high_watermarks

    return for_all(
        lambda p, a, b, offset: s.log[p][a].at(offset) == s.log[p][b].at(offset),
        where=lambda p, a, b, offset: both_committed(p, a, b, offset) if a != b else False,
        p=m.all_partitions,
        a=m.brokers,
        b=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("log", "replica", "committed", "elected")
def elected_leader_has_what_is_committed(m: Any, s: Any) -> Any:
    """The leader that was elected last has every committed record."""

    def holds(p: int, leader: Any, offset: int) -> Any:
        log = s.log[p][leader]
        return (log.length > offset) & (log.at(offset) == s.committed[p].records.at(offset))

    return for_all(
        holds,
        where=lambda p, leader, offset: m.is_legitimate(s, p, leader) & (s.committed[p].records.length > offset),
        p=m.all_partitions,
        leader=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("replica", "elected")
def one_leader_in_each_epoch(m: Any, s: Any) -> Any:
    """Two brokers that lead at the same time are in different epochs."""
    return for_all(
        lambda p, a, b: s.replica[p][a].epoch != s.replica[p][b].epoch,
        where=lambda p, a, b: (m.leads(s, p, a) & m.leads(s, p, b)) if a != b else False,
        p=m.all_partitions,
        a=m.brokers,
        b=m.brokers,
    )
