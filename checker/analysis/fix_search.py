"""Finds the changes of one setting that prevent a violation. Changes only booleans and settings with choices.

Each new value is first tried on the violation's trace. If the model with this value allows all steps of the trace, and
the invariant is false after the last step, the value is no fix and needs no search. For each remaining value, a search
checks the invariant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.compare_with_fix import fixed_version
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Result
from isrcheck.checker.results.story import FixSearch, TriedValue
from isrcheck.checker.trace.fixed_run import fix
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace
from isrcheck.model.language.errors import ModelError
from isrcheck.model.language.settings import BARE, Setting
from isrcheck.model.semantics.transition_system import shown


def search_fixes(result: Result, invariant: str, loaded: LoadedModel, limits: Limits) -> FixSearch:
    """Tries each other value of each setting that is boolean or has choices, one change at a time.

    Returns how many values still allow the trace with its violation, and the outcome of the search for each remaining
    value. Leaves out a value if the model with this value raises `ModelError`.
    """
    outcome, model = result.invariants[invariant], loaded.cls(**result.settings)
    assert outcome.trace is not None
    evaluated = EvaluatedTrace(model, outcome.trace, loaded.invariants[invariant])
    passing, tried = 0, list[TriedValue]()
    for name, value in _others(loaded, result.settings):
        settings = {**result.settings, name: value}
        try:
            met = fix(evaluated, invariant, fixed_version("", loaded, settings, model, loaded.name))
        except ModelError:
            continue
        if met.how == "allows" and met.verdict == "violated":
            passing += 1
        else:
            tried.append(_searched(name, value, check(loaded, settings, **_question(invariant, limits)), result))
    return FixSearch(outcome.trace.length, passing, tuple(tried))


def _others(loaded: LoadedModel, settings: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, setting in loaded.cls.declared_settings().items():
        yield from ((name, value) for value in _values(setting) if value != settings[name])


def _values(setting: Setting) -> tuple[Any, ...]:
    if setting.choices:
        return tuple(setting.choices)
    return (False, True) if isinstance(setting.default, bool) else ()


def _question(invariant: str, limits: Limits) -> dict[str, Any]:
    return {"profile": BARE, "invariants": (invariant,), "limits": limits}


def _searched(name: str, value: Any, found: Result, before: Result) -> TriedValue:
    """The outcome of a search with one changed value.

    If the invariant holds, the outcome names the goals that are no longer reached. It does not name goals that the
    value switches off. A named goal warns that the invariant may hold only because some situations no longer occur.
    """
    (outcome,) = found.invariants.values()
    lost = tuple(goal for goal in found.goals_never_reached if goal not in before.goals_never_reached)
    length = None if outcome.trace is None else outcome.trace.length
    return TriedValue(name, shown(value), outcome.verdict, length, lost if outcome.verdict == "holds" else ())
