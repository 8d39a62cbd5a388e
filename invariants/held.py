"""Whether a record that is lost in the last state of a trace was still safe in an earlier state of the trace.

Each function takes an earlier state `s` and the last state `last`. Its other parameters are the choice (of partition,
offset and so on) for which the invariant is false in `last`. The states have plain Python values. The answer is False
if the ISR is empty in `s`, or if the leader has no record at the offset in `last`.
"""

from __future__ import annotations

from typing import Any


def _all_have(logs: Any, members: Any, offset: int, record: Any) -> bool:
    held = [len(logs[b]) > offset and logs[b][offset] == record for b in members]
    return bool(held) and all(held)


def isr_had_what_was_committed(m: Any, s: Any, last: Any, p: int, offset: int, **choice: Any) -> bool:
    """Whether, in `s`, each member of the ISR has the record that is committed at `offset` in `last`."""
    return _all_have(s.log[p], s.state[p].isr, offset, last.committed[p].records[offset])


def isr_had_what_was_acknowledged(m: Any, s: Any, last: Any, i: int, p: int = 0, **choice: Any) -> bool:
    """Whether, in `s`, each member of the ISR has the record with id `i`."""
    held = [any(record.id == i for record in s.log[p][b]) for b in s.state[p].isr]
    return bool(held) and all(held)


def quorum_had_what_the_leader_has(m: Any, s: Any, last: Any, leader: int, offset: int, **choice: Any) -> bool:
    """Whether, in `s`, each member of the quorum's ISR has the record that the leader has at `offset` in `last`."""
    log = last.log[leader]
    return len(log) > offset and _all_have(s.log, s.quorum.isr, offset, log[offset])


def own_isr_had_what_the_leader_has(m: Any, s: Any, last: Any, leader: int, offset: int, **choice: Any) -> bool:
    """Whether, in `s`, each member of the leader's own ISR has the record that the leader has at `offset` in `last`."""
    log = last.log[leader]
    return len(log) > offset and _all_have(s.log, s.replica[leader].isr, offset, log[offset])


def isr_had_what_the_leader_has(m: Any, s: Any, last: Any, p: int, leader: int, offset: int, **choice: Any) -> bool:
    """Whether, in `s`, each member of the ISR has the record that the leader has at `offset` in `last`."""
    log = last.log[p][leader]
    return len(log) > offset and _all_have(s.log[p], s.state[p].isr, offset, log[offset])
