"""What was tried and driven so far, and what a covering walk tries next: what was tried least after the last action.

So an action that is seldom enabled is taken where it is, and one that is never enabled in some place is asked for there
less and less often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.model.language.plain import State

Pair = tuple[str, str]
"""An action and the one after it; the first of a path comes after START."""
START: Final = "start"
SHARE: Final = 0.5
"""How many steps of a covering walk go to what was tried least. The others are those of a random walk: what takes long
preparation, as a replica that catches up, is not reached by doing each time something else."""


DECIDED: Final = "what Kafka has decided itself"


@dataclass
class Covering:
    """Over all walks of a run: how often an action was tried after which one, and where those not driven were refused.

    `refused` counts, for an action of which no instance was taken yet, the conditions that were false: `file:line`.
    """

    tried: Counter[Pair] = field(default_factory=Counter)
    driven: set[str] = field(default_factory=set)
    refused: dict[str, Counter[str]] = field(default_factory=dict)

    def order(self, before: str, actions: Sequence[str]) -> list[str]:
        """Actions by how seldom they were tried after this one; of equals the earlier one stays first."""
        return sorted(actions, key=lambda action: self.tried[before, action])

    def note(self, before: str, action: str, taken: bool) -> None:
        self.tried[before, action] += 1
        if taken:
            self.driven.add(action)

    def note_refusals(self, interpreter: Interpreter, state: State, action: str, instances: Sequence[int]) -> None:
        """Where instances are refused that nobody has taken yet."""
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
        """Why an action was never driven; of a state any will do."""
        if not any(interpreter.exists(state, i) for i, x in enumerate(interpreter.labels) if x.action == action):
            return "the model has no such step at these settings"
        places = self.refused.get(action, Counter())
        if not places:
            return "it was never tried"
        told = (f"{count:,} times at {place}" for place, count in sorted(places.items(), key=lambda x: (-x[1], x[0])))
        return f"no instance was enabled where it was tried; refused {', '.join(told)}"


def pairs_of(actions: Sequence[str]) -> Counter[Pair]:
    """Each action of a path with the one before it."""
    return Counter(zip((START, *actions), actions, strict=False))


def by_first(pairs: Mapping[Pair, int]) -> dict[str, dict[str, int]]:
    """Pairs as JSON data: how often each action was driven after each other one."""
    found: dict[str, dict[str, int]] = {}
    for (before, action), count in sorted(pairs.items()):
        found.setdefault(before, {})[action] = count
    return found
