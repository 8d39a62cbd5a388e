"""Kafka without ZooKeeper: replication under a KRaft controller, as in Kafka 4.

Each part of the model is a file. The file is named after the Kafka class whose rules it has, so that file and class can
be read side by side. All parts use `unified_log`. Brokers and controller share `partition_registration`,
`configuration_control` and `metadata_log`. A broker has `produce_purgatory`, `alter_partition_manager`, `replica`,
`partition`, `replica_fetcher` and `broker_metadata_publisher`. The controller has `partition_reassignment_replicas`,
`partition_change_builder`, `replication_control` and `cluster_control`. `broker_lifecycle` concerns both. The base
classes of a part are parts that it uses. A part may also use attributes of other parts. Then the part declares these
attributes, and names the parts that define them. docs/reference/designs.md has a table of Kafka's functions and their
counterparts in the model.

At the start, a topic of one partition exists and all brokers know it. Broker 0 leads in epoch 0.

Left out, in addition to what each part leaves out: several partitions, creation and deletion of topics, a failover of
the controller, transactions, time.

Source: Kafka 4.3; KIP-497, KIP-631, KIP-841, KIP-903, KIP-966.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.broker_lifecycle import BrokerLifecycle
from isrcheck.model.designs.kraft.broker_metadata_publisher import BrokerMetadataPublisher
from isrcheck.model.designs.kraft.cluster_control import ClusterControl
from isrcheck.model.designs.kraft.profiles import KRAFT
from isrcheck.model.designs.kraft.releases import KAFKA
from isrcheck.model.designs.kraft.replica_fetcher import ReplicaFetcher
from isrcheck.model.designs.kraft.replication_control import ReplicationControl
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.language import count


class Kraft(BrokerLifecycle, BrokerMetadataPublisher, ReplicaFetcher, ClusterControl, ReplicationControl):
    """Replication by brokers and a KRaft controller."""

    invariants = (
        "isr-sane",
        "no-acknowledged-loss",
        "no-committed-loss",
        "quorum-is-superset-of-isr",
        "single-committed-leader-per-epoch",
    )

    profiles = KRAFT
    releases = KAFKA

    # The methods that invariants need from every design.

    def is_legitimate(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether a broker believes that it leads, and the controller agrees that it leads in the same leader epoch."""
        return self.leads(s, p, b) & (s.state[p].leader == b) & (s.state[p].epoch == s.replica[p][b].epoch)

    def follows_for_good(self, s: KraftState, p: int, follower: Any, leader: Any) -> Any:
        """Whether a replica follows a leader in the controller's present leader epoch."""
        return self.follows(s, p, follower, leader) & (s.replica[p][follower].epoch == s.state[p].epoch)

    def serves_the_topic(self, s: KraftState, p: int, b: Any) -> Any:
        return True

    def has_path(self, s: KraftState, p: int) -> Any:
        return True

    def is_up(self, s: KraftState, b: Any) -> Any:
        """Whether a broker runs and its replica's directory has not failed."""
        return self.runs(s, b) & ~s.offline.has(b) if self.directory_failures else self.runs(s, b)

    def is_assigned(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether a broker is a replica of a partition and no reassignment removes it."""
        return self.is_replica(s.state[p], b) & ~s.state[p].removing.has(b) if self.reassigns else True

    def is_wanted(self, s: KraftState, p: int, b: Any) -> Any:
        """Whether a broker is a replica of a partition at present, even if a reassignment removes it later."""
        return self.is_replica(s.state[p], b)

    def known_replicas(self, s: KraftState, p: int, leader: Any) -> Any:
        return self.image_of(s, leader).partition[p].replicas

    def is_moving(self, s: KraftState, p: int) -> Any:
        """Whether a reassignment is under way."""
        return ~s.state[p].adding.is_empty | ~s.state[p].removing.is_empty

    def has_a_quorum(self, s: KraftState, p: int, leader: Any) -> Any:
        """Whether the leader and the ISR members that can fetch from it are at least min.insync.replicas in number."""
        present = count(
            s.replica[p][leader].isr.has(f) & (self.may_fetch(s, p, f, leader) if f != leader else True)
            for f in self.brokers
        )
        return present >= self.min_isr_of(self.image_of(s, leader), self.image_of(s, leader).partition[p])

    @property
    def has_crashes(self) -> bool:
        return bool(self.restarts or self.directory_failures)

    needs_epoch_start = True
