"""The files derived from a scenario: its counts as data, and its trace.

The files contain no times, paths or numbers of workers, so they have the same bytes on every machine.

`isrcheck check --scenario`: says whether the outcome of a scenario is as its author expects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import FORMAT, FOUND, Exit, InvariantResult, PropertyResult, Result
from isrcheck.checker.scenarios.scenario import COUNTS, DEADLOCK, ITF, TEXT, Scenario
from isrcheck.model.language.settings import BARE

if TYPE_CHECKING:
    from isrcheck.checker.registry.loader import LoadedModel
    from isrcheck.checker.results.result import Result
    from isrcheck.checker.results.text_layout import Ink
    from isrcheck.checker.scenarios.scenario import Scenario


@dataclass(frozen=True)
class Derived:
    """The summary of a check, and the contents of the derived files by name.

    Without a violation or a deadlock, the only file is the file with the counts. If the search did not finish,
    `unfinished` has the reason and the exit code. `story` is the data from which an HTML page shows the trace in the
    files. If the files have no trace, `story` is about the trace to an evaluation error. `story` is None if the caller
    did not ask for it, or if there is no trace.
    """

    summary: dict[str, Any]
    files: dict[str, str]
    unfinished: tuple[str, int] | None
    story: dict[str, Any] | None = None


def derive(scenario: Scenario, limits: Limits = Limits(), with_story: bool = False) -> Derived:
    """Checks a scenario. If `with_story` is true, the result also has a `story` for an HTML page.

    Raises the errors of `isrcheck.check`, and `DamagedScenario` if the model's file is missing or outside
    `scenario.root`.
    """
    from isrcheck.checker.analysis.compare_with_fix import compare_all_with_fixes
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.checker.scenarios.controls import fixed_versions_of

    loaded = load_model_class(scenario.specification())
    result = run_scenario(scenario, loaded, scenario.settings, limits, workers=1)  # because scenarios run in parallel
    compare_all_with_fixes(result, loaded, fixed_versions_of(scenario, loaded, {}))
    story = _story(loaded, result) if with_story else None
    data = summary(result)
    unfinished = None if result.reason is None else (_unfinished(result), _code(result))
    return Derived(data, files_of(result), unfinished, story)


def run_scenario(
    scenario: Scenario, loaded: LoadedModel, settings: dict[str, Any], limits: Limits, workers: int | None = None
) -> Result:
    """Runs a scenario's check on a model at the given settings. Raises the errors of `isrcheck.check`."""
    from isrcheck.checker.analysis.check import check

    return check(
        loaded,
        settings,
        profile=BARE,
        invariants=scenario.invariants,
        liveness=scenario.liveness,
        fairness=scenario.fairness,
        keep_going=scenario.keep_going,
        deadlock=scenario.deadlock,
        limits=limits,
        workers=workers,
    )


def files_of(result: Result) -> dict[str, str]:
    """The contents of a scenario's files by name, from a result of any engine."""
    return {COUNTS: as_text(summary(result)), **_traces(result)}


def _story(loaded: LoadedModel, result: Result) -> dict[str, Any] | None:
    """The data from which an HTML page shows one trace.

    This trace is the trace in the scenario's derived files. If these files have no trace, it is the trace to an
    evaluation error. Returns None if there is no evaluation error either.
    """
    from isrcheck.checker.report.pages.trace_data import page_traces

    return next(iter(page_traces(result, loaded.cls(**result.settings)).values()), None)


def summary(result: Result) -> dict[str, Any]:
    """The part of a result that is the same in every run, as JSON data."""
    outcomes = {**result.invariants, **({DEADLOCK: result.deadlock} if result.deadlock else {})}
    asked = {"liveness": {name: _property_summary(f) for name, f in result.liveness.items()}} if result.liveness else {}
    return asked | {
        "format": FORMAT,
        "model": result.model,
        "settings": result.recorded_settings,
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "invariants": {name: _invariant_summary(outcome) for name, outcome in outcomes.items()},
        "initial_states": result.initial_states,
        "distinct": result.distinct,
        "depth": result.depth,
        "levels": result.levels,
        "generated": result.generated,
        "rejected": result.rejected,
        "left": result.left,
        "bounds_hit": [name for name, hit in result.bounds.items() if hit],
        "vacuity": {
            "actions_never_fired": result.actions_never_fired,
            "goals_never_reached": _unreached(result),
        },
    }


def _unreached(result: Result) -> list[str]:
    """The goals that no state reached. Switched-off goals are included, because older recordings include them, too."""
    return [n for n in result.goals if n in (*result.goals_never_reached, *result.goals_switched_off)]


def _invariant_summary(outcome: InvariantResult) -> dict[str, Any]:
    data = outcome.to_json()
    return {key: data[key] for key in ("verdict", "length", "checked_depth") if key in data}


def _property_summary(outcome: PropertyResult) -> dict[str, Any]:
    """The verdict on a property and the counts that `FOUND` names. For a violation: also the trace's length and loop.

    `loop` is the position (from 0) of the state where the loop of a lasso starts, or None if the trace is no lasso.
    """
    data = outcome.to_json()
    kept: dict[str, Any] = {key: data[key] for key in ("verdict", "vacuous", *FOUND, "fairness_used") if key in data}
    return kept if outcome.trace is None else kept | {"length": outcome.trace.length, "loop": outcome.trace.loop}


def _unfinished(result: Result) -> str:
    if result.evaluation is not None:
        return f"{result.reason}: {result.evaluation.where}: {result.evaluation.what}"
    return f"{result.reason}"


def _code(result: Result) -> int:
    """The exit code for the reason why a search did not finish. Violations do not change this exit code."""
    from isrcheck.checker.results.result import Exit

    if result.evaluation is not None:
        return Exit.EVALUATION
    return Exit.INTERRUPTED if result.reason == "interrupted" else Exit.LIMIT


def _traces(result: Result) -> dict[str, str]:
    """The files of the shortest counterexample, in the form in which `isrcheck check` prints and writes a trace.

    If several counterexamples are shortest, the first invariant by name is taken. A deadlock is taken only if its trace
    is shorter than the traces of all violations. The text explains every violation that has the chosen trace. If no
    invariant is violated and there is no deadlock, the files are those of `_lasso`.
    """
    from isrcheck.checker.report.counterexample_text import violations_text
    from isrcheck.checker.trace import itf

    found = sorted(result.invariants.items())
    violated = [(name, f) for name, f in found if f.trace is not None]
    if result.deadlock is not None and result.deadlock.trace is not None:
        violated.append((DEADLOCK, result.deadlock))
    if not violated:
        return _lasso(result)
    _, first = min(violated, key=lambda pair: pair[1].trace.length if pair[1].trace else 0)
    text = "\n".join(violations_text([pair for pair in violated if pair[1].trace == first.trace])) + "\n"
    data = itf.itf_of(result)
    assert data is not None
    return {ITF: itf.as_text(data), TEXT: text}


def _lasso(result: Result) -> dict[str, str]:
    """The files of the shortest trace that violates a property, or no files if no property is violated."""
    from isrcheck.checker.report.counterexample_text import property_violation_text
    from isrcheck.checker.trace import itf

    data = itf.itf_of(result) if any(f.trace is not None for f in result.liveness.values()) else None
    if data is None:
        return {}
    name = data["#meta"]["isrcheck"]["name"]
    text = "\n".join(property_violation_text(name, result.liveness[name])) + "\n"
    return {ITF: itf.as_text(data), TEXT: text}


def as_text(data: Any, indent: str = "") -> str:
    """JSON with sorted keys: each key begins a line, and a list is on one line, so that differences are easy to read.

    >>> print(as_text({"b": [1, 2], "a": {}}), end="")
    {
     "a": {},
     "b": [1, 2]
    }
    """
    return _lines(data, indent) + "\n"


def _lines(data: Any, indent: str) -> str:
    if not isinstance(data, dict) or not data:
        return json.dumps(data)
    inner = indent + " "
    rows = (f"{inner}{json.dumps(key)}: {_lines(value, inner)}" for key, value in sorted(data.items()))
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def settle(scenario: Scenario, loaded: LoadedModel, given: Iterable[str], result: Result) -> None:
    """Notes in the result each difference from the expected outcome, and sets exit code 10 if there is a difference.

    An exit code that comes before 10 in `Exit.PRECEDENCE` is not changed. `given` names the settings of the command
    line. If a setting in `given` has another value than in the scenario, no outcome is expected.
    """
    if not _changed(scenario, loaded, given, result):
        result.unmet = _unmet(scenario, result)
    if result.unmet:
        codes = {result.exit_code, Exit.DIFFERENCE}
        result.exit_code = next(code for code in Exit.PRECEDENCE if code in codes)


def expectation_lines(
    scenario: Scenario, loaded: LoadedModel, given: Iterable[str], result: Result, ink: Ink
) -> list[str]:
    """Lines with the scenario's name, title, and either the changed settings or the comparison with the expectation."""
    from isrcheck.checker.results.text_layout import columns

    if changed := _changed(scenario, loaded, given, result):
        last = [
            "not compared with the expectation, because these settings differ from the scenario:",
            *columns(changed),
        ]
    elif result.unmet:
        last = [ink("bad", "NOT AS EXPECTED"), *columns([line] for line in result.unmet)]
    else:
        last = [f"{ink('good', 'as expected')}: {_expected(scenario)}"]
    return [ink("head", f"Scenario {scenario.name}"), *columns([line] for line in (scenario.title, *last))]


def _expected(scenario: Scenario) -> str:
    from isrcheck.checker.results.text_layout import plural

    found = (f"{name} in {plural(states, 'state')}" for name, states in sorted(scenario.lengths.items()))
    return f"violated, {', '.join(found)}" if scenario.lengths else scenario.expect


def _unmet(scenario: Scenario, result: Result) -> list[str]:
    from isrcheck.checker.scenarios.collection import unmet

    return unmet(scenario, summary(result))


def _changed(scenario: Scenario, loaded: LoadedModel, given: Iterable[str], result: Result) -> list[tuple[str, str]]:
    """Each setting whose value on the command line differs from the scenario's: its name, and both values in words."""
    own, now = loaded.cls(**scenario.settings).settings, result.settings
    return [
        (
            name,
            f"{_text(now[name])}, in the scenario {_text(own[name]) if name in scenario.settings else 'the default'}",
        )
        for name in sorted(given)
        if now[name] != own[name]
    ]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
