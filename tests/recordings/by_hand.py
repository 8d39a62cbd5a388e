"""The meaning of a recording, implemented a second time, plainly: tries every order and all hidden steps by methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.checker.results.state_text import part_at
from isrcheck.checker.trace_validation.recording_file import Line, Recording
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label

Position = tuple[State, tuple[int, ...], int]


class TooMany(Exception):
    """There are more states than this module tries."""


def reached(
    recording: Recording, interpreter: Interpreter, at_most: int, limit: int
) -> tuple[set[tuple[int, ...]], bool]:
    """All numbers of lines of the lanes that can be explained together, and whether an undefined step was tried."""
    by_hand = _ByHand(recording, interpreter, at_most)
    found: set[Position] = set()
    left = [(state, (0,) * len(by_hand.process_logs), 0) for state in initial_states(interpreter.model)]
    while left:
        here = left.pop()
        if here in found:
            continue
        found.add(here)
        if len(found) > limit:
            raise TooMany
        left += by_hand.following(here)
    return {positions for _, positions, _ in found}, by_hand.failed


class _ByHand:
    def __init__(self, recording: Recording, interpreter: Interpreter, at_most: int) -> None:
        self.interpreter, self.at_most, self.failed = interpreter, at_most, False
        self.process_logs = list(recording.process_logs.values())
        self.hidden, self.complete = recording.hidden, recording.complete
        self.variables = tuple(interpreter.model.domains.items())
        self.known: dict[State, list[tuple[Label, Any]]] = {}

    def following(self, here: Position) -> Iterator[Position]:
        state, positions, run = here
        next_lines = {
            i: lines[k] for i, (lines, k) in enumerate(zip(self.process_logs, positions, strict=True)) if k < len(lines)
        }
        passed = {line.place for lines, k in zip(self.process_logs, positions, strict=True) for line in lines[:k]}
        next_lines = {i: line for i, line in next_lines.items() if set(line.after) <= passed}
        for i, line in next_lines.items():
            if not line.events and self.as_seen(line, state):
                yield state, one_more(positions, i), run
        if not self.interpreter.counted(state):
            return
        for label, after in self.steps(state):
            process_logs = [i for i, line in next_lines.items() if any(self.is_one(label, x) for x in line.events)]
            is_hidden = run < self.at_most and any(self.is_one(label, x) for x in self.hidden)
            if isinstance(after, EvaluationError):
                self.failed |= bool(process_logs) or is_hidden
                continue
            for i in process_logs:
                if self.as_seen(next_lines[i], after):
                    yield after, one_more(positions, i), 0
            if is_hidden and self.keeps(state, after):
                yield after, positions, run + 1

    def steps(self, state: State) -> list[tuple[Label, Any]]:
        if state not in self.known:
            labels = self.interpreter.labels
            self.known[state] = [(labels[i], after) for i, after in self.interpreter.steps(state)]
        return self.known[state]

    def keeps(self, state: State, after: State) -> bool:
        return all(part_at(self.variables, state, x) == part_at(self.variables, after, x) for x in self.complete)

    def is_one(self, label: Label, pattern: Any) -> bool:
        said = label.to_json()
        return label.action == pattern.action and all(said[name] == x for name, x in pattern.parameters.items())

    def as_seen(self, line: Line, state: State) -> bool:
        for path, data in line.observed.items():
            domain, value = part_at(self.variables, state, path)
            if domain.to_json(value) != data:
                return False
        return True


def one_more(positions: tuple[int, ...], process_log: int) -> tuple[int, ...]:
    return (*positions[:process_log], positions[process_log] + 1, *positions[process_log + 1 :])
