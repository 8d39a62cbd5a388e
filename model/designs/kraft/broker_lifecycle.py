"""BrokerLifecycleManager: brokers that stop and start.

A *crash* loses what is volatile. A lossy crash also loses records at the end of the log that had not reached the disk.
A broker that is shut down cleanly leaves a file with its broker epoch, and names that epoch when it registers again
(KIP-966). A crash of the process (`kill -9`) or of the machine leaves no such file, even if the log is complete. With
`clean_crashes`, only a lossy crash leaves no such file. The high watermark on disk is the broker's last one or, after a
crash with `checkpoint = any`, possibly a lower one.

Left out: a disk that becomes empty although nobody noticed a failure.

Source: BrokerLifecycleManager.scala, BrokerServer.scala, ClusterControlManager.registerBroker,
ReplicationControlManager.handleBrokerShutdown of Kafka 4.3; KIP-631, KIP-966.
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs.kraft.partition import Partition
from isrcheck.model.designs.kraft.partition_change_builder import ChangeOptions
from isrcheck.model.designs.kraft.replication_control import somebody_or_nobody
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import any_end
from isrcheck.model.language import action, broker, inert, minimum, number, set_of, setting, some, when
from isrcheck.model.language.setting_constraints import SettingConstraints


def any_checkpoint(m: Any) -> Any:
    """The high watermarks that may be on disk. With `checkpoint = at-stop` there is only 0, which no step uses."""
    return any_end(m) if m.checkpoint == "any" else number(0, 0)


class BrokerLifecycle(Partition):
    """Brokers that stop and start again."""

    abstract = True

    checkpoint = setting(
        "at-stop",
        choices=("at-stop", "any"),
        meaning="the high watermark that is on disk when a broker crashes. at-stop: the broker's last one; any: the "
        "last one or any lower one",
    )

    starts_again = setting(
        True,
        meaning="brokers that have stopped start again; if false, they stay down",
        leaves_out={False: "brokers that start anew"},
    )
    unclean_start = setting(
        "leaves",
        choices=("leaves", "stays"),
        meaning="with elr: what happens to a broker that starts after an unclean stop. leaves: it leaves every ISR and "
        "ELR (KAFKA-15586); stays: it stays in them",
    )

    lost_directory = setting(
        "unnoticed",
        choices=("unnoticed", "leaves-elr"),
        meaning="with directory_failures and elr: what happens when a broker, after a clean stop, registers without "
        "the directory of its replica. unnoticed: the replica stays eligible; leaves-elr: the replica leaves ISR and "
        "ELR, because it will be created empty",
    )
    clean_crashes = setting(
        False,
        meaning="with elr: a crash that loses nothing counts as a clean shutdown when the broker registers again (it "
        "represents a shutdown that was not reported to the controller); if false, it counts as an unclean one",
    )

    failed_directory = setting(
        "removed",
        choices=("removed", "replaced"),
        meaning="with directory_failures and elr: what becomes of a failed directory before the broker starts again. "
        "removed: it is removed from log.dirs, and the other directories say whether the shutdown was clean; "
        "replaced: an empty directory takes its place, and the broker registers as after an unclean shutdown",
    )

    setting_constraints: ClassVar[SettingConstraints] = (
        inert(
            "failed_directory",
            "lost_directory",
            unless=lambda m: m.elr and m.directory_failures > 0 and m.restarts > 0,
            words="it needs elr=true, directory_failures>=1, and a crash or shutdown",
        ),
        inert("clean_crashes", unless=lambda m: m.elr and m.crashes > 0, words="it needs elr=true and crashes>=1"),
        inert(
            "unclean_start",
            unless=lambda m: m.elr and m.crashes_uncleanly,
            words="it needs elr=true, and lossy_crashes>=1 or crashes>=1 with clean_crashes=false",
        ),
    )

    elr: Any
    build: Any
    only_where: Any
    elr_of: Any
    commit_change: Any
    led_in_words: Any
    """Attributes of `partition_change_builder` and `replication_control`."""

    drop_answers: Any
    drop_reads: Any
    orphan_reads: Any
    """Attributes of `replica_fetcher`."""

    def holds(self) -> dict[str, Any]:
        found: dict[str, Any] = {n: number(0, x) for n in ("crashes", "lossy_crashes") if (x := getattr(self, n))}
        if self.crashes_uncleanly and self.elr and self.unclean_start == "leaves":
            found["stopped_uncleanly"] = set_of(broker)
        return found

    @property
    def crashes_uncleanly(self) -> bool:
        """Whether a broker may stop without leaving the file of a clean shutdown."""
        return bool(self.lossy_crashes or (self.crashes and not self.clean_crashes))

    def note_unclean_stop(self, s: KraftState, b: Any) -> None:
        if "stopped_uncleanly" in self.domains:
            s.stopped_uncleanly = s.stopped_uncleanly | {b}

    @action(b=broker, on_disk=any_checkpoint, actor="b", environment=True, where=lambda m: m.crashes)
    def crash(self, s: KraftState, b: Any, on_disk: int) -> None:
        """A broker stops; its log survives."""
        s.require(s.crashes < self.crashes, s.up.has(b))
        s.crashes += 1
        if not self.clean_crashes:
            self.note_unclean_stop(s, b)
        self.stop(s, b, on_disk)

    def describe_crash(self, old: Any, new: Any, b: Any, on_disk: int) -> str:
        did = "is shut down, and the controller not told" if self.clean_crashes else "is killed"
        return f"{b} {did}{self.lost_in_words(old, new, b)}"

    @action(b=broker, actor="b", environment=True, where=lambda m: m.directory_failures)
    def handle_log_dir_failure(self, s: KraftState, b: Any) -> None:
        """handleLogDirFailure: the directory of a replica fails; the broker runs on without the replica.

        The log in the directory is lost. After its next start the broker has another directory, which is empty.
        """
        s.require(s.directory_failures < self.directory_failures, self.runs(s, b), ~s.offline.has(b))
        s.require(some(s.replica[p][b].role != "none" for p in self.all_partitions))
        s.directory_failures += 1
        s.offline = s.offline | {b}
        for p in self.all_partitions:
            self.orphan_reads(s, p, b)
            self.lose_partition(s, p, b)
            s.log[p][b] = s.log[p][b].truncated(0)
            s.epoch_cache[p][b] = s.epoch_cache[p][b].truncated(0)
            s.replica[p][b].high_watermark = 0
        self.fail_delayed(s, b)

    def describe_handle_log_dir_failure(self, old: Any, new: Any, b: Any) -> str:
        return f"the directory of {b} fails, with its log{self.lost_in_words(old, new, b)}"

    def lose_partition(self, s: KraftState, p: int, b: Any) -> None:
        """Forgets a broker's volatile state of a partition: its role, its knowledge as leader, answers to fetches."""
        self.forget_partition(s, p, b)
        self.drop_answers(s, p, b)

    @action(
        b=broker, kept=any_end, on_disk=any_checkpoint, actor="b", environment=True, where=lambda m: m.lossy_crashes
    )
    def crash_with_loss(self, s: KraftState, b: Any, kept: int, on_disk: int) -> None:
        """A broker stops, and loses the records at the end of its log that had not reached its disk."""
        s.require(s.lossy_crashes < self.lossy_crashes, s.up.has(b))
        s.require(some(s.log[p][b].length > kept for p in self.all_partitions))
        s.lossy_crashes += 1
        self.note_unclean_stop(s, b)
        self.stop(s, b, on_disk, kept)

    def describe_crash_with_loss(self, old: Any, new: Any, b: Any, kept: int, on_disk: int) -> str:
        reached = f"only {kept} of the records" if kept else "nothing"
        return f"{b} crashes, and {reached} of its log had reached its disk{self.lost_in_words(old, new, b)}"

    @action(b=broker, actor="b", where=lambda m: m.shutdowns)
    def finish_controlled_shutdown(self, s: KraftState, b: Any) -> None:
        """beginShutdown: a broker in controlled shutdown stops, at any time after `begin_controlled_shutdown`."""
        s.require(s.stopping.has(b))
        self.stop(s, b, None)

    def describe_finish_controlled_shutdown(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} stops at last{self.lost_in_words(old, new, b)}"

    def stop(self, s: KraftState, b: Any, on_disk: int | None, kept: int | None = None) -> None:
        """A broker stops and loses its volatile state: roles, what it knows as leader, its request, fetches in flight.

        `kept` is the number of records that reached the disk; if it is None, all did. A broker that is shut down has
        its last high watermark on disk (`on_disk` is None). With `checkpoint = any`, a broker that crashes may have a
        lower high watermark on disk. When the log is loaded again (LogLoader.load), epochs that start at the log end
        are removed, because they have no record.
        """
        if self.shutdowns:
            s.stopping = s.stopping - {b}
        for p in self.all_partitions:
            replica, length = s.replica[p][b], s.log[p][b].length
            if kept is not None:
                length = minimum(length, kept)
            self.truncate_log(s, p, b, length)
            self.forget_alteration(s, p, b)
            if self.checkpoint == "any" and on_disk is not None:
                s.require(replica.high_watermark >= on_disk)
                replica.high_watermark = minimum(length, on_disk)
            else:
                replica.high_watermark = minimum(length, replica.high_watermark)
            self.lose_partition(s, p, b)
            self.drop_reads(s, p, b)
        self.fail_delayed(s, b)
        self.keep_what_is_needed(s, s.metadata, {x: s.applied[x] for x in self.brokers}, s.up - {b})

    @action(b=broker, leader=somebody_or_nobody, actor="b", where=lambda m: m.restarts and m.starts_again)
    def register_broker(self, s: KraftState, b: Any, leader: Any) -> None:
        """registerBroker: a broker that had stopped starts, fenced, with a new broker epoch.

        The broker's old session must have ended. If the broker may have lost records (`has_lost_something`), it leaves
        every ISR and ELR (handleBrokerShutdown). If no replica is then eligible, the last known leader may be elected.
        Without eligible leader replicas (setting `elr`) the controller notices no unclean stop.
        """
        s.require(~s.up.has(b), ~s.live.has(b))
        changes = {}
        for p in self.all_partitions:
            state = s.state[p]
            leaves = self.has_lost_something(s, b) & (state.isr.has(b) | self.elr_of(s, p).has(b))
            unclean = when(leaves, {b}, set())
            s.require(when(leaves, True, state.leader == leader))
            isr = when(leaves, state.isr - {b}, state.isr)
            change = self.build(s, p, isr, leader, s.live, leaves, ChangeOptions(stopped_uncleanly=unclean))
            changes[p] = self.only_where(s, p, leaves, change)
        if "stopped_uncleanly" in self.domains:
            s.stopped_uncleanly = s.stopped_uncleanly - {b}
        self.commit_change(s, changes, live=s.live, started=b)
        if self.directory_failures:
            s.without_directory = s.without_directory | (s.offline & {b})
            s.offline = s.offline - {b}

    def has_lost_something(self, s: KraftState, b: Any) -> Any:
        """Whether the controller must assume that a broker which registers has lost records."""
        if not self.elr or self.unclean_start == "stays":
            return False
        found = s.stopped_uncleanly.has(b) if "stopped_uncleanly" in self.domains else False
        if self.directory_failures and (self.failed_directory == "replaced" or self.lost_directory == "leaves-elr"):
            found = found | s.offline.has(b)
        return found

    def describe_register_broker(self, old: Any, new: Any, b: Any, leader: Any) -> str:
        return f"{b} starts and registers, in broker epoch {new.broker_epoch[b]}: {self.led_in_words(old, new, 0)}"

    def lost_in_words(self, old: Any, new: Any, b: Any) -> str:
        """Words for what a broker loses when it stops."""
        was, end, words = old.replica[0][b], len(new.log[0][b]), []
        if was.role == "leader":
            words.append(f"it led in epoch {was.epoch}")
        if end < len(old.log[0][b]):
            lost = " and ".join(f"record {x.id} of epoch {x.epoch}" for x in old.log[0][b][end:])
            words.append(f"it loses {lost}")
        if new.replica[0][b].high_watermark != was.high_watermark:
            words.append(f"on disk is high watermark {new.replica[0][b].high_watermark}, not {was.high_watermark}")
        return f": {'; '.join(words)}" if words else ""
