"""V2, election: a replica in the ISR creates the ephemeral leader node, and replicas that come too late follow.

The leader node names the leader. Each replica has one watch, on the leader node (onLeaderChange). When the node
changes, the replica runs leaderElection. A replica that creates the node becomes leader in further steps; `step` says
which step is next. Until the last step the replica handles no notification, so it may lose the leader node without
noticing.

Left out: PreferredReplicaTime, during which other replicas wait for the preferred one; a broker that starts before its
former session is over (KAFKA-1387).
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, zookeeper_sentences
from isrcheck.model.designs import zookeeper_sentences as sentences
from isrcheck.model.designs.replicas import UNKNOWN, any_partition
from isrcheck.model.designs.sentences import of_partition
from isrcheck.model.designs.zookeeper_watches import ZookeeperWatches
from isrcheck.model.language import action, asked, broker, every, flag, implies, minimum, none, set_of, setting, when

PATH = "leader"


class LeaderNodes(ZookeeperWatches):
    """The procedures leaderElection and becomeFollower of V2, and the sessions and starts of brokers."""

    abstract = True

    watch_again = "with-the-read"
    fetch_reply = "at-once"  # late answers are checked in `v3` and `kraft`
    answer_that_logs_diverge: Any = None
    handle_fetched: Any = None
    ignore_fetched: Any = None
    # Settings of truncation by KIP-320 and later; followers of V2 know no leader epoch.
    fence_fetch, fence_truncation, truncate_before_high_watermark = True, True, True
    truncation_reply = "at-once"
    truncation = setting(
        "high-watermark",
        choices=("high-watermark", "kip-101", "kip-279"),
        meaning="which part of its log a new follower keeps. high-watermark: the part below its high watermark; "
        "kip-101, kip-279: it truncates by leader epochs, as that KIP says",
    )

    election_read = setting(
        "at-once",
        choices=("at-once", "earlier"),
        meaning="when a candidate reads the ISR. at-once: when it creates the leader node; earlier: in an earlier step",
    )
    lagging_replica = setting(
        "ignores",
        choices=("ignores", "follows"),
        meaning="what a replica outside the ISR does on a leader change (leaderElection has no branch for it). "
        "ignores: nothing; follows: it follows the new leader",
    )
    step_down = setting(
        "on-leader-change",
        choices=("on-leader-change", "before-expiry"),
        meaning="when a broker that loses its session stops leading. on-leader-change: when it hears of a leader "
        "change; before-expiry: before the session expires",
    )
    leader_node_deletion = setting(
        "unconditional",
        choices=("unconditional", "own"),
        meaning="which leader node a leader deletes when it gives up. unconditional: any that is there; own: only its "
        "own",
    )
    skip_same_leader = setting(
        "on-start-replica",
        choices=("never", "on-start-replica", "always"),
        meaning="when a replica that already follows the leader skips the truncation. never: it always truncates; "
        "on-start-replica: in startReplica, but not on a leader change (as we read the document); always: in both",
    )
    unclean = setting(False, meaning="if no member of the ISR is live, any live replica may be elected")
    restarts = setting(True, meaning="a broker that crashed starts again")

    # Defined in `v2`, `v2_reassignment` and `v2_queues`.
    load_balancing: Any
    reassignments: Any
    is_replica: Any
    forget_reassignment: Any
    complete_request: Any

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def gives_up(self) -> bool:
        """Whether a leader may delete the leader node so that another broker leads."""
        return bool(self.load_balancing or self.reassignments)

    def variables(self) -> dict[str, Any]:
        """Adds a ghost: whether a broker has deleted the leader node of another broker."""
        return {**super().variables(), **({"robbed": flag} if self.gives_up else {})}

    def replica_fields(self) -> dict[str, Any]:
        return {**super().replica_fields(), **self._candidacy()}

    def _candidacy(self) -> dict[str, Any]:
        return {"candidate": flag, "read_isr": set_of(broker)} if self.election_read == "earlier" else {}

    def watches_at_start(self, b: Any) -> bool:
        return b in self.replicas_at_start

    # --- words ------------------------------------------------------------------------------------------------------

    def may_lead(self, s: State, p: int, b: Any) -> Any:
        """Whether leaderElection allows a replica to lead: it is in the ISR, or the ISR is empty.

        If `unclean` is set, a replica may also lead if no member of the ISR is live.
        """
        early = self.election_read == "earlier"
        isr = s.replica[p][b].read_isr if early else s.state[p].isr
        possible = isr.is_empty | isr.has(b)
        if self.unclean:
            possible = possible | (isr & s.live).is_empty
        return possible & self.is_replica(s, p, b) & self.has_path(s, p)

    def may_follow(self, s: State, p: int, b: Any) -> Any:
        """Whether leaderElection makes a replica a follower if another broker leads."""
        may_lead = self.may_lead(s, p, b)
        return may_lead | self.is_replica(s, p, b) if self.lagging_replica == "follows" else may_lead

    def is_notified(self, s: State, p: int, b: Any) -> Any:
        """Whether a replica has heard of a leader change, and is not busy becoming leader."""
        return self.has_notification(s, p, b, PATH) & (s.replica[p][b].step == "none")

    def is_decided(self, s: State, p: int, b: Any) -> Any:
        """Whether a replica was notified and, with `election_read = earlier`, has read the ISR."""
        return self.is_notified(s, p, b) & (s.replica[p][b].candidate if self.election_read == "earlier" else True)

    def forget_candidacy(self, s: State, p: int, b: Any) -> None:
        if self.election_read == "earlier":
            s.replica[p][b].candidate = False
            s.replica[p][b].read_isr = set()

    def stop_leading(self, s: State, p: int, b: Any) -> None:
        """A broker gives up its role and keeps its log and high watermark: it neither commits nor fetches any more."""
        self.give_up_role(s, p, b, s.replica[p][b].high_watermark)

    def give_up_node(self, s: State, p: int, b: Any) -> None:
        """A leader deletes the leader node, so that another leader is elected.

        With `leader_node_deletion = own` it deletes only its own leader node.
        """
        leader = s.state[p].leader
        deletes = leader == b if self.leader_node_deletion == "own" else True
        s.robbed = s.robbed | (deletes & ~leader.is_none & (leader != b))
        self.delete_node(s, p, b, deletes)

    def delete_node(self, s: State, p: int, b: Any, condition: Any) -> None:
        """Deletes the leader node if a condition holds, and notifies the brokers that watch it.

        Broker `b`, which deletes the node, is notified in any case.
        """
        s.state[p].leader = when(condition, none, s.state[p].leader)
        self.note_load(s, self.fire(s, p, PATH, condition, but=b) + 1, 1)
        s.watch[p][b][PATH] = "fired"

    # --- leaderElection ---------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b", where=lambda m: m.election_read == "earlier")
    def read_isr_for_election(self, s: State, p: int, b: Any) -> None:
        """A replica hears of a leader change, and reads the ISR and the replicas (leaderElection begins)."""
        s.require(self.is_notified(s, p, b), ~s.replica[p][b].candidate)
        s.replica[p][b].candidate = True
        s.replica[p][b].read_isr = s.state[p].isr

    def describe_read_isr_for_election(self, old: Any, new: Any, p: int, b: Any) -> str:
        place = "in which it is" if b in old.state[p].isr else "in which it is not"
        return f"{b} begins leaderElection{of_partition(self, p)}: it reads the ISR {old.state[p].isr}, {place}"

    @action(p=any_partition, b=broker, actor="b")
    def create_leader_node(self, s: State, p: int, b: Any) -> None:
        """A replica finds no leader node, may lead, and creates the node. It becomes leader in further steps."""
        s.require(self.is_decided(s, p, b), s.state[p].leader.is_none, self.may_lead(s, p, b))
        s.require(s.room(s.state[p].epoch < self.max_leader_epoch))
        s.state[p].leader = b
        self.begin_candidacy(s, p, b)
        notified = self.fire(s, p, PATH, but=b)
        s.watch[p][b][PATH] = "set"
        self.note_load(s, notified, 3)

    def describe_create_leader_node(self, old: Any, new: Any, p: int, b: Any) -> str:
        notified = sentences.notified(self, old, new, p, PATH, by=b)
        node = f"finds no leader node{of_partition(self, p)} and may lead, for {self.claim_in_words(old, p, b)}"
        return f"{b} {node}: it creates the node and begins becomeLeader{notified}"

    def claim_in_words(self, s: Any, p: int, b: Any) -> str:
        """Words for why leaderElection lets a replica lead."""
        isr = s.replica[p][b].read_isr if self.election_read == "earlier" else s.state[p].isr
        if isr and b not in isr:
            return f"no member of the ISR {isr} is live (unclean)"
        since = f" as it read it, which is {s.state[p].isr} by now" if isr != s.state[p].isr else ""
        return f"{sentences.place_in(isr)}{since}"

    def begin_candidacy(self, s: State, p: int, b: Any) -> None:
        replica = s.replica[p][b]
        replica.role, replica.leader, replica.epoch, replica.isr = "none", none, -1, set()
        replica.version = 0
        replica.step = "elected"
        if self.asks_where_epochs_end:
            replica.truncating = False
        if self.replies_late:
            self.drop_reply(s, p, b)
        if self.fetches_late:
            s.fetched_reply[p][b] = self.no_fetched_reply()
        if self.needs_epoch_start:
            replica.epoch_start = 0
        self.forget_candidacy(s, p, b)
        self.forget_reassignment(s, p, b)
        self.forget_followers(s, p, b)

    @action(p=any_partition, b=broker, actor="b")
    def become_follower_of_new_leader(self, s: State, p: int, b: Any) -> None:
        """A replica finds the leader node of another broker, may follow, and follows that broker (becomeFollower)."""
        leader = s.state[p].leader
        s.require(self.is_decided(s, p, b), ~leader.is_none, leader != b)
        s.require(self.may_follow(s, p, b))
        self.become_follower(s, p, b, leader, -1, self.follows_anew(s, p, b, "always"))
        s.replica[p][b].version = 0
        self.forget_candidacy(s, p, b)
        self.forget_reassignment(s, p, b)
        s.watch[p][b][PATH] = "set"
        self.note_load(s, 0, 2)
        self.complete_request(s, p, b)

    def follows_anew(self, s: State, p: int, b: Any, *skipping: str) -> Any:
        """Whether becomeFollower changes anything.

        If `skip_same_leader` has one of the values in `skipping`, nothing changes for a replica that already follows
        the leader.
        """
        replica, leader = s.replica[p][b], s.state[p].leader
        if self.skip_same_leader not in skipping:
            return True
        return (replica.role != "follower") | (replica.leader != leader)

    def describe_become_follower_of_new_leader(self, old: Any, new: Any, p: int, b: Any) -> str:
        found = f"{b}, {sentences.until_now(old, p, b)} finds the leader node of {old.state[p].leader}"
        if not asked(old, self.follows_anew, p, b, "always"):
            return f"{found}; it {sentences.goes_on(old, p, b)}"
        return f"{found}; it {sentences.follows(self, old, new, p, b)}"

    @action(p=any_partition, b=broker, actor="b")
    def ignore_leader_change(self, s: State, p: int, b: Any) -> None:
        """A replica does nothing on a leader change: it owns the leader node, or leaderElection gives it no role."""
        leader = s.state[p].leader
        s.require(self.is_decided(s, p, b))
        s.require(implies(leader.is_none, ~self.may_lead(s, p, b)))
        s.require(implies(~leader.is_none & (leader != b), ~self.may_follow(s, p, b)))
        self.forget_candidacy(s, p, b)
        s.watch[p][b][PATH] = "set"
        self.note_load(s, 0, 1)

    def describe_ignore_leader_change(self, old: Any, new: Any, p: int, b: Any) -> str:
        leader, whose = old.state[p].leader, of_partition(self, p)
        if leader == b:
            return f"{b} finds that the leader node{whose} is its own, and {sentences.goes_on(old, p, b)}"
        node = f"no leader node{whose}" if leader is None else f"the leader node{whose} of {leader}"
        if not asked(old, self.is_replica, p, b) or not asked(old, self.has_path, p):
            why = "is no replica"
        else:
            isr = old.replica[p][b].read_isr if self.election_read == "earlier" else old.state[p].isr
            why = f"is not in the ISR {isr}"
        return f"{b} finds {node}, but {why}: leaderElection does nothing, and it {sentences.goes_on(old, p, b)}"

    # --- sessions and starts ----------------------------------------------------------------------------------------

    def expire(self, s: State, b: Any) -> None:
        """A broker's session ends, and the leader nodes of the session vanish.

        With `step_down = before-expiry`, the broker gives up all its roles in the same step.
        """
        super().expire(s, b)
        if self.step_down == "before-expiry":
            for p in self.all_partitions:
                self.stop_leading(s, p, b)

    def read_everything(self, s: State, b: Any) -> None:
        """A broker with a new session will look for the leader of each of its partitions."""
        for p in self.all_partitions:
            s.watch[p][b][PATH] = when(self.is_replica(s, p, b), "fired", "none")

    def is_out_of_service(self, s: State, b: Any) -> Any:
        """Whether a broker has no role in any partition, and is not becoming leader of any."""
        roles = [s.replica[p][b] for p in self.all_partitions]
        return every((replica.role == "none") & (replica.step == "none") for replica in roles)

    def started_in_words(self, old: Any, new: Any, b: Any) -> str:
        """Words for what each replica of a starting broker does."""
        here = [p for p in self.all_partitions if asked(old, self.is_replica, p, b)]
        begun = [f"it {zookeeper_sentences.starts(self, old, new, p, b)}" for p in here]
        return ", and ".join(begun) or "it has none"

    def start_replicas(self, s: State, b: Any) -> None:
        s.live = s.live | {b}
        for p in self.all_partitions:
            self.start_replica(s, p, b, self.is_replica(s, p, b))
        self.note_load(s, 0, 2 * self.partitions)

    def start_replica(self, s: State, p: int, b: Any, here: Any) -> None:
        """If `here` holds, a replica follows the leader or, if none leads, will run leaderElection (startReplica)."""
        state, replica, log = s.state[p], s.replica[p][b], s.log[p][b]
        follows = here & ~state.leader.is_none & (state.leader != b)
        begins = follows & self.follows_anew(s, p, b, "on-start-replica", "always")
        replica.role = when(begins, "follower", replica.role)
        replica.leader = when(begins, state.leader, replica.leader)
        replica.epoch = when(begins, -1, replica.epoch)
        replica.isr = when(begins, set(), replica.isr)
        if self.asks_where_epochs_end:
            replica.truncating = when(begins, ~log.is_empty, replica.truncating)
        elif not self.has_epoch_cache:
            self.keep(s, p, b, when(begins, minimum(replica.high_watermark, log.length), log.length))
        for f in self.brokers:
            s.known_end[p][b][f] = when(begins, UNKNOWN, s.known_end[p][b][f])
        watch = when((s.watch[p][b][PATH] == "none") & ~state.leader.is_none, "set", s.watch[p][b][PATH])
        s.watch[p][b][PATH] = when(here, when(state.leader.is_none, "fired", watch), s.watch[p][b][PATH])
