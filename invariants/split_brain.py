"""Two brokers that lead one partition at the same time."""

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
