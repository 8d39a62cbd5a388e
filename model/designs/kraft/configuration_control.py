"""ConfigurationControlManager: min.insync.replicas, which an operator may change while the cluster runs.

Only the *effective* value counts, which is at most the number of replicas. The controller counts the replicas of the
topic's partition 0. A broker counts the replicas of the partition itself.

Source: ConfigurationControlManager.java, ReplicationControlManager.getTopicEffectiveMinIsr, Partition.effectiveMinIsr
of Kafka 4.3; KIP-966.
"""

from __future__ import annotations

from typing import Any, ClassVar

from isrcheck.model.designs.kraft.partition_registration import PartitionRegistration
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.language import flag, inert, minimum, setting, when
from isrcheck.model.language.setting_constraints import SettingConstraints


class ConfigurationControl(PartitionRegistration):
    """The number of ISR members that a write needs."""

    abstract = True

    replicas_counted = setting(
        "own",
        choices=("own", "of-partition-0"),
        meaning="with reassignments: whose replicas limit the effective min.insync.replicas at the controller. own: "
        "those of this partition, which is partition 0 of its topic; of-partition-0: this is another partition, and "
        "partition 0 keeps as many replicas as at the start",
    )
    min_isr = setting(
        1,
        at_least=1,
        at_most=5,
        meaning="min.insync.replicas: a leader with a smaller ISR takes no writes and does not raise its high "
        "watermark",
    )
    min_isr_then = setting(
        0,
        at_least=0,
        at_most=5,
        meaning="the value to which an operator changes min.insync.replicas, once; 0: nobody changes it",
        bound=lambda m, s: s.min_isr_changed if m.min_isr_then else False,
    )
    min_isr_change = setting(
        "alone",
        choices=("alone", "with-a-partition-epoch"),
        meaning="with min_isr_then: what a change of min.insync.replicas does to the partition. alone: it clears the "
        "ELR, if there is one; with-a-partition-epoch: it also raises the partition epoch, so that the requests of a "
        "leader that has not heard of the change are refused",
    )
    elr_is_cleared = setting(
        "always",
        choices=("always", "unless-raised-without-isr"),
        meaning="with min_isr_then and elr: when a change of min.insync.replicas clears the ELR. always: whatever the "
        "ISR is; unless-raised-without-isr: not if the value rises while the ISR is empty, since nobody can have "
        "committed without the members of the ELR",
    )
    config_order = setting(
        "after-partitions",
        choices=("after-partitions", "before-partitions"),
        meaning="with min_isr_then: in which order a broker applies a delta that changes both the partition and "
        "min.insync.replicas. after-partitions: the partition first, as BrokerMetadataPublisher does; "
        "before-partitions: the partition last",
    )

    setting_constraints: ClassVar[SettingConstraints] = (
        inert("replicas_counted", unless=lambda m: m.reassignments > 0, words="it needs reassignments>=1"),
        inert("elr_is_cleared", unless=lambda m: m.min_isr_then > 0 and m.elr, words="it needs min_isr_then and elr"),
        inert(
            "min_isr_change",
            "config_order",
            unless=lambda m: m.min_isr_then > 0,
            words="it needs min_isr_then>=1",
        ),
    )

    def holds(self) -> dict[str, Any]:
        return {"min_isr_changed": flag} if self.min_isr_then else {}

    def controllers_min_isr(self, s: KraftState, p: int) -> Any:
        """getTopicEffectiveMinIsr: min.insync.replicas, or the number of replicas of partition 0 if that is smaller."""
        if self.replicas_counted == "own" or not self.reassigns:
            return self.min_isr_of(s, s.state[p])
        count = self.assigned_at_start or len(self.brokers)
        first = min(self.min_isr, count)
        return when(s.min_isr_changed, min(self.min_isr_then, count), first) if self.min_isr_then else first

    def min_isr_of(self, where: Any, registration: Any) -> Any:
        """effectiveMinIsr: min.insync.replicas, or the number of replicas if that is smaller.

        `where` has the value of min.insync.replicas: a broker's image of the metadata or, for the controller's value,
        the state itself. `registration` must come from the same image or state.
        """
        found: Any = min(self.min_isr, len(self.brokers))
        if self.min_isr_then:
            found = when(where.min_isr_changed, min(self.min_isr_then, len(self.brokers)), found)
        return minimum(found, registration.replicas.size) if self.reassigns else found

    @property
    def least_min_isr(self) -> int:
        """A lower bound of the effective min.insync.replicas at all times."""
        replicas = self.assigned_at_start or len(self.brokers)
        if self.reassignments and self.replication_factor_changes:
            replicas = min(replicas, self.fewest_replicas)
        return int(min(replicas, self.min_isr, self.min_isr_then or self.min_isr))
