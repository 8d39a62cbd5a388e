"""Dijkstra's termination detection on a ring (EWD840), after the TLA+ example."""

from __future__ import annotations

from typing import Any

from isrcheck.model.language import (
    Model,
    action,
    enum,
    every,
    flag,
    implies,
    initial,
    invariant,
    number,
    per,
    setting,
    when,
)


def any_node(model: Any) -> Any:
    return number(0, model.nodes - 1)


def per_node(of: Any) -> Any:
    return lambda model: per(any_node(model), of)


class Termination(Model):
    nodes = setting(3, at_least=2, at_most=6, meaning="nodes on the ring")
    invariants = ("termination-is-detected-truly",)

    def variables(self) -> dict[str, Any]:
        return {
            "active": per(any_node(self), flag),
            "color": per(any_node(self), enum("white", "black")),
            "token": number(0, self.nodes - 1),
            "token_color": enum("white", "black"),
        }

    @initial(active=per_node(flag), color=per_node(enum("white", "black")), token=any_node)
    def initial(self, s: Any, active: Any, color: Any, token: int) -> None:
        s.active = active
        s.color = color
        s.token = token
        s.token_color = "black"

    @action(actor="node 0")
    def initiate_probe(self, s: Any) -> None:
        """Node 0 starts another round."""
        s.require(s.token == 0, (s.token_color == "black") | (s.color[0] == "black"))
        s.token = self.nodes - 1
        s.token_color = "white"
        s.color[0] = "white"

    @action(node=any_node, actor="ring")
    def pass_token(self, s: Any, node: int) -> None:
        """A node hands the token on and colours it."""
        if node == 0:
            return
        tainted = s.color[node] == "black"
        s.require(s.token == node, ~s.active[node] | tainted | (s.token_color == "black"))
        s.token = node - 1
        s.token_color = when(tainted, "black", s.token_color)
        s.color[node] = "white"

    @action(node=any_node, other=any_node, actor="ring")
    def send_message(self, s: Any, node: int, other: int) -> None:
        """An active node activates another."""
        if node == other:
            return
        s.require(s.active[node])
        s.active[other] = True
        if other > node:
            s.color[node] = "black"

    @action(node=any_node, actor="ring")
    def deactivate(self, s: Any, node: int) -> None:
        """A node becomes passive."""
        s.require(s.active[node])
        s.active[node] = False

    @invariant
    def termination_is_detected_truly(self, s: Any) -> Any:
        """Where node 0 concludes that all are passive, they are."""
        detected = (s.token == 0) & (s.token_color == "white") & (s.color[0] == "white") & ~s.active[0]
        return implies(detected, every(~s.active[n] for n in range(self.nodes)))
