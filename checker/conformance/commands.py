"""What is said to the harness, and what a mapping is: which calls an action stands for, which variables a state has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from isrcheck.model.language.domains import Domain
from isrcheck.model.language.plain import State
from isrcheck.model.language.telling import SeenState

Command = dict[str, Any]
"""One call: `{"op": "produce", "broker": 0, "id": 1}`."""
Values = dict[str, Any]
"""Parts of a state by their paths, as JSON data: `{"replica[0][1].high_watermark": 2}`."""


@dataclass(frozen=True)
class Moment:
    """A step of the model: arguments by name, the states before and after as JSON data by variable.

    `last_batch` counts from 0 what was committed to the metadata log before the step.
    """

    model: Any
    action: str
    arguments: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    last_batch: int


class Conformance(Protocol):
    """A mapping of a model to the harness: a module with these names."""

    walks: Mapping[str, Any]
    """Settings of random walks, where the user says nothing."""
    covering: Mapping[str, Any]
    """Settings of covering walks besides: every action that the harness takes is there."""
    weights: Mapping[str, int]
    """How much rather than others a random walk takes an action; 1 where nothing is said."""
    classes: tuple[str, ...]
    """The classes of Kafka that the model is about, without their packages: of these the coverage is told."""
    unreached: Mapping[str, str]
    """Actions that the harness cannot take, and why."""
    calls: Mapping[str, Callable[[Moment], list[Command]]]
    """An action as calls."""

    def of_kafka(self, version: str) -> Mapping[str, tuple[Any, ...]]:
        """What a version of Kafka does, by the settings that say so; the first value is that of random walks."""

    def decided(self, moment: Moment, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments of an action that Kafka has settled, where the model leaves them open; after its calls were run."""

    def is_possible(self, model: Any, action: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> bool:
        """Whether Kafka may take an instance of an action in the state that it is in, where it decides that itself."""

    def offers(
        self, model: Any, state: Mapping[str, Any], seen: SeenState, answer: Mapping[str, Any]
    ) -> Mapping[str, bool]:
        """Whether Kafka would take an action now, for those of which the model can say whether they are enabled."""

    def known(self, model: Any, driven: Any) -> str | None:
        """What is known of the difference of a path that was driven, in a few words; None where it is news."""

    def reset(self, model: Any, state: Mapping[str, Any]) -> list[Command]:
        """Calls that make the first state of a path."""

    def expected(self, model: Any, state: Mapping[str, Any], seen: SeenState) -> Values:
        """What the model says of everything that is compared; `seen` is the same state, to ask the model's methods."""

    def found(self, model: Any, state: Mapping[str, Any], answer: Mapping[str, Any]) -> Values:
        """What Kafka has, under the same names."""


def as_data(domains: Mapping[str, Domain], state: State) -> dict[str, Any]:
    """A state of the model as JSON data by variable."""
    return {name: domain.to_json(value) for (name, domain), value in zip(domains.items(), state, strict=True)}
