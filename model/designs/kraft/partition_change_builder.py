"""PartitionChangeBuilder: the leader, epochs and eligible leaders that result from a change of a partition's ISR.

The eligible leader replicas (ELR) are outside the ISR, and may lead if the ISR is empty. The election depends on the
order in which the replicas are assigned. With `election = any-order`, a replica may win if some order lets it win.

Left out: metadata versions before 3.6, the recovery state of a leader that was elected uncleanly.

Source: PartitionChangeBuilder.java of Kafka 4.3; KIP-966.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from isrcheck.model.designs.kraft.configuration_control import ConfigurationControl
from isrcheck.model.designs.kraft.metadata_log import MetadataLog
from isrcheck.model.designs.kraft.partition_reassignment_replicas import Assignment, PartitionReassignmentReplicas
from isrcheck.model.designs.kraft.produce_purgatory import ProducePurgatory
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.designs.kraft.unified_log import any_partition
from isrcheck.model.language import broker, every, inert, none, optional, per, set_of, setting, some, when
from isrcheck.model.language.setting_constraints import SettingConstraints


class Change(NamedTuple):
    """A partition after a change, and whether anything changed."""

    registration: dict[str, Any]
    elr: Any
    last_leader: Any
    changed: Any


class ChangeOptions(NamedTuple):
    """Further input of a change. By default, nobody stopped uncleanly, and the assignment stays.

    `unclean` says whether any replica may be elected; if it is None, the configuration decides. The last known leader
    is elected only if `knows_last_leader` is true.
    """

    stopped_uncleanly: Any = None
    assignment: Assignment | None = None
    unclean: bool | None = None
    knows_last_leader: bool = True


class PartitionChangeBuilder(ProducePurgatory, PartitionReassignmentReplicas, MetadataLog, ConfigurationControl):
    """Elections, eligible leader replicas, the last known leader."""

    abstract = True

    election = setting(
        "any-order",
        choices=("any-order", "in-order"),
        meaning="which of several candidates is elected. any-order: any of them, since replicas may be assigned in "
        "any order; in-order: the first in one fixed order",
    )
    first_replica = setting(
        0,
        at_least=0,
        at_most=4,
        meaning="with election = in-order: the preferred leader, which is first in the order; the other brokers come "
        "next, by number. Broker 0 leads at the start in any case",
    )
    unclean = setting(
        False, meaning="unclean.leader.election.enable: if no eligible replica is left, any live replica may be elected"
    )
    elr = setting(
        True, meaning="the controller keeps eligible leader replicas (ELR), and the ISR may become empty (KIP-966)"
    )
    removed_replica = setting(
        "stays-eligible",
        choices=("stays-eligible", "leaves"),
        meaning="with reassignments and elr: what happens to a replica if a reassignment removes it from the ISR, and "
        "the ISR is then smaller than min.insync.replicas. stays-eligible: the replica joins the ELR; leaves: it does "
        "not, since it leaves the partition",
    )
    last_known_leader = setting(
        "must-live",
        choices=("must-live", "may-be-dead", "never"),
        meaning="with elr: whether the last known leader is elected when ISR and ELR are empty. must-live: if it is "
        "active; may-be-dead: even if it is not, as before KAFKA-19522; never: not at all",
    )

    setting_constraints: ClassVar[SettingConstraints] = (
        inert(
            "removed_replica",
            unless=lambda m: m.elr and m.reassignments > 0,
            words="it needs elr=true and reassignments>=1",
        ),
    )

    def holds(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.elr:
            found["elr"] = per(any_partition(self), set_of(broker))
        if self.keeps_last_leader:
            found["last_leader"] = per(any_partition(self), optional(broker))
        return found

    @property
    def keeps_last_leader(self) -> bool:
        return bool(self.elr and self.last_known_leader != "never")

    @property
    def in_order(self) -> list[Any]:
        """The replicas in the order in which they are assigned."""
        first = self.brokers[min(self.first_replica, len(self.brokers) - 1)]
        return [first, *(b for b in self.brokers if b != first)]

    # --- who may lead -----------------------------------------------------------------------------------------------

    def is_valid(self, s: KraftState, p: int, x: Any, isr: Any, elr: Any, active: Any) -> Any:
        """isValidNewLeader: whether a broker is active and in the ISR or, if the ISR is empty, in the ELR."""
        member = isr.has(x)
        return active.has(x) & (member | (isr.is_empty & elr.has(x)) if self.elr else member)

    def is_last_known(self, s: KraftState, p: int, x: Any, isr: Any, elr: Any, active: Any) -> Any:
        """canElectLastKnownLeader: whether a broker led last, and may be elected because ISR and ELR are empty."""
        if not self.keeps_last_leader:
            return False
        found = isr.is_empty & elr.is_empty & (s.last_leader[p] == x)
        return found & active.has(x) if self.last_known_leader == "must-live" else found

    def is_elected(
        self, s: KraftState, p: int, leader: Any, isr: Any, elr: Any, active: Any, options: ChangeOptions
    ) -> Any:
        """electAnyLeader: whether `leader` (a broker or nobody) leads after a change.

        The candidates are, in this order: the present leader if it is valid; the valid replicas; the last known leader;
        any active replica, if elections may be unclean; nobody.
        """
        assigned = options.assignment
        replicas = {x: True if assigned is None else assigned.replicas.has(x) for x in self.brokers}

        def first(able: dict[Any, Any]) -> Any:
            """Whether `leader` is a candidate in `able` and, with `election = in-order`, the first candidate."""
            found = able[leader]
            if self.election == "in-order":
                for x in self.in_order[: self.in_order.index(leader)]:
                    found = found & ~able[x]
            return found

        valid = {x: self.is_valid(s, p, x, isr, elr, active) for x in self.brokers}
        last = {x: self.is_last_known(s, p, x, isr, elr, active) for x in self.brokers}
        present = {x: (s.state[p].leader == x) & valid[x] for x in self.brokers}
        if not options.knows_last_leader:
            last = dict.fromkeys(self.brokers, False)
        stages = [present, {x: valid[x] & replicas[x] for x in self.brokers}, last]
        if self.unclean if options.unclean is None else options.unclean:
            stages.append({x: active.has(x) & replicas[x] for x in self.brokers})
        answer: Any = leader is none
        for i, able in reversed(list(enumerate(stages))):
            anybody = some(able.values())
            chosen = False if leader is none else able[leader] if i in (0, 2) else first(able)
            answer = when(anybody, chosen, answer)
        return answer

    def reverted_isr(self, s: KraftState, p: int, leader: Any) -> Any:
        """The ISR after the cancellation of a reassignment: it lacks the replicas that the reassignment added.

        If no member is left and elections may be unclean, the ISR has one former replica as member. By default it is
        the replica that leads afterwards, or, if nobody leads, the first replica in the assignment (`in_order`). With
        `election = in-order`, it is always the first replica in the assignment.
        """
        state, (replicas, _, _) = s.state[p], self.reverted(s, p)
        isr = state.isr - state.adding
        if not self.unclean:
            return isr
        first = isr
        for b in reversed(self.in_order):
            first = when(replicas.has(b), (isr - isr) | {b}, first)
        if self.election == "any-order" and leader is not none:
            first = when(replicas.has(leader), (isr - isr) | {leader}, first)
        return when(isr.is_empty, first, isr)

    # --- what is written --------------------------------------------------------------------------------------------

    def next_elr(self, s: KraftState, p: int, isr: Any, stopped_uncleanly: Any = None) -> Any:
        """maybePopulateTargetElr: the new ELR. It is empty if the new ISR has at least min.insync.replicas members.

        Otherwise it has the members of the old ISR and ELR that are not in the new ISR and did not stop uncleanly. They
        have all committed records, because the high watermark does not rise while the ISR is small (KAFKA-15583).
        """
        if not self.elr:
            return isr - isr
        grown = (s.elr[p] | s.state[p].isr) - isr
        if stopped_uncleanly is not None:
            grown = grown - stopped_uncleanly
        return when(isr.size >= self.controllers_min_isr(s, p), grown - grown, grown)

    def build(
        self,
        s: KraftState,
        p: int,
        isr: Any,
        leader: Any,
        active: Any,
        elects: Any = True,
        options: ChangeOptions = ChangeOptions(),
    ) -> Change:
        """build: the change that a new ISR or assignment causes. If `elects` holds, requires that `leader` is elected.

        First a reassignment is completed, then the ELR is computed, then a leader is elected. A leader from outside the
        ISR becomes its only member. This election is clean if the ISR is empty and the leader is in the ELR, which the
        leader then leaves. Otherwise the ELR becomes empty. Without `elr`, the ISR never becomes empty (KAFKA-708).

        The leader epoch rises if the leader changes (also to nobody) or a replica is removed. The partition epoch rises
        with every change.
        """
        state, active = s.state[p], self.acceptable(s, active)
        isr, assigned = self.completed(isr, options.assignment or self.assignment_of(s, p))
        if not self.elr:
            isr = when(isr.is_empty, state.isr, isr)
        elr = self.next_elr(s, p, isr, options.stopped_uncleanly)
        if assigned is not None and self.removed_replica == "leaves":
            elr = elr & assigned.replicas
        elected = self.is_elected(s, p, leader, isr, elr, active, options._replace(assignment=assigned))
        s.require(when(elects, elected, True))
        alone = isr - isr if leader is none else (isr - isr) | {leader}
        outside = False if leader is none else ~isr.has(leader)
        eligible = False if leader is none else isr.is_empty & elr.has(leader)
        elr = when(outside, when(eligible, elr - alone, elr - elr), elr)
        isr = when(outside, alone, isr)
        elects = state.leader != leader
        last: Any = s.last_leader[p] if self.keeps_last_leader else none
        if self.keeps_last_leader:
            last = when(last.is_none, state.leader, last) if leader is none else none
        changed, moved = elects | (isr != state.isr), elects
        if self.elr:
            changed = changed | (elr != s.elr[p])
        registration: dict[str, Any] = {"leader": leader, "isr": isr}
        before = self.assignment_of(s, p)
        if assigned is not None and before is not None:
            moved = moved | ~(state.replicas <= assigned.replicas)
            changed = changed | moved | some(x != y for x, y in zip(assigned, before, strict=True))
            registration |= assigned._asdict()
        registration["epoch"] = when(moved, state.epoch + 1, state.epoch)
        registration["version"] = when(changed, state.version + 1, state.version)
        return Change(registration, elr, last, changed)

    def only_where(self, s: KraftState, p: int, where: Any, change: Change) -> Change:
        """The change if a condition holds, otherwise a change that leaves the partition as it is."""
        state = s.state[p]
        registration = {name: when(where, x, getattr(state, name)) for name, x in change.registration.items()}
        elr = when(where, change.elr, s.elr[p]) if self.elr else change.elr
        last = when(where, change.last_leader, s.last_leader[p]) if self.keeps_last_leader else none
        return Change(registration, elr, last, change.changed & where)

    def cleared(self, s: KraftState, p: int) -> Change:
        """ClearElrRecord: the change that clears the ELR and the last known leader.

        With `elr_is_cleared = unless-raised-without-isr`, nothing is cleared if min.insync.replicas rises while the ISR
        is empty. The partition epoch rises if anything is cleared. It always rises with `min_isr_change =
        with-a-partition-epoch`.
        """
        state = s.state[p]
        elr: Any = s.elr[p] if self.elr else state.isr - state.isr
        last: Any = s.last_leader[p] if self.keeps_last_leader else none
        kept = self.elr_is_cleared != "always" and self.min_isr_then > self.min_isr
        clears = ~state.isr.is_empty if kept else True
        changed = clears & ~elr.is_empty
        if self.keeps_last_leader:
            changed = changed | (clears & ~last.is_none)
            last = when(clears, none, last)
        if self.min_isr_change == "with-a-partition-epoch":
            changed = True
        version = when(changed, state.version + 1, state.version)
        return Change({"version": version}, when(clears, elr - elr, elr), last, changed)

    def has_room(self, s: KraftState) -> Any:
        """Whether the bounds of the search leave room for another epoch, version and batch."""
        partitions = [s.state[p] for p in self.all_partitions]
        room = every((x.epoch < self.max_leader_epoch) & (x.version < self.max_version) for x in partitions)
        return room & ~s.metadata.is_full
