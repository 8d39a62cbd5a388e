"""PartitionReassignmentReplicas: to which replicas a partition is assigned while it moves, and when it has moved.

A partition that moves is assigned to its old and its new replicas: those that it *adds* and those that it *removes* are
marked. It has moved when the ISR has every replica that stays: then the others leave ISR and assignment at once.

Left out: the order of replicas changes nothing here (`election = in-order` keeps one order for all brokers).

Source: PartitionReassignmentReplicas.java, PartitionReassignmentRevert.java of Kafka 4.2; KIP-455, KIP-860.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from isrcheck.model.designs.kraft.partition_registration import PartitionRegistration
from isrcheck.model.language import when


class Assignment(NamedTuple):
    """The replicas of a partition, and which of them it adds and removes."""

    replicas: Any
    adding: Any
    removing: Any


class PartitionReassignmentReplicas(PartitionRegistration):
    """Assignments that change."""

    abstract = True

    def assignment_of(self, s: Any, p: int) -> Assignment | None:
        """What the controller has; nothing where no partition moves, and all brokers are replicas."""
        state = s.state[p]
        return Assignment(state.replicas, state.adding, state.removing) if self.reassigns else None

    def reassigned(self, s: Any, p: int, target: Any) -> Assignment:
        """The assignment of a partition that is to move to other replicas.

        Over a reassignment that is under way, what adds or removes nobody leaves that of before
        (changePartitionReassignment sets neither then).
        """
        state = s.state[p]
        now, adding, removing = state.replicas, target - state.replicas, state.replicas - target
        kept = (when(adding.is_empty, state.adding, adding), when(removing.is_empty, state.removing, removing))
        return Assignment(now | target, *kept)

    def reverted(self, s: Any, p: int) -> Assignment:
        """originalReplicas: the assignment of a partition that is to stay where it was."""
        state = s.state[p]
        nobody = state.replicas - state.replicas
        return Assignment(state.replicas - state.adding, nobody, nobody)

    def completed(self, isr: Any, assignment: Assignment | None) -> tuple[Any, Assignment | None]:
        """maybeCompleteReassignment: ISR and assignment, without those to be removed if the ISR has all the rest."""
        if assignment is None:
            return isr, None
        replicas, adding, removing = assignment
        stays, kept = replicas - removing, isr - removing
        done = (~adding.is_empty | ~removing.is_empty) & ~kept.is_empty & ~stays.is_empty & (stays <= kept)
        nobody = replicas - replicas
        found = (when(done, stays, replicas), when(done, nobody, adding), when(done, nobody, removing))
        return when(done, kept, isr), Assignment(*found)
