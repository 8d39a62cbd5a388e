"""A harness without Kafka: it answers with the states of a model, or with states that a test has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isrcheck.checker.conformance.harness_process import Command


class Echo:
    """Keeps the commands, and answers with `state` or with a refusal."""

    def __init__(self, state: Callable[[list[Command]], dict[str, Any]]) -> None:
        self.commands: list[list[Command]] = []
        self.state = state
        self.refusal: str | None = None

    def run(self, commands: list[Command]) -> dict[str, Any]:
        self.commands.append(commands)
        results = [{} if self.refusal is None else {"refused": self.refusal} for _ in commands]
        return {"results": results, "state": self.state(commands)}
