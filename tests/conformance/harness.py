"""A harness that is not Kafka: it answers what a model says, or whatever a test makes of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.checker.conformance.commands import Command


class Echo:
    """Keeps what it was told, and answers with `state`, or refuses."""

    def __init__(self, state: Callable[[list[Command]], dict[str, Any]]) -> None:
        self.told: list[list[Command]] = []
        self.state = state
        self.refusal: str | None = None

    def run(self, commands: list[Command]) -> dict[str, Any]:
        self.told.append(commands)
        results = [{} if self.refusal is None else {"refused": self.refusal} for _ in commands]
        return {"results": results, "state": self.state(commands)}
