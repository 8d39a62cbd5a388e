"""The records that consumers read, and the errors that consumers get."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import UnknownName, for_all, invariant, needs


def _require_consumers(m: Any, name: str) -> None:
    if not m.consumers:
        raise UnknownName(f"invariant {name} is about consumers; set consumers to true")


@invariant
@needs("log", "replica", "state", setting="consumers")
def reads_are_repeatable(m: Any, s: Any) -> Any:
    """Every later legitimate leader has what a consumer has read, at the offset at which it was read."""
    _require_consumers(m, "reads-are-repeatable")

    def has(p: int, leader: Any, offset: int) -> Any:
        log = s.log[p][leader]
        return (log.length > offset) & (log.at(offset) == s.consumed[p].at(offset))

    return for_all(
        has,
        where=lambda p, leader, offset: m.is_legitimate(s, p, leader) & (s.consumed[p].length > offset),
        p=m.all_partitions,
        leader=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("committed", setting="consumers")
def only_committed_records_are_read(m: Any, s: Any) -> Any:
    """A consumer reads only committed records."""
    _require_consumers(m, "only-committed-records-are-read")

    def was_committed(p: int, offset: int) -> Any:
        records = s.committed[p].records
        return (records.length > offset) & (records.at(offset) == s.consumed[p].at(offset))

    return for_all(
        was_committed,
        where=lambda p, offset: s.consumed[p].length > offset,
        p=m.all_partitions,
        offset=range(m.log_size),
    )


@invariant
@needs("committed", setting="consumers")
def no_reader_is_turned_away(m: Any, s: Any) -> Any:
    """No consumer that has read only committed records is told that its offset is out of range."""
    _require_consumers(m, "no-reader-is-turned-away")
    return for_all(
        lambda p: ~s.offset_out_of_range[p],
        where=lambda p: s.consumed[p].length <= s.committed[p].records.length,
        p=m.all_partitions,
    )
