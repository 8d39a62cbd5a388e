"""Turns the verdicts of a check into test cases with source lines. `isrcheck regress` makes one case per scenario."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.report.counterexample_text import (
    choice_text,
    evaluation_text,
    lasso_text,
    property_text,
    property_violation_text,
    violations_text,
)
from isrcheck.checker.report.result_text import nothing_shown_by
from isrcheck.checker.results.result import Exit, InvariantResult, PropertyResult, Result, Trace
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.results.text_layout import plural, repository_path

Outcome = Literal["passed", "failed", "error", "skipped"]
"""The outcome of a test case.

`failed`: a violation, or another difference from what is expected. `skipped`: no answer for an invariant, because the
search stopped at another violation. `error`: no answer for another reason.
"""


@dataclass(frozen=True)
class Location:
    """Lines of a file, counted from 1, with a message about these lines. `file` is a result of `repository_path`."""

    file: str
    line: int
    end_line: int
    message: str = ""


@dataclass(frozen=True)
class Case:
    """A verdict as a test case.

    `message` is the verdict in one line. `text` is the full report, and empty if `message` says everything. `rule` is
    the sentence that should be true.

    `path` has the lines of all actions of the trace, in order. `about` has the lines of the invariant or property.
    `location` has the lines to show, if there are any. After a violation, it has the last action of the trace. After an
    evaluation error, it has the action that failed. For a scenario, it has the first line of the scenario's file. In
    all other cases, and for a violation in an initial state, it is equal to `about`.

    `seconds` is the time that the answer took. Cases that are answered together have equal shares of the time. `remark`
    says why the outcome `passed` says less than it seems to.
    """

    suite: str
    name: str
    outcome: Outcome
    message: str
    rule: str = ""
    text: str = ""
    location: Location | None = None
    path: tuple[Location, ...] = ()
    about: Location | None = None
    trace: Trace | None = field(default=None, repr=False)
    seconds: float = 0.0
    remark: str = ""


@dataclass(frozen=True)
class Verdicts:
    """What the reports for continuous integration show. `headline` is the answer of the whole command in one line."""

    cases: Sequence[Case]
    exit_code: int
    settings: dict[str, Any]
    title: str
    headline: str


def cases_of(result: Result, loaded: LoadedModel) -> list[Case]:
    """The verdicts of a check, as test cases.

    There is a case for each invariant and each property, and for deadlock if the search looked for deadlocks. An
    evaluation error adds a case. If the outcome of a scenario is not as expected, the case `expectation` is added.
    Otherwise, if the exit code is 10, the case `vacuity` is added.

    One search answers all invariants and deadlock. The properties are checked after this search, on its result. The
    properties share the time of their check equally. The invariants and deadlock share the remaining time equally. If
    only properties are checked, they share the whole time. The shares add up to the time of the whole check.
    """
    maker = _Maker(result, loaded)
    found = [maker.invariant_case(name, f, loaded.invariants.get(name)) for name, f in result.invariants.items()]
    if result.deadlock is not None:
        found.append(maker.invariant_case("no-deadlock", result.deadlock, None))
    promised = [maker.property_case(name, f, loaded.properties.get(name)) for name, f in result.liveness.items()]
    after = result.seconds.get("liveness", 0.0) if found else result.seconds.get("total", 0.0)
    shared = [*_sharing(found, result.seconds.get("total", 0.0) - after), *_sharing(promised, after)]
    return [*shared, *maker.rest()]


def _sharing(cases: Sequence[Case], seconds: float) -> list[Case]:
    """The cases, each with an equal share of the time in which they were answered together."""
    return [replace(case, seconds=seconds / len(cases)) for case in cases]


@dataclass(frozen=True)
class _Maker:
    result: Result
    loaded: LoadedModel

    def invariant_case(
        self, name: str, invariant_outcome: InvariantResult, predicate: Callable[..., Any] | None
    ) -> Case:
        about = None if predicate is None else location_of(predicate, invariant_outcome.sentence)
        if invariant_outcome.trace is not None:
            path = tuple(self._path(invariant_outcome.trace))
            return Case(
                self._suite,
                name,
                "failed",
                f"{name} is violated after {plural(invariant_outcome.trace.length - 1, 'step')}: "
                f"{invariant_outcome.sentence}",
                invariant_outcome.sentence,
                "\n".join(violations_text([(name, invariant_outcome)])),
                path[-1] if path else about,
                path,
                about,
                invariant_outcome.trace,
            )
        outcome, message = self._open(invariant_outcome)
        return Case(self._suite, name, outcome, message, invariant_outcome.sentence, about=about, location=about)

    def property_case(self, name: str, property_outcome: PropertyResult, predicate: Callable[..., Any] | None) -> Case:
        about = None if predicate is None else location_of(predicate, property_outcome.sentence)
        if property_outcome.trace is not None:
            path = tuple(self._path(property_outcome.trace))
            message = (
                f"{name}{choice_text(property_outcome)} {lasso_text(property_outcome)}: {property_outcome.sentence}"
            )
            text = "\n".join(property_violation_text(name, property_outcome))
            where = path[-1] if path else about
            return Case(
                self._suite,
                name,
                "failed",
                message,
                property_outcome.sentence,
                text,
                where,
                path,
                about,
                property_outcome.trace,
            )
        said = property_text(property_outcome)
        outcome: Outcome = "passed" if property_outcome.verdict == "holds" else "error"
        remark = said if outcome == "passed" and said != "holds" else ""
        if property_outcome.only_excused:
            outcome = "skipped"
        return Case(
            self._suite,
            name,
            outcome,
            said,
            property_outcome.sentence,
            about=about,
            location=about,
            remark=remark,
        )

    def _open(self, invariant_outcome: InvariantResult) -> tuple[Outcome, str]:
        """The outcome and the message for an invariant (or deadlock) without a counterexample."""
        if invariant_outcome.verdict == "holds":
            return "passed", f"holds in all {plural(self.result.distinct, 'state')}"
        so_far = f"not violated up to depth {invariant_outcome.checked_depth}"
        if self.result.verdict == "violated" and self.result.reason is None:
            return "skipped", f"{so_far}; the search stopped at another violation"
        return "error", f"{so_far}: {self.result.reason or 'the search did not finish'}"

    def _path(self, trace: Trace) -> Iterator[Location]:
        """The lines of the action of each step, with a message about the step."""
        actions = self.loaded.cls.actions()
        for i, step in enumerate(trace.steps[1:], 2):
            if step.label is not None:
                yield location_of(actions[step.label.action], f"state {i}: {label_text(step.label)} by {step.actor}")

    def rest(self) -> Iterator[Case]:
        failure = self.result.evaluation
        if failure is not None:
            path = tuple(self._path(failure.trace))
            method = None if failure.label is None else self.loaded.cls.actions()[failure.label.action]
            where = None if method is None else location_of(method, failure.what)
            text = "\n".join(evaluation_text(failure))
            message = f"{failure.where}: {failure.what}"
            rule = "The model can be evaluated in every state."
            yield Case(self._suite, "evaluation", "error", message, rule, text, where, path, trace=failure.trace)
        if self.result.unmet:
            said = "; ".join(self.result.unmet)
            yield Case(self._suite, "expectation", "failed", said, "The outcome is as expected.")
        elif self.result.asks_nothing:
            said = "there is no invariant to check, and no property or deadlock was asked"
            outcome: Outcome = "failed" if self.result.exit_code == Exit.DIFFERENCE else "skipped"
            yield Case(self._suite, "vacuity", outcome, said, "Something is asked.")
        elif self.result.exit_code == Exit.DIFFERENCE:
            never = [*self.result.actions_never_fired, *self.result.goals_never_reached]
            parts = ("never seen", never), ("nothing shown by", nothing_shown_by(self.result))
            said = "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)
            said = said or "no step of the specification ever happens"
            yield Case(self._suite, "vacuity", "failed", said, "Every action fires and every goal is reached.")

    @property
    def _suite(self) -> str:
        return self.result.model


def location_of(function: Callable[..., Any], message: str = "") -> Location:
    """The lines of a function, with its decorators."""
    code = inspect.unwrap(function).__code__
    try:
        lines, first = inspect.getsourcelines(code)
    except OSError:
        lines, first = [""], code.co_firstlineno
    return Location(repository_path(code.co_filename), first, first + len(lines) - 1, message)


def unfinished(suite: str, reason: str, code: int) -> Case:
    """The test case for a check that gave no result."""
    return Case(suite, "check", "error", f"{reason} (exit code {code})", "The model could be checked.")
