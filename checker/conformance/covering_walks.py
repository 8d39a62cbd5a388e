"""Covering walks: random walks that prefer the actions which were tried least often after the previous action.

As a result, after each action all actions are tried about equally often. A try counts even if the action is not
enabled. Otherwise an action that is never enabled after some action would always be tried first after that action.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter

Pair = tuple[str, str]
"""An action and the next action. The first action of a path comes after START."""
START: Final = "start"
SHARE: Final = 0.5
"""The probability that a step of a covering walk takes the enabled action tried least often after the previous action.

The other steps are chosen as in a random walk, because some actions need long preparation: for example, a replica must
first catch up. If every step took the action tried least often, the walk would rarely reach these actions.
"""


DECIDED: Final = "decisions that Kafka makes itself"
"""Stands in `Covering.refused` in place of a condition if the model enables an instance that Kafka cannot take."""


@dataclass
class Covering:
    """Counts over all walks. `tried` says for each pair of actions how often the second was tried after the first.

    `driven` has the actions that a path has taken. For each action, `refused` says how often each condition
    (`file:line`) disabled an instance of the action. It counts only until a path has taken the action.
    """

    tried: Counter[Pair] = field(default_factory=Counter)
    driven: set[str] = field(default_factory=set)
    refused: dict[str, Counter[str]] = field(default_factory=dict)

    def order(self, before: str, actions: Sequence[str]) -> list[str]:
        """The actions, beginning with those that were tried least often after `before`.

        Actions with equal counts keep their order.
        """
        return sorted(actions, key=lambda action: self.tried[before, action])

    def note(self, before: str, action: str, taken: bool) -> None:
        self.tried[before, action] += 1
        if taken:
            self.driven.add(action)

    def note_refusals(self, interpreter: Interpreter, state: State, action: str, instances: Sequence[int]) -> None:
        """Counts for each instance the condition that disables it, or `DECIDED` if the model enables the instance.

        Does nothing if a path has already taken the action.
        """
        if action in self.driven:
            return
        places = self.refused.setdefault(action, Counter())
        for instance in instances:
            line = interpreter.refusal(state, instance)
            if line is not None:
                places[line] += 1
            elif interpreter.step(state, instance) is not None:
                places[DECIDED] += 1

    def why(self, interpreter: Interpreter, state: State, action: str) -> str:
        """The reason in words why an action was never driven. `state` may be any state of the model."""
        if not any(interpreter.exists(state, i) for i, x in enumerate(interpreter.labels) if x.action == action):
            return "the model has no such step with these settings"
        places = self.refused.get(action, Counter())
        if not places:
            return "never tried"
        counts = (f"{count:,} times at {place}" for place, count in sorted(places.items(), key=lambda x: (-x[1], x[0])))
        return f"no instance was enabled where it was tried; refused {', '.join(counts)}"


def pairs_of(actions: Sequence[str]) -> Counter[Pair]:
    """The number of occurrences of each pair of successive actions in a path."""
    return Counter(zip((START, *actions), actions, strict=False))


def by_first(pairs: Mapping[Pair, int]) -> dict[str, dict[str, int]]:
    """The counted pairs as JSON data. Maps each first action to the counts of its next actions."""
    found: dict[str, dict[str, int]] = {}
    for (before, action), count in sorted(pairs.items()):
        found.setdefault(before, {})[action] = count
    return found
