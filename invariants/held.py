"""Whether a record that is lost in the last state of a trace was still safe in an earlier state of the trace.

The functions are plain Python on states. Each function takes a state, the last state of the trace, and the choice (of
partition, offset and so on) for which the invariant is false in the last state.
"""

from __future__ import annotations

from typing import Any


def _all_have(logs: Any, members: Any, offset: int, record: Any) -> bool:
    held = [len(logs[b]) > offset and logs[b][offset] == record for b in members]
    return bool(held) and all(held)


def isr_had_what_was_committed(m: Any, s: Any, last: Any, p: int, offset: int, **choice: Any) -> bool:
    """Whether every member of the ISR has the record that is committed at an offset in the last state."""
    return _all_have(s.log[p], s.state[p].isr, offset, last.committed[p].records[offset])


def isr_had_what_was_acknowledged(m: Any, s: Any, last: Any, i: int, p: int = 0, **choice: Any) -> bool:
    """Whether every member of the ISR has the record with a given id."""
    held = [any(record.id == i for record in s.log[p][b]) for b in s.state[p].isr]
    return bool(held) and all(held)


def quorum_had_what_the_leader_has(m: Any, s: Any, last: Any, leader: int, offset: int, **choice: Any) -> bool:
    """Whether the leader has a record in the last state, and every member of the quorum's ISR has that record."""
    log = last.log[leader]
    return len(log) > offset and _all_have(s.log, s.quorum.isr, offset, log[offset])


def own_isr_had_what_the_leader_has(m: Any, s: Any, last: Any, leader: int, offset: int, **choice: Any) -> bool:
    """Whether the leader has a record in the last state, and every member of the leader's own ISR has that record."""
    log = last.log[leader]
    return len(log) > offset and _all_have(s.log, s.replica[leader].isr, offset, log[offset])


def isr_had_what_the_leader_has(m: Any, s: Any, last: Any, p: int, leader: int, offset: int, **choice: Any) -> bool:
    """Whether the leader has a record in the last state, and every member of the ISR has that record."""
    log = last.log[p][leader]
    return len(log) > offset and _all_have(s.log[p], s.state[p].isr, offset, log[offset])
