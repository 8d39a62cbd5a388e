"""Drives a path of the model through the harness, compares model and Kafka after each step, and shortens the path.

The harness is a Java program that drives Kafka's own classes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.conformance.covering_walks import SHARE, START, Covering
from isrcheck.checker.conformance.harness_process import (
    Command,
    Conformance,
    Harness,
    HarnessFault,
    Moment,
    Values,
    as_data,
)
from isrcheck.checker.results.result import Step, Trace
from isrcheck.model.language.descriptions import SeenState
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label

Path = Generator[Step, Step | None, None]
"""A generator that yields the wanted steps one by one, and receives each step that was taken."""
SHORTENINGS: Final = 400
"""The greatest number of paths that are driven to shorten one path."""
MISSING: Final = "nothing"
INDEX: Final = re.compile(r"\[[^\]]*\]|\(\d+\)")
"""An index in the name of a part: `[0]`, or the `(0)` of `up.has(0)`."""


@dataclass(frozen=True)
class Difference:
    """The first step that Kafka refuses or after which Kafka's state differs. `step` is the number of this step.

    The first step of a path has the number 1, and the start has 0. `refused` is Kafka's error or unexpected exception
    in words, or None if only the states differ. `parts` has the name of each differing part of the state, with the
    values of this part in the model and in Kafka.
    """

    step: int
    refused: str | None
    parts: tuple[tuple[str, Any, Any], ...]

    @property
    def kind(self) -> str:
        """The refusal, or the differing parts without indices. Equal kinds count as the same difference."""
        names = sorted({INDEX.sub("", part) for part, _, _ in self.parts})
        return f"refused: {self.refused}" if self.refused is not None else ", ".join(names)

    def rows(self) -> Iterator[tuple[str, Any, Any]]:
        """Rows for the refusal, if any, and for each differing part: the part, its value in the model, and in Kafka."""
        if self.refused is not None:
            yield "this step", "taken", self.refused
        yield from self.parts

    def to_json(self) -> dict[str, Any]:
        parts = [{"part": part, "model": model, "kafka": kafka} for part, model, kafka in self.parts]
        return {"state": self.step + 1, "refused": self.refused, "parts": parts}


@dataclass(frozen=True)
class Driven:
    """The driven steps of a path: up to a difference, to an action that the harness cannot take, or to the end.

    `unreached` names the action that the harness cannot take, if the path ended there.
    """

    steps: tuple[Step, ...]
    difference: Difference | None
    unreached: str | None

    @property
    def taken(self) -> int:
        """The number of driven steps, including a last step that Kafka refused or after which Kafka's state differs."""
        return len(self.steps) - 1


class Driver:
    """Connects one harness with one model at its settings."""

    def __init__(self, harness: Harness, interpreter: Interpreter, mapping: Conformance) -> None:
        self.harness, self.interpreter, self.mapping = harness, interpreter, mapping
        self.model: Any = interpreter.model
        self.numbers = {label: i for i, label in enumerate(interpreter.labels)}
        self.answer: Mapping[str, Any] = {}

    def first(self) -> Step:
        """The start of a path: the first of the model's initial states."""
        return Step(None, None, initial_states(self.model)[0])

    def trace(self, steps: Sequence[Step]) -> Trace:
        return Trace(tuple(self.model.domains.items()), tuple(steps))

    def drive(self, path: Iterator[Step]) -> Driven:
        """Drives a path to its end, to the first difference, or to an action that the harness cannot take.

        If the path is a generator, it receives each step that was taken. If the model leaves a choice open and Kafka
        decides, the taken step may differ from the wanted step.
        """
        first = next(path)
        before, taken = as_data(self.model.domains, first.state), [first]
        difference = self._run(0, self.mapping.reset(self.model, before)) or self._compared(0, first.state)
        step = None if difference is not None else _following(path, first)
        while step is not None:
            assert step.label is not None
            if step.label.action in self.mapping.unreached:
                return Driven(tuple(taken), None, step.label.action)
            moment = self._moment(before, step)
            difference = self._run(len(taken), self.mapping.calls[moment.action](moment))
            if difference is None:
                step = self._as_decided(moment, taken[-1], step)
                difference = self._compared(len(taken), step.state)
            taken.append(step)
            before = as_data(self.model.domains, step.state)
            step = None if difference is not None else _following(path, step)
        return Driven(tuple(taken), difference, None)

    def _moment(self, before: Mapping[str, Any], step: Step) -> Moment:
        assert step.label is not None
        after = as_data(self.model.domains, step.state)
        return Moment(self.model, step.label.action, step.label.to_json(), before, after, self.answer["last_batch"])

    def _run(self, step: int, commands: list[Command]) -> Difference | None:
        """Runs commands. Returns a difference if a command is refused or fails.

        Stores Kafka's state after the commands, unless Kafka throws an unexpected exception.
        """
        try:
            answer = self.harness.run(commands)
        except HarnessFault as fault:
            return Difference(step, str(fault), ())
        self.answer = answer["state"]
        refusals = [x["refused"] for x in answer["results"] if "refused" in x]
        return Difference(step, refusals[0], ()) if refusals else None

    def _as_decided(self, moment: Moment, before: Step, step: Step) -> Step:
        """The step with the arguments that Kafka has decided, or `step` itself if the model does not allow them."""
        decided = self.mapping.decided(moment, self.answer)
        if all(moment.arguments[name] == value for name, value in decided.items()):
            return step
        wanted = {**moment.arguments, **decided}
        for label in self.interpreter.labels:
            if label.action == moment.action and label.to_json() == wanted:
                number = self.numbers[label]
                after = self.interpreter.step(before.state, number)
                if after is not None:
                    return Step(label, self.interpreter.actors[number], after)
        return step

    def _compared(self, step: int, after: State) -> Difference | None:
        """The difference between a state of the model and Kafka's state, or None if the states are equal."""
        data = as_data(self.model.domains, after)
        seen = SeenState(self.model, after)
        says = self.mapping.expected(self.model, data, seen)
        has = self.mapping.found(self.model, data, self.answer)
        for action, does in self.mapping.offers(self.model, data, seen, self.answer).items():
            says[f"enabled({action})"] = self._is_enabled(after, action)
            has[f"enabled({action})"] = does
        parts = tuple(differences(says, has))
        return Difference(step, None, parts) if parts else None

    def _is_enabled(self, state: State, action: str) -> bool:
        """Whether some instance of an action is enabled in the model and possible in Kafka."""
        labels = self.interpreter.labels
        return any(label.action == action and self._step(state, i) is not None for i, label in enumerate(labels))

    # --- paths ------------------------------------------------------------------------------------------------------

    def walk(self, seed: int, number: int, depth: int, covering: Covering | None = None) -> Path:
        """A random walk of at most `depth` steps. Each step chooses an enabled action, then an instance of this action.

        The walk depends only on the model, on `seed`, on `number`, and on Kafka's decisions during the walk. A covering
        walk also depends on the paths before it. No walk takes an action that the harness cannot take.
        """
        choose = random.Random(f"{seed}/{number}")
        step: Step | None = Step(None, None, choose.choice(initial_states(self.model)))
        self.answer = {}
        for _ in range(depth + 1):
            if step is None or not self.interpreter.counted(step.state):
                return
            step = (yield step) or step
            step = self._any_step(step, choose, covering)

    def _any_step(self, at: Step, choose: random.Random, covering: Covering | None) -> Step | None:
        by_action: dict[str, list[int]] = {}
        for number, label in enumerate(self.interpreter.labels):
            if label.action not in self.mapping.unreached:
                by_action.setdefault(label.action, []).append(number)
        # The chance that an action comes first is proportional to its weight (Efraimidis, Spirakis).
        drawn = {action: choose.random() ** (1 / self.mapping.weights.get(action, 1)) for action in by_action}
        order = sorted(by_action, key=lambda each: -drawn[each])
        before = START if at.label is None else at.label.action
        if covering is not None and choose.random() < SHARE:
            order = covering.order(before, order)
        for action in order:
            instances = choose.sample(by_action[action], len(by_action[action]))
            step = next((x for x in (self._step(at.state, number) for number in instances) if x is not None), None)
            if covering is not None:
                covering.note(before, action, step is not None)
            if step is not None:
                return step
            if covering is not None:
                covering.note_refusals(self.interpreter, at.state, action, instances)
        return None

    def _step(self, state: State, number: int) -> Step | None:
        """The step of an action instance from a state; None if the instance is not enabled or Kafka cannot take it."""
        label, after = self.interpreter.labels[number], self.interpreter.step(state, number)
        possible = after is not None and (
            not self.answer or self.mapping.is_possible(self.model, label.action, label.to_json(), self.answer)
        )
        return Step(label, self.interpreter.actors[number], after) if after is not None and possible else None

    def shortened(self, driven: Driven) -> Driven:
        """The shortest path that was found with the same kind of difference, or `driven` itself.

        Tries to leave out many successive steps first, then fewer, then single steps, then pairs of steps. The last
        step always stays. A later step may become impossible. Then another instance of the same action by the same
        actor replaces this step or, if no such instance is possible, the step is left out too. For example, a step with
        an offset in the metadata log becomes impossible if an earlier batch is left out and so the offset changes.
        """
        best, tries, kind = driven, 0, _kind(driven)
        parts = self._parts(best)
        while tries < SHORTENINGS and (gone := next(parts, None)) is not None:
            tries += 1
            kept = [step for i, step in enumerate(best.steps) if i not in gone]
            shorter = self.drive(self.along(kept, loosely=True))
            if _kind(shorter) == kind and shorter.taken < best.taken:
                best = shorter
                parts = self._parts(best, len(gone))
        return best

    def _parts(self, driven: Driven, largest: int | None = None) -> Iterator[set[int]]:
        """Yields the positions of steps to leave out together. The start and the last step stay.

        First come runs of successive steps, the longest first. A run has at most `largest` steps and at most half of
        the path's steps, but at least one. Then come all pairs of steps.
        """
        last = driven.taken
        size = min(largest or last, max(1, (last - 1) // 2))
        while size:
            yield from (set(range(start, min(start + size, last))) for start in range(1, last, size))
            size //= 2
        yield from ({i, k} for i in range(1, last) for k in range(i + 1, last))

    def along(self, steps: Sequence[Step], loosely: bool = False) -> Path:
        """A path with the action instances of `steps`, from the same start. Skips instances that are not possible.

        An instance is possible if the model enables it, Kafka can take it, and the new state satisfies the constraints.
        With `loosely`, an instance that is not possible is replaced by a possible instance of the same action and
        actor, if there is one.
        """
        at = (yield steps[0]) or steps[0]
        for wanted in steps[1:]:
            assert wanted.label is not None
            instances = (self._step(at.state, number) for number in self._instances(wanted.label, loosely))
            step = next((x for x in instances if x is not None and self.interpreter.counted(x.state)), None)
            if step is not None:
                at = (yield step) or step

    def _instances(self, label: Label, loosely: bool) -> list[int]:
        number = self.numbers[label]
        if not loosely:
            return [number]
        actors, labels = self.interpreter.actors, self.interpreter.labels
        others = [i for i, x in enumerate(labels) if x.action == label.action and actors[i] == actors[number]]
        return [number, *(i for i in others if i != number)]


def _following(path: Iterator[Step], taken: Step) -> Step | None:
    """The next step of a path, or None at the end. The next step may depend on `taken`, the step before it."""
    try:
        return path.send(taken) if isinstance(path, Generator) else next(path)
    except StopIteration:
        return None


def _kind(driven: Driven) -> str | None:
    return None if driven.difference is None else driven.difference.kind


def differences(says: Values, has: Values) -> Iterator[tuple[str, Any, Any]]:
    """The parts that differ, each with its value in the model and in Kafka. "nothing" stands for a missing value."""
    for part in [*says, *(name for name in has if name not in says)]:
        model, kafka = says.get(part, MISSING), has.get(part, MISSING)
        if model != kafka:
            yield part, model, kafka
