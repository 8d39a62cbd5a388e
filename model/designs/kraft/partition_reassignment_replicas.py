"""PartitionReassignmentReplicas: the replicas of a partition during a reassignment, and when it is complete.

During a reassignment, a partition is assigned to its old and its new replicas. The replicas that the reassignment
*adds* or *removes* are marked. When the ISR has every added replica, the removed replicas leave the ISR and the
assignment in one step. Versions of Kafka differ in whether the replicas that stay must also be in the ISR.

Left out: the order of replicas (`election = in-order` keeps one order for all brokers).

Source: PartitionReassignmentReplicas.java, PartitionReassignmentRevert.java of Kafka 4.3; KIP-455, KIP-860,
KAFKA-15665, KAFKA-19975.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from isrcheck.model.designs.kraft.partition_registration import PartitionRegistration
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.language import inert, setting, when
from isrcheck.model.language.setting_constraints import SettingConstraints


class Assignment(NamedTuple):
    """The replicas of a partition, and which of them a reassignment adds and removes."""

    replicas: Any
    adding: Any
    removing: Any


class PartitionReassignmentReplicas(PartitionRegistration):
    """Assignments that change."""

    abstract = True

    awaited_in_isr = setting(
        "added-or-all-if-fewer",
        choices=("added-or-all-if-fewer", "all", "added"),
        meaning="with reassignments: which replicas must be in the ISR before the controller removes the old ones. "
        "added-or-all-if-fewer: the added ones, or the whole target if fewer replicas are added than removed "
        "(KAFKA-19975, in 4.3); all: the whole target (KAFKA-15665, in 3.8); added: the added ones",
    )

    setting_constraints: ClassVar[SettingConstraints] = (
        inert(
            "awaited_in_isr",
            unless=lambda m: m.reassignments > 0,
            words="it needs reassignments>=1",
        ),
    )

    def assignment_of(self, s: KraftState, p: int) -> Assignment | None:
        """The assignment in the controller's registration. Returns None if all brokers are always replicas."""
        state = s.state[p]
        return Assignment(state.replicas, state.adding, state.removing) if self.reassigns else None

    def reassigned(self, s: KraftState, p: int, target: Any) -> Assignment:
        """The assignment of a partition when a reassignment to other replicas begins.

        The new reassignment may replace an earlier one that is under way. If the new reassignment adds no replica, the
        replicas that the earlier one adds stay marked. If the new one removes no replica, the replicas that the earlier
        one removes stay marked. (changePartitionReassignment does not replace a list by an empty list.)
        """
        state = s.state[p]
        now, adding, removing = state.replicas, target - state.replicas, state.replicas - target
        kept = (when(adding.is_empty, state.adding, adding), when(removing.is_empty, state.removing, removing))
        return Assignment(now | target, *kept)

    def reverted(self, s: KraftState, p: int) -> Assignment:
        """originalReplicas: the assignment after a reassignment is cancelled."""
        state = s.state[p]
        nobody = state.replicas - state.replicas
        return Assignment(state.replicas - state.adding, nobody, nobody)

    def completed(self, isr: Any, assignment: Assignment | None) -> tuple[Any, Assignment | None]:
        """maybeCompleteReassignment: ISR and assignment. A complete reassignment takes removed replicas from both."""
        if assignment is None:
            return isr, None
        replicas, adding, removing = assignment
        stays, kept = replicas - removing, isr - removing
        moves = ~adding.is_empty | ~removing.is_empty
        done = moves & ~kept.is_empty & ~stays.is_empty & self.have_joined(kept, stays, assignment)
        nobody = replicas - replicas
        found = (when(done, stays, replicas), when(done, nobody, adding), when(done, nobody, removing))
        return when(done, kept, isr), Assignment(*found)

    def have_joined(self, isr: Any, stays: Any, assignment: Assignment) -> Any:
        """Whether the ISR without the removed replicas has every replica that the controller waits for.

        `stays` has all replicas that are not removed. If the ISR lacks some of them, it may be smaller than
        min.insync.replicas. Then too few logs have a record that was acknowledged with a larger ISR. By default the
        controller waits for the added replicas, which replace the removed replicas. If a reassignment adds fewer
        replicas than it removes, the controller waits for all replicas in `stays`.
        """
        added, all_of_them = assignment.adding <= isr, stays <= isr
        if self.awaited_in_isr == "all":
            return all_of_them
        if self.awaited_in_isr == "added":
            return added
        return added & (all_of_them | (assignment.adding.size >= assignment.removing.size))
