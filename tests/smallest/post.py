"""A model so small that all its answers are known by hand."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, broker, enum, goal, invariant, messages, number, set_of, setting


class Post(Model):
    """A post office: letters on their way, who has sent one, and how many were sent."""

    brokers_ = setting(2, meaning="brokers", counts=broker)
    most = setting(2, at_least=1, at_most=3, meaning="letters", bound=lambda m, s: s.sent == m.most)
    stamps = setting(3, at_least=3, at_most=9, meaning="stamps", bound=lambda m, s: s.sent == m.stamps)
    replies = setting(False, meaning="letters are answered")

    def variables(self) -> dict[str, Any]:
        return {"sent": number(0, 3), "ways": messages(enum("a", "b")), "senders": set_of(broker)}

    @action(b=broker, letter=enum("a", "b"), actor="b")
    def send(self, s: Any, b: Any, letter: str) -> None:
        """A broker sends a letter."""
        s.require(s.sent < self.most, ~s.ways.has(letter), ~s.senders.has(b))
        s.sent += 1
        s.ways.add(letter)
        s.senders = s.senders | {b}

    @action(b=broker, actor="b", where=lambda m: m.replies)
    def answer(self, s: Any, b: Any) -> None:
        """A broker answers."""
        s.require(s.sent > 0)
        s.sent -= 1

    @action(actor="thief")
    def steal(self, s: Any) -> None:
        """A letter is stolen once three are sent."""
        s.require(s.sent > 2)
        s.sent -= 1

    @goal
    def three_are_sent(self, s: Any) -> Any:
        """Three letters are sent."""
        return s.sent == 3

    @invariant
    def one_at_a_time(self, s: Any) -> Any:
        """No two letters are on their way."""
        return s.sent < 2

    @invariant
    def few_are_sent(self, s: Any) -> Any:
        """At most three letters are sent."""
        return s.sent <= 3
