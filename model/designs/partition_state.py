"""State that all brokers share: the live brokers, and the leader, ISR, epoch and version of each partition.

V3 keeps this state in ZooKeeper: ephemeral nodes, and one LeaderAndISR path for each partition. Each write of such a
path raises its zkVersion. This file also defines when a replica may leave or join the ISR. Each design defines how the
ISR is written. A *zombie* is a broker that runs on after its session has expired. If a zombie leads, it goes on leading
until it hears of another leader.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State, design_constraints, sentences
from isrcheck.model.designs.fetches import Fetching
from isrcheck.model.designs.replicas import UNKNOWN, any_partition
from isrcheck.model.language import (
    action,
    asked,
    becomes,
    broker,
    budget,
    every,
    identity,
    minimum,
    number,
    optional,
    per,
    record,
    set_of,
    setting,
    some,
    when,
)


class PartitionState(Fetching):
    """Sessions of brokers, and the leader, ISR, epoch and version of each partition."""

    abstract = True

    max_version = setting(
        4,
        at_least=1,
        at_most=15,
        meaning="greatest zkVersion of the LeaderAndISR path",
        bound=lambda m, s: some(~m.has_version(s, p) for p in m.all_partitions),
    )
    isr_at_start = setting(0, at_least=0, at_most=5, meaning="replicas in the first ISR; 0: all")
    expiries = budget(at_most=3, meaning="sessions that expire while the broker runs on")
    expand_guard = setting(
        "epoch-start",
        choices=("literal", "high-watermark", "epoch-start", "at-fetch"),
        meaning="when a replica joins the ISR. literal: when it passes the lag test of the design document; "
        "high-watermark: when it has reached the leader's high watermark; epoch-start: when it has also reached the "
        "start of the leader's epoch (KAFKA-7128); at-fetch: the same, but only while the leader handles its fetch, "
        "as in Kafka. The first three are tested at any moment, by what the leader knows",
    )
    shrink_guard = setting(
        "lagging",
        choices=("lagging", "any"),
        meaning="which followers a leader removes from the ISR. lagging: those behind its log end; any: also followers "
        "that have caught up, since they may have been slow",
    )

    versions: Any = "counted"
    """How zkVersions are represented: `counted`, or `identity` if they are only compared for equality."""

    setting_constraints = design_constraints.PARTITION_STATE

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def needs_epoch_start(self) -> bool:
        """Whether a leader must remember at which offset its epoch began."""
        return bool(self.expand_guard in ("epoch-start", "at-fetch"))

    @property
    def replicas_at_start(self) -> tuple[Any, ...]:
        """The replicas of each partition in the initial state."""
        return self.brokers

    def decision(self) -> dict[str, Any]:
        """The fields of the LeaderAndISR path, and of the commands that carry its content."""
        return {
            "leader": optional(broker),
            "isr": set_of(broker),
            "epoch": self.any_epoch(),
            "version": self.any_version(),
        }

    def any_version(self) -> Any:
        return identity(self.max_version + 1) if self.versions == "identity" else number(0, self.max_version)

    def has_version(self, s: State, p: int) -> Any:
        """Whether the bounds of the search allow another version of a partition's path."""
        if self.versions == "identity":
            return ~s.used_up(self.any_version())
        return s.state[p].version < self.max_version

    def next_version(self, s: State, p: int) -> Any:
        """The version that the next write gets; no broker knows it yet."""
        return s.fresh(self.any_version()) if self.versions == "identity" else s.state[p].version + 1

    def replica_fields(self) -> dict[str, Any]:
        return {**super().replica_fields(), "version": self.any_version()}

    def variables(self) -> dict[str, Any]:
        """Adds the live brokers, and the LeaderAndISR path of each partition."""
        found = {
            **super().variables(),
            "live": set_of(broker),
            "state": per(any_partition(self), record(**self.decision())),
        }
        if self.expiries:
            found["expiries"] = number(0, self.expiries)
        return found

    def initial(self, s: State) -> None:
        """Broker 0 leads every partition in epoch 0, and all other replicas follow.

        The ISR has the first `isr_at_start` replicas, or all replicas if this setting is 0.
        """
        assigned = self.replicas_at_start
        members = set(assigned[: self.isr_at_start or len(assigned)])
        s.live = set(self.brokers)
        if self.has_crashes:
            s.up = set(self.brokers)
        for p in self.all_partitions:
            s.state[p] = {"leader": self.broker(0), "isr": members, "epoch": 0, "version": 0}
            for b in self.brokers:
                self.forget_followers(s, p, b)
                if b in assigned:
                    self.begin(s, p, b, members)

    def begin(self, s: State, p: int, b: Any, members: Any) -> None:
        """Gives a replica its first role: broker 0 leads, the others follow."""
        first, replica = self.broker(0), s.replica[p][b]
        replica.role = "leader" if b == first else "follower"
        replica.leader = first
        replica.epoch = 0
        if b == first:
            replica.isr = members
            if self.has_epoch_cache and self.assign_on_leader and self.records_have_epochs:
                s.epoch_cache[p][b] = [{"epoch": 0, "start": 0}]

    # --- words ------------------------------------------------------------------------------------------------------

    def greatest_epoch_is_reached(self, s: State) -> Any:
        return some(s.state[p].epoch == self.max_leader_epoch for p in self.all_partitions)

    def has_room(self, s: State) -> Any:
        """Whether the bounds of the search leave room for another decision about every partition."""
        return every(self.has_version(s, p) & (s.state[p].epoch < self.max_leader_epoch) for p in self.all_partitions)

    def is_legitimate(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker leads the current topic, and the shared state names it as leader in the same epoch."""
        leads = self.leads(s, p, b) & self.serves_the_topic(s, p, b)
        return leads & (s.state[p].leader == b) & (s.state[p].epoch == s.replica[p][b].epoch)

    def follows_for_good(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        """Whether a replica follows a leader in the partition's present leader epoch."""
        return self.follows(s, p, follower, leader) & (s.replica[p][follower].epoch == s.state[p].epoch)

    @property
    def has_topics(self) -> bool:
        """Whether topics are deleted and created."""
        return False

    @property
    def reassigns(self) -> bool:
        """Whether partitions may be reassigned."""
        return False

    def is_assigned(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker is a replica of a partition; without reassignment every broker is."""
        return s.assignment[p].replicas.has(b) if self.reassigns else True

    def is_wanted(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker is a replica of a partition or, in V2, becomes one by the reassignment under way."""
        return self.is_assigned(s, p, b)

    def is_moving(self, s: State, p: int) -> Any:
        """Whether a reassignment or, in V2, the creation or deletion of a topic is under way."""
        return s.assignment[p].phase != "none"

    def known_replicas(self, s: State, p: int, leader: Any) -> Any:
        """The replicas of a partition, as far as its leader knows."""
        return s.replica[p][leader].replicas

    def has_path(self, s: State, p: int) -> Any:
        """Whether the LeaderAndISR path exists."""
        return True

    def knows_the_topic(self, s: State, p: int, b: Any) -> Any:
        """Whether a broker that changes the ISR knows the current topic, not a deleted topic of the same name."""
        return True

    def tracks(self, s: State, p: int, b: Any, follower: Any) -> Any:
        """Whether a leader knows a follower as a replica of the partition."""
        return s.replica[p][b].replicas.has(follower) if self.reassigns else True

    # --- who may leave the ISR and join it ----------------------------------------------------------------------------

    def lags(self, s: State, p: int, b: Any, follower: Any) -> Any:
        return s.known_end[p][b][follower] < s.log[p][b].length

    def may_expand(self, s: State, p: int, b: Any, follower: Any) -> Any:
        replica, end = s.replica[p][b], s.known_end[p][b][follower]
        outside = ~replica.isr.has(follower) & self.tracks(s, p, b, follower)
        if self.expand_guard == "literal":
            least = s.log[p][b].length
            for f in self.brokers:
                least = when(replica.isr.has(f), minimum(least, self.end_seen_by(s, p, b, f)), least)
            return outside & (end - least < 1)
        reaches = (end != UNKNOWN) & (end >= replica.high_watermark)
        if self.needs_epoch_start:
            reaches = reaches & (end >= replica.epoch_start)
        if self.expand_guard == "at-fetch":
            reaches = reaches & self.has_just_fetched(s, p, b, follower)
        return outside & reaches

    def has_just_fetched(self, s: State, p: int, b: Any, follower: Any) -> Any:
        """Whether a leader may at present be handling a follower's last fetch, or a repetition of this fetch.

        This is possible if the follower still fetches from this leader, and has at most one record more than the leader
        knows.
        """
        end, known = s.log[p][follower].length, s.known_end[p][b][follower]
        return self.may_fetch(s, p, follower, b) & (known <= end) & (end <= known + 1)

    def change_isr(self, s: State, p: int, b: Any, isr: Any) -> None:
        """Lets the leader change the ISR; each design defines how."""
        raise NotImplementedError

    def isr_in_words(self, old: Any, new: Any, p: int, b: Any, whom: str) -> str:
        """A sentence about a leader that changes the ISR; `whom` says who leaves or joins."""
        who, written = sentences.leader_in_words(self, old, p, b), sentences.state_in_words(old, new, p)
        return f"{who} writes the ISR {whom}: {written}"

    @action(p=any_partition, b=broker, follower=broker, actor="b")
    def shrink_isr(self, s: State, p: int, b: Any, follower: Any) -> None:
        """A follower is behind the leader's log end: the leader removes it from the ISR."""
        if b == follower:
            return
        s.require(s.replica[p][b].isr.has(follower), self.lags(s, p, b, follower))
        self.change_isr(s, p, b, s.replica[p][b].isr - {follower})

    def describe_shrink_isr(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        far = sentences.far_in_words(old.known_end[p][b][follower])
        return self.isr_in_words(old, new, p, b, f"without {follower}, {far} (its own log end is {len(old.log[p][b])})")

    @action(
        p=any_partition,
        b=broker,
        follower=broker,
        actor="b",
        environment=True,
        where=lambda m: m.shrink_guard == "any",
    )
    def shrink_isr_of_slow(self, s: State, p: int, b: Any, follower: Any) -> None:
        """A follower has caught up but has not fetched for too long: the leader removes it from the ISR."""
        if b == follower:
            return
        s.require(s.replica[p][b].isr.has(follower), ~self.lags(s, p, b, follower))
        self.change_isr(s, p, b, s.replica[p][b].isr - {follower})

    def describe_shrink_isr_of_slow(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        return self.isr_in_words(old, new, p, b, f"without {follower}, which has not fetched for too long")

    @action(p=any_partition, b=broker, follower=broker, actor="b")
    def expand_isr(self, s: State, p: int, b: Any, follower: Any) -> None:
        """A follower has caught up: the leader adds it to the ISR."""
        if b == follower:
            return
        s.require(self.may_expand(s, p, b, follower))
        self.change_isr(s, p, b, s.replica[p][b].isr | {follower})

    def describe_expand_isr(self, old: Any, new: Any, p: int, b: Any, follower: Any) -> str:
        far, passed = sentences.far_in_words(old.known_end[p][b][follower]), old.replica[p][b].high_watermark
        return self.isr_in_words(old, new, p, b, f"with {follower}, {far} (its high watermark is {passed})")

    # --- sessions ---------------------------------------------------------------------------------------------------

    def has_session(self, s: State, b: Any) -> Any:
        """Whether a broker has a session. Other brokers can see this without asking a controller."""
        return s.live.has(b)

    def begin_session(self, s: State, b: Any) -> None:
        s.live = s.live | {b}

    def expire(self, s: State, b: Any) -> None:
        s.live = s.live - {b}

    @action(b=broker, actor="zookeeper", where=lambda m: m.has_crashes)
    def session_of_the_dead_expires(self, s: State, b: Any) -> None:
        """The session of a broker that has crashed expires, and its ephemeral nodes vanish."""
        s.require(s.live.has(b), ~s.up.has(b))
        self.expire(s, b)

    def describe_session_of_the_dead_expires(self, old: Any, new: Any, b: Any) -> str:
        return f"the session of {b}, which is down, expires: live brokers {becomes(old.live, new.live)}"

    @action(b=broker, actor="zookeeper", environment=True, where=lambda m: m.expiries)
    def session_expires(self, s: State, b: Any) -> None:
        """A broker loses its session and runs on: a zombie."""
        s.require(s.expiries < self.expiries, s.live.has(b), self.is_up(s, b))
        s.expiries += 1
        self.expire(s, b)

    def describe_session_expires(self, old: Any, new: Any, b: Any) -> str:
        leads = any(asked(old, self.leads, p, b) for p in self.all_partitions)
        on = "which runs and leads on in its own eyes" if leads else "which runs on"
        return f"the session of {b}, {on}, expires: live brokers {becomes(old.live, new.live)}"

    @action(b=broker, actor="b", where=lambda m: m.expiries)
    def register_again(self, s: State, b: Any) -> None:
        """A broker that lost its session registers with a new one, as after a start."""
        s.require(self.is_up(s, b), ~s.live.has(b))
        self.begin_session(s, b)

    def describe_register_again(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} has a new session: live brokers {becomes(old.live, new.live)}"
