"""Kafka without ZooKeeper: replication under a KRaft controller, as in Kafka 4.

Each part is a file, named after the class of Kafka of which it has the rules, and can be laid beside it. All of them
know `unified_log`, `partition_registration`, `configuration_control` and `metadata_log`. A broker has
`produce_purgatory`, `alter_partition_manager`, `replica`, `partition`, `replica_fetcher` and
`broker_metadata_publisher`, the controller `partition_reassignment_replicas`, `partition_change_builder`,
`replication_control` and `cluster_control`; `broker_lifecycle` is what befalls both. What a part uses is in its bases.
docs/documents.md has a table of Kafka's functions and of what stands for each.

A topic of one partition has been created, and all brokers know it: broker 0 leads in epoch 0.

Left out, besides what the parts say: several partitions, topics that come and go, a failover of the controller,
transactions, time.

Source: Kafka 4.3; KIP-497, KIP-631, KIP-841, KIP-903, KIP-966.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.broker_lifecycle import BrokerLifecycle
from isrcheck.model.designs.kraft.profiles import KRAFT
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.language import count


class Kraft(BrokerLifecycle):
    """Replication as brokers and a KRaft controller do it."""

    invariants = (
        "isr-sane",
        "no-acknowledged-loss",
        "no-committed-loss",
        "quorum-is-superset-of-isr",
        "single-committed-leader-per-epoch",
    )

    profiles = KRAFT

    # What invariants ask of every design.

    def is_legitimate(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether the controller agrees that a broker leads, in the epoch in which it does."""
        return self.leads(s, p, b) & (s.state[p].leader == b) & (s.state[p].epoch == s.replica[p][b].epoch)

    def follows_for_good(self, s: KraftState, p: int, follower: Any, leader: Any) -> Any:
        """Whether a replica follows a leader in the present epoch."""
        return self.follows(s, p, follower, leader) & (s.replica[p][follower].epoch == s.state[p].epoch)

    def serves_the_topic(self, s: KraftState, p: int, b: Any) -> Any:
        return True

    def has_path(self, s: KraftState, p: int) -> Any:
        return True

    def is_up(self, s: KraftState, b: Any) -> Any:
        """Whether a broker runs, and has its replica."""
        return self.runs(s, b) & ~s.offline.has(b) if self.directory_failures else self.runs(s, b)

    def is_assigned(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether a partition is to stay at a broker."""
        return self.is_replica(s.state[p], b) & ~s.state[p].removing.has(b) if self.reassigns else True

    def is_wanted(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether a broker is to have a replica, for the time being."""
        return self.is_replica(s.state[p], b)

    def known_replicas(self, s: KraftState, p: int, leader: Any) -> Any:
        return self.image_of(s, leader).partition[p].replicas

    def is_moving(self, s: KraftState, p: int) -> Any:
        """Whether a reassignment is under way."""
        return ~s.state[p].adding.is_empty | ~s.state[p].removing.is_empty

    def has_a_quorum(self, s: KraftState, p: int, leader: Any) -> Any:
        """Whether as many of a leader's ISR as min.insync.replicas asks for fetch from it, itself included."""
        present = count(
            s.replica[p][leader].isr.has(f) & (self.may_fetch(s, p, f, leader) if f != leader else True)
            for f in self.brokers
        )
        return present >= self.min_isr_of(self.image_of(s, leader), self.image_of(s, leader).partition[p])

    @property
    def has_crashes(self) -> bool:
        return bool(self.restarts or self.directory_failures)

    needs_epoch_start = True
