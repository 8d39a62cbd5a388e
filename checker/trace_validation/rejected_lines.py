"""Finds why the next line of each process log cannot happen, and which of these lines is probably wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.trace.step_replay import unmet_requirement
from isrcheck.checker.trace_validation.line_matches import Check, Question, Seen
from isrcheck.checker.trace_validation.recording_file import Line
from isrcheck.checker.trace_validation.validation_result import Objection, Refused
from isrcheck.checker.trace_validation.validation_search import Limits, Node, SearchResult, search
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.model import as_parameter
from isrcheck.model.semantics.concrete_values import State
from isrcheck.model.semantics.transition_system import Label

REASONS: Final = 4
INSTANCES: Final = 12
NEAREST: Final = 6
TRIED: Final = 100_000
"""The most nodes that each search in `_further` visits."""


@dataclass
class Allowance:
    """What the searches in `_further` may still take together: nodes, and time until a moment of `perf_counter`.

    `used_up` says what ended the last of these searches, if it was not `TRIED`. Then there is no further search.
    """

    nodes: int
    until: float | None = None
    used_up: Literal["states", "time", "interrupt"] | None = None

    def search(self, question: Question, at_most: int) -> SearchResult:
        """Searches within what is left."""
        seconds = None if self.until is None else max(0.0, self.until - time.perf_counter())
        found = search(question, at_most, Limits(min(TRIED, self.nodes), seconds))
        self.nodes -= found.visited
        if found.stopped in ("time", "interrupt") or self.nodes <= 0:
            self.used_up = "states" if found.stopped is None else found.stopped
        return found


class Refusing:
    """Examines states that explain the most lines, with the model's own methods.

    The states are from the node with the fewest hidden steps, and from the other nodes that explain the same lines.
    """

    def __init__(self, question: Question, nodes: Sequence[Node]) -> None:
        self.question, self.interpreter = question, question.interpreter
        self.order = {label: i for i, label in enumerate(self.interpreter.labels)}
        self.nodes = sorted(nodes, key=lambda node: node.hidden)
        self.positions = self.nodes[0].positions
        self.nodes = [node for node in self.nodes if node.positions == self.positions]
        self.states = [state_of(question, node) for node in self.nodes]

    @property
    def next(self) -> list[Seen]:
        """The next line of each process log. A process log whose lines are all explained has no next line."""
        process_logs = zip(self.question.process_logs, self.positions, strict=True)
        return [lines[position] for lines, position in process_logs if position < len(lines)]

    @property
    def waiting(self) -> tuple[Line, ...]:
        """The next lines that must wait for a line that is not explained."""
        return tuple(seen.line for seen in self.next if not seen.may_come(self.positions))

    def refused(self, at_most: int, allowance: Allowance) -> tuple[Refused, ...]:
        """The next lines that need not wait for another line, with the reasons why they cannot happen.

        If there are several such lines, a search for each of them finds how many lines can be explained if the content
        of this line is ignored (`_further`). The line with the greatest number comes first, because it is probably
        wrong. A line whose search does not begin within the allowance counts as if its search had found nothing.
        """
        candidates = [seen for seen in self.next if seen.may_come(self.positions)]
        if len(candidates) > 1 and allowance.used_up is None:
            wide = self.question.widened()
            further = {seen.line.place: _further(wide, seen, at_most, allowance) for seen in candidates}
            candidates.sort(key=lambda seen: -further[seen.line.place])
        return tuple(Refused(seen.line, self.reasons(seen)) for seen in candidates)

    # --- why --------------------------------------------------------------------------------------------------------

    def reasons(self, seen: Seen) -> tuple[Objection, ...]:
        """At most `REASONS` reasons why a line cannot happen. The reason that is found in the most states comes first.

        Examines only the first `INSTANCES` of the instances that the line's step may be. If several states give the
        same reason, its values are from the state with the fewest hidden steps.
        """
        counted: dict[tuple[str | None, str, str | None], list[Objection]] = {}
        for state in self.states:
            for reason in self._reasons(seen, state):
                counted.setdefault((reason.label, reason.what, reason.where), []).append(reason)
        return tuple(found[0] for found in sorted(counted.values(), key=len, reverse=True)[:REASONS])

    def _reasons(self, seen: Seen, state: State) -> Iterator[Objection]:
        if seen.labels is None:
            yield from (_otherwise(None, check, state) for check in seen.checks if check.found(state) != check.value)
            return
        if not seen.labels:
            yield Objection(None, "there is no such action instance")
        for label in sorted(seen.labels, key=self.order.__getitem__)[:INSTANCES]:
            yield from self._against(label, seen, state)

    def _against(self, label: Label, seen: Seen, state: State) -> Iterator[Objection]:
        text = label_text(label)
        try:
            after = self.interpreter.step(state, self.order[label])
            if after is None:
                yield self._disabled(label, text, state)
                return
        except EvaluationError as error:
            yield Objection(text, f"it is undefined there: {error.what}", error.where)
            return
        yield from (_otherwise(text, check, after) for check in seen.checks if check.found(after) != check.value)

    def _disabled(self, label: Label, text: str, state: State) -> Objection:
        model = self.interpreter.model
        arguments = [as_parameter(d, v) for d, (_, v) in zip(label.domains, label.parameters, strict=True)]
        unmet = unmet_requirement(model, state, model.actions()[label.action], arguments)
        if unmet is None:
            return Objection(text, "there is no such action instance")
        return Objection(text, f"it requires {unmet.condition}", unmet.where, unmet.values)

    def nearest(self) -> tuple[str, ...]:
        """At most `NEAREST` instances that are enabled in the state with the fewest hidden steps.

        The list begins with instances of the next lines' actions.
        """
        wanted = {label.action for seen in self.next for label in seen.labels or ()}
        enabled = [
            self.interpreter.labels[number]
            for number, after in self.interpreter.steps(self.states[0])
            if not isinstance(after, EvaluationError)
        ]
        enabled.sort(key=lambda label: (label.action not in wanted, self.order[label]))
        return tuple(label_text(label) for label in enabled[:NEAREST])


def _further(wide: Question, seen: Seen, at_most: int, allowance: Allowance) -> int:
    """The number of lines that can be explained within the allowance if the content of the line `seen` is ignored.

    The observed values of this line do not count. If the line has a step, any step or no step may take its place.
    """
    most = 0
    for labels in {None, None if seen.labels is None else frozenset(wide.numbers)}:
        if allowance.used_up is not None:
            break
        less = replace(seen, labels=labels, checks=())
        process_logs = tuple(tuple(less if x is seen else x for x in lines) for lines in wide.process_logs)
        found = allowance.search(replace(wide, process_logs=process_logs), at_most)
        most = max([most, *(node.explained for node in found.furthest)])
    return most


def state_of(question: Question, node: Node) -> State:
    """The state of a node as values of the model."""
    (leaves,) = question.kernel.layout.unpack(np.array([node.row], dtype=np.uint64)).tolist()
    return question.system.decode(leaves)


def _otherwise(label: str | None, check: Check, state: State) -> Objection:
    found, wanted = check.domain.text(check.found(state)), check.domain.text(check.value)
    when = "" if label is None else " then"
    return Objection(label, f"{check.path} is {found}{when}, but was recorded as {wanted}")
