"""Mappings from the published models of Kafka's replication to a replicated log."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import for_all, maximum, needs, refinement, some
from isrcheck.model.published.history import with_history


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
