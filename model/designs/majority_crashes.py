"""Majority vote, disks: what a replica has flushed when its broker crashes.

A replica's log, its epoch and its vote are on disk. `fsync` says what a replica flushes: its log, its vote, both or
neither. A follower flushes its log before it asks for the next record. A leader flushes its own copy of a record when
it commits the record. A voter flushes its vote before it sends the vote. Unflushed records may be on disk anyway. A
lossy crash (of the machine, not of the process) loses any number of unflushed records from the end of the log, and
perhaps unflushed votes and epochs. The epoch stays at least that of the last record, as in Kafka's raft client.

Left out: truncations that reach the disk late; disks that change what was written.

Sources: figure 2 of the paper on Raft, "Updated on stable storage before responding to RPCs"; KIP-595.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.majority_elections import ElectionsByMajority
from isrcheck.model.language import action, asked, becomes, broker, budget, none, setting, when


def any_length(m: Any) -> Any:
    return m.any_end()


def any_epoch(m: Any) -> Any:
    return m.any_epoch()


class CrashingReplicas(ElectionsByMajority):
    """Replicas that crash, and start again with what is on their disks."""

    abstract = True

    crashes = budget(at_most=5, meaning="crashes; logs, epochs and votes survive")
    lossy_crashes = budget(
        at_most=3, meaning="crashes that also lose what was not flushed: the end of the log, an epoch or a vote"
    )
    fsync = setting(
        "both",
        choices=("both", "log", "votes", "none"),
        meaning="what a replica flushes before it answers. both: log and votes, as Raft asks for; log: only the log; "
        "votes: only votes; none: nothing",
    )
    restarts = setting(True, meaning="a broker that has crashed starts again")

    # Defined in `majority_replication`.
    record_in_words: Any

    # --- what is flushed --------------------------------------------------------------------------------------------

    @property
    def flushes_log(self) -> bool:
        return self.fsync in ("both", "log")

    @property
    def flushes_votes(self) -> bool:
        return self.fsync in ("both", "votes")

    @property
    def knows_flushed(self) -> bool:
        """Whether the state says how far logs are flushed. If they never are, a lossy crash may lose any record."""
        return bool(self.lossy_crashes and self.flushes_log)

    def replica_variables(self) -> dict[str, Any]:
        """How far each log is flushed. There is no checkpoint: leaders count copies to find their high watermarks."""
        return {"flushed": self.any_end()} if self.knows_flushed else {}

    def flush(self, s: State, p: int, b: Any, end: Any) -> None:
        """A replica flushes its log up to an offset, because it will report that it has these records."""
        if self.knows_flushed:
            s.flushed[p][b] = when(end > s.flushed[p][b], end, s.flushed[p][b])

    def truncate_flushed(self, s: State, p: int, b: Any, end: Any) -> None:
        if self.knows_flushed:
            s.flushed[p][b] = when(end < s.flushed[p][b], end, s.flushed[p][b])

    # --- crashes ----------------------------------------------------------------------------------------------------

    def stop(self, s: State, b: Any) -> None:
        """Stops a broker: its volatile state is lost."""
        s.up = s.up - {b}
        for p in self.all_partitions:
            self.take_role(s, p, b, "none", none)
            s.replica[p][b].votes = set()
            s.replica[p][b].high_watermark = 0

    @action(b=broker, actor="b", environment=True, where=lambda m: m.crashes)
    def crash(self, s: State, b: Any) -> None:
        """A broker stops; its log, its epoch and its vote survive."""
        s.require(s.crashes < self.crashes, s.up.has(b))
        s.crashes += 1
        self.stop(s, b)

    def describe_crash(self, old: Any, new: Any, b: Any) -> str:
        return f"{b}{self.leading_in_words(old, b)} crashes; its disk keeps {self.kept_in_words(old, b)}"

    def crash_lossily(self, s: State, b: Any, kept: int) -> None:
        """Stops a broker when only the first `kept` records of each of its logs have reached its disk."""
        s.require(s.lossy_crashes < self.lossy_crashes, s.up.has(b))
        for p in self.all_partitions:
            s.require(s.log[p][b].length >= kept)
            if self.knows_flushed:
                s.require(s.flushed[p][b] <= kept)
                s.flushed[p][b] = kept
            s.log[p][b].truncate(kept)
        s.lossy_crashes += 1
        self.stop(s, b)

    @action(b=broker, kept=any_length, actor="b", environment=True, where=lambda m: m.lossy_crashes and m.flushes_votes)
    def crash_with_loss(self, s: State, b: Any, kept: int) -> None:
        """A broker stops, and loses unflushed records at the end of its log; its vote survives."""
        for p in self.all_partitions:
            s.require(s.log[p][b].length > kept)
        self.crash_lossily(s, b, kept)

    def describe_crash_with_loss(self, old: Any, new: Any, b: Any, kept: int) -> str:
        return f"{b}{self.leading_in_words(old, b)} crashes and loses {self.lost_in_words(old, new, b)}"

    @action(
        b=broker,
        kept=any_length,
        epoch=any_epoch,
        actor="b",
        environment=True,
        where=lambda m: m.lossy_crashes and not m.flushes_votes,
    )
    def crash_and_forget(self, s: State, b: Any, kept: int, epoch: int) -> None:
        """A broker stops and loses its vote, its latest epochs or the end of its log, or more than one of them."""
        for p in self.all_partitions:
            own, log = s.replica[p][b], s.log[p][b]
            s.require(own.epoch >= epoch, (log.length > kept) | (own.epoch > epoch) | own.voted)
            if kept:
                s.require(log.length >= kept, log.at(kept - 1).epoch <= epoch)
            # It is unknown whether the broker voted in an earlier epoch. The vote counts as given, since it is always
            # safe not to vote again.
            own.voted = own.epoch > epoch
            own.epoch = epoch
        self.crash_lossily(s, b, kept)

    def describe_crash_and_forget(self, old: Any, new: Any, b: Any, kept: int, epoch: int) -> str:
        return f"{b}{self.leading_in_words(old, b)} crashes and loses {self.lost_in_words(old, new, b)}"

    def leading_in_words(self, old: Any, b: Any) -> str:
        return ", a leader," if any(asked(old, self.leads, p, b) for p in self.all_partitions) else ""

    def lost_in_words(self, old: Any, new: Any, b: Any) -> str:
        """Says what had not reached the disk of a broker that stops."""
        words = []
        for p in self.all_partitions:
            before, after, end = old.replica[p][b], new.replica[p][b], len(new.log[p][b])
            lost = old.log[p][b][end:]
            if lost:
                ends = becomes(len(old.log[p][b]), end)
                words.append(f"{' and '.join(map(self.record_in_words, lost))} (log end {ends})")
            if after.epoch < before.epoch:
                words.append(f"what it did after epoch {after.epoch} (epoch {becomes(before.epoch, after.epoch)})")
            elif before.voted and not after.voted:
                words.append(f"its vote in epoch {before.epoch}")
        return f"{', '.join(words)}: that had not reached its disk"

    @action(b=broker, actor="b", where=lambda m: m.has_crashes and m.restarts)
    def restart(self, s: State, b: Any) -> None:
        """A broker starts again, and waits for a leader."""
        s.require(~s.up.has(b))
        s.up = s.up | {b}
        for p in self.all_partitions:
            s.replica[p][b].role = "follower"

    def describe_restart(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} starts again with {self.kept_in_words(old, b)}, and waits for a leader"

    def kept_in_words(self, s: Any, b: Any) -> str:
        places = self.all_partitions
        return " and ".join(f"log end {len(s.log[p][b])} and epoch {s.replica[p][b].epoch}" for p in places)
