"""The designs as a replicated log: their ghosts say what was committed, acknowledged and read (docs/ghosts.md)."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import for_all, needs, refinement, when


def _ids(m: Any) -> int:
    """How many ids records have, those that nobody wrote included."""
    return int(m.any_record().fields["id"][1].high) + 1


def _settings(m: Any) -> dict[str, Any]:
    found = {"max_records": _ids(m), "deletions": bool(getattr(m, "topic_changes", 0))}
    return found | ({"end_offsets": "may-fall"} if getattr(m, "consumers", False) else {})


@refinement(of="replicated-log", settings=_settings)
@needs("log", "replica", "committed", "acknowledged", family="designs")
def what_clients_saw(m: Any, s: Any) -> dict[str, Any]:
    """Committed, acknowledged and read is what clients saw of that; a legitimate leader speaks for the log."""
    found: dict[str, Any] = {
        "committed": [s.committed[p].records for p in m.all_partitions],
        "agreed": [_is_agreed(m, s, p) for p in m.all_partitions],
        "acknowledged": [s.acknowledged[i] if i < m.max_records else False for i in range(_ids(m))],
    }
    if getattr(m, "consumers", False):
        found["read"] = [s.consumed[p] for p in m.all_partitions]
        found["shown"] = [_shown(m, s, p) for p in m.all_partitions]
    return found


def _is_agreed(m: Any, s: Any, p: int) -> Any:
    """Whether every legitimate leader has what is committed, and no offset was committed with two records."""
    records = s.committed[p].records
    has = for_all(
        lambda leader, offset: (s.log[p][leader].length > offset) & (s.log[p][leader].at(offset) == records.at(offset)),
        where=lambda leader, offset: m.is_legitimate(s, p, leader) & (records.length > offset),
        leader=m.brokers,
        offset=range(m.log_size),
    )
    return has & ~s.committed[p].rewritten


def _shown(m: Any, s: Any, p: int) -> Any:
    """The high watermark of the legitimate leader; nobody is told of an end where there is none."""
    end: Any = 0
    for b in m.brokers:
        end = when(m.is_legitimate(s, p, b), s.replica[p][b].high_watermark, end)
    return end
