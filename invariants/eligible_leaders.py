"""Eligible leader replicas (KIP-966)."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import UnknownName, for_all, invariant, needs


def _require_elr(m: Any, name: str) -> None:
    if not m.elr:
        raise UnknownName(f"invariant {name} is about eligible leader replicas; set elr to true")


@invariant
@needs("state", setting="elr")
def valid_isr_and_elr(m: Any, s: Any) -> Any:
    """No replica is both in ISR and ELR, and the ELR has members only while the ISR is smaller than min_isr."""
    _require_elr(m, "valid-isr-and-elr")
    return for_all(
        lambda p: (
            (s.elr[p] & s.state[p].isr).is_empty
            & (s.elr[p].is_empty | (s.state[p].isr.size < m.controllers_min_isr(s, p)))
        ),
        p=m.all_partitions,
    )


@invariant
@needs("log", "committed", "live", setting="elr")
def eligible_leaders_have_what_is_committed(m: Any, s: Any) -> Any:
    """Every live eligible leader replica, any of which may lead next, has every committed record."""
    _require_elr(m, "eligible-leaders-have-what-is-committed")

    def has(p: int, b: Any, offset: int) -> Any:
        log = s.log[p][b]
        return (log.length > offset) & (log.at(offset) == s.committed[p].records.at(offset))

    return for_all(
        has,
        where=lambda p, b, offset: (
            s.elr[p].has(b) & s.live.has(b) & m.is_up(s, b) & (s.committed[p].records.length > offset)
        ),
        p=m.all_partitions,
        b=m.brokers,
        offset=range(m.log_size),
    )
