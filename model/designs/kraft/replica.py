"""Replica and ReplicaState: what a leader knows of each follower.

A leader knows each follower's log end offset and broker epoch at the follower's last fetch. The leader also knows
whether the follower was at the leader's log end within replica.lag.time.max.ms. There is no clock: a follower that was
caught up may exceed this time at any moment.

Left out: log start offsets; times; a second rule for caught-up followers. By Kafka's second rule, a follower is also
caught up if its fetch offset reaches the log end that the leader had at the follower's previous fetch. So a follower
counts as lagging more often here than in Kafka.

Source: Replica.java, ReplicaState.java of Kafka 4.3; KIP-903.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import UnifiedLog, any_partition
from isrcheck.model.language import broker, number, per, set_of, setting, when

UNKNOWN = -1
"""A log end offset, or a broker epoch, that a leader has not learnt since it became leader."""


class Followers(NamedTuple):
    """What a leader knows about its followers, by broker."""

    ends: dict[Any, Any]
    broker_epochs: dict[Any, Any]
    caught_up: Any


class Replica(UnifiedLog):
    """Followers as a leader sees them."""

    abstract = True

    follower_state = setting(
        "kept",
        choices=("kept", "kept-unless-skipped", "forgotten"),
        meaning="what a leader still knows of its followers when it leads again in a later epoch. kept: their log ends "
        "and broker epochs; kept-unless-skipped: nothing if it did not lead in the epoch before; forgotten: nothing",
    )

    restarts: Any
    """Defined in `metadata_log`: how often brokers may start again."""

    def holds(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "known_end": per(any_partition(self), per(broker, per(broker, number(UNKNOWN, self.log_size)))),
            "caught_up": per(any_partition(self), per(broker, set_of(broker))),
        }
        if self.restarts:
            known = number(UNKNOWN, self.restarts)
            found["known_broker_epoch"] = per(any_partition(self), per(broker, per(broker, known)))
        return found

    # --- as values --------------------------------------------------------------------------------------------------

    def followers_of(self, s: KraftState, p: int, b: Any) -> Followers:
        known = {f: s.known_broker_epoch[p][b][f] if self.restarts else 0 for f in self.brokers}
        return Followers({f: s.known_end[p][b][f] for f in self.brokers}, known, s.caught_up[p][b])

    def store_followers(self, s: KraftState, p: int, b: Any, followers: Followers) -> None:
        s.known_end[p][b] = list(followers.ends.values())
        s.caught_up[p][b] = followers.caught_up
        if self.restarts:
            s.known_broker_epoch[p][b] = list(followers.broker_epochs.values())

    def forget_followers(self, s: KraftState, p: int, b: Any) -> None:
        self.store_followers(s, p, b, self.unknown_followers(set()))

    def unknown_followers(self, caught_up: Any) -> Followers:
        ends = dict.fromkeys(self.brokers, UNKNOWN)
        return Followers(ends, dict(ends), caught_up)

    # --- rules ------------------------------------------------------------------------------------------------------

    def reset_replica_state(self, old: Followers, isr: Any, new_leader: Any, skipped: Any) -> Followers:
        """resetReplicaState: when a leader begins an epoch, the members of the ISR, and no others, count as caught up.

        A new leader knows nothing else about its followers. With `follower_state = kept`, a broker that already led
        keeps the log end offsets and broker epochs that it knew. Such a broker may have missed an epoch in which
        another broker led, because it can apply several metadata batches in one step. In the missed epoch, followers
        may have truncated their logs to offsets below those that the broker knows.
        """
        forgets = new_leader
        if self.follower_state == "forgotten":
            forgets = True
        elif self.follower_state == "kept-unless-skipped":
            forgets = new_leader | skipped
        ends = {f: when(forgets, UNKNOWN, end) for f, end in old.ends.items()}
        known = {f: when(forgets, UNKNOWN, x) for f, x in old.broker_epochs.items()}
        return Followers(ends, known, isr)

    def known_of(self, old: Followers, replicas: Any) -> Followers:
        """updateAssignmentAndIsr: a leader forgets what it knows of brokers that are not replicas."""
        ends = {f: when(replicas.has(f), end, UNKNOWN) for f, end in old.ends.items()}
        known = {f: when(replicas.has(f), x, UNKNOWN) for f, x in old.broker_epochs.items()}
        return Followers(ends, known, old.caught_up & replicas)

    def after_fetch(
        self, s: KraftState, old: Followers, follower: Any, offset: Any, leaders_end: Any, life: Any = None
    ) -> Followers:
        """updateFetchStateOrThrow: what a leader knows after a follower has fetched at an offset.

        `life` is the broker epoch of the fetch; if it is None, the follower's present broker epoch is used.
        """
        caught_up = when(offset >= leaders_end, old.caught_up | {follower}, old.caught_up)
        epoch = 0 if not self.restarts else s.broker_epoch[follower] if life is None else life
        return Followers({**old.ends, follower: offset}, {**old.broker_epochs, follower: epoch}, caught_up)

    def chosen_followers(self, where: Any, yes: Followers, no: Followers) -> Followers:
        """`yes` if a condition holds, otherwise `no`."""
        return Followers(
            {f: when(where, yes.ends[f], no.ends[f]) for f in self.brokers},
            {f: when(where, yes.broker_epochs[f], no.broker_epochs[f]) for f in self.brokers},
            when(where, yes.caught_up, no.caught_up),
        )

    def is_caught_up(self, followers: Followers, follower: Any, leaders_end: Any) -> Any:
        """isCaughtUp: whether a follower is at the leader's log end, or was there within replica.lag.time.max.ms."""
        return (followers.ends[follower] == leaders_end) | followers.caught_up.has(follower)

    def is_isr_eligible(self, image: Any, followers: Followers, follower: Any) -> Any:
        """isReplicaIsrEligible: whether the leader's metadata allows a follower to join the ISR.

        The follower must have fetched, and must be neither fenced nor shutting down (KIP-841). The metadata must have
        the same broker epoch for the follower as its last fetch. Otherwise the follower may have restarted after the
        fetch, and lost what it had fetched (KIP-903).
        """
        found = image.live.has(follower) & (followers.ends[follower] != UNKNOWN)
        if not self.restarts:
            return found
        return found & (followers.broker_epochs[follower] == image.broker_epoch[follower])
