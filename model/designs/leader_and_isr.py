"""ZooKeeper's part: who is live, and the LeaderAndISR path of each partition that the leader's ISR writes go to.

The path has leader, ISR, leader epoch and zkVersion, which every write raises. The leader alone takes replicas out of
the ISR and in again, by a write that is conditional on the version it last saw (maybe_change_ISR of the page). A
*zombie* is a broker whose session has expired and that runs on: it leads until it hears of another leader.
"""

from __future__ import annotations

from typing import Any

from model.designs.data_plane import DataPlane
from model.designs.logs import UNKNOWN, any_partition
from model.language import action, broker, minimum, number, optional, per, record, set_of, setting, some, when


class LeaderAndIsr(DataPlane):
    """Sessions, and ISR writes guarded by the zkVersion."""

    abstract = True

    max_version = setting(
        4,
        at_least=0,
        at_most=15,
        meaning="greatest zkVersion of the LeaderAndISR path",
        bound=lambda m, s: some(s.state[p].version == m.max_version for p in m.all_partitions),
    )
    isr_at_start = setting(0, at_least=0, at_most=5, meaning="replicas in the first ISR; 0 is all of them")
    expiries = setting(
        0,
        at_least=0,
        at_most=3,
        meaning="sessions that expire although the broker runs on",
        bound=lambda m, s: s.expiries == m.expiries if m.expiries else False,
    )
    isr_write = setting(
        "conditional",
        choices=("conditional", "unconditional"),
        meaning="whether the leader writes the ISR only at the version that it last saw",
    )
    lost_replies = setting(
        0,
        at_least=0,
        at_most=2,
        meaning="conditional writes that succeed although the leader is told otherwise (KAFKA-1382)",
    )
    read_back = setting(True, meaning="a leader whose write seems to have failed looks whether it did (KAFKA-1382)")
    expand_guard = setting(
        "epoch-start",
        choices=("literal", "high-watermark", "epoch-start"),
        meaning="when a replica joins the ISR: the page's lag test, at the leader's high watermark, and also at the "
        "start of the leader's epoch (KAFKA-7128)",
    )
    shrink_guard = setting(
        "lagging",
        choices=("lagging", "any"),
        meaning="whom a leader takes out of the ISR: who is behind its log end, or anybody that may have been slow",
    )

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def needs_epoch_start(self) -> bool:
        return bool(self.expand_guard == "epoch-start")

    @property
    def replicas_at_start(self) -> tuple[Any, ...]:
        """The replicas that partitions are first assigned to."""
        return self.brokers

    def decision(self) -> dict[str, Any]:
        """What the LeaderAndISR path holds, and every command that tells of it."""
        return {
            "leader": optional(broker),
            "isr": set_of(broker),
            "epoch": self.any_epoch(),
            "version": number(0, self.max_version),
        }

    def replica_fields(self) -> dict[str, Any]:
        return {**super().replica_fields(), "version": number(0, self.max_version)}

    def variables(self) -> dict[str, Any]:
        """The data plane, live brokers, and the LeaderAndISR path of each partition."""
        found = {
            **super().variables(),
            "live": set_of(broker),
            "state": per(any_partition(self), record(**self.decision())),
        }
        for budget in ("expiries", "lost_replies"):
            if getattr(self, budget):
                found[budget] = number(0, getattr(self, budget))
        return found

    def initial(self, s: Any) -> None:
        """Broker 0 leads every partition in epoch 0; the first brokers are in the ISR, all other replicas follow."""
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

    def begin(self, s: Any, p: int, b: Any, members: Any) -> None:
        """The first role of a replica."""
        first, replica = self.broker(0), s.replica[p][b]
        replica.role = "leader" if b == first else "follower"
        replica.leader = first
        replica.epoch = 0
        if b == first:
            replica.isr = members
            if self.has_epoch_cache and self.assign_on_leader and self.records_have_epochs:
                s.epoch_cache[p][b] = [{"epoch": 0, "start": 0}]

    # --- words ------------------------------------------------------------------------------------------------------

    def greatest_epoch_is_reached(self, s: Any) -> Any:
        return some(s.state[p].epoch == self.max_leader_epoch for p in self.all_partitions)

    def is_legitimate(self, s: Any, p: int, b: Any) -> Any:
        """Whether ZooKeeper agrees that a broker leads, in the epoch in which it does."""
        leads = self.leads(s, p, b) & self.serves_the_topic(s, p, b)
        return leads & (s.state[p].leader == b) & (s.state[p].epoch == s.replica[p][b].epoch)

    def has_path(self, s: Any, p: int) -> Any:
        """Whether the LeaderAndISR path exists."""
        return True

    def tracks(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        """Whether a leader knows a follower as a replica of the partition."""
        return True

    def give_up_role(self, s: Any, p: int, b: Any, high_watermark: Any) -> None:
        super().give_up_role(s, p, b, high_watermark)
        s.replica[p][b].version = 0

    # --- the leader and its ISR -------------------------------------------------------------------------------------

    def write_isr(self, s: Any, p: int, b: Any, isr: Any, told: bool = True) -> None:
        """The leader writes the ISR to ZooKeeper; `told` is false where the answer is lost."""
        replica, state = s.replica[p][b], s.state[p]
        s.require(self.leads(s, p, b), self.has_path(s, p), state.version < self.max_version)
        version = state.version + 1
        if self.isr_write == "conditional":
            s.require(state.version == replica.version)
            state.isr = isr
            state.version = version
        else:
            s.state[p] = {"leader": b, "isr": isr, "epoch": replica.epoch, "version": version}
        if told:
            replica.isr = isr
            replica.version = version

    def lags(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        return s.known_end[p][b][follower] < s.log[p][b].length

    def may_expand(self, s: Any, p: int, b: Any, follower: Any) -> Any:
        replica, end = s.replica[p][b], s.known_end[p][b][follower]
        outside = ~replica.isr.has(follower) & self.tracks(s, p, b, follower)
        if self.expand_guard == "literal":
            least = s.log[p][b].length
            for f in self.brokers:
                least = when(replica.isr.has(f), minimum(least, self.end_seen_by(s, p, b, f)), least)
            return outside & (end - least < 1)
        reaches = (end != UNKNOWN) & (end >= replica.high_watermark)
        if self.expand_guard == "epoch-start":
            reaches = reaches & (end >= replica.epoch_start)
        return outside & reaches

    @action(p=any_partition, b=broker, follower=broker, actor="b")
    def shrink_isr(self, s: Any, p: int, b: Any, follower: Any) -> None:
        """The leader takes a follower that lags behind its log end out of the ISR."""
        if b == follower:
            return
        s.require(s.replica[p][b].isr.has(follower), self.lags(s, p, b, follower))
        self.write_isr(s, p, b, s.replica[p][b].isr - {follower})

    @action(p=any_partition, b=broker, follower=broker, actor="b", perturbation=True)
    def shrink_isr_of_slow(self, s: Any, p: int, b: Any, follower: Any) -> None:
        """The leader takes a follower out of the ISR that has caught up but has not fetched for too long."""
        if b == follower or self.shrink_guard != "any":
            return
        s.require(s.replica[p][b].isr.has(follower), ~self.lags(s, p, b, follower))
        self.write_isr(s, p, b, s.replica[p][b].isr - {follower})

    @action(p=any_partition, b=broker, follower=broker, actor="b")
    def expand_isr(self, s: Any, p: int, b: Any, follower: Any) -> None:
        """The leader takes a follower that has caught up into the ISR."""
        if b == follower:
            return
        s.require(self.may_expand(s, p, b, follower))
        self.write_isr(s, p, b, s.replica[p][b].isr | {follower})

    @action(p=any_partition, b=broker, follower=broker, actor="zookeeper", perturbation=True)
    def expand_isr_and_lose_the_reply(self, s: Any, p: int, b: Any, follower: Any) -> None:
        """The leader's write of a larger ISR succeeds, and the connection breaks before it knows."""
        if b == follower or not self.lost_replies:
            return
        s.require(s.lost_replies < self.lost_replies, self.may_expand(s, p, b, follower))
        s.lost_replies += 1
        self.write_isr(s, p, b, s.replica[p][b].isr | {follower}, told=self.read_back)

    # --- sessions ---------------------------------------------------------------------------------------------------

    def expire(self, s: Any, b: Any) -> None:
        s.live = s.live - {b}

    @action(b=broker, actor="zookeeper")
    def session_of_the_dead_expires(self, s: Any, b: Any) -> None:
        """The ephemeral nodes of a broker that crashed vanish."""
        if not self.has_crashes:
            return
        s.require(s.live.has(b), ~s.up.has(b))
        self.expire(s, b)

    @action(b=broker, actor="zookeeper", perturbation=True)
    def session_expires(self, s: Any, b: Any) -> None:
        """A broker loses its session and runs on: a zombie."""
        if not self.expiries:
            return
        s.require(s.expiries < self.expiries, s.live.has(b), self.is_up(s, b))
        s.expiries += 1
        self.expire(s, b)

    @action(b=broker, actor="b")
    def register_again(self, s: Any, b: Any) -> None:
        """A broker that had lost its session has a new one."""
        if not self.expiries:
            return
        s.require(self.is_up(s, b), ~s.live.has(b))
        s.live = s.live | {b}
