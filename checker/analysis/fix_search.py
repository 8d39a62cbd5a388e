"""Compares the traces of violated invariants with fixed designs (*controls*).

The comparison finds the step at which each control differs from a trace (see `isrcheck.checker.trace.fixed_run`). These
steps are added to the violated invariants of a result.

Finds the changes of one setting that prevent a violation. Changes only booleans and settings with choices.

Each new value is first tried on the violation's trace. If the model with this value allows all steps of the trace, and
the invariant is false after the last step, the value is no fix and needs no search. For each remaining value, a search
checks the invariant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from isrcheck.checker.analysis.check import check
from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Finding, Result
from isrcheck.checker.results.story import Alternative, Alternatives, Fix
from isrcheck.checker.trace.fixed_run import Control, fix
from isrcheck.checker.trace.trace_evaluation import Walked
from isrcheck.model.language.errors import ModelError, UnknownName
from isrcheck.model.language.model import Model
from isrcheck.model.language.profiles import BARE
from isrcheck.model.language.settings import Setting
from isrcheck.model.language.text_conditions import is_written
from isrcheck.model.semantics.transition_system import shown


def control(name: str, fixed: LoadedModel, settings: Mapping[str, Any], broken: Model, broken_name: str) -> Control:
    """A control: the fixed model at its settings, with its differences from the model of the trace."""
    with blaming(fixed.origin):
        model = fixed.cls(**settings)
    here, there = broken.settings, model.settings
    changes = [(n, shown(here[n]), shown(there[n])) for n in here if n in there and here[n] != there[n]]
    if fixed.name != broken_name:
        changes.insert(0, ("model", broken_name, fixed.name))
    return Control(name, model, tuple(changes), fixed.invariants)


def explain(finding: Finding, name: str, model: Model, predicate: Any, controls: Sequence[Control]) -> Finding:
    """Adds to a finding the step at which each control differs from the finding's trace.

    A finding without a trace or without `reasons` is returned unchanged.
    """
    if finding.trace is None or finding.reasons is None or not controls:
        return finding
    asked = {name: predicate} if is_written(name) else {}  # an invariant given as text is not among the control's own
    controls = [replace(each, invariants={**each.invariants, **asked}) for each in controls]
    return parted(finding, name, Walked(model, finding.trace, predicate), controls)


def parted(finding: Finding, name: str, walked: Walked | None, controls: Sequence[Control]) -> Finding:
    """Adds to a finding the step at which each control differs from the trace `walked`, unless `walked` is None."""
    if walked is None:
        return finding
    fixes = (replace(fix(walked, name, each), singly=tuple(_singly(walked, name, each))) for each in controls)
    return replace(finding, fixes=tuple(fixes))


def _singly(walked: Walked, invariant: str, fixed: Control) -> Iterator[Fix]:
    """For each setting that a control changes, yields the effect of this change without the control's other changes.

    Skips a change if the model refuses it without the other changes. Yields nothing if the control changes fewer than
    two settings, or if the control is another model.
    """
    if len(fixed.changes) < 2 or fixed.changes[0][0] == "model":
        return
    for change in fixed.changes:
        settings = {**walked.model.settings, change[0]: fixed.model.settings[change[0]]}
        with suppress(ModelError, UnknownName):
            alone = type(walked.model)(**settings)
            yield fix(walked, invariant, Control("", alone, (change,), fixed.invariants))


def explain_all(result: Result, loaded: LoadedModel, controls: Sequence[Control]) -> None:
    """Adds to each violated invariant of a result the steps at which the controls differ from the invariant's trace."""
    model = loaded.cls(**result.settings)
    for name, finding in result.findings.items():
        result.findings[name] = explain(finding, name, model, loaded.invariants.get(name), controls)


def alternatives(result: Result, invariant: str, loaded: LoadedModel, limits: Limits) -> Alternatives:
    """Tries each other value of each setting that is boolean or has choices, one change at a time.

    Returns how many values still allow the trace with its violation, and the outcome of the search for each remaining
    value. Leaves out a value if the model with this value raises `ModelError`.
    """
    finding, model = result.findings[invariant], loaded.cls(**result.settings)
    assert finding.trace is not None
    walked = Walked(model, finding.trace, loaded.invariants[invariant])
    passing, tried = 0, list[Alternative]()
    for name, value in _others(loaded, result.settings):
        settings = {**result.settings, name: value}
        try:
            met = fix(walked, invariant, control("", loaded, settings, model, loaded.name))
        except ModelError:
            continue
        if met.how == "allows" and met.verdict == "violated":
            passing += 1
        else:
            tried.append(_searched(name, value, check(loaded, settings, **_question(invariant, limits)), result))
    return Alternatives(finding.trace.length, passing, tuple(tried))


def _others(loaded: LoadedModel, settings: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, setting in loaded.cls.declared_settings().items():
        yield from ((name, value) for value in _values(setting) if value != settings[name])


def _values(setting: Setting) -> tuple[Any, ...]:
    if setting.choices:
        return tuple(setting.choices)
    return (False, True) if isinstance(setting.default, bool) else ()


def _question(invariant: str, limits: Limits) -> dict[str, Any]:
    return {"profile": BARE, "invariants": (invariant,), "limits": limits}


def _searched(name: str, value: Any, found: Result, before: Result) -> Alternative:
    """The outcome of a search with one changed value.

    If the invariant holds, the outcome names the goals that are no longer reached. It does not name goals that the
    value switches off. A named goal warns that the invariant may hold only because some situations no longer occur.
    """
    (finding,) = found.findings.values()
    lost = tuple(goal for goal in found.goals_never_reached if goal not in before.goals_never_reached)
    length = None if finding.trace is None else finding.trace.length
    return Alternative(name, shown(value), finding.verdict, length, lost if finding.verdict == "holds" else ())
