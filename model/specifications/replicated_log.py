"""A replicated log as its writers and readers see it: no brokers, no ISR, and an epoch is only a field of a record.

* *Committed* records are in the log for good, unless its owner deletes the log (`deletions`). They never change, and
  new committed records are added at the end.
* *Acknowledged* records are committed records that were acknowledged to a producer.
* The log is *agreed* as long as each of its speakers (leaders) has every committed record. In this specification the
  log is agreed in every state.
* The log is *kept* as long as every committed record is in some copy of the log. With `must_keep` the log is kept at
  all times, even while it has no speaker.
* A consumer has *read* a prefix of the committed records.
* The *shown* offset is the log end that is reported to readers, and is never past the committed records. After a
  failover the shown offset may be less than before, until the new leader has learnt which records are committed. With
  `end_offsets=never-fall` the shown offset never falls, as KIP-207 requires.

Left out: which broker commits a record, and how long a commit takes. The properties at the end of this file say what
must happen in fair behaviours.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import (
    Model,
    UnknownName,
    action,
    flag,
    for_each,
    leads_to,
    number,
    per,
    record,
    sequence,
    setting,
    some,
    when,
)


def any_partition(m: Any) -> Any:
    return number(0, m.partitions - 1)


def any_id(m: Any) -> Any:
    return number(0, m.max_records - 1)


def any_epoch(m: Any) -> Any:
    return number(0, m.max_leader_epoch)


def any_end(m: Any) -> Any:
    return number(0, m.log_size)


class ReplicatedLog(Model):
    """A log that keeps all committed records. It acknowledges only committed records, and shows readers no others."""

    partitions = setting(1, at_least=1, meaning="partitions, each a log")
    log_size = setting(2, at_least=1, meaning="records that a log can hold")
    max_records = setting(2, at_least=1, meaning="number of record ids")
    max_leader_epoch = setting(2, at_least=0, meaning="greatest epoch of a record")
    consumers = setting(False, meaning="a consumer reads what is committed")
    end_offsets = setting(
        "untold",
        choices=("untold", "may-fall", "never-fall"),
        meaning="whether readers are told where the log ends, and whether this end may fall (KIP-207)",
    )
    must_keep = setting(False, meaning="a copy of every committed record exists at all times, even without a speaker")
    deletions = setting(False, meaning="the owner may delete the log, with all that was acknowledged and read")

    def variables(self) -> dict[str, Any]:
        """The variables of each partition and of each record id.

        For each partition: the committed records, two flags (agreed, kept), and (with some settings) what readers see.
        For each record id: a flag that is true if the record is acknowledged.
        """
        records = sequence(record(id=any_id(self), epoch=any_epoch(self)), self.log_size)
        found: dict[str, Any] = {
            "committed": per(any_partition(self), records),
            "agreed": per(any_partition(self), flag),
            "kept": per(any_partition(self), flag),
            "acknowledged": per(any_id(self), flag),
        }
        if self.consumers:
            found["read"] = per(any_partition(self), records)
        if self.end_offsets != "untold":
            found["shown"] = per(any_partition(self), any_end(self))
        return found

    def initial(self, s: Any) -> None:
        s.agreed = [True] * self.partitions
        s.kept = [True] * self.partitions

    def is_committed(self, s: Any, p: int, i: int) -> Any:
        log = s.committed[p]
        return some((log.length > o) & (log.at(o).id == i) for o in range(self.log_size))

    @action(p=any_partition, i=any_id, epoch=any_epoch, actor="the log")
    def append(self, s: Any, p: int, i: int, epoch: int) -> None:
        """A record is committed at the end of the log."""
        s.require(~s.committed[p].is_full)
        s.committed[p].append({"id": i, "epoch": epoch})

    @action(i=any_id, actor="the log")
    def acknowledge(self, s: Any, i: int) -> None:
        """A producer is told that its committed record is safe."""
        s.require(~s.acknowledged[i], some(self.is_committed(s, p, i) for p in range(self.partitions)))
        s.acknowledged[i] = True

    @action(p=any_partition, actor="a consumer", where=lambda m: m.consumers)
    def read_next(self, s: Any, p: int) -> None:
        """A consumer reads the next record that is committed."""
        s.require(s.read[p].length < s.committed[p].length)
        s.read[p].append(s.committed[p].at(s.read[p].length))

    @action(p=any_partition, end=any_end, actor="the log", where=lambda m: m.end_offsets != "untold")
    def show(self, s: Any, p: int, end: int) -> None:
        """Readers are told the log's end: never past the committed records, and with KIP-207 never less than before."""
        s.require(s.shown[p] != end, end <= s.committed[p].length)
        if self.end_offsets == "never-fall":
            s.require(s.shown[p] < end)
        s.shown[p] = end

    @action(p=any_partition, actor="the log", where=lambda m: not m.must_keep)
    def lose_or_find(self, s: Any, p: int) -> None:
        """Committed records have no copy for a while, or are found again."""
        s.kept[p] = ~s.kept[p]

    @action(p=any_partition, actor="the owner", where=lambda m: m.deletions)
    def delete(self, s: Any, p: int) -> None:
        """The owner deletes the log; what was acknowledged, read and shown of it is forgotten."""
        s.require(~s.committed[p].is_empty)
        for i in range(self.max_records):
            s.acknowledged[i] = when(self.is_committed(s, p, i), False, s.acknowledged[i])
        s.committed[p] = []
        if self.consumers:
            s.read[p] = []
        if self.end_offsets != "untold":
            s.shown[p] = 0

    @leads_to
    def lost_is_found(self, s: Any) -> Any:
        """Committed records that have no copy are found again in the end."""
        return for_each(lambda p: (~s.kept[p], s.kept[p]), p=range(self.partitions))

    @leads_to
    def committed_is_shown(self, s: Any) -> Any:
        """In the end readers are told of all committed records."""
        if self.end_offsets == "untold":
            raise UnknownName("property committed-is-shown is about what readers learn; end_offsets is untold")

        def says(p: int) -> Any:
            behind = s.shown[p] < s.committed[p].length
            return behind, ~behind

        return for_each(says, p=range(self.partitions))

    @leads_to
    def committed_is_read(self, s: Any) -> Any:
        """In the end a consumer reads all committed records."""
        if not self.consumers:
            raise UnknownName("property committed-is-read is about consumers; set consumers to true")

        def says(p: int) -> Any:
            behind = s.read[p].length < s.committed[p].length
            return behind, ~behind

        return for_each(says, p=range(self.partitions))
