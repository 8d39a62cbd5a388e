"""Majority vote, replication: followers pull their leader's log, and the leader counts copies.

A fetch at an offset says that the follower has all earlier records. If the leader lacks the follower's last record, the
follower drops this record.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.majority_elections import ElectionsByMajority
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import (
    action,
    asked,
    becomes,
    broker,
    count,
    listed,
    minimum,
    number,
    record,
    setting,
    some,
    when,
)


class PulledLogs(ElectionsByMajority):
    """Followers that copy their leader, and leaders that commit."""

    abstract = True

    commit_only_own_epoch = setting(
        True,
        meaning="a leader counts copies only of records of its own epoch; their commit includes all earlier records",
    )
    first_record = setting(
        True, meaning="to commit records of earlier epochs, a new leader first writes an empty record of its own epoch"
    )

    # Defined in `majority_crashes`.
    flush: Any
    truncate_flushed: Any

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def empty_record(self) -> int:
        """The id of every record that no client wrote."""
        return int(self.max_records)

    def any_record(self) -> Any:
        ids = number(0, self.empty_record if self.first_record else self.max_records - 1)
        return record(id=ids, epoch=self.any_epoch())

    # --- words ------------------------------------------------------------------------------------------------------

    def has_room(self, s: State) -> Any:
        """Whether the bounds of the search leave room for another election, and for a leader's first record."""
        places = [(p, b) for p in self.all_partitions for b in self.brokers]
        spent = some(s.replica[p][b].epoch == self.max_leader_epoch for p, b in places)
        return ~(spent | some(self.leads(s, p, b) & s.log[p][b].is_full for p, b in places))

    def takes_writes(self, s: State, p: int, leader: Any) -> Any:
        """Always true: any leader takes writes, even if it cannot commit them."""
        return True

    def may_acknowledge(self, s: State, p: int, leader: Any) -> Any:
        """Always true, because committed records are on most replicas."""
        return True

    def has_a_quorum(self, s: State, p: int, leader: Any) -> Any:
        """Whether the leader and the followers that get its records are most of the replicas."""
        followers = count(self.pulls(s, p, f, leader) for f in self.brokers if f != leader)
        return followers + 1 >= self.majority

    # --- a new leader -----------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.first_record)
    def write_first_record(self, s: State, p: int, b: Any) -> None:
        """A new leader with uncommitted records of earlier epochs appends an empty record of its own epoch."""
        epoch = s.replica[p][b].epoch
        s.require(self.leads(s, p, b), ~s.log[p][b].is_empty, s.room(~s.log[p][b].is_full))
        s.require(self.last_epoch(s, p, b) < epoch, s.replica[p][b].high_watermark < s.log[p][b].length)
        s.log[p][b].append({"id": self.empty_record, "epoch": epoch})

    def describe_write_first_record(self, old: Any, new: Any, p: int, b: Any) -> str:
        added, end = new.log[p][b][-1], len(old.log[p][b])
        why = "with which earlier ones can be committed"
        return f"{b}, the new leader, appends an empty record of epoch {added.epoch} at offset {end}, {why}"

    # --- replication ------------------------------------------------------------------------------------------------

    def pulls(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a follower gets an answer from its leader: the two brokers must be in the same epoch."""
        same = s.replica[p][follower].epoch == s.replica[p][leader].epoch
        return self.leads(s, p, leader) & self.follows(s, p, follower, leader) & same

    def fits(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether the leader has the follower's last record: one of the same epoch at the same offset.

        True also if the follower's log is empty.
        """
        own, other = s.log[p][follower], s.log[p][leader]
        found: Any = own.is_empty
        for o in range(self.log_size):
            here = (own.length == o + 1) & (other.length > o)
            found = found | (here & (own.at(o).epoch == other.at(o).epoch))
        return found

    @action(p=any_partition, follower=broker, leader=broker, actor="follower")
    def fetch(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower gets the next record and the high watermark, if the leader has the follower's last record."""
        if follower == leader:
            return
        s.require(self.pulls(s, p, follower, leader), self.fits(s, p, follower, leader))
        end, leaders = s.log[p][follower].length, s.log[p][leader]
        behind = end < leaders.length
        known = minimum(s.replica[p][leader].high_watermark, when(behind, end + 1, end))
        high_watermark = when(
            known > s.replica[p][follower].high_watermark, known, s.replica[p][follower].high_watermark
        )
        news = (s.known_end[p][leader][follower] != end) | (s.replica[p][follower].high_watermark != high_watermark)
        s.require(behind | news)
        s.known_end[p][leader][follower] = end
        self.flush(s, p, follower, end)
        s.replica[p][follower].high_watermark = high_watermark
        s.log[p][follower] = when(behind, s.log[p][follower].appended(leaders.at(end)), s.log[p][follower])

    def describe_fetch(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        end, mine = len(old.log[p][follower]), new.log[p][follower]
        got = f"gets {self.record_in_words(mine[-1])}" if len(mine) > end else "gets no record"
        before, after = old.known_end[p][leader][follower], new.known_end[p][leader][follower]
        learns = (
            f"; {leader} learns its log end {becomes('none' if before < 0 else before, after)}"
            if before != after
            else ""
        )
        passed = old.replica[p][follower].high_watermark, new.replica[p][follower].high_watermark
        raised = f", high watermark {becomes(*passed)}" if passed[0] != passed[1] else ""
        return f"{follower} fetches from {leader} at offset {end} and {got}{raised}{learns}"

    def record_in_words(self, found: Any) -> str:
        """Names a record, which may be the empty record of a new leader."""
        name = "the empty record" if found.id == self.empty_record else f"record {found.id}"
        return f"{name} of epoch {found.epoch}"

    @action(p=any_partition, follower=broker, leader=broker, actor="follower")
    def step_back(self, s: State, p: int, follower: Any, leader: Any) -> None:
        """A follower drops its last record, because the leader does not have it."""
        if follower == leader:
            return
        s.require(self.pulls(s, p, follower, leader), ~self.fits(s, p, follower, leader))
        end = s.log[p][follower].length - 1
        s.log[p][follower].truncate(end)
        self.truncate_flushed(s, p, follower, end)
        s.replica[p][follower].high_watermark = minimum(end, s.replica[p][follower].high_watermark)

    def describe_step_back(self, old: Any, new: Any, p: int, follower: Any, leader: Any) -> str:
        gone, ends = old.log[p][follower][-1], becomes(len(old.log[p][follower]), len(new.log[p][follower]))
        dropped = f"drops {self.record_in_words(gone)}, which {leader}, its leader, does not have"
        passed = old.replica[p][follower].high_watermark, new.replica[p][follower].high_watermark
        lowered = f", high watermark {becomes(*passed)}" if passed[0] != passed[1] else ""
        return f"{follower} {dropped} at that offset: log end {ends}{lowered}"

    @action(p=any_partition, b=broker, actor="b")
    def commit(self, s: State, p: int, b: Any) -> None:
        """The leader raises its high watermark past the last record that most replicas have and that it may commit."""
        replica, log = s.replica[p][b], s.log[p][b]
        end: Any = replica.high_watermark
        for o in range(self.log_size):
            copies = count(self.end_seen_by(s, p, b, x) > o for x in self.brokers)
            enough = (log.length > o) & (copies >= self.majority)
            if self.commit_only_own_epoch:
                enough = enough & (log.at(o).epoch == replica.epoch)
            end = when(enough & (end <= o), o + 1, end)
        s.require(self.leads(s, p, b), end > replica.high_watermark)
        self.note_commit(s, p, b, end, True)
        s.replica[p][b].high_watermark = end
        self.flush(s, p, b, end)

    def describe_commit(self, old: Any, new: Any, p: int, b: Any) -> str:
        passed, end = old.replica[p][b].high_watermark, new.replica[p][b].high_watermark
        have = [x for x in self.brokers if x == b or old.known_end[p][b][x] >= end]
        records = " and ".join(self.record_in_words(r) for r in new.log[p][b][passed:end])
        who, elected = f"{b}, leader of epoch {old.replica[p][b].epoch},", old.elected[p]
        if not asked(old, self.is_legitimate, p, b):
            who = f"{who.rstrip(',')} although {elected.leader} was elected in epoch {elected.epoch},"
        known = f"knows that {listed(have)} have its log up to {end}, a majority"
        return f"{who} {known}, and commits {records}: high watermark {becomes(passed, end)}"
