"""ISR changes through asynchronous requests to the controller, as in the published sketch for KIP-497.

One replica is the *leader* at all times. It asks the controller to shrink or expand the ISR. Requests and the
controller's updates are kept in sets from which nothing is ever removed. So a message may arrive late, repeatedly, or
never. The leader's *pending* ISR is the union of all ISRs that the leader has requested since it last took an update.
The high watermark is the least log end of the members of the leader's ISR and of the pending ISR.

Left out: leader changes, contents of logs (offsets only). The source has no bounds. Here a state constraint bounds the
leader's offset and the controller's version.

Source: github.com/hachikuji/kafka-specification, module AsyncIsr.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isrcheck.model.language import (
    Model,
    action,
    becomes,
    broker,
    constraint,
    goal,
    messages,
    minimum,
    number,
    per,
    record,
    set_of,
    setting,
    when,
)

if TYPE_CHECKING:
    from isrcheck.model.published.async_isr_state import AsyncIsrState


def any_version(model: Any) -> Any:
    """The versions of the controller's ISR, up to their bound."""
    return number(0, model.max_version)


class AsyncIsr(Model):
    """A leader that asks for ISR changes, and takes each requested change into account until the controller answers."""

    invariants = ("valid-high-watermark",)

    replicas = setting(3, at_least=1, at_most=6, counts=broker, meaning="replicas of the partition; the first leads")
    max_offset = setting(
        2,
        at_least=1,
        at_most=64,
        meaning="greatest log end offset of the leader",
        bound=lambda m, s: s.offsets[m.leader] == m.max_offset,
    )
    max_version = setting(
        2,
        at_least=0,
        at_most=32,
        meaning="greatest version of the controller's ISR",
        bound=lambda m, s: s.controller.version == m.max_version,
    )

    @property
    def leader(self) -> Any:
        return self.broker(0)

    def variables(self) -> dict[str, Any]:
        """The controller's ISR, the leader's copy with its pending ISR, log end offsets, and all messages."""
        # One more than the bounds, because states outside the constraint are still checked against the invariants.
        version = number(0, self.max_version + 1)
        sent = messages(record(isr=set_of(broker), version=version))
        return {
            "controller": record(isr=set_of(broker), version=version),
            "leader": record(
                isr=set_of(broker),
                version=version,
                pending_isr=set_of(broker),
                pending_version=number(-1, self.max_version + 1),
            ),
            "offsets": per(broker, number(0, self.max_offset + 1)),
            "requests": sent,
            "updates": sent,
        }

    def initial(self, s: AsyncIsrState) -> None:
        s.controller.isr = set(self.brokers)
        s.leader.isr = set(self.brokers)

    @constraint
    def bound(self, s: AsyncIsrState) -> Any:
        """The leader's offset and the controller's version stay within their bounds."""
        return (s.offsets[self.leader] <= self.max_offset) & (s.controller.version <= self.max_version)

    def high_watermark(self, s: AsyncIsrState) -> Any:
        """The least log end offset of the leader and all members of its ISR and its pending ISR."""
        quorum, least = s.leader.isr | s.leader.pending_isr, s.offsets[self.leader]
        for r in self.brokers:
            least = when(quorum.has(r), minimum(least, s.offsets[r]), least)
        return least

    def controller_decides(self, s: AsyncIsrState, isr: Any) -> None:
        version = s.controller.version + 1
        s.controller = {"isr": isr, "version": version}
        s.updates.add({"isr": isr, "version": version})

    def leader_asks(self, s: AsyncIsrState, isr: Any, pending: Any) -> None:
        s.requests.add({"isr": isr, "version": s.leader.version})
        s.leader.pending_isr = pending
        s.leader.pending_version = s.leader.version

    def decision_in_words(self, old: Any, new: Any) -> str:
        isr = becomes(old.controller.isr, new.controller.isr)
        return f"ISR {isr}, version {becomes(old.controller.version, new.controller.version)}"

    def request_in_words(self, old: Any, new: Any) -> str:
        pending = becomes(old.leader.pending_isr, new.leader.pending_isr)
        asks = f"asks at version {old.leader.version} for an ISR"
        return f"{self.leader}, the leader, counts with ISR {pending} from now on and {asks}"

    def lifeline(self, actor: str, parameters: dict[str, Any]) -> str:
        return str(self.leader) if actor == "leader" else actor

    def drawn_logs(self, s: Any) -> list[dict[str, Any]]:
        """The log ends to draw. There are no records to draw, because the model does not tell records apart."""
        least = min(s.offsets[b] for b in [self.leader, *(s.leader.isr | s.leader.pending_isr)])
        isr = sorted(b.number for b in s.leader.isr)
        lead = {"role": "leader", "high_watermark": least, "isr": tuple(isr)}
        member = s.controller.isr
        return [
            {"broker": b, "records": None, "log_end": s.offsets[b], "member": b in member}
            | (lead if b == self.leader else {"role": "follower"})
            for b in self.brokers
        ]

    @action(replica=broker, actor="controller", environment=True)
    def controller_shrink_isr(self, s: AsyncIsrState, replica: Any) -> None:
        """The controller removes a failed follower from the ISR."""
        if replica == self.leader:
            return
        s.require(s.controller.isr.has(replica), s.controller.version <= self.max_version)
        self.controller_decides(s, s.controller.isr - {replica})

    def describe_controller_shrink_isr(self, old: Any, new: Any, replica: Any) -> str:
        return f"the controller takes {replica} for dead: {self.decision_in_words(old, new)}"

    @action(isr=set_of(broker), version=any_version, actor="controller")
    def controller_handle_request(self, s: AsyncIsrState, isr: Any, version: int) -> None:
        """The controller grants a request that was made at the controller's present version; the request stays."""
        s.require(s.requests.has({"isr": isr, "version": version}), s.controller.version == version)
        self.controller_decides(s, isr)

    def describe_controller_handle_request(self, old: Any, new: Any, isr: Any, version: int) -> str:
        asked_for = f"the request for ISR {isr} that was made at its version {version}"
        return f"the controller grants {asked_for}: {self.decision_in_words(old, new)}"

    @action(replica=broker, actor="leader")
    def leader_request_shrink_isr(self, s: AsyncIsrState, replica: Any) -> None:
        """The leader asks the controller to remove a follower from the ISR."""
        if replica == self.leader:
            return
        s.require(s.leader.isr.has(replica))
        smaller = s.leader.isr - {replica}
        self.leader_asks(s, smaller, s.leader.pending_isr | smaller)

    def describe_leader_request_shrink_isr(self, old: Any, new: Any, replica: Any) -> str:
        return f"{self.request_in_words(old, new)} without {replica}"

    @action(replica=broker, actor="leader")
    def leader_request_expand_isr(self, s: AsyncIsrState, replica: Any) -> None:
        """The leader asks the controller to add to the ISR a follower that reaches the high watermark."""
        s.require(~s.leader.isr.has(replica), s.offsets[replica] >= self.high_watermark(s))
        larger = s.leader.isr | {replica}
        self.leader_asks(s, larger, s.leader.pending_isr | larger)

    def describe_leader_request_expand_isr(self, old: Any, new: Any, replica: Any) -> str:
        return f"{self.request_in_words(old, new)} with {replica}, which has reached offset {old.offsets[replica]}"

    @action(actor="leader", environment=True)
    def leader_write(self, s: AsyncIsrState) -> None:
        """The leader appends a record."""
        s.require(s.offsets[self.leader] <= self.max_offset)
        s.offsets[self.leader] += 1

    def describe_leader_write(self, old: Any, new: Any) -> str:
        ends = becomes(old.offsets[self.leader], new.offsets[self.leader])
        return f"{self.leader}, the leader, appends a record: log end {ends}"

    @action(isr=set_of(broker), version=any_version, actor="leader")
    def leader_handle_update(self, s: AsyncIsrState, isr: Any, version: int) -> None:
        """The leader adopts an ISR with a later version than its own; no request is pending any more."""
        s.require(s.updates.has({"isr": isr, "version": version}), s.leader.version < version)
        s.leader = {"isr": isr, "version": version, "pending_isr": set(), "pending_version": -1}

    def describe_leader_handle_update(self, old: Any, new: Any, isr: Any, version: int) -> str:
        learnt = f"its own {becomes(old.leader.isr, isr)}, version {becomes(old.leader.version, version)}"
        return f"{self.leader}, the leader, is told of ISR {isr}: {learnt}; it waits for no answer any more"

    @action(replica=broker, actor="replica")
    def follower_replicate(self, s: AsyncIsrState, replica: Any) -> None:
        """A follower copies a record from the leader."""
        if replica == self.leader:
            return
        s.require(s.offsets[replica] < s.offsets[self.leader])
        s.offsets[replica] += 1

    def describe_follower_replicate(self, old: Any, new: Any, replica: Any) -> str:
        ends = becomes(old.offsets[replica], new.offsets[replica])
        return f"{replica} copies a record from {self.leader}: log end {ends}"

    @goal
    def change_is_granted(self, s: AsyncIsrState) -> Any:
        """The leader has learnt of a version that the controller decided."""
        return s.leader.version > 0

    @goal
    def isr_grows_again(self, s: AsyncIsrState) -> Any:
        """The controller's ISR is complete again after a change."""
        return (s.controller.isr.size == self.replicas) & (s.controller.version > 0)
