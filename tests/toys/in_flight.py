"""Messages in flight, within a capacity, unordered and ordered; and clients at brokers, as two scalarsets."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import (
    Model,
    action,
    bag,
    broker,
    channel,
    count,
    flag,
    goal,
    invariant,
    number,
    optional,
    per,
    scalarset,
    set_of,
    setting,
    some,
)

client = scalarset("client")


class InBag(Model):
    """Everything is sent and received, in any order."""

    kinds = setting(3, at_least=1, at_most=6, meaning="messages that differ")
    room = setting(3, at_least=1, at_most=6, meaning="messages in flight", bound=lambda m, s: s.sent.is_full)
    invariants = ("as-many-as-there-is-room-for",)

    def variables(self) -> dict[str, Any]:
        return {"sent": bag(number(1, self.kinds), self.room)}

    @action(x=lambda m: number(1, m.kinds), actor="sender")
    def send(self, s: Any, x: int) -> None:
        """A message is sent."""
        s.require(~s.sent.is_full)
        s.sent.put(x)

    @action(x=lambda m: number(1, m.kinds), actor="receiver")
    def receive(self, s: Any, x: int) -> None:
        """A message arrives."""
        s.require(s.sent.has(x))
        s.sent.take(x)

    @goal
    def the_same_twice(self, s: Any) -> Any:
        """Two equal messages are in flight."""
        return s.sent.count(1) == 2

    @invariant
    def as_many_as_there_is_room_for(self, s: Any) -> Any:
        """No more are in flight than there is room for."""
        return s.sent.size <= self.room


class InOrder(Model):
    """Everything is sent, and received in the order in which it was sent."""

    kinds = setting(3, at_least=1, at_most=6, meaning="messages that differ")
    room = setting(3, at_least=1, at_most=6, meaning="messages in flight", bound=lambda m, s: s.sent.is_full)
    invariants = ("the-last-one-is-the-head",)

    def variables(self) -> dict[str, Any]:
        return {"sent": channel(number(1, self.kinds), self.room), "last": number(0, self.kinds)}

    @action(x=lambda m: number(1, m.kinds), actor="sender")
    def send(self, s: Any, x: int) -> None:
        """A message is sent."""
        s.require(~s.sent.is_full)
        s.sent.put(x)
        s.last = x

    @action(actor="receiver")
    def receive(self, s: Any) -> None:
        """The oldest message arrives."""
        s.require(~s.sent.is_empty)
        s.sent.take()

    @invariant
    def the_last_one_is_the_head(self, s: Any) -> Any:
        """A message that is alone was sent last."""
        return (s.sent.length != 1) | (s.sent.head == s.last)


class Visitors(Model):
    """Each client visits one broker, once."""

    brokers_ = setting(3, counts=broker, at_least=1, at_most=4, meaning="brokers")
    clients_ = setting(3, counts=client, at_least=1, at_most=4, meaning="clients")
    invariants = ("somebody-is-at-home",)

    def variables(self) -> dict[str, Any]:
        return {"at": per(client, optional(broker)), "guests": per(broker, set_of(client)), "open": flag}

    def initial(self, s: Any) -> None:
        s.open = True

    @action(c=client, b=broker, actor="c")
    def visit(self, s: Any, c: Any, b: Any) -> None:
        """A client visits a broker."""
        s.require(s.at[c].is_none, s.open)
        s.at[c] = b
        s.guests[b] = s.guests[b].including(c)

    @invariant
    def somebody_is_at_home(self, s: Any) -> Any:
        """A client is at home, or no two brokers have guests."""
        home = some(s.at[c].is_none for c in self.members(client))
        return home | (count(~s.guests[b].is_empty for b in self.brokers) < 2)
