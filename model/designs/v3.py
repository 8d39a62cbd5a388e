"""V3: a controller decides and informs the brokers by direct RPC; a version guards the LeaderAndISR path.

The parts of the design documents are in these files: produce and commit in `logs`; fetch and truncation in `fetches`;
becomeLeader, becomeFollower, stopReplica and crashes in `data_plane`; the LeaderAndISR path, sessions and the rules of
the ISR in `partition_state`; on_broker_change and controller failover in `controller`; on_topic_change and init_leaders
in `topics`; on_partitions_reassigned in `reassignment`; how a broker acts on commands (on_LeaderAndISRCommand,
on_StopReplicaCommand) and starts (on_broker_startup) in `commands`. This file has the step that `alter_isr` replaces:
the leader itself writes the ISR to ZooKeeper (maybe_change_ISR).

Left out: acknowledgement timeouts of requests, error codes, metrics.

Sources: the pages "Kafka replication detailed design V3" and "KafkaController"; KIP-101, KIP-279, KIP-320, KIP-380,
KIP-516, KIP-570 and the JIRA ids that the settings name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs import State, design_constraints, design_profiles, sentences
from isrcheck.model.designs.commands import Commands
from isrcheck.model.designs.reassignment import Reassignment
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.topics import Topics
from isrcheck.model.designs.watches import Watch
from isrcheck.model.language import action, broker, number, setting


# The order of the parts is the order in which `super()` calls them.
class ControllerDesign(Commands, Reassignment, Topics):
    """Leaders that write the ISR to ZooKeeper, by default only if its version is still the one that they know."""

    invariants = ("isr-sane", "no-committed-loss", "single-committed-leader-per-epoch")
    profiles = design_profiles.V3

    watches: ClassVar = (
        Watch("/controller", "cluster", "brokers"),
        Watch("/brokers/ids", "cluster", "controller"),
        Watch("/brokers/topics", "cluster", "controller"),
        Watch("/admin/partitions_reassigned", "cluster", "controller"),
        Watch("/admin/partitions_add", "cluster", "controller"),
        Watch("/admin/partitions_remove", "cluster", "controller"),
    )
    message: ClassVar = ("request",)
    """A command: one request, sent directly to the broker."""

    isr_write = setting(
        "conditional",
        choices=("conditional", "unconditional"),
        meaning="how the leader writes the ISR. conditional: only if the version is the one that it last saw; "
        "unconditional: always",
    )
    lost_replies = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="writes of the ISR that succeed, but whose reply does not reach the leader (KAFKA-1382)",
    )
    read_back = setting(
        True,
        meaning="a leader whose write seems to have failed reads the path, to see whether the write succeeded "
        "(KAFKA-1382)",
    )
    versions = setting(
        "counted",
        choices=("counted", "identity"),
        recorded=False,
        meaning="how versions are represented. counted: by numbers up to max_version; identity: by max_version + 1 "
        "identities without an order, because V3 only compares versions for equality",
    )

    setting_constraints = design_constraints.V3

    def variables(self) -> dict[str, Any]:
        found = super().variables()
        if self.lost_replies:
            found["lost_replies"] = number(0, self.lost_replies)
        return found

    def change_isr(self, s: State, p: int, b: Any, isr: Any) -> None:
        self.write_isr(s, p, b, isr)

    def write_isr(self, s: State, p: int, b: Any, isr: Any, update_own_copy: bool = True) -> None:
        """The leader writes the ISR to ZooKeeper (maybe_change_ISR) and, if `update_own_copy`, to its own copy."""
        replica, state = s.replica[p][b], s.state[p]
        s.require(self.leads(s, p, b), self.has_path(s, p), s.room(self.has_version(s, p)))
        s.require(self.knows_the_topic(s, p, b))
        version = self.next_version(s, p)
        if self.isr_write == "conditional":
            s.require(state.version == replica.version)
            state.isr = isr
            state.version = version
        else:
            s.state[p] = {"leader": b, "isr": isr, "epoch": replica.epoch, "version": version}
        if update_own_copy:
            replica.isr = isr
            replica.version = version

    @action(
        p=any_partition, b=broker, follower=broker, actor="zookeeper", environment=True, where=lambda m: m.lost_replies
    )
    def expand_isr_and_lose_the_reply(self, s: State, p: int, b: Any, follower: Any) -> None:
        """The leader's write of a larger ISR succeeds, but the connection breaks before the reply."""
        if b == follower:
            return
        s.require(s.lost_replies < self.lost_replies, self.may_expand(s, p, b, follower))
        s.lost_replies += 1
        self.write_isr(s, p, b, s.replica[p][b].isr | {follower}, update_own_copy=self.read_back)

    def describe_expand_isr_and_lose_the_reply(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        learnt = "reads back what it has written" if self.read_back else "does not learn that it was written"
        wrote = f"{sentences.leader_in_words(self, old, p, b)} writes the ISR with {follower}"
        return f"{wrote}: {sentences.state_in_words(old, new, p)}; the connection breaks, and it {learnt}"
