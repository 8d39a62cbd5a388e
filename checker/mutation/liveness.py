"""Checks mutants that no invariant kills: such a mutant may violate a liveness property that holds in the model.

A line of the model may be needed to make something happen in the end. Without this line, a behaviour may loop for ever
or end too early, though no state is wrong. So a property may notice a mutant that only forbids steps or reaches nothing
new. An equivalent mutant is not checked, because its behaviours are those of the model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from isrcheck.checker.checking import check
from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.library import LoadedModel, blaming
from isrcheck.checker.mutation.mutants import mutated
from isrcheck.checker.mutation.verdicts import Question, Verdict, departure, judged, loaded_once
from isrcheck.checker.reports.counterexample import property_violation_text
from isrcheck.checker.reports.liveness import lasso_text
from isrcheck.checker.results import PropertyFinding, Result
from isrcheck.model.language.errors import EvaluationError
from isrcheck.model.language.profiles import BARE

ASKED: Final = ("survived", "nothing new", "unread", "forbids", "vacuous")
"""The outcomes of mutants that differ from the model but are not killed by an invariant."""


def in_the_model(loaded: LoadedModel, question: Question) -> dict[str, PropertyFinding]:
    """The verdicts on the properties in the model itself. Only properties that hold non-vacuously can kill mutants."""
    if not question.liveness:
        return {}
    result = _result(loaded, question)
    if result.reason == "interrupted":
        raise KeyboardInterrupt
    if result.evaluation is not None:
        raise EvaluationError(result.evaluation.what, result.evaluation.where)
    return result.liveness


def can_kill(finding: PropertyFinding) -> bool:
    """Whether a property can kill mutants, according to its verdict on the model."""
    return finding.verdict == "holds" and not finding.vacuous


def asked_what_must_happen(verdict: Verdict, question: Question) -> Verdict:
    """The verdict after a check of the question's properties. Only mutants with an outcome in `ASKED` are checked."""
    if not question.liveness or verdict.outcome not in ASKED:
        return verdict
    loaded = loaded_once(question.model)
    with blaming(loaded.origin):
        result = _result(replace(loaded, cls=mutated(loaded.cls, verdict.action, verdict.edit)), question)
        if result.evaluation is not None:
            return judged(replace(verdict, extra=None, differing=()), result, _model(loaded, question))
        violated = {n: f for n, f in result.liveness.items() if f.verdict == "violated"}
        if violated:
            return _killed(verdict, violated, result.distinct, _model(loaded, question))
    why = tuple((n, f.why or "") for n, f in sorted(result.liveness.items()) if f.verdict == "incomplete")
    return replace(verdict, unanswered=why)


def _model(loaded: LoadedModel, question: Question) -> Interpreter:
    return Interpreter(loaded.cls(**question.settings), {})


def _killed(verdict: Verdict, violated: dict[str, PropertyFinding], distinct: int, model: Interpreter) -> Verdict:
    """The verdict `killed`, with the shortest trace. Of equally short traces, the first by property name is taken."""
    first = min(violated, key=lambda name: (_length(violated[name]), name))
    finding = violated[first]
    trace = finding.trace
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
        lasso=lasso_text(finding),
        loop=trace.loop,
        distinct=distinct,
        extra=None,
        reason=None,
        differing=(),
        trace=trace.to_json(),
        shown="\n".join(property_violation_text(first, finding)),
    )


def _length(finding: PropertyFinding) -> int:
    assert finding.trace is not None
    return finding.trace.length


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
