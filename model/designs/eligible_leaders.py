"""Eligible leader replicas (KIP-966): who may lead when the ISR is empty.

A replica that leaves an ISR which then is smaller than min.insync.replicas had every committed record, as long as the
high watermark waits for an ISR that is large enough. The controller keeps such replicas, the ELR, and elects one of
them when no member of the ISR is live; so the ISR may become empty, and a broker that stopped uncleanly, perhaps with
loss, leaves ISR and ELR when it registers again. With both empty, the last known leader may lead.

A crash that loses nothing stands for a clean shutdown here, and `crash_with_loss` for an unclean one.

Left out: the unclean recovery manager and its strategies, DescribeTopicPartitions, and ELR of partitions that move: a
replica that is taken from a partition leaves its ELR.

Sources: KIP-966, KAFKA-15583.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.alteration_handling import AlterationHandling
from isrcheck.model.designs.logs import any_partition
from isrcheck.model.language import action, broker, implies, none, optional, per, set_of, setting, some, when


class EligibleLeaders(AlterationHandling):
    """A controller that remembers who else has every committed record."""

    abstract = True

    elr = setting(
        False, meaning="the controller keeps eligible leader replicas, and the ISR may become empty (KIP-966)"
    )
    high_watermark_min_isr = setting(
        True, meaning="an ISR smaller than min_isr advances no high watermark (KAFKA-15583)"
    )
    last_known_leader = setting(
        False, meaning="elr: with ISR and ELR empty, the last known leader is elected (KIP-966)"
    )
    last_known_leader_must_live = setting(True, meaning="last_known_leader: it is elected only if it is live")

    # --- variables --------------------------------------------------------------------------------------------------

    @property
    def keeps_last_leader(self) -> bool:
        return bool(self.elr and self.last_known_leader)

    @property
    def marks_unclean_stops(self) -> bool:
        return bool(self.elr and self.lossy_crashes)

    def variables(self) -> dict[str, Any]:
        """Besides, each partition's ELR, its last known leader, and who stopped uncleanly."""
        found = super().variables()
        if self.elr:
            found["elr"] = per(any_partition(self), set_of(broker))
        if self.keeps_last_leader:
            found["last_leader"] = per(any_partition(self), optional(broker))
        if self.marks_unclean_stops:
            found["stopped_uncleanly"] = set_of(broker)
        return found

    # --- who may lead -----------------------------------------------------------------------------------------------

    def candidates(self, s: Any, p: int, state: Any, live: Any) -> Any:
        """Live members of the ISR; without any, of the ELR; without either, the last known leader."""
        if not self.elr:
            return super().candidates(s, p, state, live)
        inside, eligible = state.isr & live, s.elr[p] & live
        found = when(inside.is_empty, eligible, inside)
        if self.keeps_last_leader:
            last: Any = eligible - eligible
            for b in self.brokers:
                last = when(s.last_leader[p] == b, last | {b}, last)
            nobody = state.isr.is_empty & s.elr[p].is_empty
            found = when(nobody, last & live if self.last_known_leader_must_live else last, found)
        return when(found.is_empty, self.assigned(s, p, live), found) if self.unclean else found

    def min_isr_of(self, s: Any, state: Any) -> int:
        return int(self.min_isr)

    def may_commit(self, s: Any, p: int, leader: Any) -> Any:
        found = super().may_commit(s, p, leader)
        if not self.high_watermark_min_isr:
            return found
        return found & (s.replica[p][leader].isr.size >= self.min_isr)

    # --- what is written --------------------------------------------------------------------------------------------

    def next_elr(self, s: Any, p: int, isr: Any) -> Any:
        """The ELR after an ISR is written: all that left an ISR since it was large enough."""
        grown = (s.elr[p] | s.state[p].isr) - isr
        return when(isr.size >= self.min_isr, grown - grown, grown)

    def note_isr(self, s: Any, p: int, isr: Any) -> None:
        super().note_isr(s, p, isr)
        if self.elr:
            s.elr[p] = self.next_elr(s, p, isr)

    def write_decision(
        self, s: Any, c: Any, p: int, known: Any, choice: tuple[Any, Any], changed: Any, told: dict[Any, Any]
    ) -> None:
        if self.elr:
            s.elr[p] = when(changed, self.next_elr(s, p, choice[1]), s.elr[p])
        if self.keeps_last_leader:
            last, leader = s.last_leader[p], known.leader
            s.last_leader[p] = when(leader.is_none, last, leader) if choice[0] is none else none
        super().write_decision(s, c, p, known, choice, changed, told)

    def tell(
        self, s: Any, c: Any, p: int, leader: Any, isr: Any, replicas: Any, leaving: Any = None, stopped_in: Any = None
    ) -> None:
        if self.elr:
            s.elr[p] = self.next_elr(s, p, isr) & replicas
        super().tell(s, c, p, leader, isr, replicas, leaving, stopped_in)

    def forget_history(self, s: Any, p: int) -> None:
        super().forget_history(s, p)
        if self.elr:
            s.elr[p] = set()
        if self.keeps_last_leader:
            s.last_leader[p] = none

    # --- unclean stops ----------------------------------------------------------------------------------------------

    @action(b=broker, actor="b")
    def on_broker_startup(self, s: Any, b: Any) -> None:
        """A broker starts and registers; after an unclean stop, with a controller that has seen that it was gone."""
        if not self.has_crashes:
            return
        if self.marks_unclean_stops:
            s.require(implies(s.stopped_uncleanly.has(b), some(self.has_seen_gone(s, c, b) for c in self.controllers)))
        super().on_broker_startup(s, b)

    def has_seen_gone(self, s: Any, c: Any, b: Any) -> Any:
        """Whether a controller has taken a broker out of every ISR; a new one has seen nobody at first."""
        found = self.acting(s, c)
        for p in self.all_partitions:
            seen = s.seen_live[c][p]
            gone = ~seen.has(b) & ~seen.is_empty if self.controller_failover else ~seen.has(b)
            found = found & implies(self.has_path(s, p), gone)
        return found

    def stop(self, s: Any, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        if self.marks_unclean_stops and kept is not None:
            s.stopped_uncleanly = s.stopped_uncleanly | {b}

    def begin_life(self, s: Any, b: Any) -> None:
        """A broker that had stopped uncleanly may have lost what its replicas had: it leaves every ELR."""
        super().begin_life(s, b)
        if self.marks_unclean_stops:
            unclean = s.stopped_uncleanly.has(b)
            for p in self.all_partitions:
                s.elr[p] = when(unclean, s.elr[p] - {b}, s.elr[p])
            s.stopped_uncleanly = s.stopped_uncleanly - {b}
