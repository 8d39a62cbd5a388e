"""Reference and local engine on one design: the same states, level by level or out of every state of long paths."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.engines import reference
from checker.engines.interpreter import Interpreter
from checker.engines.local.search import search
from checker.exploration import Exploration, Limits
from checker.kernel.compile import Kernel
from model.language import Model
from model.language.concrete import initial_states
from model.language.tracing import trace

STATES = 150
MEMORY = 2 << 30


@dataclass(frozen=True)
class Design:
    """A model, what of its settings only makes it larger, and what disturbs it."""

    cls: type[Model]
    bounds: tuple[str, ...]
    disturbances: tuple[str, ...]

    def others(self, name: str) -> list[Any]:
        """What a setting can be besides its default; of a number, the next one."""
        declared = self.cls.declared_settings()[name]
        if isinstance(declared.default, bool):
            return [not declared.default]
        if declared.choices is not None:
            return [x for x in declared.choices if x != declared.default]
        assert isinstance(declared.default, int)
        return [declared.default + 1]

    def switched_alone(self) -> Iterator[dict[str, Any]]:
        yield {}
        for name in self.cls.declared_settings():
            yield from ({name: value} for value in self.others(name))

    def combination(self, draw: int) -> dict[str, Any]:
        """A third of the settings are not at their defaults; something disturbs in any case."""
        chance = random.Random(draw)
        names = [n for n in self.cls.declared_settings() if n not in self.bounds and chance.random() < 1 / 3]
        chosen = {name: chance.choice(self.others(name)) for name in names}
        chosen[chance.choice(self.disturbances)] = 1
        return chosen

    def absent(self, settings: dict[str, Any]) -> set[str]:
        """The actions without an instance."""
        return {*self.cls.actions()} - {t.label.action for t in trace(self.cls(**settings), {}).transitions}


def levels(model: Model, engine: str) -> tuple[Exploration, list[set[tuple[int, ...]]]]:
    """What an engine finds, and the states of each level as the integers that they are stored as."""
    limits, interpreter = Limits(states=STATES, memory=MEMORY), Interpreter(model, {})
    if engine == "reference":
        found, by_reference = reference.search(interpreter, keep_going=True, limits=limits)
        return found, [set(map(interpreter.leaves, level)) for level in by_reference.levels]
    found, native = search(trace(model, {}), keep_going=True, deadlock=False, limits=limits, report=None)
    return found, [set(native.leaves(native.level_states(k + 1))) for k in range(len(found.levels))]


def assert_levels_agree(model: Model) -> None:
    one, states = levels(model, "reference")
    other, same_states = levels(model, "local")
    assert states == same_states
    assert one.generated == other.generated
    assert (one.initial, one.goals, one.bounds, one.degrees) == (other.initial, other.goals, other.bounds, other.degrees)
    assert one.error is None
    assert other.error is None


def assert_walks_agree(model: Model, draw: int, walks: int = 3, length: int = 40) -> None:
    """Deeper than whole levels reach: every step out of every state of some long paths."""
    chance, interpreter, system = random.Random(draw), Interpreter(model, {}), trace(model, {})
    kernel, start = Kernel(system), initial_states(model)
    for _ in range(walks):
        state = chance.choice(start)
        for _ in range(length):
            steps = list(interpreter.steps(state))
            found, _, transitions, _ = kernel.expand(kernel.layout.pack([interpreter.leaves(state)]))
            leaves = map(tuple, kernel.layout.unpack(found).tolist())
            native = {(system.transitions[t].label, x) for t, x in zip(transitions.tolist(), leaves, strict=True)}
            assert native == {(interpreter.labels[i], interpreter.leaves(after)) for i, after in steps}
            if not steps:
                break
            state = chance.choice(steps)[1]

