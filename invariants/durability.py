"""Committed and acknowledged records are not lost.

Whether a record that is lost in the last state of a trace was still safe in an earlier state of the trace.

Each function takes an earlier state `s` and the last state `last`. Its other parameters are the choice (of partition,
offset and so on) for which the invariant is false in `last`. The states have plain Python values. The answer is False
if the ISR is empty in `s`, or if the leader has no record at the offset in `last`.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import UnknownName, count, for_all, invariant, last_held, needs, some


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


def _holds_committed(s: Any, p: int, b: Any, offset: int) -> Any:
    log = s.log[p][b]
    return (log.length > offset) & (log.at(offset) == s.committed[p].records.at(offset))


def _holds_id(m: Any, s: Any, p: int, b: Any, i: int) -> Any:
    """Whether the log of a broker has the record with a given id."""
    log = s.log[p][b]
    return some((log.length > o) & (log.at(o).id == i) for o in range(m.log_size))


def _may_be_of(m: Any, s: Any, p: int, i: int) -> Any:
    """Whether partition `p` may have the record with id `i`: true unless the record belongs to another partition."""
    if m.partitions == 1:
        return True
    return ~some(m.is_of(s, q, i) for q in m.all_partitions if q != p)


@last_held("every member of the ISR had the lost record", isr_had_what_was_committed)
@invariant
@needs("log", "replica", "committed", "state")
def no_committed_loss(m: Any, s: Any) -> Any:
    """Every later legitimate leader has every committed record."""
    return for_all(
        lambda p, leader, offset: _holds_committed(s, p, leader, offset),
        where=lambda p, leader, offset: m.is_legitimate(s, p, leader) & (s.committed[p].records.length > offset),
        p=m.all_partitions,
        leader=m.brokers,
        offset=range(m.log_size),
    )


@last_held("every member of the ISR had the lost record", isr_had_what_was_committed)
@invariant
@needs("log", "committed", "state")
def isr_has_what_is_committed(m: Any, s: Any) -> Any:
    """Every member of the ISR, any of which may lead next, has every committed record."""
    return for_all(
        lambda p, member, offset: _holds_committed(s, p, member, offset),
        where=lambda p, member, offset: s.state[p].isr.has(member) & (s.committed[p].records.length > offset),
        p=m.all_partitions,
        member=m.brokers,
        offset=range(m.log_size),
    )


@invariant
@needs("log", "committed")
def committed_is_not_lost_everywhere(m: Any, s: Any) -> Any:
    """Every committed record is in the log of some broker, up or down."""
    return for_all(
        lambda p, offset: some(_holds_committed(s, p, b, offset) for b in m.brokers),
        where=lambda p, offset: s.committed[p].records.length > offset,
        p=m.all_partitions,
        offset=range(m.log_size),
    )


@invariant
@needs("committed", setting="retries")
def no_duplicates(m: Any, s: Any) -> Any:
    """No record that a producer wrote is committed at two offsets."""
    if not m.retries:
        raise UnknownName("invariant no-duplicates is about records that are retried; set retries to 1 or more")

    def are_one(p: int, one: int, other: int) -> Any:
        records = s.committed[p].records
        return (records.at(one).id == records.at(other).id) & (records.at(one).id < m.max_records)

    return for_all(
        lambda p, one, other: ~are_one(p, one, other),
        where=lambda p, one, other: (s.committed[p].records.length > other) if one < other else False,
        p=m.all_partitions,
        one=range(m.log_size),
        other=range(m.log_size),
    )


@invariant
@needs("committed")
def committed_records_are_stable(m: Any, s: Any) -> Any:
    """No offset is ever committed with two different records."""
    return for_all(lambda p: ~s.committed[p].rewritten, p=m.all_partitions)


@invariant
@needs("log", "replica", "committed")
def high_watermark_covers_what_is_committed(m: Any, s: Any) -> Any:
    """Each record below a replica's high watermark is the record that was committed at its offset."""
    return for_all(
        lambda p, b, offset: (s.committed[p].records.length > offset) & _holds_committed(s, p, b, offset),
        where=lambda p, b, offset: (s.replica[p][b].high_watermark > offset) & m.serves_the_topic(s, p, b),
        p=m.all_partitions,
        b=m.brokers,
        offset=range(m.log_size),
    )


def _least_min_isr(m: Any) -> int:
    """The value of min.insync.replicas or, in a model in which this value may change, a lower bound of it."""
    return int(getattr(m, "least_min_isr", m.min_isr))


@invariant
@needs("log", "committed")
def high_watermark_waits_for_min_isr(m: Any, s: Any) -> Any:
    """Every committed record is in min.insync.replicas logs or more: a smaller ISR advances no high watermark."""
    return for_all(
        lambda p, offset: count(_holds_committed(s, p, b, offset) for b in m.brokers) >= _least_min_isr(m),
        where=lambda p, offset: s.committed[p].records.length > offset,
        p=m.all_partitions,
        offset=range(m.log_size),
    )


@last_held("every member of the ISR had the lost record", isr_had_what_was_acknowledged)
@invariant
@needs("log", "replica", "state", "acknowledged")
def no_acknowledged_loss(m: Any, s: Any) -> Any:
    """Every later legitimate leader has every record that was acknowledged to a producer with acks=all.

    The acknowledgement may come from any broker. An acknowledgement does not count if the topic was deleted afterwards.
    """
    return for_all(
        lambda p, leader, i: _holds_id(m, s, p, leader, i),
        where=lambda p, leader, i: m.is_legitimate(s, p, leader) & s.acknowledged[i] & _may_be_of(m, s, p, i),
        p=m.all_partitions,
        leader=m.brokers,
        i=range(m.max_records),
    )


@invariant
@needs("log", "acknowledged")
def acknowledged_is_not_lost_everywhere(m: Any, s: Any) -> Any:
    """Every record that was acknowledged to a producer with acks=all is in the log of some broker, up or down."""
    return for_all(
        lambda i: some(_holds_id(m, s, p, b, i) for p in m.all_partitions for b in m.brokers),
        where=lambda i: s.acknowledged[i],
        i=range(m.max_records),
    )


@invariant
@needs("log", "acknowledged")
def acknowledged_has_enough_copies(m: Any, s: Any) -> Any:
    """Every record that was acknowledged to a producer with acks=all is in min.insync.replicas logs or more."""
    return for_all(
        lambda i: (
            count(some(_holds_id(m, s, p, b, i) for p in m.all_partitions) for b in m.brokers) >= _least_min_isr(m)
        ),
        where=lambda i: s.acknowledged[i],
        i=range(m.max_records),
    )


@invariant
@needs("log", "replica", "state", setting="acks_one")
def no_loss_with_acks_one(m: Any, s: Any) -> Any:
    """Every later legitimate leader has every record that was acknowledged to a producer with acks=1."""
    if not m.acks_one:
        raise UnknownName("invariant no-loss-with-acks-one is about producers with acks=1; set acks_one to true")
    if m.partitions > 1:
        raise UnknownName("invariant no-loss-with-acks-one cannot tell partitions apart; set partitions to 1")
    return for_all(
        lambda leader, i: _holds_id(m, s, 0, leader, i),
        where=lambda leader, i: m.is_legitimate(s, 0, leader) & s.acknowledged_by_one[i],
        leader=m.brokers,
        i=range(m.max_records),
    )


@invariant
@needs("log", "replica", "committed", "acknowledged")
def commits_are_on_record(m: Any, s: Any) -> Any:
    """After a leader commits a record of its epoch, `acknowledged` has the record and `committed` names the leader."""
    # This invariant checks the ghost variables on which other invariants rely. The invariant holds if every leader
    # acknowledges each record that it commits (`min_isr` may prevent this), and if no two brokers lead in one epoch.

    def passed(p: int, b: Any, offset: int, i: int, epoch: int) -> Any:
        replica, log = s.replica[p][b], s.log[p][b]
        below = (log.length > offset) & (replica.high_watermark > offset)
        own = (log.at(offset).epoch == epoch) & (replica.epoch == epoch) & (log.at(offset).id == i)
        return m.leads(s, p, b) & below & own

    return for_all(
        lambda p, b, offset, i, epoch: (s.committed[p].by[epoch] == b) & s.acknowledged[i],
        where=passed,
        p=m.all_partitions,
        b=m.brokers,
        offset=range(m.log_size),
        i=range(m.max_records),
        epoch=range(m.max_leader_epoch + 1),
    )
