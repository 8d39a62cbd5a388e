"""Compares the traces of violated invariants with fixed versions.

The comparison finds the step at which each fixed version differs from a trace (see `isrcheck.checker.trace.fixed_run`).
These steps are added to the violated invariants of a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.results.errors import command_error
from isrcheck.checker.results.result import Exit, InvariantResult, Result
from isrcheck.checker.results.story import Fix
from isrcheck.checker.trace.fixed_run import FixedVersion, fix
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace
from isrcheck.model.language.errors import ModelError, UnknownName
from isrcheck.model.language.model import Model
from isrcheck.model.language.text_conditions import is_condition_text
from isrcheck.model.semantics.transition_system import shown


def fixed_version(
    name: str, fixed: LoadedModel, settings: Mapping[str, Any], broken: Model, broken_name: str
) -> FixedVersion:
    """A fixed version: the fixed model at its settings, with its differences from the model of the trace."""
    with blaming(fixed.source_file):
        model = fixed.cls(**settings)
    here, there = broken.settings, model.settings
    changes = [(n, shown(here[n]), shown(there[n])) for n in here if n in there and here[n] != there[n]]
    if fixed.name != broken_name:
        changes.insert(0, ("model", broken_name, fixed.name))
    return FixedVersion(name, model, tuple(changes), fixed.invariants)


def compare_with_fixes(
    outcome: InvariantResult, name: str, model: Model, predicate: Any, fixed_versions: Sequence[FixedVersion]
) -> InvariantResult:
    """Adds to an invariant result the step at which each fixed version differs from the trace.

    A result without a trace or without `causes` is returned unchanged.
    """
    if outcome.trace is None or outcome.causes is None or not fixed_versions:
        return outcome
    asked = (
        {name: predicate} if is_condition_text(name) else {}
    )  # an invariant given as text is not among the fixed version's own
    fixed_versions = [replace(each, invariants={**each.invariants, **asked}) for each in fixed_versions]
    return with_fixes(outcome, name, EvaluatedTrace(model, outcome.trace, predicate), fixed_versions)


def with_fixes(
    outcome: InvariantResult, name: str, evaluated: EvaluatedTrace | None, fixed_versions: Sequence[FixedVersion]
) -> InvariantResult:
    """Adds to a result the step at which each fixed version differs from the trace `evaluated`, if there is one."""
    if evaluated is None:
        return outcome
    fixes = (
        replace(fix(evaluated, name, each), singly=tuple(_singly(evaluated, name, each))) for each in fixed_versions
    )
    return replace(outcome, fixes=tuple(fixes))


def _singly(evaluated: EvaluatedTrace, invariant: str, fixed: FixedVersion) -> Iterator[Fix]:
    """For each setting that a fixed version changes, yields the effect of this change without the other changes.

    Skips a change if the model refuses it without the other changes. Yields nothing if the fixed version changes fewer
    than two settings, or if the fixed version is another model.
    """
    if len(fixed.changes) < 2 or fixed.changes[0][0] == "model":
        return
    for change in fixed.changes:
        settings = {**evaluated.model.settings, change[0]: fixed.model.settings[change[0]]}
        with suppress(ModelError, UnknownName):
            alone = type(evaluated.model)(**settings)
            yield fix(evaluated, invariant, FixedVersion("", alone, (change,), fixed.invariants))


@contextmanager
def keeping_violations(result: Result) -> Iterator[None]:
    """Keeps a result with its violations if an interruption ends the comparison, or if there is too little memory.

    The reason of the result then says that the comparison did not end.
    """
    try:
        yield
    except (KeyboardInterrupt, MemoryError) as error:
        failure = command_error(error)
        assert failure is not None
        result.failure = f"{failure.message}: not every fix was compared with the trace"
        result.reason = "; ".join(filter(None, (result.reason, result.failure)))
        codes = result.exit_code, failure.code
        result.exit_code = next(code for code in Exit.PRECEDENCE if code in codes)


def compare_all_with_fixes(result: Result, loaded: LoadedModel, fixed_versions: Sequence[FixedVersion]) -> None:
    """Adds to each violated invariant of a result the steps at which the fixed versions differ from its trace."""
    model = loaded.cls(**result.settings)
    for name, outcome in result.invariants.items():
        result.invariants[name] = compare_with_fixes(outcome, name, model, loaded.invariants.get(name), fixed_versions)
