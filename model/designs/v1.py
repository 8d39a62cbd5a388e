"""V1: every replica listens to ZooKeeper and acts by itself; the first one to create the leader node leads.

The design document of V1 is not available. The model is derived from two later documents: "KafkaController" (paths,
listeners and flow of events of the first design) and "Kafka replication detailed design V2" (its changes to the first
design; brokerStartup, leaderElection and onLeaderChange). The result:

* The paths of a partition are leader (ephemeral), ISR (written by the leader), replicas and, while the replicas change,
  partitions_reassigned. All replicas watch the same paths.
* A replica that finds no leader node tries to create it if the replica is in the ISR or the ISR is empty. The first
  replica that creates the node leads. The others follow, and when they begin to follow, they truncate to their high
  watermark.
* By default nothing guards the writes of a leader. Records, requests and nodes of this design carry no leader epoch.
  The epochs of the model are ghosts: an epoch counts how often the leader node was created. Only invariants and bounds
  read epochs; the protocol does not.

The document on V2 counts five watches of each partition in V1, but does not name them. This file declares a watch for
each path in the table of "KafkaController" except ISR: by that document, only the leader reads and writes the ISR.

Left out: preferred replicas and how long other replicas wait for them; the creation and deletion of topics and
partitions (partitions_add, partitions_remove, although their watches are counted); the leader node of a broker's former
session (the broker cannot come back before that session is over, KAFKA-1387).
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs import State, design_constraints, design_profiles
from isrcheck.model.designs import zookeeper_sentences as sentences
from isrcheck.model.designs.replicas import any_partition
from isrcheck.model.designs.sentences import ends_in_words, now, of_partition
from isrcheck.model.designs.watched_replicas import WatchedReplicas
from isrcheck.model.designs.watches import Watch
from isrcheck.model.language import action, asked, broker, flag, goal, per, record, set_of, setting, some


class ZookeeperListeners(WatchedReplicas):
    """Leader election by an ephemeral node, and leaders that write the ISR."""

    invariants = ("no-split-brain", "no-committed-loss", "committed-records-are-stable")
    profiles = design_profiles.V1

    watches: ClassVar = (
        Watch("/brokers/ids", "cluster", "brokers"),
        Watch("/brokers/topics", "cluster", "brokers"),
        Watch("/brokers/topics/[topic]/[partition]/leader", "partition", "replicas"),
        Watch("/brokers/topics/[topic]/[partition]/replicas", "partition", "replicas"),
        Watch("/admin/partitions_reassigned/[topic]/[partition]", "partition", "replicas"),
        Watch("/admin/partitions_add/[topic]/[partition]", "partition", "replicas"),
        Watch("/admin/partitions_remove/[topic]/[partition]", "partition", "replicas"),
    )

    truncation = "high-watermark"
    records_have_epochs = True
    fetch_reply = "at-once"  # late answers are checked in `v3` and `kraft`
    answer_that_logs_diverge: Any = None
    handle_fetched: Any = None
    ignore_fetched: Any = None
    fence_fetch = True
    fence_truncation = True
    assign_on_leader = True
    refuse_undefined_epoch = True
    truncation_reply = "at-once"
    truncate_before_high_watermark = True

    election = setting(
        "read-then-create",
        choices=("read-then-create", "read-then-write", "multi"),
        meaning="how a replica becomes leader. read-then-create: it reads the ISR, and creates the leader node later; "
        "read-then-write: it then also writes the ISR that it has read; multi: it does all in one step, a ZooKeeper "
        "multi that fails if the ISR has changed, and raises the version of the ISR",
    )
    isr_write = setting(
        "unconditional",
        choices=("unconditional", "conditional"),
        meaning="how the leader writes the ISR. unconditional: always; conditional: only if the version is the one "
        "that it last saw",
    )
    skip_same_leader = setting(False, meaning="a follower that hears of the same leader again does not truncate again")

    setting_constraints = design_constraints.REASSIGNED

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def reads_first(self) -> bool:
        return bool(self.election != "multi")

    def variables(self) -> dict[str, Any]:
        """Adds which replicas are candidates for leader, and the ISR and version that each candidate has read."""
        found = super().variables()
        if self.reads_first:
            version = self.decision()["version"]
            candidate = record(stands=flag, isr=set_of(broker), version=version)
            found["candidate"] = per(any_partition(self), per(broker, candidate))
        return found

    def follows_for_good(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a replica follows a leader; this design has no epochs to compare."""
        return self.follows(s, p, follower, leader)

    # --- leader election --------------------------------------------------------------------------------------------

    def may_stand(self, s: State, p: int, b: Any) -> Any:
        """Whether a replica may try to lead: it is assigned, and the ISR has it or is empty (leaderElection)."""
        isr = s.state[p].isr
        return self.is_assigned(s, p, b) & (isr.is_empty | isr.has(b))

    def forget_candidacy(self, s: State, p: int, b: Any) -> None:
        if self.reads_first:
            s.candidate[p][b] = {"stands": False, "isr": set(), "version": 0}

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reads_first)
    def stand_for_leader(self, s: State, p: int, b: Any) -> None:
        """A replica that is told of a change finds no leader node, reads the ISR, and becomes a candidate."""
        state = s.state[p]
        s.require(self.has_notification(s, p, b, "leader"), state.leader.is_none, self.may_stand(s, p, b))
        self.read_and_watch(s, p, b, "leader")
        s.candidate[p][b] = {"stands": True, "isr": state.isr, "version": state.version}
        self.note_load(s, 0, 3)

    def describe_stand_for_leader(self, old: Any, new: Any, p: int, b: Any) -> str:
        why = sentences.place_in(old.state[p].isr)
        node = f"finds no leader node{of_partition(self, p)}"
        return f"{b} {node} and may lead, for {why}; it will try to create the node"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reads_first)
    def create_leader_node(self, s: State, p: int, b: Any) -> None:
        """A replica that found no leader node is the first to create one, and leads (becomeLeader)."""
        candidate = s.candidate[p][b]
        s.require(candidate.stands, self.connected(s, b), s.state[p].leader.is_none)
        version = candidate.version
        if self.election == "read-then-write":
            s.state[p].isr = candidate.isr
            version = self.write_version(s, p)
        self.lead(s, p, b, candidate.isr, version)
        notified = self.fire(s, p, "leader")
        self.forget_candidacy(s, p, b)
        self.note_load(s, notified, 1)

    def describe_create_leader_node(self, old: Any, new: Any, p: int, b: Any) -> str:
        read, isr = old.candidate[p][b].isr, old.state[p].isr
        what = f"the ISR {read} that it read"
        if self.election != "read-then-create":
            what += f" and now writes: in ZooKeeper {self.written_in_words(old, new, p)}"
        elif isr != read:
            what += f", although that is {isr} by now"
        made = f"is the first to create the leader node{of_partition(self, p)}"
        notified = sentences.notified(self, old, new, p, "leader", by=b)
        return f"{b} {made} and leads with {ends_in_words(new, p, b)}, and {what}{notified}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.reads_first)
    def lose_election(self, s: State, p: int, b: Any) -> None:
        """A candidate finds the leader node of another replica, and follows that replica (becomeFollower)."""
        s.require(s.candidate[p][b].stands, self.connected(s, b), ~s.state[p].leader.is_none)
        self.follow(s, p, b)
        self.forget_candidacy(s, p, b)
        self.note_load(s, 0, 2)

    def describe_lose_election(self, old: Any, new: Any, p: int, b: Any) -> str:
        first = f"fails to create the leader node, for {old.state[p].leader} has created it first"
        return f"{b} {first}; it {self.following_in_words(old, new, p, b)}"

    @action(p=any_partition, b=broker, actor="b", where=lambda m: not m.reads_first)
    def take_the_lead(self, s: State, p: int, b: Any) -> None:
        """In one step, a replica finds no leader node, creates one, and raises the ISR's version (if it is counted)."""
        state = s.state[p]
        s.require(self.has_notification(s, p, b, "leader"), state.leader.is_none, self.may_stand(s, p, b))
        self.lead(s, p, b, state.isr, self.write_version(s, p))
        self.note_load(s, self.read_and_watch(s, p, b, "leader", changes=True), 4)

    def describe_take_the_lead(self, old: Any, new: Any, p: int, b: Any) -> str:
        made = (
            f"finds no leader node{of_partition(self, p)}, creates it and writes {self.written_in_words(old, new, p)}"
        )
        notified = sentences.notified(self, old, new, p, "leader", by=b)
        return f"{b} {made}, all in one step, and leads with {ends_in_words(new, p, b)}{notified}"

    def lead(self, s: State, p: int, b: Any, isr: Any, version: Any) -> None:
        """Makes a broker the leader: the leader node names the broker, and `isr` becomes its own copy of the ISR."""
        epoch = s.state[p].epoch + 1
        s.require(s.room(epoch <= self.max_leader_epoch))
        s.state[p].leader = b
        s.state[p].epoch = epoch
        self.become_leader(s, p, b, epoch, isr)
        s.replica[p][b].version = version

    def follow(self, s: State, p: int, b: Any) -> None:
        """A replica follows the broker that the leader node names."""
        state, replica = s.state[p], s.replica[p][b]
        same = (replica.role == "follower") & (replica.leader == state.leader)
        self.become_follower(s, p, b, state.leader, state.epoch, ~same if self.skip_same_leader else True)
        replica.version = 0

    @action(p=any_partition, b=broker, actor="b")
    def follow_leader(self, s: State, p: int, b: Any) -> None:
        """A replica that is told of a change finds that another replica leads, and follows it (onLeaderChange)."""
        leader = s.state[p].leader
        s.require(self.has_notification(s, p, b, "leader"), ~leader.is_none, leader != b, self.is_assigned(s, p, b))
        self.read_and_watch(s, p, b, "leader")
        self.follow(s, p, b)
        self.forget_candidacy(s, p, b)
        self.note_load(s, 0, 1)

    def describe_follow_leader(self, old: Any, new: Any, p: int, b: Any) -> str:
        who = f"{b}, {sentences.until_now(old, p, b)}"
        return f"{who} finds the leader node of {old.state[p].leader}; it {self.following_in_words(old, new, p, b)}"

    def following_in_words(self, old: Any, new: Any, p: int, b: Any) -> str:
        """Words for a replica that follows and truncates, or follows the same leader as before without truncating."""
        before, leader = old.replica[p][b], old.state[p].leader
        if self.skip_same_leader and before.role == "follower" and before.leader == leader:
            return f"follows {leader} as before, and truncates nothing"
        return sentences.follows(self, old, new, p, b)

    @action(p=any_partition, b=broker, actor="b")
    def nothing_to_do(self, s: State, p: int, b: Any) -> None:
        """A broker told of a change does nothing: it owns the node, is no replica, or may not create a missing node."""
        state = s.state[p]
        idle = (state.leader == b) | (state.leader.is_none & ~self.may_stand(s, p, b))
        if self.reassigns:
            idle = idle | ~self.is_assigned(s, p, b)
        s.require(self.has_notification(s, p, b, "leader"), idle)
        self.read_and_watch(s, p, b, "leader")
        self.forget_candidacy(s, p, b)
        self.note_load(s, 0, 1)

    def describe_nothing_to_do(self, old: Any, new: Any, p: int, b: Any) -> str:
        state, whose = old.state[p], of_partition(self, p)
        if state.leader == b:
            return f"{b} finds that the leader node{whose} is its own, and {sentences.goes_on(old, p, b)}"
        if not asked(old, self.is_assigned, p, b):
            return f"{b} looks at the leader node{whose}, and does nothing: it is no replica"
        out = f"it is not in the ISR {state.isr}"
        return f"{b} finds no leader node{whose}, but may not lead, for {out}; it {sentences.goes_on(old, p, b)}"

    # --- the ISR ----------------------------------------------------------------------------------------------------

    def change_isr(self, s: State, p: int, b: Any, isr: Any) -> None:
        """The leader writes the ISR to ZooKeeper and to its own copy."""
        version = self.write_isr(s, p, b, isr)
        s.replica[p][b].version = version
        s.replica[p][b].isr = isr

    def write_isr(self, s: State, p: int, b: Any, isr: Any) -> Any:
        """Writes the ISR and returns its version. With `isr_write = conditional`, the version must not have changed."""
        s.require(self.leads(s, p, b))
        if self.isr_write == "conditional":
            s.require(s.state[p].version == s.replica[p][b].version)
        s.state[p].isr = isr
        return self.write_version(s, p)

    def write_version(self, s: State, p: int) -> Any:
        """Raises the version of the ISR and returns the new version. With `isr_write = unconditional` it stays 0."""
        if self.isr_write == "unconditional":
            return 0
        version = s.state[p].version + 1
        s.require(s.room(version <= self.max_version))
        s.state[p].version = version
        return version

    def written_in_words(self, old: Any, new: Any, p: int) -> str:
        versions = f", version {now(old.state[p].version, new.state[p].version)}"
        return super().written_in_words(old, new, p) + (versions if self.isr_write == "conditional" else "")

    # --- sessions and crashes ---------------------------------------------------------------------------------------

    def expire(self, s: State, b: Any) -> None:
        super().expire(s, b)
        for p in self.all_partitions:
            self.forget_candidacy(s, p, b)

    def stop(self, s: State, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        for p in self.all_partitions:
            self.forget_candidacy(s, p, b)

    @action(b=broker, actor="b", where=lambda m: m.has_crashes)
    def broker_startup(self, s: State, b: Any) -> None:
        """A broker whose last session is over starts, registers, and reads everything."""
        s.require(~s.up.has(b), ~s.live.has(b))
        s.up = s.up | {b}
        s.live = s.live | {b}
        self.read_everything(s, b)

    def describe_broker_startup(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} starts again with {sentences.far(self, new, b)}, registers, and will read every path"

    # --- goals ------------------------------------------------------------------------------------------------------

    @goal
    def another_broker_leads(self, s: State) -> Any:
        """A broker other than broker 0 leads, and the leader node names this broker."""
        return some(self.is_legitimate(s, p, b) for p in self.all_partitions for b in self.brokers[1:])

    @goal
    def two_brokers_lead(self, s: State) -> Any:
        """Two brokers believe that they lead."""
        return some(
            self.leads(s, p, a) & self.leads(s, p, b)
            for p in self.all_partitions
            for a in self.brokers
            for b in self.brokers
            if a != b
        )
