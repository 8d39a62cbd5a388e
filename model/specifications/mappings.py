"""Mappings from the designs and the published models to a replicated log.

In the designs, ghost variables hold what clients saw (docs/reference/designs.md).
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import for_all, maximum, needs, refinement, some, when
from isrcheck.model.published.history import with_history


def _ids(m: Any) -> int:
    """The number of record ids, including ids of records that no client wrote."""
    return int(m.any_record().fields["id"][1].high) + 1


def _settings(m: Any) -> dict[str, Any]:
    found = {"max_records": _ids(m), "deletions": bool(getattr(m, "topic_changes", 0))}
    return found | ({"end_offsets": "may-fall"} if getattr(m, "consumers", False) else {})


@refinement(of="replicated-log", settings=_settings)
@needs("log", "replica", "committed", "acknowledged", family="designs")
def what_clients_saw(m: Any, s: Any) -> dict[str, Any]:
    """The log has the committed, acknowledged and read records that clients saw; a legitimate leader speaks for it."""
    found: dict[str, Any] = {
        "committed": [s.committed[p].records for p in m.all_partitions],
        "agreed": [_is_agreed(m, s, p) for p in m.all_partitions],
        "kept": [_is_kept(m, s, p) for p in m.all_partitions],
        "acknowledged": [s.acknowledged[i] if i < m.max_records else False for i in range(_ids(m))],
    }
    if getattr(m, "consumers", False):
        found["read"] = [s.consumed[p] for p in m.all_partitions]
        found["shown"] = [_shown(m, s, p) for p in m.all_partitions]
    return found


@refinement(of="accepting-log", settings=_settings)
@needs("log", "replica", "committed", "acknowledged", "next_record_id", family="designs")
def what_clients_saw_and_wait_for(m: Any, s: Any) -> dict[str, Any]:
    """The log waits as long as a legitimate leader has records above its high watermark."""
    waits = [_waits(m, s, p) for p in m.all_partitions]
    return {**what_clients_saw(m, s), "waits": waits, "offered": s.next_record_id < m.max_records}


def _waits(m: Any, s: Any, p: int) -> Any:
    """Whether a legitimate leader has records that it has not committed."""
    return some(m.is_legitimate(s, p, b) & (s.replica[p][b].high_watermark < s.log[p][b].length) for b in m.brokers)


def _is_agreed(m: Any, s: Any, p: int) -> Any:
    """Whether every legitimate leader has all committed records, and no offset had two different committed records."""
    has = for_all(
        lambda leader, offset: _has(s, p, leader, offset),
        where=lambda leader, offset: m.is_legitimate(s, p, leader) & (s.committed[p].records.length > offset),
        leader=m.brokers,
        offset=range(m.log_size),
    )
    return has & ~s.committed[p].rewritten


def _is_kept(m: Any, s: Any, p: int) -> Any:
    """Whether each committed record is in the log of some broker, up or down."""
    return for_all(
        lambda offset: some(_has(s, p, b, offset) for b in m.brokers),
        where=lambda offset: s.committed[p].records.length > offset,
        offset=range(m.log_size),
    )


def _has(s: Any, p: int, b: Any, offset: int) -> Any:
    """Whether a broker's log has the record that is committed at an offset."""
    log = s.log[p][b]
    return (log.length > offset) & (log.at(offset) == s.committed[p].records.at(offset))


def _shown(m: Any, s: Any, p: int) -> Any:
    """The high watermark of the legitimate leader, or 0 if there is no legitimate leader."""
    end: Any = 0
    for b in m.brokers:
        end = when(m.is_legitimate(s, p, b), s.replica[p][b].high_watermark, end)
    return end


@refinement(of="replicated-log", settings=lambda m: {"end_offsets": "may-fall"}, history=with_history)
@needs("log", "replica", "quorum", "requests")
def what_leaders_commit(m: Any, s: Any) -> dict[str, Any]:
    """Records below a high watermark are committed and shown to readers; the true leader speaks for the log."""
    return {
        "committed": [s.committed],
        "agreed": [_true_leader_agrees(m, s)],
        "kept": [_is_in_some_log(m, s)],
        "acknowledged": [False] * m.max_records,
        "shown": [maximum(*(s.replica[b].high_watermark for b in m.brokers))],
    }


@refinement(of="accepting-log", settings=lambda m: {"end_offsets": "may-fall"}, history=with_history)
@needs("log", "replica", "quorum", "requests", "next_record_id")
def what_leaders_commit_and_hold(m: Any, s: Any) -> dict[str, Any]:
    """The log waits as long as the true leader has records above its high watermark."""
    waits = some(m.is_true_leader(s, b) & (s.replica[b].high_watermark < s.log[b].length) for b in m.brokers)
    return {**what_leaders_commit(m, s), "waits": [waits], "offered": s.next_record_id < m.max_records}


def _true_leader_agrees(m: Any, s: Any) -> Any:
    """Whether the true leader has all committed records."""
    return for_all(
        lambda leader, offset: _log_has(s, leader, offset),
        where=lambda leader, offset: m.is_true_leader(s, leader) & (s.committed.length > offset),
        leader=m.brokers,
        offset=range(m.log_size),
    )


def _is_in_some_log(m: Any, s: Any) -> Any:
    """Whether each committed record is in some log."""
    return for_all(
        lambda offset: some(_log_has(s, b, offset) for b in m.brokers),
        where=lambda offset: s.committed.length > offset,
        offset=range(m.log_size),
    )


def _log_has(s: Any, b: Any, offset: int) -> Any:
    """Whether a replica's log has the record that is committed at an offset."""
    return (s.log[b].length > offset) & (s.log[b].at(offset) == s.committed.at(offset))
