"""A path of the model, driven through the harness step by step and compared after each; and paths made shorter."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.conformance.commands import Command, Conformance, Moment, Values, as_data
from isrcheck.checker.conformance.process import Harness, HarnessFault
from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.results import Step, Trace
from isrcheck.model.language.concrete import initial_states
from isrcheck.model.language.plain import State
from isrcheck.model.language.system import Label
from isrcheck.model.language.telling import SeenState

SHORTENINGS: Final = 400
"""Paths that are driven, at most, to make one shorter that does not conform."""
MISSING: Final = "nothing"


@dataclass(frozen=True)
class Difference:
    """The first step, counted from 1, after which Kafka is in another state, or that it refuses; 0 is the start.

    `parts` are paths of variables, with what the model says and what Kafka has.
    """

    step: int
    refused: str | None
    parts: tuple[tuple[str, Any, Any], ...]

    @property
    def kind(self) -> str:
        """What is different, without which broker it is: two paths that differ so differ in the same way."""
        names = sorted({part.partition("[")[0] + part[part.rfind("]") + 1 :] for part, _, _ in self.parts})
        return f"refused: {self.refused}" if self.refused is not None else ", ".join(names)

    def rows(self) -> Iterator[tuple[str, Any, Any]]:
        """The part, what the model says, what Kafka has."""
        if self.refused is not None:
            yield "this step", "taken", self.refused
        yield from self.parts

    def to_json(self) -> dict[str, Any]:
        parts = [{"part": part, "model": model, "kafka": kafka} for part, model, kafka in self.parts]
        return {"state": self.step + 1, "refused": self.refused, "parts": parts}


@dataclass(frozen=True)
class Driven:
    """How far a path was driven: its steps until a difference, or until an action that the harness does not reach."""

    steps: tuple[Step, ...]
    difference: Difference | None
    unreached: str | None

    @property
    def taken(self) -> int:
        """Steps that Kafka has taken, with a difference after the last or not."""
        return len(self.steps) - 1


class Driver:
    """One harness, one model at its settings, and how they belong together."""

    def __init__(self, harness: Harness, interpreter: Interpreter, mapping: Conformance) -> None:
        self.harness, self.interpreter, self.mapping = harness, interpreter, mapping
        self.model: Any = interpreter.model
        self.numbers = {label: i for i, label in enumerate(interpreter.labels)}

    def trace(self, steps: Sequence[Step]) -> Trace:
        return Trace(tuple(self.model.domains.items()), tuple(steps))

    def drive(self, path: Iterator[Step]) -> Driven:
        """Takes steps until there is a difference, or the path ends."""
        first = next(path)
        before, taken = as_data(self.model.domains, first.state), [first]
        difference, batches = self._compared(0, self.mapping.reset(self.model, before), first.state)
        for step in path if difference is None else ():
            assert step.label is not None
            if step.label.action in self.mapping.unreached:
                return Driven(tuple(taken), None, step.label.action)
            after = as_data(self.model.domains, step.state)
            moment = Moment(self.model, step.label.action, step.label.to_json(), before, after, batches)
            taken.append(step)
            commands = self.mapping.calls[step.label.action](moment)
            difference, batches = self._compared(len(taken) - 1, commands, step.state)
            before = after
            if difference is not None:
                break
        return Driven(tuple(taken), difference, None)

    def _compared(self, step: int, commands: list[Command], after: State) -> tuple[Difference | None, int]:
        """Runs commands and compares what comes of them; how many batches of metadata there are, less one."""
        try:
            answer = self.harness.run(commands)
        except HarnessFault as fault:
            return Difference(step, str(fault), ()), 0
        refusals = [x["refused"] for x in answer["results"] if "refused" in x]
        if refusals:
            return Difference(step, refusals[0], ()), 0
        state, data = answer["state"], as_data(self.model.domains, after)
        says = self.mapping.expected(self.model, data, SeenState(self.model, after))
        has = self.mapping.found(self.model, data, state)
        parts = tuple(differences(says, has))
        return Difference(step, None, parts) if parts else None, state["last_batch"]

    # --- paths ------------------------------------------------------------------------------------------------------

    def walk(self, seed: int, number: int, depth: int) -> Iterator[Step]:
        """A random walk of at most `depth` steps: one of the actions that are enabled, then one of its instances.

        What it does depends on the seed and its number alone. It takes no action that the harness does not reach.
        """
        choose = random.Random(f"{seed}/{number}")
        state = choose.choice(initial_states(self.model))
        yield Step(None, None, state)
        for _ in range(depth):
            step = self._any_step(state, choose)
            if step is None or not self.interpreter.counted(step.state):
                return
            yield step
            state = step.state

    def _any_step(self, state: State, choose: random.Random) -> Step | None:
        by_action: dict[str, list[int]] = {}
        for number, label in enumerate(self.interpreter.labels):
            if label.action not in self.mapping.unreached:
                by_action.setdefault(label.action, []).append(number)
        # Whoever comes first in the order of these numbers is drawn as often as its weight says (Efraimidis, Spirakis).
        drawn = {action: choose.random() ** (1 / self.mapping.weights.get(action, 1)) for action in by_action}
        for action in sorted(by_action, key=lambda each: -drawn[each]):
            for number in choose.sample(by_action[action], len(by_action[action])):
                after = self.interpreter.step(state, number)
                if after is not None:
                    return Step(self.interpreter.labels[number], self.interpreter.actors[number], after)
        return None

    def shortened(self, driven: Driven) -> Driven:
        """A path that differs in the same way, with steps left out that are beside the point; the end stays last.

        First larger parts are left out, then single steps, then two at once. What is not enabled then may be another
        instance of the same: a place in the metadata log is another one where an earlier batch is gone.
        """
        best, tries, kind = driven, 0, _kind(driven)
        parts = self._parts(best)
        while tries < SHORTENINGS and (gone := next(parts, None)) is not None:
            tries += 1
            kept = [step for i, step in enumerate(best.steps) if i not in gone]
            shorter = self.drive(iter(self.walked(kept, loosely=True)))
            if _kind(shorter) == kind and shorter.taken < best.taken:
                best = shorter
                parts = self._parts(best, len(gone))
        return best

    def _parts(self, driven: Driven, largest: int | None = None) -> Iterator[set[int]]:
        """Steps to leave out together: parts of at most `largest` steps, then pairs; never the first or the last."""
        last = driven.taken
        size = min(largest or last, max(1, (last - 1) // 2))
        while size:
            yield from (set(range(start, min(start + size, last))) for start in range(1, last, size))
            size //= 2
        yield from ({i, k} for i in range(1, last) for k in range(i + 1, last))

    def walked(self, steps: Sequence[Step], loosely: bool = False) -> list[Step]:
        """The same action instances from the same start; those that are not enabled any more are left out.

        Loosely another instance of the same action and actor takes the place of such a one, if there is any.
        """
        found = [steps[0]]
        for step in steps[1:]:
            assert step.label is not None
            for number in self._instances(step.label, loosely):
                after = self.interpreter.step(found[-1].state, number)
                if after is not None and self.interpreter.counted(after):
                    found.append(Step(self.interpreter.labels[number], self.interpreter.actors[number], after))
                    break
        return found

    def _instances(self, label: Label, loosely: bool) -> list[int]:
        number = self.numbers[label]
        if not loosely:
            return [number]
        actors, labels = self.interpreter.actors, self.interpreter.labels
        others = [i for i, x in enumerate(labels) if x.action == label.action and actors[i] == actors[number]]
        return [number, *(i for i in others if i != number)]


def _kind(driven: Driven) -> str | None:
    return None if driven.difference is None else driven.difference.kind


def differences(says: Values, has: Values) -> Iterator[tuple[str, Any, Any]]:
    """Parts that are not the same; what one of both does not have at all is `nothing` there."""
    for part in [*says, *(name for name in has if name not in says)]:
        model, kafka = says.get(part, MISSING), has.get(part, MISSING)
        if model != kafka:
            yield part, model, kafka
