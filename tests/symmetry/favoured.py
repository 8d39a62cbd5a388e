"""A model in which one part, chosen by a setting, treats the last broker specially."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import Model, action, broker, constraint, every, goal, invariant, number, per, setting


def is_far(model: Any, s: Any) -> Any:
    """The bound's predicate: a broker is at 2 (only the last broker counts if the bound treats it specially)."""
    return ~every(s.at[b] != 2 for b in model.asked("bound"))


class Favoured(Model):
    """Brokers that go up three steps, each on its own."""

    replicas = setting(3, counts=broker, meaning="brokers")
    favouring = setting("nobody", meaning="which part names the last broker")
    steps = setting(2, bound=is_far, meaning="how far brokers go")
    invariants = ("not-all-far",)

    def asked(self, part: str) -> Any:
        """Whom a part of the model asks: all brokers, or the last."""
        return [self.broker(self.replicas - 1)] if self.favouring == part else self.brokers

    def variables(self) -> dict[str, Any]:
        """How far each broker is."""
        return {"at": per(broker, number(0, 2))}

    @action(b=broker, actor="b")
    def step(self, s: Any, b: Any) -> None:
        """One step."""
        s.require(s.at[b] < (1 if self.favouring == "action" and b == self.broker(self.replicas - 1) else 2))
        s.at[b] += 1

    @constraint
    def near(self, s: Any) -> Any:
        """Not all asked are at the end."""
        return ~every(s.at[b] == 2 for b in self.asked("constraint"))

    @invariant
    def not_all_far(self, s: Any) -> Any:
        """Not all asked have begun."""
        return ~every(s.at[b] >= 1 for b in self.asked("invariant"))

    @goal
    def all_began(self, s: Any) -> Any:
        """All asked are at 1."""
        return every(s.at[b] == 1 for b in self.asked("goal"))
