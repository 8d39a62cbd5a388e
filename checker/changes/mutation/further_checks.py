"""Checks mutants in the model's recorded scenarios. Mutants noticed at the settings of the `Question` are left out.

A mutant is *noticed* if its outcome is not in `OPEN` (for example, if it is `killed`). A scenario in which the model
should hold is a *place*. A check at a place has the settings of this scenario, and is about every invariant that can be
evaluated at these settings and holds in the model. At every place, a mutant has the same edit, because the position of
the edit in the source does not depend on settings.

Checks mutants that no invariant kills: such a mutant may violate a liveness property that holds in the model.

A line of the model may be needed to make something happen in the end. Without this line, a behaviour may loop for ever
or end too early, though no state is wrong. So a property may notice a mutant that only forbids steps or reaches nothing
new. An equivalent mutant is not checked, because its behaviours are those of the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.process_pool import in_order
from isrcheck.checker.changes.mutation.edits import Edit
from isrcheck.checker.changes.mutation.mutant_comparison import Difference, differences
from isrcheck.checker.changes.mutation.mutant_verdicts import (
    Place,
    Question,
    Verdict,
    after_check,
    cores,
    departure,
    loaded_once,
    search_verdict,
    vacuous,
)
from isrcheck.checker.changes.mutation.mutants import again, mutated
from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.report.counterexample_text import lasso_text, property_violation_text
from isrcheck.checker.results.result import PropertyResult, Result
from isrcheck.checker.scenarios.collection import folders
from isrcheck.checker.scenarios.scenario import COUNTS, read
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.settings import BARE
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import meaningless, trace, uses_enabled

SAME: Final = Difference(None, forbids=False, adds=False, fires=False)
"""The difference at a place where the mutated action has the same instances as in the model, or where the mutant is not
a valid model."""
OPEN: Final = ("survived", "nothing new", "unread", "forbids", "equivalent", "not finished")
"""Outcomes that a scenario may change."""
ROUND: Final = 8
"""How many scenarios one round has. A mutant that is noticed in one round is not checked in later rounds."""
Lines = Sequence[tuple[str, Edit]]
"""Mutants, each as its action and its edit."""


@dataclass(frozen=True)
class Answers:
    """What is known about the model and its mutants at a place.

    At this place the model has `distinct` states, and `holds` names the invariants that hold in it. `differences` says
    how each mutant differs from the model. `differences` is None if an exploration of the model did not finish, or if a
    process ran out of memory. `asks` is true if an action, a goal, a constraint or an invariant in `holds` calls
    `s.enabled`.
    """

    place: Place
    holds: tuple[str, ...] = ()
    distinct: int = 0
    differences: tuple[Difference, ...] | None = None
    asks: bool = False


def places(model: str, paths: tuple[str, ...] = (), most: int | None = None) -> tuple[Place, ...]:
    """The recorded scenarios in which a model should hold, from the fewest to the most states.

    If `most` is given, scenarios with more than `most` states are left out. Without paths, the scenarios are those in
    `./counterexamples`, or the shipped ones if there is no such folder.
    """
    found = (place for place in _recorded(model, paths) if most is None or place[2] <= most)
    return tuple(sorted(found, key=lambda place: (place[2], place[0])))


def _recorded(model: str, paths: tuple[str, ...]) -> Iterator[Place]:
    for folder, root in folders(paths):
        scenario = read(folder, root)
        counts = folder / COUNTS
        if scenario.expect == "holds" and scenario.is_about(model) and counts.is_file():
            yield scenario.name, scenario.settings, json.loads(counts.read_text())["distinct"]


def in_scenarios(question: Question, verdicts: Sequence[Verdict], tell: Callable[[str], None]) -> list[Verdict]:
    """Checks mutants with an outcome in `OPEN` in the question's scenarios. Returns the verdicts on all mutants."""
    known = {v.number: v for v in verdicts}
    for first in range(0, len(question.scenarios), ROUND):
        pending = [v for v in known.values() if v.outcome in OPEN]
        for answer in _in_a_round(question, question.scenarios[first : first + ROUND], pending, tell):
            known[answer.number] = answer
    return list(known.values())


def _in_a_round(
    question: Question, scenarios: Sequence[Place], pending: Sequence[Verdict], tell: Callable[[str], None]
) -> Iterator[Verdict]:
    """Compares the mutants with the model in the scenarios.

    Then checks each mutant in the scenarios in which it may differ from the model, until the mutant is noticed.
    """
    tell(f"comparing {len(pending)} mutants with the model in {', '.join(name for name, _, _ in scenarios)}")
    work = [(question, place, [(v.action, v.edit) for v in pending]) for place in scenarios]
    workers = question.workers or cores()
    compared = list(in_order(_compared, work, workers, lambda item: Answers(item[1])))
    items = [(question, v, _of_one(compared, i)) for i, v in enumerate(pending)]
    for answer in in_order(_followed, items, workers, lambda item: item[1]):
        if answer.outcome not in OPEN:
            tell(f"{answer.number}: {answer.outcome} in {answer.scenario}: {answer.action} {answer.edit.where}")
        yield answer


Followed = Sequence[tuple[Answers, Difference | None]]
"""For each place, the answers there and one mutant's difference from the model. An unknown difference is None."""


def _of_one(compared: Sequence[Answers], number: int) -> Followed:
    """For each place, the answers without their `differences`, and the difference of the mutant at index `number`."""
    return [(replace(a, differences=None), None if a.differences is None else a.differences[number]) for a in compared]


def _followed(item: tuple[Question, Verdict, Followed]) -> Verdict:
    """Checks a mutant in one scenario after another, until the mutant is noticed. Returns the verdict on the mutant."""
    question, verdict, followed = item
    same, differs, unfinished = list(verdict.same_in), list(verdict.differs_in), list(verdict.unfinished_in)
    for answers, difference in followed:
        name = answers.place[0]
        if difference is None:
            unfinished.append(name)
            continue
        found = _at(question, verdict, answers, difference)
        verdict = found if _says_more(found, verdict) else verdict
        if found.outcome not in OPEN:
            break
        {"equivalent": same, "not finished": unfinished}.get(found.outcome, differs).append(name)
    return replace(verdict, same_in=tuple(same), differs_in=tuple(differs), unfinished_in=tuple(unfinished))


def _says_more(found: Verdict, known: Verdict) -> bool:
    """Whether the outcome found at a place ranks higher than the known outcome.

    The outcome of a noticed mutant ranks highest. The others rank by how much the mutant may differ from the model.
    """
    rank = {"equivalent": 0, "forbids": 1, "nothing new": 2, "unread": 3, "not finished": 4, "survived": 4}
    return rank.get(found.outcome, 5) > rank[known.outcome]


def _at(question: Question, verdict: Verdict, answers: Answers, difference: Difference) -> Verdict:
    """The verdict on a mutant at one place."""
    name, settings, _ = answers.place
    there = replace(
        verdict, outcome="survived", difference=difference.level, scenario=name, extra=None, reason=None, differing=()
    )
    if difference.level is None and not answers.asks:
        return replace(there, outcome="equivalent")
    if difference.only_forbids:
        if not (difference.fires or answers.asks):
            return vacuous(there)
        there = replace(there, outcome="forbids")
    return search_verdict(there, question.model, settings, answers.holds, question.limits, answers.distinct)


def _compared(item: tuple[Question, Place, Lines]) -> Answers:
    """Compares some mutants with the model at a place. This runs in a process that may also check other places."""
    question, place, lines = item
    loaded, settings, limits = loaded_once(question.model), place[1], question.limits
    with blaming(loaded.source_file):
        model = loaded.cls(**settings)
        every = tuple(loaded.invariants.keys() - meaningless(model, loaded.invariants))
        result = check(loaded, settings, profile=BARE, invariants=every, keep_going=True, limits=limits, workers=1)
        if result.reason is not None:
            return Answers(place)
        pairs = again(model, lines)
        compared = differences(trace(model, {}), [pair for pair in pairs if pair is not None], limits)
    if compared is None:
        return Answers(place)
    holds = tuple(name for name, outcome in result.invariants.items() if outcome.verdict == "holds")
    known = iter(compared)
    with blaming(loaded.source_file):
        asks = uses_enabled(model, {name: loaded.invariants[name] for name in holds})
    known_ones = tuple(SAME if pair is None else next(known) for pair in pairs)
    return Answers(place, holds, result.distinct, known_ones, asks)


ASKED: Final = ("survived", "nothing new", "unread", "forbids", "vacuous")
"""The outcomes of mutants that differ from the model but are not killed by an invariant."""


def in_the_model(loaded: LoadedModel, question: Question) -> dict[str, PropertyResult]:
    """The verdicts on the properties in the model itself. Only properties that hold non-vacuously can kill mutants."""
    if not question.liveness:
        return {}
    result = _result(loaded, question)
    if result.reason == "interrupted":
        raise KeyboardInterrupt
    if result.evaluation is not None:
        raise EvaluationError(result.evaluation.what, result.evaluation.where)
    return result.liveness


def can_kill(outcome: PropertyResult) -> bool:
    """Whether a property can kill mutants, according to its verdict on the model."""
    return outcome.verdict == "holds" and not outcome.vacuous


def asked_what_must_happen(verdict: Verdict, question: Question) -> Verdict:
    """The verdict after a check of the question's properties. Only mutants with an outcome in `ASKED` are checked."""
    if not question.liveness or verdict.outcome not in ASKED:
        return verdict
    loaded = loaded_once(question.model)
    with blaming(loaded.source_file):
        result = _result(replace(loaded, cls=mutated(loaded.cls, verdict.action, verdict.edit)), question)
        if result.evaluation is not None:
            return after_check(replace(verdict, extra=None, differing=()), result, _model(loaded, question))
        violated = {n: f for n, f in result.liveness.items() if f.verdict == "violated"}
        if violated:
            return _killed(verdict, violated, result.distinct, _model(loaded, question))
    why = tuple((n, f.why or "") for n, f in sorted(result.liveness.items()) if f.verdict == "incomplete")
    return replace(verdict, unanswered=why)


def _model(loaded: LoadedModel, question: Question) -> Interpreter:
    return Interpreter(loaded.cls(**question.settings), {})


def _killed(verdict: Verdict, violated: dict[str, PropertyResult], distinct: int, model: Interpreter) -> Verdict:
    """The verdict `killed`, with the shortest trace. Of equally short traces, the first by property name is taken."""
    first = min(violated, key=lambda name: (_length(violated[name]), name))
    outcome = violated[first]
    trace = outcome.trace
    assert trace is not None
    step, by = departure(model, trace)
    alike = (name for name, other in violated.items() if other.trace == trace)
    return replace(
        verdict,
        outcome="killed",
        killed_by=tuple(sorted(alike)),
        length=trace.length,
        step=step,
        by=by,
        lasso=lasso_text(outcome),
        loop=trace.loop,
        distinct=distinct,
        extra=None,
        reason=None,
        differing=(),
        trace=trace.to_json(),
        shown="\n".join(property_violation_text(first, outcome)),
    )


def _length(outcome: PropertyResult) -> int:
    assert outcome.trace is not None
    return outcome.trace.length


def _result(loaded: LoadedModel, question: Question) -> Result:
    return check(
        loaded,
        question.settings,
        profile=BARE,
        invariants=(),
        liveness=question.liveness,
        fairness=question.fairness,
        limits=question.limits,
        workers=1,
    )
