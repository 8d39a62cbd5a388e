"""Primary-backup replication with an ISR, and brokers that fail for good, for a comparison with majority vote.

The page "KafkaController" compares two ways to keep replicas equal. This design is Kafka's way in its simplest form,
with the same logs and fetches as the other designs. A record is committed when the whole ISR has it. When the leader is
dead, an authority (a controller or a ZooKeeper lock) elects a live member of the ISR in a new epoch, in one step. Each
broker hears of the election at some later time. The leader removes dead replicas from the ISR by a conditional write.

Left out: how the authority is elected and how it informs brokers (see `v3`); brokers that come back.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, design_profiles
from isrcheck.model.designs.data_plane import DataPlane
from isrcheck.model.designs.logs import Logs
from isrcheck.model.designs.partition_state import PartitionState
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.sentences import ends_in_words, of_partition, truncates
from isrcheck.model.language import action, asked, becomes, broker, budget, goal, setting, some


# The order of the parts is the order in which `super()` calls them.
class PrimaryBackup(PartitionState, DataPlane, Logs):
    """Elections in one step; the brokers hear of an election one by one."""

    invariants = ("no-committed-loss", "acknowledged-is-not-lost-everywhere", "service-goes-on")
    profiles = design_profiles.PRIMARY_BACKUP

    controller_failover = False
    lossy_crashes = 0
    expiries = 0
    checkpoint = "at-stop"  # brokers do not come back, so nobody reads it
    checkpoint_all = True
    expand_guard = "epoch-start"
    shrink_guard = "lagging"
    records_have_epochs = True
    assign_on_leader = True
    fetch_reply = "at-once"  # late answers are checked in `v3` and `kraft`
    answer_that_logs_diverge: Any = None
    handle_fetched: Any = None
    ignore_fetched: Any = None
    fence_fetch = True
    fence_truncation = True
    refuse_undefined_epoch = True
    truncation_reply = "at-once"
    truncate_before_high_watermark = True

    crashes = budget(at_most=5, meaning="brokers that fail and do not come back")
    slow_replicas = setting(False, meaning="a live follower that is behind the leader's log end also leaves the ISR")
    truncation = setting(
        "on-fetch",
        choices=("high-watermark", "on-fetch"),
        meaning="which part of its log a new follower keeps. high-watermark: the part below its high watermark; "
        "on-fetch: the part that the leader has too",
    )

    def lags(self, s: State, p: int, b: Any, follower: Any) -> Any:
        behind = super().lags(s, p, b, follower)
        if self.slow_replicas:
            return behind
        return behind & ~s.live.has(follower)

    @action(p=any_partition, b=broker, actor="controller", where=lambda m: m.crashes)
    def elect(self, s: State, p: int, b: Any) -> None:
        """The leader is dead: a live member of the ISR is elected, and dead brokers leave the ISR."""
        state = s.state[p]
        alive = state.isr & s.live
        s.require(~s.live.has(state.leader), alive.has(b))
        s.require(s.room(state.epoch < self.max_leader_epoch), s.room(state.version < self.max_version))
        s.state[p] = {"leader": b, "isr": alive, "epoch": state.epoch + 1, "version": state.version + 1}

    def describe_elect(self, old: Any, new: Any, p: int, b: Any) -> str:
        before, after = old.state[p], new.state[p]
        dead = f"{before.leader}, the leader{of_partition(self, p)}, is dead"
        isr, epoch = becomes(before.isr, after.isr), becomes(before.epoch, after.epoch)
        return f"{dead}: {b}, a live member of the ISR, shall lead; ISR {isr}, epoch {epoch}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.crashes)
    def hear_of_leader(self, s: State, p: int, b: Any) -> None:
        """A broker hears that another broker has won the latest election, and follows that broker."""
        state = s.state[p]
        s.require(self.is_up(s, b), s.replica[p][b].epoch < state.epoch, state.leader != b)
        self.become_follower(s, p, b, state.leader, state.epoch)
        s.replica[p][b].version = state.version

    def describe_hear_of_leader(self, old: Any, new: Any, p: int, b: Any) -> str:
        epoch = f"(epoch {becomes(old.replica[p][b].epoch, new.replica[p][b].epoch)})"
        down = "" if asked(old, self.is_up, old.state[p].leader) else ", which is down by now,"
        heard = f"hears that {old.state[p].leader}{down} leads{of_partition(self, p)} {epoch}"
        return f"{b} {heard}, follows it and {truncates(self, old, new, p, b)}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.crashes)
    def hear_that_it_leads(self, s: State, p: int, b: Any) -> None:
        """A broker hears that it has won the latest election, and leads."""
        state = s.state[p]
        s.require(self.is_up(s, b), s.replica[p][b].epoch < state.epoch, state.leader == b)
        self.become_leader(s, p, b, state.epoch, state.isr)
        s.replica[p][b].version = state.version

    def describe_hear_that_it_leads(self, old: Any, new: Any, p: int, b: Any) -> str:
        epoch = f"(epoch {becomes(old.replica[p][b].epoch, new.replica[p][b].epoch)})"
        how = f"with ISR {new.replica[p][b].isr}, {ends_in_words(new, p, b)}"
        return f"{b} hears that it leads{of_partition(self, p)} {epoch}, and does so {how}"

    def change_isr(self, s: State, p: int, b: Any, isr: Any) -> None:
        """The leader writes the ISR at the version that it knows."""
        replica, state = s.replica[p][b], s.state[p]
        s.require(self.leads(s, p, b), state.version == replica.version, s.room(state.version < self.max_version))
        state.isr = isr
        state.version += 1
        replica.isr = isr
        replica.version += 1

    @goal
    def another_broker_leads(self, s: State) -> Any:
        """A broker other than the first is the legitimate leader."""
        return some(self.is_legitimate(s, p, b) for p in self.all_partitions for b in self.brokers[1:])
