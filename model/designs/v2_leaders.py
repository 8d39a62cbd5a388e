"""V2, leaders: a replica in the ISR creates the ephemeral leader node, takes a new epoch, and waits for the others.

The leader node says who leads; the ISR path, which is persistent, has the ISR and the epoch. All replicas have one
watch, on the leader node (onLeaderChange). Who creates the node goes through becomeLeader in steps: it reads the epoch,
writes the next one with the ISR that it has read, waits until the others have caught up or time is over, writes the
ISR again, and takes writes. Meanwhile it handles no notification, and may be leader no more without knowing.

Left out: PreferredReplicaTime, a time in which other replicas wait for the first one; a broker that starts before its
former session is over (KAFKA-1387); threads of the leader that fail by themselves.
"""

from __future__ import annotations

from typing import Any

from model.designs.logs import UNKNOWN, any_partition
from model.designs.zookeeper_watches import ZookeeperWatches
from model.language import action, broker, enum, every, flag, implies, minimum, none, number, set_of, setting, when

PATH = "leader"


class LeaderNodes(ZookeeperWatches):
    """leaderElection, becomeLeader, becomeFollower, and the ISR as its leader writes it."""

    abstract = True

    watch_again = "with-the-read"
    fence_fetch, fence_truncation, truncate_before_high_watermark = True, True, True  # KIP-320: followers know no epoch
    truncation_reply = "at-once"
    truncation = setting(
        "high-watermark",
        choices=("high-watermark", "kip-101", "kip-279"),
        meaning="what a new follower keeps of its log",
    )

    election_read = setting(
        "at-once",
        choices=("at-once", "earlier"),
        meaning="when a candidate reads the ISR: as it creates the leader node, or before",
    )
    new_epoch = setting(
        "unconditional",
        choices=("unconditional", "conditional", "owner"),
        meaning="how a new leader raises the epoch: it reads, and later writes; writes only at the version that it has "
        "read; or reads and writes in one step, and only while the leader node is its own",
    )
    isr_write = setting(
        "unconditional",
        choices=("unconditional", "conditional"),
        meaning="whether a leader writes the ISR over whatever is there, or only at the version that it last saw",
    )
    lagging_replica = setting(
        "ignores",
        choices=("ignores", "follows"),
        meaning="what a replica outside of the ISR does on a leader change: leaderElection has no branch for it",
    )
    new_leader_high_watermark = setting(
        "log-end",
        choices=("log-end", "own"),
        meaning="the high watermark of a new leader: its log end, or what it is (a TODO of the page)",
    )
    isr_of_new_leader = setting(
        "assigned",
        choices=("assigned", "isr"),
        meaning="who is in a new leader's ISR once it has caught up: every replica, or only those of the ISR so far",
    )
    step_down = setting(
        "on-leader-change",
        choices=("on-leader-change", "before-expiry"),
        meaning="when a broker stops that loses its session: as it hears of a leader change, or before the session "
        "expires",
    )
    leader_node_deletion = setting(
        "unconditional",
        choices=("unconditional", "own"),
        meaning="which leader node a leader deletes to give up: whatever is there, or only its own",
    )
    unclean = setting(False, meaning="with no live member of the ISR, any live replica may lead")
    restarts = setting(True, meaning="a broker that crashed starts again")
    expand_guard = setting(
        "next-commit",
        choices=("next-commit", "high-watermark", "epoch-start"),
        meaning="when a replica joins the ISR: before the next commit, if it has what is to be committed (the page); or "
        "at any time, if it reaches the high watermark, or that and the start of the leader's epoch",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def counts_versions(self) -> bool:
        """Whether anybody looks at the version of the ISR path."""
        return bool(self.isr_write == "conditional" or self.new_epoch == "conditional")

    def any_version(self) -> Any:
        return number(0, self.max_version if self.counts_versions else 0)

    @property
    def gives_up(self) -> bool:
        """Whether a leader may delete the leader node so that another one leads."""
        return False

    def variables(self) -> dict[str, Any]:
        """Besides, a ghost: whether a broker has deleted the leader node of another."""
        return {**super().variables(), **({"robbed": flag} if self.gives_up else {})}

    def replica_fields(self) -> dict[str, Any]:
        """Besides, how far a replica is in becoming leader, and what it has read for that."""
        found = super().replica_fields()
        if self.new_epoch == "owner":
            return {**found, **self._candidacy(), "step": enum("none", "elected", "waiting")}
        steps = enum("none", "elected", "epoch-read", "waiting")
        return {**found, **self._candidacy(), "step": steps, "next_epoch": self.any_epoch()}

    def _candidacy(self) -> dict[str, Any]:
        return {"candidate": flag, "read_isr": set_of(broker)} if self.election_read == "earlier" else {}

    def watches_at_start(self, b: Any) -> bool:
        return b in self.replicas_at_start

    # --- words ------------------------------------------------------------------------------------------------------

    def has_room(self, s: Any) -> Any:
        """Whether there is room for another epoch and, where they count, another version."""
        if self.counts_versions:
            return super().has_room(s)
        return every(s.state[p].epoch < self.max_leader_epoch for p in self.all_partitions)

    def leads(self, s: Any, p: int, b: Any) -> Any:
        """Whether a broker takes writes for a partition: only when becomeLeader is through."""
        return super().leads(s, p, b) & (s.replica[p][b].step == "none")

    def answers(self, s: Any, p: int, leader: Any, follower: Any, fenced: bool) -> Any:
        """A new leader that waits for the others to catch up answers them, or none ever would."""
        asked = super().answers(s, p, leader, follower, fenced)
        waits = self.is_up(s, leader) & (s.replica[p][leader].step == "waiting")
        return asked | (waits & self.follows(s, p, follower, leader))

    def follows_for_good(self, s: Any, p: int, follower: Any, leader: Any) -> Any:
        """Whether a replica follows a leader; followers of V2 know no epoch."""
        return self.follows(s, p, follower, leader)

    @property
    def reassigns(self) -> bool:
        """Whether partitions may move."""
        return False

    def is_assigned(self, s: Any, p: int, b: Any) -> Any:
        """Whether a broker is among the replicas of a partition."""
        return True

    def is_replica(self, s: Any, p: int, b: Any) -> Any:
        """Whether a broker finds itself among the replicas of a partition when it looks."""
        return True

    def may_lead(self, s: Any, p: int, b: Any) -> Any:
        """Whether leaderElection has something to do: the replica is in the ISR, or that is empty."""
        early = self.election_read == "earlier"
        isr = s.replica[p][b].read_isr if early else s.state[p].isr
        possible = isr.is_empty | isr.has(b)
        if self.unclean:
            possible = possible | (isr & s.live).is_empty
        return possible & self.is_replica(s, p, b) & self.has_path(s, p)

    def may_follow(self, s: Any, p: int, b: Any) -> Any:
        """Whether leaderElection makes a replica a follower where there is another leader."""
        may_lead = self.may_lead(s, p, b)
        return may_lead | self.is_replica(s, p, b) if self.lagging_replica == "follows" else may_lead

    def is_notified(self, s: Any, p: int, b: Any) -> Any:
        """Whether a replica has heard of a leader change, and is not busy becoming leader."""
        return self.told(s, p, b, PATH) & (s.replica[p][b].step == "none")

    def is_decided(self, s: Any, p: int, b: Any) -> Any:
        """Whether a replica that was notified has read the ISR."""
        return self.is_notified(s, p, b) & (s.replica[p][b].candidate if self.election_read == "earlier" else True)

    def forget_candidacy(self, s: Any, p: int, b: Any) -> None:
        if self.election_read == "earlier":
            s.replica[p][b].candidate = False
            s.replica[p][b].read_isr = set()

    def give_up_role(self, s: Any, p: int, b: Any, high_watermark: Any) -> None:
        super().give_up_role(s, p, b, high_watermark)
        self.forget_candidacy(s, p, b)
        s.replica[p][b].step = "none"
        if self.new_epoch != "owner":
            s.replica[p][b].next_epoch = 0

    def stop_leading(self, s: Any, p: int, b: Any) -> None:
        """Stops committing and fetching; log and high watermark stay."""
        self.give_up_role(s, p, b, s.replica[p][b].high_watermark)

    def give_up_node(self, s: Any, p: int, b: Any) -> None:
        """A leader deletes the leader node, so that another one is elected."""
        leader = s.state[p].leader
        if self.leader_node_deletion == "unconditional":
            s.robbed = s.robbed | (~leader.is_none & (leader != b))
            self.delete_node(s, p, b, True)
        else:
            self.delete_node(s, p, b, leader == b)

    def delete_node(self, s: Any, p: int, b: Any, condition: Any) -> None:
        """A broker deletes the leader node, if a condition holds; everybody is told, and itself in any case."""
        s.state[p].leader = when(condition, none, s.state[p].leader)
        self.note_load(s, self.fire(s, p, PATH, condition, but=b) + 1, 1)
        s.watch[p][b][PATH] = "fired"

    # --- leaderElection ---------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b")
    def read_isr_for_election(self, s: Any, p: int, b: Any) -> None:
        """leaderElection begins: a replica that heard of a leader change reads the ISR and the replicas."""
        if self.election_read != "earlier":
            return
        s.require(self.is_notified(s, p, b), ~s.replica[p][b].candidate)
        s.replica[p][b].candidate = True
        s.replica[p][b].read_isr = s.state[p].isr

    @action(p=any_partition, b=broker, actor="b")
    def create_leader_node(self, s: Any, p: int, b: Any) -> None:
        """There is no leader: a replica in the ISR creates the leader node, and will become leader."""
        s.require(self.is_decided(s, p, b), s.state[p].leader.is_none, self.may_lead(s, p, b))
        s.require(s.state[p].epoch < self.max_leader_epoch)
        s.state[p].leader = b
        self.begin_candidacy(s, p, b)
        told = self.fire(s, p, PATH, but=b)
        s.watch[p][b][PATH] = "set"
        self.note_load(s, told, 3)

    def begin_candidacy(self, s: Any, p: int, b: Any) -> None:
        replica = s.replica[p][b]
        replica.role, replica.leader, replica.epoch, replica.isr = "none", none, -1, set()
        replica.version = 0
        replica.step = "elected"
        if self.asks_where_epochs_end:
            replica.truncating = False
        if self.replies_late:
            self.drop_reply(s, p, b)
        if self.needs_epoch_start:
            replica.epoch_start = 0
        self.forget_candidacy(s, p, b)
        self.forget_followers(s, p, b)

    @action(p=any_partition, b=broker, actor="b")
    def become_follower_of_new_leader(self, s: Any, p: int, b: Any) -> None:
        """Another replica has created the leader node: a replica in the ISR becomes its follower (becomeFollower)."""
        leader = s.state[p].leader
        s.require(self.is_decided(s, p, b), ~leader.is_none, leader != b)
        s.require(self.may_follow(s, p, b))
        self.become_follower(s, p, b, leader, -1)
        s.replica[p][b].version = 0
        self.forget_candidacy(s, p, b)
        s.watch[p][b][PATH] = "set"
        self.note_load(s, 0, 2)

    @action(p=any_partition, b=broker, actor="b")
    def ignore_leader_change(self, s: Any, p: int, b: Any) -> None:
        """A replica hears of its own leader node, or is not in the ISR: leaderElection does nothing."""
        leader = s.state[p].leader
        s.require(self.is_decided(s, p, b))
        s.require(implies(leader.is_none, ~self.may_lead(s, p, b)))
        s.require(implies(~leader.is_none & (leader != b), ~self.may_follow(s, p, b)))
        self.forget_candidacy(s, p, b)
        s.watch[p][b][PATH] = "set"
        self.note_load(s, 0, 1)

    # --- becomeLeader -----------------------------------------------------------------------------------------------

    @action(p=any_partition, b=broker, actor="b")
    def read_epoch(self, s: Any, p: int, b: Any) -> None:
        """becomeLeader, getNewEpoch: reads the ISR path, to write the next epoch later."""
        if self.new_epoch == "owner":
            return
        state, replica = s.state[p], s.replica[p][b]
        s.require(self.is_up(s, b), replica.step == "elected", self.has_path(s, p))
        s.require(state.epoch < self.max_leader_epoch)
        if self.new_epoch == "conditional":
            s.require(self.has_a_claim(s, p, b))
        replica.step = "epoch-read"
        replica.isr = state.isr
        replica.next_epoch = state.epoch + 1
        replica.version = state.version

    def has_a_claim(self, s: Any, p: int, b: Any) -> Any:
        """Whether the ISR that is there allows a replica to lead."""
        isr = s.state[p].isr
        claim = isr.is_empty | isr.has(b)
        return claim | (isr & s.live).is_empty if self.unclean else claim

    @action(p=any_partition, b=broker, actor="b")
    def write_epoch(self, s: Any, p: int, b: Any) -> None:
        """becomeLeader: writes the next epoch with the ISR that it has read; its high watermark becomes its log end."""
        state, replica = s.state[p], s.replica[p][b]
        s.require(self.is_up(s, b), self.has_path(s, p))
        if self.new_epoch == "owner":
            s.require(replica.step == "elected", state.leader == b, self.has_a_claim(s, p, b))
            s.require(state.epoch < self.max_leader_epoch)
            isr, epoch = state.isr, state.epoch + 1
        else:
            s.require(replica.step == "epoch-read")
            isr, epoch = replica.isr, replica.next_epoch
            replica.next_epoch = 0
        if self.new_epoch == "conditional":
            s.require(state.version == replica.version)
        state.isr, state.epoch = isr, epoch
        self.become_leader(s, p, b, epoch, isr)
        replica.step = "waiting"
        replica.version = self.raise_version(s, p)
        if self.new_leader_high_watermark == "log-end":
            replica.high_watermark = s.log[p][b].length

    def raise_version(self, s: Any, p: int) -> Any:
        if not self.counts_versions:
            return 0
        version = s.state[p].version
        s.require(version < self.max_version)
        s.state[p].version = version + 1
        return version + 1

    @action(p=any_partition, b=broker, actor="b")
    def read_epoch_again(self, s: Any, p: int, b: Any) -> None:
        """The ISR path has changed since a new leader read it: its write fails, and it reads again."""
        if self.new_epoch != "conditional":
            return
        s.require(self.is_up(s, b), s.replica[p][b].step == "epoch-read")
        s.require(s.state[p].version != s.replica[p][b].version)
        s.replica[p][b].step = "elected"
        s.replica[p][b].next_epoch = 0
        s.replica[p][b].isr = set()

    def is_refused(self, s: Any, p: int, b: Any) -> Any:
        """Whether ZooKeeper will never take what a new leader has to write."""
        state, replica = s.state[p], s.replica[p][b]
        path = self.has_path(s, p)
        refused = False if path is True else ~path & (replica.step != "none")
        if self.new_epoch == "owner":
            refused = refused | ((replica.step == "elected") & ((state.leader != b) | ~self.has_a_claim(s, p, b)))
        if self.new_epoch == "conditional":
            refused = refused | ((replica.step == "elected") & ~self.has_a_claim(s, p, b))
        if self.isr_write == "conditional":
            refused = refused | ((replica.step == "waiting") & (state.version != replica.version))
        return refused

    @action(p=any_partition, b=broker, actor="b")
    def give_up_becoming_leader(self, s: Any, p: int, b: Any) -> None:
        """A new leader whose writes ZooKeeper refuses stops, deletes its own leader node, and looks again."""
        refused = self.is_refused(s, p, b)
        if refused is False:
            return
        s.require(self.is_up(s, b), refused)
        self.stop_leading(s, p, b)
        self.delete_node(s, p, b, s.state[p].leader == b)

    @action(p=any_partition, b=broker, actor="b")
    def start_leading(self, s: Any, p: int, b: Any) -> None:
        """becomeLeader ends: all have caught up or time is over; the ISR is who has, and writes are taken."""
        replica, end = s.replica[p][b], s.replica[p][b].high_watermark
        s.require(self.is_up(s, b), replica.step == "waiting")
        self.note_commit(s, p, b, end, self.serves_the_topic(s, p, b), start=0)
        isr = (replica.isr - set(self.brokers)) | {b}
        for f in self.brokers:
            if f != b:
                known = s.known_end[p][b][f]
                caught_up = (known != UNKNOWN) & (known >= end) & self.is_assigned(s, p, f)
                inside = replica.isr.has(f) if self.isr_of_new_leader == "isr" else True
                isr = when(caught_up & inside, isr | {f}, isr)
        self.write_isr(s, p, b, isr)
        replica.step = "none"

    # --- the ISR ----------------------------------------------------------------------------------------------------

    def change_isr(self, s: Any, p: int, b: Any, isr: Any) -> None:
        s.require(self.leads(s, p, b))
        self.write_isr(s, p, b, isr)

    def write_isr(self, s: Any, p: int, b: Any, isr: Any, own: bool = True) -> None:
        """A leader writes the ISR to ZooKeeper, and with it its epoch; `own` is false where its own copy stays."""
        state, replica = s.state[p], s.replica[p][b]
        s.require(self.has_path(s, p))
        if self.isr_write == "conditional":
            s.require(state.version == replica.version)
        state.isr, state.epoch = isr, replica.epoch
        if own:
            replica.isr = isr
        replica.version = self.raise_version(s, p)

    def may_expand(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        replica = s.replica[p][b]
        outside = ~replica.isr.has(follower) & self.tracks(s, p, b, follower)
        return outside & self.has_caught_up(s, p, b, follower)

    def has_caught_up(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        """Whether a replica has what the leader commits next, or has committed."""
        replica, end = s.replica[p][b], s.known_end[p][b][follower]
        if self.expand_guard == "next-commit":
            next_end: Any = s.log[p][b].length
            for f in self.brokers:
                next_end = when(replica.isr.has(f), minimum(next_end, self.end_seen_by(s, p, b, f)), next_end)
            return (next_end > replica.high_watermark) & (end > replica.high_watermark)
        reaches = (end != UNKNOWN) & (end >= replica.high_watermark)
        return reaches & (end >= replica.epoch_start) if self.expand_guard == "epoch-start" else reaches

    # --- sessions and starts ----------------------------------------------------------------------------------------

    def expire(self, s: Any, b: Any) -> None:
        """Its leader nodes vanish with a session; with a lease the broker has stopped leading before."""
        super().expire(s, b)
        if self.step_down == "before-expiry":
            for p in self.all_partitions:
                self.stop_leading(s, p, b)

    def read_everything(self, s: Any, b: Any) -> None:
        """A broker with a new session looks for the leader of each of its partitions."""
        for p in self.all_partitions:
            s.watch[p][b][PATH] = when(self.is_replica(s, p, b), "fired", "none")

    def is_out_of_service(self, s: Any, b: Any) -> Any:
        """Whether a broker has neither a role nor is becoming leader anywhere."""
        roles = [s.replica[p][b] for p in self.all_partitions]
        return every((replica.role == "none") & (replica.step == "none") for replica in roles)

    @action(b=broker, actor="b")
    def broker_startup(self, s: Any, b: Any) -> None:
        """A broker whose former session is over starts its replicas and registers (brokerStartup)."""
        if not self.has_crashes or not self.restarts:
            return
        s.require(~s.up.has(b), ~s.live.has(b))
        s.up = s.up | {b}
        self.start_replicas(s, b)

    def start_replicas(self, s: Any, b: Any) -> None:
        s.live = s.live | {b}
        for p in self.all_partitions:
            self.start_replica(s, p, b, self.is_replica(s, p, b))

    def start_replica(self, s: Any, p: int, b: Any, here: Any) -> None:
        """startReplica, if a replica is to be here: it follows the leader, or looks for one as on a leader change."""
        state, replica, log = s.state[p], s.replica[p][b], s.log[p][b]
        follows = here & ~state.leader.is_none & (state.leader != b)
        begins = follows & ((replica.role != "follower") | (replica.leader != state.leader))
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
        self.note_load(s, 0, 2)
