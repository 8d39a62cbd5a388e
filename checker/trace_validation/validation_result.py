"""The answer about a recording: a story that explains all its lines, or the lines that cannot happen, with reasons.

Finds the shipped scenarios whose paths resemble a given path. Only the number of steps of each action counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from isrcheck.checker.results.result import FORMAT, Exit, Trace, story_json
from isrcheck.checker.results.story import Story
from isrcheck.checker.scenarios import collection
from isrcheck.checker.scenarios.scenario import read
from isrcheck.checker.trace.trace_files import read as read_traces
from isrcheck.checker.trace_validation.recording_file import Line

TRACE: Final = "trace.itf.json"
SHOWN: Final = 3
LEAST: Final = 0.3
"""Two paths resemble each other if their `share` of common steps (0 to 1) is at least this."""


@dataclass(frozen=True)
class SimilarScenario:
    """A scenario, and the share of steps that it has in common with a path (see `share`).

    The share is 1 if both have the same actions, each action equally often.
    """

    scenario: str
    title: str
    share: float

    def to_json(self) -> dict[str, Any]:
        return {"scenario": self.scenario, "title": self.title, "share": round(self.share, 2)}


def similar_scenarios(model: str, trace: Trace) -> tuple[SimilarScenario, ...]:
    """At most `SHOWN` shipped scenarios of a model that resemble a trace, the most similar scenario first."""
    own = Counter(step.label.action for step in trace.steps[1:] if step.label is not None)
    found = [SimilarScenario(name, title, jaccard_index(own, actions)) for name, title, actions in _recorded(model)]
    alike = [each for each in found if each.share >= LEAST]
    return tuple(sorted(alike, key=lambda each: (-each.share, each.scenario))[:SHOWN])


def jaccard_index(one: Counter[str], other: Counter[str]) -> float:
    """The size of the intersection of two bags, divided by the size of their union. It is 0 for two empty bags.

    >>> share(Counter("aab"), Counter("abb"))
    0.5
    """
    together = (one | other).total()
    return (one & other).total() / together if together else 0.0


def _recorded(model: str) -> Iterator[tuple[str, str, Counter[str]]]:
    """The shipped scenarios of a model that have a recorded path: the name, title and actions of each scenario."""
    for folder, root in collection.folders((str(collection.shipped()),)):
        if (folder / TRACE).is_file():
            scenario = read(folder, root)
            if scenario.model == model:
                states = read_traces(folder / TRACE).traces[0].states
                yield scenario.name, scenario.title, Counter(x["action"] for x in states[1:] if "action" in x)


Verdict = Literal["explained", "unexplained", "incomplete"]


@dataclass(frozen=True)
class MatchedLines:
    """The lines of the recording that a state of a path explains.

    `step` is the line of the step into the state. It is None for a hidden step (a step without a line) and for the
    first state. `held` has the other lines that the state explains. These lines have no step, and the state has their
    observed values.
    """

    step: Line | None
    held: tuple[Line, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "line": None if self.step is None else _place(self.step),
            "held": [_place(line) for line in self.held],
        }


@dataclass(frozen=True)
class Explanation:
    """A path of the model that explains all lines of the recording. It was replayed with the model's own methods.

    `matched` has one entry for each state. `hidden` counts the hidden steps. `in_a_row` is the greatest number of
    hidden steps in a row. `holds` names the invariants that are true in every state. `violated` has the invariants that
    are false in a state of the path, each with the first such state (counted from 1). `unchecked` names the invariants
    that are undefined in a state of the path or have no meaning at the settings. `similar_scenarios` has scenarios that
    resemble the path.
    """

    trace: Trace
    story: Story
    matched: tuple[MatchedLines, ...]
    hidden: int
    in_a_row: int
    holds: tuple[str, ...]
    violated: dict[str, int]
    unchecked: tuple[str, ...]
    similar_scenarios: tuple[SimilarScenario, ...]

    def to_json(self) -> dict[str, Any]:
        steps = story_json(self.trace, self.story)
        return {
            "trace": [step | matched.to_json() for step, matched in zip(steps, self.matched, strict=True)],
            "hidden": self.hidden,
            "in_a_row": self.in_a_row,
            "invariants": {
                **{name: {"verdict": "holds"} for name in self.holds},
                **{name: {"verdict": "violated", "state": state} for name, state in self.violated.items()},
            },
            "unasked": list(self.unchecked),
            "resembles": [each.to_json() for each in self.similar_scenarios],
        }


@dataclass(frozen=True)
class Objection:
    """A reason why a line cannot happen.

    There are four kinds of reasons: a requirement is false, a step is undefined, a value differs from the observed
    value, or the action instance does not exist. `label` is the action instance that cannot be the step of the line. It
    is None if the line has no step, or if no instance matches the line. `what` is the reason in words. `where` is the
    place of the requirement or of the undefined expression in the model. `values` are the values that the requirement
    reads.
    """

    label: str | None
    what: str
    where: str | None = None
    values: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"instance": self.label, "what": self.what, "where": self.where, "values": dict(self.values)}


@dataclass(frozen=True)
class Refused:
    """The next line of a process log (the lines of one process), and reasons why it cannot happen.

    The reasons are from the states that `Frontier.states` counts. There may be no reasons if a limit or Ctrl-C stopped
    the search before it tried the line.
    """

    line: Line
    reasons: tuple[Objection, ...]

    def to_json(self) -> dict[str, Any]:
        return {**_place(self.line), "row": self.line.row, "reasons": [each.to_json() for each in self.reasons]}


@dataclass(frozen=True)
class Frontier:
    """One of the states that explain the most lines, the story that leads to it, and the next line of each process log.

    `matched` has one entry for each state of the trace. `states` counts this state and the other states in
    `SearchResult.furthest` (`validation_search.py`) that explain exactly the same lines. `waiting` has the next lines
    that must wait for a line that is not explained. `refused` has all other next lines. They cannot happen in the
    counted states, or the search stopped before it tried them. `nearest` has action instances that are enabled at the
    end of the story. Instances of the next lines' actions come first.
    """

    trace: Trace
    story: Story
    matched: tuple[MatchedLines, ...]
    explained: int
    states: int
    refused: tuple[Refused, ...]
    waiting: tuple[Line, ...]
    nearest: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        steps = story_json(self.trace, self.story)
        return {
            "explained": self.explained,
            "states": self.states,
            "trace": [step | matched.to_json() for step, matched in zip(steps, self.matched, strict=True)],
            "refused": [each.to_json() for each in self.refused],
            "waiting": [_place(line) for line in self.waiting],
            "nearest": list(self.nearest),
        }


@dataclass
class Answer:
    """The answer about one recording, from a search that allows at most `at_most` hidden steps in a row."""

    file: str
    model: str
    settings: dict[str, Any]
    lines: int
    at_most: int
    visited: int
    verdict: Verdict
    exit_code: int
    reason: str | None = None
    explanation: Explanation | None = None
    frontier: Frontier | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "explain": self.file,
            "model": self.model,
            "settings": self.settings,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "lines": self.lines,
            "hidden_at_most": self.at_most,
            "visited": self.visited,
            "explanation": None if self.explanation is None else self.explanation.to_json(),
            "frontier": None if self.frontier is None else self.frontier.to_json(),
            "seconds": self.seconds,
        }


def unanswered(file: str, reason: str, code: int) -> dict[str, Any]:
    """The answer, as JSON, about a recording that was not examined."""
    return Answer(file, "", {}, 0, 0, 0, "incomplete", code, reason).to_json()


def _place(line: Line) -> dict[str, Any]:
    return {"lane": line.process_log, "order": line.order}


EXIT = {"explained": Exit.HOLDS, "unexplained": Exit.UNEXPLAINED, "incomplete": Exit.LIMIT}
