"""Mappings from the designs and the published models to a replicated log.

In the designs, ghost variables hold what clients saw (docs/reference/designs.md). The published
models get their committed records as a history variable, on which no condition and no other variable depends: at each
offset, the first record that a leader's high watermark has passed is *committed*. A deposed leader that still believes
it leads also commits records, because consumers may read its records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.model.language import (
    ModelError,
    action,
    broker,
    for_all,
    maximum,
    needs,
    number,
    record,
    refinement,
    sequence,
    some,
    when,
)
from isrcheck.model.published.kafka_replication import KafkaReplication


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


RAISES = "-inc-high-watermark"
"""The suffix of the names of the actions in which a leader raises its high watermark."""


def with_history(cls: Any) -> type[KafkaReplication]:
    """A subclass of a published model that adds the variable `committed`."""

    def variables(self: Any) -> dict[str, Any]:
        """The model's own variables, and the committed records."""
        written = record(id=number(0, self.max_records - 1), epoch=number(0, self.max_leader_epoch))
        return {**cls.variables(self), "committed": sequence(written, self.log_size)}

    raising = {name: method for name, method in cls.actions().items() if name.endswith(RAISES)}
    taking = {name: list(method.__action__.parameters) for name, method in raising.items()}
    if not raising or any(parameters != ["leader"] for parameters in taking.values()):
        what = f"model {cls.name()} has no action ...{RAISES}(leader), in which it would be seen what is committed"
        raise ModelError(f"{cls.__stands__}: {what}; call it so, or write a mapping of your own")
    noting = {method.__name__: _noting(method) for method in raising.values()}
    body = {"__doc__": cls.__doc__, "__module__": cls.__module__, "variables": variables, **noting}
    return type(cls.__name__, (cls,), body)


def _noting(method: Callable[..., Any]) -> Callable[..., Any]:
    """An action that raises a leader's high watermark by one, extended so that it also notes the committed record."""

    def raise_and_note(self: Any, s: Any, leader: Any) -> None:
        passed, log, records = s.replica[leader].high_watermark, s.log[leader], s.committed
        for o in range(self.log_size):
            news = (o <= passed) & (records.length == o) & (log.length > o)
            records = when(news, records.appended(log.at(o)), records)
        method(self, s, leader)
        s.committed = records

    raise_and_note.__name__, raise_and_note.__doc__ = method.__name__, method.__doc__
    return action(leader=broker, actor="leader")(raise_and_note)


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
