"""The conditions that a right answer satisfies, and the messages to the learner for conditions that fail."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any, Final

from isrcheck.checker.results.errors import CommandError
from isrcheck.checker.results.result import Exit, InvariantResult, PropertyResult, Result
from isrcheck.checker.results.text_layout import plural
from isrcheck.model.language.setting_constraints import said
from isrcheck.model.language.settings import BARE

STATES: Final = 5_000_000
"""The limit on the states of each check of an answer. A check of a right answer has at most a million states."""


@dataclass(frozen=True)
class Criterion:
    """One condition on an answer: its text, whether it is satisfied, and if not, why.

    If the condition is checked by an exploration, `length` is the length of the shortest trace to a violation, if any,
    and `command` is the command line that repeats the check.
    """

    asks: str
    passed: bool
    why: tuple[str, ...] = ()
    length: int | None = None
    command: str | None = None

    def to_json(self) -> dict[str, Any]:
        why, length, command = list(self.why), self.length, self.command
        return {"asks": self.asks, "passed": self.passed, "why": why, "length": length, "command": command}


def require_meaning(result: Result) -> None:
    """Raises `CommandError` (exit code 75) if an evaluation failed in some state, because then there is no verdict."""
    if (failure := result.evaluation) is not None:
        raise CommandError(
            f"{failure.where}: {failure.what}, after {plural(failure.trace.length, 'state')}", Exit.EVALUATION
        )


def unheld(result: Result, goals: tuple[str, ...], fires: tuple[str, ...]) -> list[str]:
    """A message about each invariant and property that does not hold.

    If all of them hold and the search is incomplete, a message says so. If all of them hold and the search is complete,
    the messages name the goals in `goals` that are never reached, and the actions in `fires` that never happen.
    """
    found = [_broken(name, each) for name, each in _results(result).items() if each.verdict != "holds"]
    if found:
        return found
    if result.verdict != "holds":
        return [f"the search did not finish: {result.reason}"]
    never = {*result.actions_never_fired, *result.actions_without_instance}
    unreached = {*result.goals_never_reached, *result.goals_switched_off}
    dull = [f"goal {name} is never reached" for name in goals if name in unreached]
    return [*dull, *(f"action {name} never happens" for name in fires if name in never)]


def unbroken(result: Result, invariants: tuple[str, ...]) -> list[str]:
    """The reasons why a check does not show the wanted violations."""
    lines = []
    for name in invariants:
        outcome = result.invariants[name]
        if outcome.verdict == "holds":
            lines.append(f"{name} holds there, in all {result.distinct:,} states")
        elif outcome.verdict == "incomplete":
            lines.append(f"{name}: the search did not finish: {result.reason}")
        elif outcome.trace is not None and outcome.trace.length == 1:
            lines.append(f"{name} is already false in the initial state: it describes the model, not the failure")
    return lines


def shortest(result: Result) -> int | None:
    """The number of states of the shortest trace to a violation; None if nothing is violated."""
    traces = [each.trace for each in _results(result).values() if each.trace is not None]
    return min((trace.length for trace in traces), default=None)


def command(model: str, settings: dict[str, Any], invariants: tuple[str, ...], liveness: tuple[str, ...] = ()) -> str:
    """The command line that repeats a check of an answer."""
    words = ["isrcheck", "check", model, "--profile", BARE]
    words += [x for name, value in settings.items() for x in ("-s", f"{name}={said(value)}")]
    words += [x for name in invariants for x in ("--invariant", name)]
    return shlex.join([*words, *(x for name in liveness for x in ("--liveness", name))])


def _results(result: Result) -> dict[str, InvariantResult | PropertyResult]:
    return {**result.invariants, **result.liveness}


def _broken(name: str, outcome: InvariantResult | PropertyResult) -> str:
    if outcome.trace is None:
        return f"{name} is not decided: the search did not finish"
    return f"{name} is violated in {plural(outcome.trace.length, 'state')}: {outcome.sentence}"
