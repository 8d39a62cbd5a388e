"""A question about the mutants of a model, and the verdict on each mutant."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.result_builder import reason
from isrcheck.checker.changes.mutation.edits import Edit
from isrcheck.checker.changes.mutation.mutant_comparison import unread
from isrcheck.checker.changes.mutation.mutants import Touched, mutated
from isrcheck.checker.registry.loader import LoadedModel, blaming, load_model_class
from isrcheck.checker.report.counterexample_text import violations_text
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.checker.results.result import InvariantResult, Result, Trace
from isrcheck.checker.results.state_text import label_text
from isrcheck.checker.results.text_layout import repository_path
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.language.settings import BARE
from isrcheck.model.semantics.expressions import FALSE, and_, not_
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import actions_using_enabled, instances_of, trace, with_predicates
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem

Outcome = Literal[
    "killed",
    "vacuous",
    "survived",
    "nothing new",
    "unread",
    "forbids",
    "equivalent",
    "evaluation error",
    "not finished",
]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
Place = tuple[str, dict[str, Any], int]
"""A recorded scenario: its name, its settings, and its number of states."""
PLACES: Final = 16
"""How many traced models a process keeps in memory. A round of scenarios (`further_checks.ROUND`) needs fewer."""


@dataclass(frozen=True)
class Question:
    """Which mutants of a model are checked, and how.

    `model` is a name or a path that `load_model_class` accepts. Settings, invariants, actions and properties have the
    names that the command line uses.
    """

    model: str
    settings: dict[str, Any]
    invariants: tuple[str, ...] | None
    actions: tuple[str, ...] = ()
    profile: str = BARE
    limits: Limits = field(default_factory=Limits)
    workers: int | None = None
    scenarios: tuple[Place, ...] = ()
    """The scenarios in which a mutant is checked, in this order, if it is not noticed at the question's settings."""
    liveness: tuple[str, ...] = ()
    """Properties of whole behaviours, checked under `fairness` for mutants that no invariant kills."""
    fairness: Fairness = field(default_factory=Fairness)


@dataclass(frozen=True)
class Verdict:
    """The outcome of a mutant.

    If invariants kill the mutant, `killed_by` names the invariants with the shortest counterexamples. `trace` is the
    counterexample to the first of these invariants. If liveness properties kill the mutant, `trace` is the shortest of
    their counterexamples. `killed_by` then names the properties with this counterexample, and `lasso` says in words how
    the trace ends. In both cases, `length` is the number of states of `trace`. A trace with a loop repeats for ever
    from its state at position `loop` (from 0). `by` is the first step of `trace` that the model does not take, and
    `step` is the number of the state after this step. Both are None if the model takes every step. `shown` is `trace`
    in words. For an evaluation error, `length` is the number of states of the trace to the error. `unanswered` has each
    liveness property whose check did not finish, with the reason.

    `difference` is the first level of the model's exploration at which the mutant behaves differently. `extra` is the
    mutant's number of states minus the model's, if the exploration of the mutant finished. `reason` says why the check
    did not finish (outcome `not finished`), which evaluation failed (`evaluation error`), or which actions and goals
    never occur in the mutant (`vacuous`). `differing` names the parts of the state in which mutant and model differ
    without an effect on invariants or other actions (`unread`).

    `scenario` is the scenario in which the mutant has this outcome, or None for the question's own settings. Three
    fields name scenarios in which no invariant noticed the mutant. In the scenarios `same_in` the mutant behaved like
    the model, in `differs_in` it behaved differently, and in `unfinished_in` its check did not finish.
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
    lasso: str | None = None
    loop: int | None = None
    unanswered: tuple[tuple[str, str], ...] = ()
    distinct: int = 0
    extra: int | None = None
    reason: str | None = None
    differing: tuple[str, ...] = ()
    scenario: str | None = None
    same_in: tuple[str, ...] = ()
    differs_in: tuple[str, ...] = ()
    unfinished_in: tuple[str, ...] = ()
    trace: list[dict[str, Any]] = field(default_factory=list, repr=False)
    shown: str = field(default="", repr=False)

    @property
    def is_open(self) -> bool:
        """Whether more time or memory might tell more about the mutant."""
        return self.outcome == "not finished" or bool(self.unanswered)

    def to_json(self) -> dict[str, Any]:
        e = self.edit
        edit = {"file": repository_path(e.file), "line": e.line, "column": e.column, "kind": e.kind}
        outcome = ("outcome", "difference", "length", "step", "by", "lasso", "loop", "distinct", "extra", "reason")
        places = ("scenario", "same_in", "differs_in", "unfinished_in")
        names = ("number", "action", "touches", *outcome, *places)
        words = {"text": self.edit.text, "change": self.edit.words, "killed_by": list(self.killed_by)}
        words["differing"] = list(self.differing)
        unanswered = dict(self.unanswered)
        found = {name: getattr(self, name) for name in names}
        return {**found, **edit, **words, "unanswered": unanswered, "trace": self.trace}


def after_check(verdict: Verdict, result: Result, model: Interpreter) -> Verdict:
    """The verdict after a check of the mutant: `killed`, `evaluation error` or, at a limit, `not finished`."""
    verdict = replace(verdict, distinct=result.distinct, reason=result.reason, unanswered=())
    violated = {n: f for n, f in result.invariants.items() if f.trace is not None}
    if violated:
        length = min(f.trace.length for f in violated.values() if f.trace)
        shortest = sorted((n, f) for n, f in violated.items() if f.trace and f.trace.length == length)
        return _killed(verdict, shortest, model)
    if result.evaluation is None:  # `check` reached a limit
        return replace(verdict, outcome="not finished")
    failure = result.evaluation
    what = f"{failure.where}: {failure.what}"
    return replace(verdict, outcome="evaluation error", length=failure.trace.length, reason=what)


def _killed(verdict: Verdict, shortest: list[tuple[str, InvariantResult]], model: Interpreter) -> Verdict:
    """The verdict `killed`. `shortest` has the invariants with the shortest traces. The first trace is kept."""
    trace = shortest[0][1].trace
    assert trace is not None
    alike = [(name, outcome) for name, outcome in shortest if outcome.trace == trace]
    step, by = departure(model, trace)
    return replace(
        verdict,
        outcome="killed",
        killed_by=tuple(name for name, _ in shortest),
        length=trace.length,
        step=step,
        by=by,
        trace=trace.to_json(),
        shown="\n".join(violations_text(alike)),
    )


def departure(model: Interpreter, trace: Trace) -> tuple[int | None, str | None]:
    """Finds the first step of a trace that the model does not take.

    Returns the number (from 1) of the state after this step, and the label of the step. Both are None if the model
    takes every step.
    """
    step = next((i for i in range(2, trace.length + 1) if not _allowed(model, trace, i)), None)
    label = None if step is None else trace.steps[step - 1].label
    return step, None if label is None else label_text(label)


def _allowed(model: Interpreter, trace: Trace, position: int) -> bool:
    """Whether the model itself takes the trace's step into the state at `position` (from 1)."""
    before, step = trace.steps[position - 2], trace.steps[position - 1]
    assert step.label is not None
    return model.step(before.state, model.labels.index(step.label)) == step.state


def vacuous(verdict: Verdict) -> Verdict:
    """The verdict on a mutant whose mutated action never happens."""
    return replace(verdict, outcome="vacuous", reason=f"never: {verdict.action}")


def search_verdict(
    verdict: Verdict,
    model: str,
    settings: dict[str, Any],
    invariants: tuple[str, ...] | None,
    limits: Limits,
    distinct: int,
) -> Verdict:
    """The verdict after a search of the mutant at these settings, at which the model has `distinct` states."""
    from isrcheck.checker.engines.explicit.search import search

    loaded = loaded_once(model)
    with blaming(loaded.source_file):
        cls = mutated(loaded.cls, verdict.action, verdict.edit)
        system, seen, asking, checked = _traced(model, tuple(sorted(settings.items())), invariants, limits)
        instances = tuple(instances_of(cls(**settings), verdict.action))
        # Invariants and other actions may ask what is enabled. In a mutant, the answer comes from the mutant's guards.
        changed = _with(system, instances)
        others = [name for name in asking if name != verdict.action]
        for name in others:
            changed = _with(changed, tuple(instances_of(cls(**settings), name)))
        mutant = with_predicates(cls(**settings), changed, loaded.chosen(invariants))
        found = search(mutant, keep_going=False, deadlock=False, limits=limits, report=None, workers=1)[0]
        if found.violated or found.error is not None:
            result = check(
                replace(loaded, cls=cls), settings, profile=BARE, invariants=invariants, limits=limits, workers=1
            )
            return after_check(verdict, result, Interpreter(loaded.cls(**settings), {}))
        verdict = replace(verdict, distinct=sum(found.levels), reason=None)
        if found.stopped is not None:
            return replace(verdict, outcome="not finished", reason=reason(found, limits))
        missing = seen - _happened(system, found)
        if missing:
            return replace(verdict, outcome="vacuous", reason=f"never: {', '.join(sorted(missing))}")
        same_states = verdict.difference is None and mutant.constraints == system.constraints
        if same_states:
            return replace(verdict, outcome="equivalent")
        verdict = replace(verdict, extra=verdict.distinct - distinct)
        if verdict.outcome == "forbids" or others:
            return verdict  # the code below compares only the mutated action
        comparable = verdict.distinct <= distinct and mutant.constraints == system.constraints
        if comparable and not _reaches_more(system, instances, limits, checked):
            return replace(verdict, outcome="nothing new")
        alike = all(getattr(mutant, x) == getattr(system, x) for x in ("invariants", "goals", "constraints"))
        differing = unread(system, instances, limits, verdict.distinct) if alike else None
        return verdict if differing is None else replace(verdict, outcome="unread", differing=differing)


def _happened(system: TransitionSystem, found: Exploration) -> frozenset[str]:
    counts = map(sum, zip(*found.generated, strict=True))
    fired = {name for name, n in zip(system.actions, counts, strict=False) if n}
    return frozenset(fired | {f"goal {name}" for name in found.goals})


def _with(system: TransitionSystem, instances: tuple[Transition, ...]) -> TransitionSystem:
    """The system in which these instances replace all instances of their action."""
    action = instances[0].label.action
    possible = tuple(t for t in instances if t.guard is not FALSE or t.failure is not FALSE)
    mine = {action: possible}
    others = [t for t in system.transitions if t.label.action != action]
    order = {name: mine.get(name) or [t for t in others if t.label.action == name] for name in system.actions}
    return replace(system, transitions=tuple(t for found in order.values() for t in found), bounds=())


def _reaches_more(
    system: TransitionSystem, instances: tuple[Transition, ...], limits: Limits, checked: int | None
) -> bool:
    """Whether a mutant may reach a state that the model does not reach.

    Compares the number of states of the model (`checked`, see `_checked`) with that of a system that has the steps of
    both model and mutant. Also returns True if a limit is reached, because then the numbers cannot be compared.
    """
    both = _checked(replace(system, transitions=(*system.transitions, *instances)), limits)
    return checked is None or both != checked


def _checked(system: TransitionSystem, limits: Limits) -> int | None:
    """The number of states in which invariants are checked, or None if a limit is reached.

    States that violate a constraint are included. A search checks such a state, but does not count it, and takes no
    step from it. So here the constraints become a part of each guard.
    """
    from isrcheck.checker.engines.explicit.search import search

    inside = and_(*(and_(c.holds, not_(c.failure)) for c in system.constraints))
    transitions = tuple(
        replace(t, guard=and_(inside, t.guard), failure=and_(inside, t.failure)) for t in system.transitions
    )
    everything = replace(system, transitions=transitions, invariants=(), constraints=(), goals=(), bounds=())
    found = search(everything, keep_going=True, deadlock=False, limits=limits, report=None, workers=1)[0]
    return None if found.stopped is not None or found.error is not None else sum(found.levels)


@lru_cache(maxsize=PLACES)
def _traced(
    model: str, settings: tuple[tuple[str, Any], ...], invariants: tuple[str, ...] | None, limits: Limits
) -> tuple[TransitionSystem, frozenset[str], list[str], int | None]:
    """The traced model, and the actions and goals that occur in it within the limits.

    Also returns the actions that call `s.enabled`, and the number of states in which invariants are checked (see
    `_checked`).
    """
    from isrcheck.checker.engines.explicit.search import search

    loaded = loaded_once(model)
    system = trace(loaded.cls(**dict(settings)), loaded.chosen(invariants))
    asked = replace(system, invariants=(), bounds=())
    found = search(asked, keep_going=True, deadlock=False, limits=limits, report=None, workers=1)[0]
    whole = None if found.stopped is not None or found.error is not None else sum(found.levels)
    checked = _checked(system, limits) if system.constraints else whole
    return system, _happened(system, found), actions_using_enabled(loaded.cls(**dict(settings))), checked


@lru_cache(maxsize=4)
def loaded_once(model: str) -> LoadedModel:
    return load_model_class(model)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
