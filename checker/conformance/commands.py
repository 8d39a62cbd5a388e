"""The types of the commands for the harness, and the interface of a mapping from a model to the harness.

The harness is a Java program that drives Kafka's own classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from isrcheck.model.language.domains import Domain
from isrcheck.model.language.plain import State
from isrcheck.model.language.telling import SeenState

Command = dict[str, Any]
"""One call of the harness: `{"op": "produce", "broker": 0, "id": 1}`."""
Values = dict[str, Any]
"""Parts of a state by their paths, as JSON data: `{"replica[0][1].high_watermark": 2}`."""


@dataclass(frozen=True)
class Moment:
    """A step of the model: the action's arguments by name, and the states before and after the step, as JSON data.

    The data of a state are a dict from names of variables to values. `last_batch` is the number of the last batch in
    Kafka's metadata log before the step, counted from 0.
    """

    model: Any
    action: str
    arguments: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    last_batch: int


class Conformance(Protocol):
    """A mapping from a model to the harness: a module that defines these names.

    `answer` is always the state of Kafka that the harness reported last.
    """

    walks: Mapping[str, Any]
    """The model's settings for random walks. Settings that the user gives take precedence."""
    covering: Mapping[str, Any]
    """Settings that covering walks (`covering.py`) add to `walks`, so that more actions are possible."""
    weights: Mapping[str, int]
    """The weights by which a random walk chooses actions. An action without an entry has weight 1."""
    classes: tuple[str, ...]
    """The classes of Kafka that the model describes, without their packages. Coverage is reported for these classes."""
    unreached: Mapping[str, str]
    """Actions that the harness cannot take, and why."""
    calls: Mapping[str, Callable[[Moment], list[Command]]]
    """For each action that the harness can take, a function that returns the calls that carry out the action."""

    def of_kafka(self, version: str) -> Mapping[str, tuple[Any, ...]]:
        """Maps each setting about Kafka's behaviour to the values that are true of a version of Kafka.

        Random walks use the setting's first value, unless `walks`, `covering` or the user gives another one.
        """

    def decided(self, moment: Moment, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Maps each argument that the model leaves open to the value that Kafka chose when it took the step."""

    def is_possible(self, model: Any, action: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """Whether Kafka can now take an action instance that the model allows."""

    def offers(
        self, model: Any, state: Mapping[str, Any], seen: SeenState, answer: Mapping[str, Any]
    ) -> Mapping[str, bool]:
        """Maps some actions to whether Kafka would take them now. Other actions are not compared with the model."""

    def known(self, model: Any, driven: Any) -> str | None:
        """A description of the difference at the end of a driven path, or None if no known difference explains it."""

    def reset(self, model: Any, state: Mapping[str, Any]) -> list[Command]:
        """Calls that set up the first state of a path."""

    def expected(self, model: Any, state: Mapping[str, Any], seen: SeenState) -> Values:
        """The values of the model to compare. `seen` is the same state, for calls of the model's methods."""

    def found(self, model: Any, state: Mapping[str, Any], answer: Mapping[str, Any]) -> Values:
        """The values of Kafka to compare, under the names that `expected` uses."""


def as_data(domains: Mapping[str, Domain], state: State) -> dict[str, Any]:
    """A state of the model as JSON data by variable."""
    return {name: domain.to_json(value) for (name, domain), value in zip(domains.items(), state, strict=True)}
