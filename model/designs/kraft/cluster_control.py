"""ClusterControlManager and BrokerHeartbeatManager: which brokers are registered, fenced, shutting down.

A broker is *active* if it is registered, not fenced and not in controlled shutdown. `live` is the set of active
brokers. A broker is fenced when its session ends, whether the broker is down, cut off or slow. The same batch of the
metadata log fences the broker and makes the changes of partitions that follow.

Left out: the times of sessions, the broker's metadata offset, feature levels, shutdowns that wait for other brokers'
metadata. Kafka unfences a broker only after the broker has read its own registration; here a broker knows its
registration from the start.

Source: ClusterControlManager.java, BrokerHeartbeatManager.java of Kafka 4.3, ReplicationControlManager.java
(handleBrokerFenced, handleBrokerUnfenced, handleBrokerShutdown); KIP-631, KIP-841, KIP-966.
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs.kraft.metadata_log import MetadataLog
from isrcheck.model.designs.kraft.partition_change_builder import Change
from isrcheck.model.designs.kraft.replication_control import somebody_or_nobody
from isrcheck.model.designs.kraft.state import KraftState
from isrcheck.model.language import action, broker, budget, number, set_of


class ClusterControl(MetadataLog):
    """Brokers that become active or inactive at the controller."""

    abstract = True

    expiries = budget(1, at_most=4, meaning="sessions that end while their broker is up")

    build: Any
    only_where: Any
    commit_change: Any
    led_in_words: Any
    """Attributes of `partition_change_builder` and `replication_control`."""

    def holds(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.expiries:
            found["expiries"] = number(0, self.expiries)
        if self.shutdowns:
            found["shutdowns"] = number(0, self.shutdowns)
            found["stopping"] = set_of(broker)
        return found

    def without(self, s: KraftState, b: Any, leader: Any) -> dict[int, Change]:
        """handleBrokerFenced, handleBrokerInControlledShutdown: partition changes when a broker becomes inactive.

        The broker leaves every ISR and leads no partition. With eligible leader replicas (ELR), it joins the ELR if the
        ISR is then smaller than min.insync.replicas. Without ELR, the last member of an ISR stays in the ISR.
        """
        found = {}
        for p in self.all_partitions:
            state = s.state[p]
            s.require(state.isr.has(b) | (state.leader == leader))
            change = self.build(s, p, state.isr - {b}, leader, s.live - {b}, elects=state.isr.has(b))
            found[p] = self.only_where(s, p, state.isr.has(b), change)
        return found

    # --- fencing ----------------------------------------------------------------------------------------------------

    @action(b=broker, leader=somebody_or_nobody, actor="controller", environment=True, where=lambda m: m.expiries)
    def fence_broker(self, s: KraftState, b: Any, leader: Any) -> None:
        """handleBrokerFenced: the session of a running broker ends, and the controller fences the broker."""
        s.require(s.expiries < self.expiries, s.live.has(b), self.runs(s, b))
        s.expiries += 1
        self.commit_change(s, self.without(s, b, leader), live=s.live - {b})

    def describe_fence_broker(self, old: Any, new: Any, b: Any, leader: Any) -> str:
        return f"the session of {b} ends, and the controller fences it: {self.led_in_words(old, new, 0)}"

    @action(b=broker, leader=somebody_or_nobody, actor="controller", where=lambda m: m.restarts)
    def fence_stopped_broker(self, s: KraftState, b: Any, leader: Any) -> None:
        """handleBrokerFenced: the session of a broker that has stopped ends."""
        s.require(s.live.has(b), ~s.up.has(b))
        self.commit_change(s, self.without(s, b, leader), live=s.live - {b})

    def describe_fence_stopped_broker(self, old: Any, new: Any, b: Any, leader: Any) -> str:
        return f"the session of {b}, which has stopped, ends: {self.led_in_words(old, new, 0)}"

    @action(b=broker, leader=somebody_or_nobody, actor="controller")
    def unfence_broker(self, s: KraftState, b: Any, leader: Any) -> None:
        """handleBrokerUnfenced: a fenced broker becomes active again, and may be elected if nobody leads."""
        s.require(~s.live.has(b), self.runs(s, b))
        if self.shutdowns:
            s.require(~s.stopping.has(b))
        active, changes = s.live | {b}, {}
        for p in self.all_partitions:
            state, nobody = s.state[p], s.state[p].leader.is_none
            s.require(nobody | (state.leader == leader))
            changes[p] = self.only_where(s, p, nobody, self.build(s, p, state.isr, leader, active, elects=nobody))
        self.commit_change(s, changes, live=active)

    def describe_unfence_broker(self, old: Any, new: Any, b: Any, leader: Any) -> str:
        return f"the controller hears of {b} again and unfences it: {self.led_in_words(old, new, 0)}"

    # --- controlled shutdown ----------------------------------------------------------------------------------------

    @action(b=broker, leader=somebody_or_nobody, actor="b", environment=True, where=lambda m: m.shutdowns)
    def begin_controlled_shutdown(self, s: KraftState, b: Any, leader: Any) -> None:
        """processBrokerHeartbeat (wantShutDown): a broker asks to shut down, and becomes inactive (`without`).

        A fenced broker may also ask to shut down. Then no ISR changes.
        """
        s.require(s.shutdowns < self.shutdowns, ~s.stopping.has(b), self.runs(s, b))
        s.shutdowns += 1
        s.stopping = s.stopping | {b}
        self.commit_change(s, self.without(s, b, leader), live=s.live - {b})

    def describe_begin_controlled_shutdown(self, old: Any, new: Any, b: Any, leader: Any) -> str:
        return f"{b} tells the controller that it shuts down: {self.led_in_words(old, new, 0)}"
