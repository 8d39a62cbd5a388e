"""PartitionRegistration: what the controller knows about a partition.

A registration has the leader, the leader epoch, the ISR, and a *version*. The version is the partition epoch, and rises
with every change. If the partition may be assigned to only some of the brokers (`reassigns`), the registration also has
the replicas, the replicas that a reassignment adds, and the replicas that it removes.

Source: PartitionRegistration.java of Kafka 4.3; KIP-455, KIP-497.
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import UnifiedLog
from isrcheck.model.language import broker, budget, inert, number, optional, record, set_of, setting, some
from isrcheck.model.language.setting_constraints import SettingConstraints


class PartitionRegistration(UnifiedLog):
    """The controller's registration of a partition. Settings say what it contains in the initial states."""

    abstract = True

    max_version = setting(
        4,
        at_least=1,
        at_most=15,
        meaning="greatest partition epoch; partition epochs count from 0",
        bound=lambda m, s: m.greatest_version_is_reached(s),
    )
    isr_at_start = setting(
        0,
        at_least=0,
        at_most=5,
        meaning="size of the ISR at the start (its members are the first brokers by number); 0: all replicas",
    )
    assigned_at_start = setting(
        0,
        at_least=0,
        at_most=5,
        meaning="number of replicas of the partition at the start; 0: all brokers",
    )
    reassignments = budget(at_most=3, meaning="reassignments that an operator asks for")
    cancellations = setting(False, meaning="with reassignments: an operator may cancel a reassignment under way")
    replication_factor_changes = setting(
        True,
        meaning="with reassignments: the target may have more or fewer replicas than before (KIP-860); if false, it "
        "has the same number",
    )
    fewest_replicas = setting(
        1, at_least=1, at_most=5, meaning="with reassignments: the least number of replicas that an operator assigns"
    )

    setting_constraints: ClassVar[SettingConstraints] = (
        inert(
            "cancellations",
            "replication_factor_changes",
            "fewest_replicas",
            unless=lambda m: m.reassignments > 0,
            words="it needs reassignments>=1",
        ),
    )

    def holds(self) -> dict[str, Any]:
        return {"reassignments": number(0, self.reassignments)} if self.reassignments else {}

    def any_registration(self) -> Any:
        """The domain of a registration: leader, ISR, leader epoch, partition epoch; replicas if `reassigns` holds."""
        fields = {"leader": optional(broker), "isr": set_of(broker), "epoch": self.any_epoch()}
        fields["version"] = self.any_version()
        if self.reassigns:
            fields |= {"replicas": set_of(broker), "adding": set_of(broker), "removing": set_of(broker)}
        return record(**fields)

    @property
    def reassigns(self) -> bool:
        """Whether the partition may be assigned to only some of the brokers."""
        return bool(self.reassignments or self.assigned_at_start)

    def any_version(self) -> Any:
        return number(0, self.max_version)

    def first_isr(self) -> set[Any]:
        assigned = self.assigned_at_start or len(self.brokers)
        return set(self.brokers[: min(assigned, self.isr_at_start or assigned)])

    def first_registration(self) -> dict[str, Any]:
        first = {"leader": self.brokers[0], "isr": self.first_isr(), "epoch": 0, "version": 0}
        if self.reassigns:
            assigned = self.brokers[: self.assigned_at_start or len(self.brokers)]
            first |= {"replicas": set(assigned), "adding": set(), "removing": set()}
        return first

    def greatest_version_is_reached(self, s: KraftState) -> Any:
        return some(s.state[p].version == self.max_version for p in self.all_partitions)

    def is_replica(self, registration: Any, b: Any) -> Any:
        """Whether a registration assigns the partition to a broker."""
        return registration.replicas.has(b) if self.reassigns else True
