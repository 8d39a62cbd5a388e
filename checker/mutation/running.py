"""Mutants of a model checked, each on its own: which invariant notices, and by which shortest trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal

from isrcheck.checker.checking import check
from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.exploration import Limits
from isrcheck.checker.library import LoadedModel, blaming, load_model_class
from isrcheck.checker.mutation.comparison import Difference, differences
from isrcheck.checker.mutation.edits import Edit
from isrcheck.checker.mutation.mutants import Family, Mutant, Touched, chosen_actions, family, mutated
from isrcheck.checker.reports.counterexample import violations_text
from isrcheck.checker.results import FORMAT, Exit, Finding, Result, Trace
from isrcheck.checker.scenarios.pool import in_order
from isrcheck.checker.wording.source import repository_path
from isrcheck.checker.wording.values import label_text
from isrcheck.model.language.profiles import BARE
from isrcheck.model.language.tracing import trace

Outcome = Literal["killed", "survived", "equivalent", "evaluation error", "not finished"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("killed", "survived", "equivalent", "evaluation error", "not finished")
Tell = Callable[[str], None]
Wanted = Callable[[int, Mutant], bool]
"""Whether a mutant is asked for, by its number and what it is."""


@dataclass(frozen=True)
class Question:
    """Which mutants of which model are checked: `model` as `load_model_class` takes it, names as users write them."""

    model: str
    settings: dict[str, Any]
    invariants: tuple[str, ...] | None
    actions: tuple[str, ...] = ()
    profile: str = BARE
    limits: Limits = field(default_factory=Limits)
    workers: int | None = None


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    `killed_by` are the invariants that are false at the end of the shortest trace, of `length` states; `step` is the
    first of them that the model does not reach by this step, `by` the step. `difference` is the level from which on
    the mutant does something else. `extra` counts its states beyond the model's, where it finished; `reason` says why
    it did not, or what has no meaning. `shown` is the trace in words.
    """

    number: int
    action: str
    touches: Touched
    edit: Edit
    outcome: Outcome
    difference: int | None = None
    killed_by: tuple[str, ...] = ()
    length: int | None = None
    step: int | None = None
    by: str | None = None
    distinct: int = 0
    extra: int | None = None
    reason: str | None = None
    trace: list[dict[str, Any]] = field(default_factory=list, repr=False)
    shown: str = field(default="", repr=False)

    def to_json(self) -> dict[str, Any]:
        e = self.edit
        edit = {"file": repository_path(e.file), "line": e.line, "column": e.column, "kind": e.kind}
        found = ("outcome", "difference", "length", "step", "by", "distinct", "extra", "reason")
        names = ("number", "action", "touches", *found)
        words = {"text": self.edit.text, "change": self.edit.words, "killed_by": list(self.killed_by)}
        return {**{name: getattr(self, name) for name in names}, **edit, **words, "trace": self.trace}


@dataclass(frozen=True)
class Mutation:
    """The verdicts on all mutants, in the order of actions and of the source, and the check of the model itself.

    `not_weaker` counts the edits that forbid a step of the model, `senseless` those that make no model.
    """

    question: Question
    own: Result
    verdicts: tuple[Verdict, ...]
    not_weaker: int
    senseless: int
    reason: str | None = None

    def count(self, outcome: Outcome) -> int:
        return sum(v.outcome == outcome for v in self.verdicts)

    @property
    def exit_code(self) -> int:
        """That of the model where it does not hold; else 152 if a mutant did not finish, 10 if one survives, or 0."""
        if self.own.exit_code != Exit.HOLDS:
            return self.own.exit_code
        codes = {Exit.LIMIT: self.reason or self.count("not finished"), Exit.DIFFERENCE: self.count("survived")}
        return next((code for code, there in codes.items() if there), Exit.HOLDS)

    def to_json(self) -> dict[str, Any]:
        own = self.own.to_json()
        return {
            "format": FORMAT,
            "exit_code": self.exit_code,
            "reason": self.reason,
            **{name: own[name] for name in ("model", "profile", "settings", "distinct", "depth", "verdict")},
            "invariants": sorted(self.own.findings),
            "counts": {outcome: self.count(outcome) for outcome in OUTCOMES},
            "not_weaker": self.not_weaker,
            "senseless": self.senseless,
            "mutants": [v.to_json() for v in self.verdicts],
        }


def mutation(
    question: Question, tell: Tell = lambda line: None, wanted: Wanted = lambda number, mutant: True
) -> Mutation:
    """Checks the model, then each of its mutants within the limits; the model must hold, or nothing is said of them."""
    loaded = load_model_class(question.model)
    own = _checked(question, loaded)
    if own.exit_code != Exit.HOLDS:
        return Mutation(question, own, (), 0, 0)
    families = families_of(question, loaded)
    tell(f"{sum(len(f.mutants) for f in families)} edits in {len(families)} actions are compared with the model")
    with blaming(loaded.origin):
        model = loaded.cls(**question.settings)
        compared = differences(trace(model, loaded.chosen(question.invariants)), families, question.limits)
    if compared is None:
        why = "the model's own exploration did not finish once more"
        return Mutation(question, own, (), 0, 0, why)
    mutants = [m for f in families for m in f.mutants]
    kept = [(m, d) for m, d in zip(mutants, compared, strict=True) if m.edit.kind == "dropped" or not d.forbids]
    asked = [(i, m, d) for i, (m, d) in enumerate(kept, 1) if wanted(i, m)]
    verdicts = tuple(_verdicts(question, own, asked, tell))
    return Mutation(question, own, verdicts, len(mutants) - len(kept), sum(f.senseless for f in families))


def families_of(question: Question, loaded: LoadedModel) -> list[Family]:
    """The mutants of the question, action by action."""
    with blaming(loaded.origin):
        model = loaded.cls(**question.settings)
        return [family(model, action) for action in chosen_actions(model, question.actions)]


def _verdicts(
    question: Question, own: Result, mutants: Sequence[tuple[int, Mutant, Difference]], tell: Tell
) -> Iterator[Verdict]:
    asked = [
        (question, own.distinct, Verdict(i, m.action, m.touches, m.edit, "equivalent", d.level)) for i, m, d in mutants
    ]
    differing = [x for x in asked if x[2].difference is not None]
    answers = in_order(_answered, differing, question.workers or _cores(), _ended)
    for _, _, unanswered in asked:
        verdict = unanswered if unanswered.difference is None else next(answers)
        tell(f"{verdict.number} of {len(asked)}: {verdict.outcome}: {verdict.action} {verdict.edit.where}")
        yield verdict


Asked = tuple[Question, int, Verdict]


def _answered(asked: Asked) -> Verdict:
    """What becomes of a mutant; in a process that may do others as well."""
    question, distinct, verdict = asked
    loaded = _loaded(question.model)
    with blaming(loaded.origin):
        mutant = replace(loaded, cls=mutated(loaded.cls, verdict.action, verdict.edit))
        result = _checked(question, mutant)
        return _judged(verdict, result, distinct, Interpreter(loaded.cls(**question.settings), {}))


def _judged(verdict: Verdict, result: Result, distinct: int, model: Interpreter) -> Verdict:
    """A verdict filled in from the check of the mutant; the model has `distinct` states."""
    verdict = replace(verdict, distinct=result.distinct, reason=result.reason)
    violated = {n: f for n, f in result.findings.items() if f.trace is not None}
    if violated:
        length = min(f.trace.length for f in violated.values() if f.trace)
        shortest = sorted((n, f) for n, f in violated.items() if f.trace and f.trace.length == length)
        return _killed(verdict, shortest, model)
    if result.evaluation is not None:
        failure = result.evaluation
        what = f"{failure.where}: {failure.what}"
        return replace(verdict, outcome="evaluation error", length=failure.trace.length, reason=what)
    if result.verdict != "holds":
        return replace(verdict, outcome="not finished")
    return replace(verdict, outcome="survived", extra=result.distinct - distinct)


def _killed(verdict: Verdict, shortest: list[tuple[str, Finding]], model: Interpreter) -> Verdict:
    """A verdict with the canonical trace of the first of these invariants by name."""
    trace = shortest[0][1].trace
    assert trace is not None
    alike = [(name, finding) for name, finding in shortest if finding.trace == trace]
    step = next(i for i in range(2, trace.length + 1) if not _allowed(model, trace, i))
    label = trace.steps[step - 1].label
    assert label is not None
    return replace(
        verdict,
        outcome="killed",
        killed_by=tuple(name for name, _ in shortest),
        length=trace.length,
        step=step,
        by=label_text(label),
        trace=trace.to_json(),
        shown="\n".join(violations_text(alike)),
    )


def _allowed(model: Interpreter, trace: Trace, position: int) -> bool:
    """Whether the model itself takes the step into a state of a trace, counted from 1."""
    before, step = trace.steps[position - 2], trace.steps[position - 1]
    assert step.label is not None
    return model.step(before.state, model.labels.index(step.label)) == step.state


def _ended(asked: Asked) -> Verdict:
    return replace(asked[2], outcome="not finished", reason="its process has ended: out of memory")


def _checked(question: Question, loaded: LoadedModel) -> Result:
    return check(
        loaded,
        question.settings,
        profile=question.profile,
        invariants=question.invariants,
        limits=question.limits,
        workers=1,
    )


@lru_cache(maxsize=4)
def _loaded(model: str) -> LoadedModel:
    return load_model_class(model)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
