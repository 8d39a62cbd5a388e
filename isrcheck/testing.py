"""Assertions about models, for pytest, unittest, or any other framework that uses `AssertionError`.

    from isrcheck.testing import assert_holds, assert_violated

    def test_epochs_fence_a_deposed_leader():
        assert_holds("kip-320", {"replicas": 2}, ["weak-isr"])

The message of a failed assertion has the counterexample, if there is one. `assert_holds` and `assert_as_recorded` also
fail if the search does not finish.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isrcheck.checker.analysis.check import check
from isrcheck.checker.registry.loader import LoadedModel
from isrcheck.checker.report.counterexample_text import (
    evaluation_text,
    property_text,
    property_violation_text,
    violations_text,
)
from isrcheck.checker.report.result_text import verdict_line
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import InvariantResult, Result
from isrcheck.checker.scenarios.scenario import Scenario
from isrcheck.model.language.fairness import Fairness
from isrcheck.model.language.model import Model

AnyModel = str | type[Model] | Model | LoadedModel


class NotAsAsserted(AssertionError):
    """A check has another outcome than asserted. `result` is the result of the check."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def assert_holds(
    model: AnyModel,
    settings: dict[str, Any] | None = None,
    invariants: Sequence[str] | None = None,
    *,
    profile: str | None = None,
    liveness: Sequence[str] = (),
    fairness: Fairness = Fairness(),
    deadlock: bool = False,
    engine: str = "local",
    limits: Limits = Limits(),
    workers: int | None = None,
) -> Result:
    """Explores all states, and fails unless all checked invariants and properties hold.

    Also fails if every behaviour that a property is about is stopped by a bound (docs/explanation/liveness.md).
    With `deadlock`, also fails if there is a deadlock. The arguments are those of `check`.

    >>> tiny = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0}
    >>> assert_holds("kip-101", tiny).verdict
    'holds'
    """
    __tracebackhide__ = True
    asked: dict[str, Any] = {"profile": profile, "deadlock": deadlock, "engine": engine, "limits": limits}
    asked |= {"liveness": liveness, "fairness": fairness}
    result = check(model, settings, invariants=invariants, workers=workers, **asked)
    if result.verdict != "holds" or result.asks_nothing:
        raise NotAsAsserted(result_in_words(result), result)
    excused = [f"{name} {property_text(outcome)}" for name, outcome in result.liveness.items() if outcome.only_excused]
    if excused:
        raise NotAsAsserted("\n".join([*excused, result_in_words(result)]), result)
    return result


def assert_violated(
    model: AnyModel,
    settings: dict[str, Any] | None = None,
    invariants: Sequence[str] | None = None,
    *,
    length: int | None = None,
    profile: str | None = None,
    deadlock: bool = False,
    engine: str = "local",
    limits: Limits = Limits(),
    workers: int | None = None,
) -> Result:
    """Explores all states, and fails unless every checked invariant is violated. Most arguments are those of `check`.

    With `deadlock`, there must also be a deadlock. If all these violations were found, the assertion passes even if a
    limit ended the search. `length` is the expected number of states of the shortest trace.
    """
    __tracebackhide__ = True
    asked: dict[str, Any] = {"profile": profile, "deadlock": deadlock, "engine": engine, "limits": limits}
    result = check(model, settings, invariants=invariants, keep_going=True, workers=workers, **asked)
    looked_at = {**result.invariants, **({"deadlock": result.deadlock} if result.deadlock else {})}
    open_ = [name for name, outcome in looked_at.items() if outcome.verdict != "violated"]
    if open_ or not looked_at:
        words = f"{', '.join(open_) or 'no invariant'} was expected to be violated"
        raise NotAsAsserted(f"{words}\n{result_in_words(result)}", result)
    shortest = min(outcome.trace.length for outcome in looked_at.values() if outcome.trace is not None)
    if length is not None and shortest != length:
        words = f"the shortest trace has {shortest} states; {length} were expected"
        raise NotAsAsserted(f"{words}\n{result_in_words(result)}", result)
    return result


def result_in_words(result: Result) -> str:
    """A result in words: the verdict, all settings, each counterexample, and the evaluation error if there is one."""
    settings = ", ".join(f"{name}={value}" for name, value in result.settings.items())
    found: list[tuple[str, InvariantResult]] = sorted(result.invariants.items())
    if result.deadlock is not None:
        found.append(("deadlock", result.deadlock))
    parts = [f"{verdict_line(result)}\n{settings}"]
    parts += ["\n".join(violations_text([(name, f)])) for name, f in found if f.trace is not None]
    parts += ["\n".join(property_violation_text(n, f)) for n, f in result.liveness.items() if f.trace is not None]
    if result.evaluation is not None:
        parts.append("\n".join(evaluation_text(result.evaluation)))
    return "\n\n".join(parts)


# --- scenarios ------------------------------------------------------------------------------------------------------


class ScenarioChanged(AssertionError):
    """A scenario is not as recorded or not as expected, or its search did not finish. The message says why."""


def scenarios(*paths: str | Path) -> list[Scenario]:
    """The scenarios in the folders `paths`, as parameters for `pytest.mark.parametrize`.

    Without arguments, these are the scenarios in the folder `counterexamples` of the current directory, or the shipped
    scenarios if there is no such folder.

        @pytest.mark.parametrize("scenario", scenarios("counterexamples"), ids=lambda s: s.name)
        def test_scenario(scenario):
            assert_as_recorded(scenario)
    """
    from isrcheck.checker.scenarios.collection import folders
    from isrcheck.checker.scenarios.scenario import read

    return [read(*pair) for pair in folders(tuple(map(str, paths)))]


def assert_as_recorded(scenario: Scenario, limits: Limits = Limits()) -> None:
    """Repeats a scenario's check, and fails unless the result is as expected and, byte for byte, as recorded.

    A scenario can name other scenarios as its controls. Also fails if the scenario and a control are not a pair. In a
    pair, one scenario is expected to hold, the other to be violated, and the two differ in one respect. `unpaired` in
    `checker/scenarios/collection.py` has all conditions.
    """
    __tracebackhide__ = True
    from isrcheck.checker.scenarios.collection import unmet, unpaired
    from isrcheck.checker.scenarios.derived_files import derive
    from isrcheck.checker.scenarios.drift import drift, recorded

    derived = derive(scenario, limits)
    if derived.unfinished is not None:
        raise ScenarioChanged(f"{scenario.name}: {derived.unfinished[0]}")
    expected = [*unmet(scenario, derived.summary), *unpaired(scenario)]
    changed = drift(recorded(scenario.folder), derived)
    if expected or changed:
        trace = next((text for name, text in derived.files.items() if name == "trace.txt"), "")
        lines = [f"{scenario.name}: {scenario.title}", *expected, *changed]
        raise ScenarioChanged("\n".join([*lines, *(["", trace] if trace else [])]))
