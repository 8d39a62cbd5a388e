"""Phrases in the sentences of all designs: leaders and controllers, truncated logs, decisions and requests.

Sentences about replicas, shared by the designs: records, log ends, and what a new follower does with its log.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import BrokerId, asked, becomes


def of_partition(m: Any, p: int) -> str:
    """The words ` of partition 1` if there are several partitions; otherwise no words."""
    return f" of partition {p}" if m.partitions > 1 else ""


def leader_in_words(m: Any, s: Any, p: int, b: Any) -> str:
    """Words for a leader.

    For a leader that is not legitimate, the words name the leader's epoch, and end in a comma.
    """
    if asked(s, m.is_legitimate, p, b):
        return f"{b}{of_partition(m, p)}"
    return f"{b}, still leader{of_partition(m, p)} in epoch {s.replica[p][b].epoch} in its own eyes,"


def controller_in_words(m: Any, s: Any, c: Any) -> str:
    """Words for a controller. If controllers are brokers, the words name the broker, and end in a comma."""
    if not isinstance(c, BrokerId):
        return "the controller"
    if s.controller == c:
        return f"{c}, the controller,"
    return f"{c}, still controller of epoch {s.own_controller_epoch[c]} in its own eyes,"


def record_in_words(record: Any) -> str:
    return f"record {record.id} of epoch {record.epoch}"


def records_in_words(records: Any) -> str:
    return " and ".join(map(record_in_words, records))


def log_in_words(old: Any, new: Any, p: int, b: Any) -> str:
    """Words for what a truncation changes in a log and in a high watermark."""
    end, kept = len(old.log[p][b]), len(new.log[p][b])
    passed, low = old.replica[p][b].high_watermark, new.replica[p][b].high_watermark
    text = f"keeps its log, log end {end}"
    if kept < end:
        text = f"truncates {records_in_words(old.log[p][b][kept:])}, log end {end} -> {kept}"
    return text + (f", high watermark {passed} -> {low}" if passed != low else "")


def far_in_words(end: int) -> str:
    """Words for what a leader knows about a follower's log end offset."""
    return f"whose log end was {end}" if end >= 0 else "whose log end it does not know"


def state_in_words(old: Any, new: Any, p: int) -> str:
    """Words for what a write has changed in the state of a partition. The ISR and the version are always given."""
    before, after = old.state[p], new.state[p]
    leader = "" if before.leader == after.leader else f"leader {becomes(before.leader, after.leader)}, "
    epoch = "" if before.epoch == after.epoch else f", leader epoch {before.epoch} -> {after.epoch}"
    isr = f"ISR {becomes(before.isr, after.isr)}"
    return f"{leader}{isr}{epoch}, version {becomes(before.version, after.version)}"


def request_in_words(request: Any) -> str:
    """Words for a request of a controller to a broker."""
    kind = getattr(request, "kind", "leader-and-isr")
    if kind == "not-in-init":
        return "LeaderAndISR with INIT, which does not name it,"
    if kind == "delete-replica":
        return "StopReplica for a topic that is deleted"
    if kind == "stop-replica":
        return f"StopReplica of leader epoch {request.epoch}"
    leader = "no leader" if request.leader is None else f"leader {request.leader}"
    return f"LeaderAndISR ({leader}, ISR {request.isr}, epoch {request.epoch}, version {request.version})"


def sender_in_words(c: Any) -> str:
    """Words for the controller that sent a request; empty if there is only one controller."""
    return f" from {c}" if isinstance(c, BrokerId) else ""


def for_partition(m: Any, p: int) -> str:
    return f" for partition {p}" if m.partitions > 1 else ""


def now(old: Any, new: Any) -> str:
    """The new value or, if the old value differs, both values with an arrow between them."""
    return becomes(old, new) if old != new else str(new)


def ends_in_words(s: Any, p: int, b: Any) -> str:
    """Words for the log end and the high watermark of a replica."""
    return f"log end {len(s.log[p][b])} and high watermark {s.replica[p][b].high_watermark}"


def truncates(m: Any, old: Any, new: Any, p: int, b: Any) -> str:
    """Words for what a replica does with its log when it begins to follow."""
    end, kept = len(old.log[p][b]), len(new.log[p][b])
    if kept < end:
        lost = records_in_words(old.log[p][b][kept:])
        return f"truncates {lost}, back to its high watermark {kept}: log end {becomes(end, kept)}"
    if m.asks_where_epochs_end and new.replica[p][b].truncating:
        return f"keeps its log, log end {end}, until it has asked where the epoch of its last record ends"
    if m.has_epoch_cache or not end or old.replica[p][b].high_watermark < end:
        return f"keeps its log, log end {end}"
    return f"truncates nothing, for its high watermark {end} is its log end"


def deletes_log(old: Any, p: int, b: Any) -> str:
    """Words for the records that a deleted replica loses."""
    lost = records_in_words(old.log[p][b])
    return f"deletes its log with {lost}" if lost else "deletes its log, which is empty"
