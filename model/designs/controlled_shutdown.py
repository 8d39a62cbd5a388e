"""Controlled shutdown: a broker tells the controller that it shuts down, and stops some time later.

Once it has told the controller, the broker fetches no more, and the controller does not count it as live. The broker's
*session* lasts until the broker stops. Until then leaders count the broker as live, and if the broker is the
controller, it remains the controller.

Left out, for a broker that shuts down: commands to the broker; the expiry of its session before it stops; a session
that lasts for a while after the broker has crashed.

Source: KafkaController of Kafka 3.5 (shuttingDownBrokerIds).
"""

from __future__ import annotations

from typing import Any

from isrcheck.model.designs import State
from isrcheck.model.designs.controller import Controller
from isrcheck.model.language import action, becomes, broker, budget, every, implies, none, number, set_of, some, when


class ControlledShutdown(Controller):
    """Brokers that tell the controller before they stop."""

    abstract = True

    shutdowns = budget(at_most=2, meaning="controlled shutdowns")

    @property
    def has_crashes(self) -> bool:
        return bool(super().has_crashes or self.shutdowns)

    def variables(self) -> dict[str, Any]:
        """Adds the number of controlled shutdowns, and which brokers are stopping."""
        found = super().variables()
        if self.shutdowns:
            found["shutdowns"] = number(0, self.shutdowns)
            found["stopping"] = set_of(broker)
        return found

    @action(b=broker, actor="b", environment=True, where=lambda m: m.shutdowns)
    def begin_controlled_shutdown(self, s: State, b: Any) -> None:
        """A broker tells the controller that it shuts down. It stops fetching, and the controller counts it as dead."""
        s.require(s.shutdowns < self.shutdowns, self.is_up(s, b), s.live.has(b))
        if self.controller_failover:
            s.require(some(self.takes_charge(s, c) for c in self.controllers))
        s.shutdowns += 1
        s.stopping = s.stopping | {b}
        s.live = s.live - {b}

    def takes_charge(self, s: State, c: Any) -> Any:
        """Whether a controller can handle a shutdown: it is the current controller, and has seen the live brokers."""
        looked = every(implies(self.has_path(s, p), ~s.seen_live[c][p].is_empty) for p in self.all_partitions)
        return self.acting(s, c) & self.is_controller(s, c) & looked

    def describe_begin_controlled_shutdown(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} tells the controller that it shuts down: live brokers {becomes(old.live, new.live)}"

    @action(b=broker, actor="b", environment=True, where=lambda m: m.shutdowns)
    def finish_controlled_shutdown(self, s: State, b: Any) -> None:
        """A broker in controlled shutdown stops, at any time, and closes its session."""
        s.require(s.stopping.has(b))
        self.stop(s, b)

    def describe_finish_controlled_shutdown(self, old: Any, new: Any, b: Any) -> str:
        return f"{b} stops at last{self.lost_in_words(old, new, b)}"

    @action(b=broker, actor="b", where=lambda m: m.expiries)
    def register_again(self, s: State, b: Any) -> None:
        """A broker that lost its session, and is not in controlled shutdown, registers with a new session."""
        if self.shutdowns:
            s.require(~s.stopping.has(b))
        super().register_again(s, b)

    def has_session(self, s: State, b: Any) -> Any:
        """Whether a broker has a session; a broker that is stopping still has one."""
        return s.live.has(b) | s.stopping.has(b) if self.shutdowns else super().has_session(s, b)

    def stop(self, s: State, b: Any, kept: Any = None) -> None:
        super().stop(s, b, kept)
        if self.shutdowns:
            if self.controller_failover:
                s.controller = when(s.stopping.has(b) & (s.controller == b), none, s.controller)
            s.stopping = s.stopping - {b}

    def may_fetch(self, s: State, p: int, follower: Any, leader: Any) -> Any:
        found = super().may_fetch(s, p, follower, leader)
        return found & ~s.stopping.has(follower) if self.shutdowns else found
