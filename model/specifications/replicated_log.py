"""A log that is replicated, to those who write and read it: no brokers, no ISR, no epochs that come to an end.

*Committed* is what the log holds for good: it grows at its end, and nothing of it changes. *Acknowledged* is what a
producer was told is safe; it is committed. The log is *agreed* upon as long as whoever speaks for it has what is
committed: no action makes that false. It is *kept* as long as anybody has what is committed; that this is so at all
times, and not only when somebody speaks, is asked for by `must_keep`. A consumer has *read* a prefix. *Shown* is how
far the log goes, as readers are told: never past what is committed. After a failover it may be less than before, until
the new leader has learnt how much is committed; that it never is, as KIP-207 asks for, is `end_offsets=never-fall`.

Left out: who commits, and how long that takes. The properties at the end say, of fair behaviours, that it happens at
all.
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
    """What is committed stays, is acknowledged only then, and is what readers see."""

    partitions = setting(1, at_least=1, meaning="partitions, each a log")
    log_size = setting(2, at_least=1, meaning="records that a log can hold")
    max_records = setting(2, at_least=1, meaning="records by their ids")
    max_leader_epoch = setting(2, at_least=0, meaning="greatest epoch of a record")
    consumers = setting(False, meaning="a consumer reads what is committed")
    end_offsets = setting(
        "untold",
        choices=("untold", "may-fall", "never-fall"),
        meaning="whether readers are told how far the log goes, and whether that may be less again (KIP-207)",
    )
    must_keep = setting(False, meaning="what is committed is somewhere at all times, also while nobody asks for it")
    deletions = setting(False, meaning="the owner may delete the log: nothing is owed any more")

    def variables(self) -> dict[str, Any]:
        """What is committed, agreed upon and kept, by partition; what is acknowledged, by id; what readers see."""
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
        """A record is committed, behind all others."""
        s.require(~s.committed[p].is_full)
        s.committed[p].append({"id": i, "epoch": epoch})

    @action(i=any_id, actor="the log")
    def acknowledge(self, s: Any, i: int) -> None:
        """A producer is told that its record is safe, which it is."""
        s.require(~s.acknowledged[i], some(self.is_committed(s, p, i) for p in range(self.partitions)))
        s.acknowledged[i] = True

    @action(p=any_partition, actor="a consumer", where=lambda m: m.consumers)
    def read_next(self, s: Any, p: int) -> None:
        """A consumer reads the next record that is committed."""
        s.require(s.read[p].length < s.committed[p].length)
        s.read[p].append(s.committed[p].at(s.read[p].length))

    @action(p=any_partition, end=any_end, actor="the log", where=lambda m: m.end_offsets != "untold")
    def show(self, s: Any, p: int, end: int) -> None:
        """Readers are told how far the log goes: no further than it does, and with KIP-207 never less than before."""
        s.require(s.shown[p] != end, end <= s.committed[p].length)
        if self.end_offsets == "never-fall":
            s.require(s.shown[p] < end)
        s.shown[p] = end

    @action(p=any_partition, actor="the log", where=lambda m: not m.must_keep)
    def lose_or_find(self, s: Any, p: int) -> None:
        """What is committed is nowhere while nobody asks for it, or is found again."""
        s.kept[p] = ~s.kept[p]

    @action(p=any_partition, actor="the owner", where=lambda m: m.deletions)
    def delete(self, s: Any, p: int) -> None:
        """The owner deletes the log: with it all that was told of it is forgotten."""
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
        """What is committed and nowhere is found again in the end."""
        return for_each(lambda p: (~s.kept[p], s.kept[p]), p=range(self.partitions))

    @leads_to
    def committed_is_shown(self, s: Any) -> Any:
        """Readers are told of everything that is committed in the end."""
        if self.end_offsets == "untold":
            raise UnknownName("property committed-is-shown is about what readers are told; end_offsets is untold")

        def says(p: int) -> Any:
            behind = s.shown[p] < s.committed[p].length
            return behind, ~behind

        return for_each(says, p=range(self.partitions))

    @leads_to
    def committed_is_read(self, s: Any) -> Any:
        """A consumer reads everything that is committed in the end."""
        if not self.consumers:
            raise UnknownName("property committed-is-read is about consumers; set consumers to true")

        def says(p: int) -> Any:
            behind = s.read[p].length < s.committed[p].length
            return behind, ~behind

        return for_each(says, p=range(self.partitions))
