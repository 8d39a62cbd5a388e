"""The published models of Kafka's replication as a replicated log."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import for_all, maximum, needs, refinement
from isrcheck.model.published.history import with_history


@refinement(of="replicated-log", settings=lambda m: {"end_offsets": "may-fall"}, history=with_history)
@needs("log", "replica", "quorum", "requests")
def what_leaders_commit(m: Any, s: Any) -> dict[str, Any]:
    """Committed is what a high watermark has passed; the true leader speaks for the log, any replica shows its end."""
    return {
        "committed": [s.committed],
        "agreed": [_is_agreed(m, s)],
        "acknowledged": [False] * m.max_records,
        "shown": [maximum(*(s.replica[b].high_watermark for b in m.brokers))],
    }


def _is_agreed(m: Any, s: Any) -> Any:
    """Whether the true leader has what is committed."""
    return for_all(
        lambda leader, offset: (s.log[leader].length > offset) & (s.log[leader].at(offset) == s.committed.at(offset)),
        where=lambda leader, offset: m.is_true_leader(s, leader) & (s.committed.length > offset),
        leader=m.brokers,
        offset=range(m.log_size),
    )
