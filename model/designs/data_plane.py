"""How a replica begins and ends a role, stops and crashes.

The *checkpoint* is the high watermark on disk. It exists only if brokers may crash. When a broker starts again, its
replicas begin with their checkpoints.

Left out: disks that lose or change data, except at the end of a log (`lossy_crashes`); log directories.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, sentences
from isrcheck.model.designs.fetches import Fetching
from isrcheck.model.designs.producers import Producers
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.language import action, becomes, broker, minimum, none, setting, some, when


def any_length(m: Any) -> Any:
    return m.any_end()


class DataPlane(Fetching, Producers):
    """Replicas that copy a leader's log; each design defines how a replica gets its role."""

    abstract = True

    checkpoint = setting(
        "sometimes",
        choices=("sometimes", "at-stop"),
        meaning="when a broker writes its high watermark to disk. sometimes: at any moment, or never; at-stop: "
        "whenever it stops",
    )
    checkpoint_all = setting(
        True, meaning="a checkpoint also keeps the high watermarks of replicas that have not started yet (KAFKA-1647)"
    )

    needs_epoch_start: Any
    """Whether a leader must remember where its epoch began. `partition_state` defines this."""

    def replica_fields(self) -> dict[str, Any]:
        return {**super().replica_fields(), **({"epoch_start": self.any_end()} if self.needs_epoch_start else {})}

    # --- roles ------------------------------------------------------------------------------------------------------

    def become_leader(self, s: State, p: int, b: Any, epoch: Any, isr: Any) -> None:
        """Makes a replica the leader: it stops fetching, and takes reads and writes. It keeps its high watermark."""
        self.forget_followers(s, p, b)
        replica = s.replica[p][b]
        replica.role = "leader"
        replica.leader = b
        replica.epoch = epoch
        replica.isr = isr
        if self.asks_where_epochs_end:
            replica.truncating = False
        if self.has_epoch_cache and self.assign_on_leader:
            s.epoch_cache[p][b] = self.noted_epoch(s, p, b, epoch, s.log[p][b].length)
        if self.needs_epoch_start:
            replica.epoch_start = s.log[p][b].length

    def become_follower(self, s: State, p: int, b: Any, leader: Any, epoch: Any, truncates: Any = True) -> None:
        """Makes a replica a follower of `leader`, which may be none.

        With truncation to the high watermark, the follower truncates its log now, if there is a leader and `truncates`
        is true. With any other truncation, the follower compares its epochs with the leader's in a later step.
        """
        replica, log = s.replica[p][b], s.log[p][b]
        replica.role = "follower"
        replica.leader = leader
        replica.epoch = epoch
        replica.isr = set()
        if self.asks_where_epochs_end:
            replica.truncating = when(truncates, ~log.is_empty, replica.truncating)
        elif not self.has_epoch_cache:
            to_high_watermark = ~leader.is_none & truncates
            self.keep(s, p, b, when(to_high_watermark, minimum(replica.high_watermark, log.length), log.length))
        if self.needs_epoch_start:
            replica.epoch_start = 0
        if self.acknowledgement == "until-deposed":
            self.turn_producers_away(s, b)
        self.forget_followers(s, p, b)

    def give_up_role(self, s: State, p: int, b: Any, high_watermark: Any) -> None:
        """Ends the role of a replica: clears its volatile fields, and sets its high watermark to the given one.

        Each field that a part adds in `replica_fields` gets the first value of its domain.
        """
        replica = s.replica[p][b]
        replica.role = "none"
        replica.leader = none
        replica.epoch = -1
        replica.isr = set()
        replica.high_watermark = high_watermark
        for name, domain in self.replica_fields().items():
            setattr(replica, name, domain.first)
        if self.replies_late:
            self.drop_reply(s, p, b)
        if self.fetches_late:
            s.fetched_reply[p][b] = self.no_fetched_reply()
        if self.acknowledgement == "until-deposed":
            self.turn_producers_away(s, b)
        self.forget_followers(s, p, b)

    def delete_replica(self, s: State, p: int, b: Any) -> None:
        """stopReplica: stops fetching and checkpointing, and deletes the directory of the partition."""
        self.give_up_role(s, p, b, 0)
        self.keep(s, p, b, 0)
        if self.has_crashes:
            s.checkpoint[p][b] = 0

    # --- checkpoints and crashes ------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.has_crashes and m.checkpoint != "at-stop")
    def checkpoint_high_watermark(self, s: State, p: int, b: Any) -> None:
        """A broker writes its high watermark to disk."""
        s.require(self.is_up(s, b), s.replica[p][b].role != "none")
        s.require(s.checkpoint[p][b] != s.replica[p][b].high_watermark)
        s.checkpoint[p][b] = s.replica[p][b].high_watermark

    def describe_checkpoint_high_watermark(self, old: Any, new: Any, p: int, b: Any) -> str:
        written = becomes(old.checkpoint[p][b], new.checkpoint[p][b])
        return f"{b} writes its high watermark{sentences.of_partition(self, p)} to disk: {written}"

    @action(
        p=any_partition,
        b=broker,
        actor="b",
        environment=True,
        where=lambda m: m.has_crashes and not m.checkpoint_all,
    )
    def checkpoint_without_unstarted_replica(self, s: State, p: int, b: Any) -> None:
        """A broker writes its high watermarks to disk, and loses the one of a replica that has not started."""
        s.require(self.is_up(s, b), s.replica[p][b].role == "none", s.checkpoint[p][b] > 0)
        s.checkpoint[p][b] = 0
        s.replica[p][b].high_watermark = 0

    def describe_checkpoint_without_unstarted_replica(self, old: Any, new: Any, p: int, b: Any) -> str:
        lost = becomes(old.checkpoint[p][b], new.checkpoint[p][b])
        what = f"its high watermarks{sentences.of_partition(self, p)} to disk before the replica has started"
        return f"{b} writes {what}: the one on disk {lost}"

    @action(b=broker, actor="b", environment=True, where=lambda m: m.crashes)
    def crash(self, s: State, b: Any) -> None:
        """A broker stops; logs and checkpoints survive."""
        s.require(s.crashes < self.crashes, s.up.has(b))
        s.crashes += 1
        self.stop(s, b)

    def describe_crash(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} crashes{self.lost_in_words(old, new, b)}"

    @action(b=broker, kept=any_length, actor="b", environment=True, where=lambda m: m.lossy_crashes)
    def crash_with_loss(self, s: State, b: Any, kept: int) -> None:
        """A broker stops, and each log loses the records at its end that had not reached the disk."""
        s.require(s.lossy_crashes < self.lossy_crashes, s.up.has(b))
        s.require(some(s.log[p][b].length > kept for p in self.all_partitions))
        s.lossy_crashes += 1
        self.stop(s, b, kept)

    def describe_crash_with_loss(self, old: Any, new: Any, b: Any, kept: int) -> str:
        on_disk = f"only {kept} of the records" if kept else "nothing"
        return f"{b} crashes, and {on_disk} of a log had reached its disk{self.lost_in_words(old, new, b)}"

    def lost_in_words(self, old: Any, new: Any, b: Any) -> str:
        """Says what a broker loses when it stops."""
        words = []
        for p in self.all_partitions:
            was, end = old.replica[p][b], len(new.log[p][b])
            if was.role == "leader":
                words.append(f"it led{sentences.of_partition(self, p)} in epoch {was.epoch}")
            if end < len(old.log[p][b]):
                words.append(f"it loses {sentences.records_in_words(old.log[p][b][end:])}")
            passed, low = was.high_watermark, new.replica[p][b].high_watermark
            if low != passed:
                words.append(f"of its high watermark only that on disk is left, {passed} -> {low}")
        return f": {'; '.join(words)}" if words else ""

    def stop(self, s: State, b: Any, kept: Any = None) -> None:
        """Stops a broker, whose volatile state is lost.

        If `kept` is given, each log also loses the records at offset `kept` and later.
        """
        s.up = s.up - {b}
        if self.acknowledgement == "until-answered":
            self.turn_producers_away(s, b)
        for p in self.all_partitions:
            length = s.log[p][b].length
            end = length if kept is None else minimum(length, kept)
            if kept is not None:
                self.keep(s, p, b, end)
            on_disk = s.checkpoint[p][b]
            if self.checkpoint == "at-stop":
                on_disk = s.replica[p][b].high_watermark
                s.checkpoint[p][b] = on_disk
            self.give_up_role(s, p, b, minimum(on_disk, end))
