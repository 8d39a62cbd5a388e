"""`isrcheck check --scenario`: says whether the outcome of a scenario is as its author expects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from isrcheck.checker.results import Exit

if TYPE_CHECKING:
    from isrcheck.checker.library import LoadedModel
    from isrcheck.checker.results import Result
    from isrcheck.checker.scenarios.scenario import Scenario
    from isrcheck.checker.wording.layout import Ink


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
    from isrcheck.checker.wording.layout import columns

    if changed := _changed(scenario, loaded, given, result):
        last = ["nothing is expected with other settings than the scenario's:", *columns(changed)]
    elif result.unmet:
        last = [ink("bad", "NOT AS EXPECTED"), *columns([line] for line in result.unmet)]
    else:
        last = [f"{ink('good', 'as expected')}: {_expected(scenario)}"]
    return [ink("head", f"Scenario {scenario.name}"), *columns([line] for line in (scenario.title, *last))]


def _expected(scenario: Scenario) -> str:
    found = (f"{name} in {states} states" for name, states in sorted(scenario.lengths.items()))
    return f"violated, {', '.join(found)}" if scenario.lengths else scenario.expect


def _unmet(scenario: Scenario, result: Result) -> list[str]:
    from isrcheck.checker.scenarios.derived import summary
    from isrcheck.checker.scenarios.expectation import unmet

    return unmet(scenario, summary(result))


def _changed(scenario: Scenario, loaded: LoadedModel, given: Iterable[str], result: Result) -> list[tuple[str, str]]:
    """Each setting whose value on the command line differs from the scenario's: its name, and both values in words."""
    own, now = loaded.cls(**scenario.settings).settings, result.settings
    return [
        (name, f"{_text(now[name])}, there {_text(own[name]) if name in scenario.settings else 'the default'}")
        for name in sorted(given)
        if now[name] != own[name]
    ]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
