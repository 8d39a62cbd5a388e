"""Compares a scenario's outcome with the author's expectation, and checks that the scenario fits its controls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isrcheck.checker.scenarios.collection import called
from isrcheck.checker.scenarios.scenario import FILE, DamagedScenario, Scenario, read


def unmet(scenario: Scenario, summary: dict[str, Any]) -> list[str]:
    """Messages about the verdict and the lengths of traces, where a check's summary differs from `scenario.toml`."""
    lines = []
    if summary["verdict"] != scenario.expect:
        lines.append(f"verdict: {summary['verdict']}, expected {scenario.expect}")
    found = {name: f["length"] for name, f in _all(summary).items() if "length" in f}
    if found and not scenario.lengths and scenario.expect == "violated":
        told = ", ".join(f"{name} = {length}" for name, length in sorted(found.items()))
        return [*lines, f"no lengths are expected; write [lengths] in {FILE}, and below it {told}"]
    for name in sorted(found.keys() | scenario.lengths.keys()):
        if found.get(name) != scenario.lengths.get(name):
            lines.append(f"{name}: {_words(summary, name)}, expected {_expected(scenario, name)}")
    return lines


def _all(summary: dict[str, Any]) -> dict[str, Any]:
    """The findings about invariants, properties and deadlock in a summary, by name."""
    return {**summary["invariants"], **summary.get("liveness", {})}


def _words(summary: dict[str, Any], name: str) -> str:
    finding = _all(summary).get(name)
    if finding is None:
        return "not checked"
    return f"violated in {finding['length']} states" if "length" in finding else str(finding["verdict"])


def _expected(scenario: Scenario, name: str) -> str:
    return f"violated in {scenario.lengths[name]}" if name in scenario.lengths else "no violation"


def unpaired(scenario: Scenario) -> list[str]:
    """Messages that say why a scenario and its controls are not pairs.

    In a pair, one scenario is expected to be violated and one to hold, and each names the other as its control. The two
    differ only in the model, only in settings, or only in fairness, and this difference explains the different
    verdicts. Both check the same invariants and properties, and the search for deadlocks is on in both or off in both.
    """
    return [line for name in scenario.controls for line in _unpaired(scenario, name)]


def _unpaired(scenario: Scenario, name: str) -> list[str]:
    try:
        other = read(beside(scenario, name))
    except DamagedScenario:
        return [f"control {name}: there is no such scenario beside this one, or its {FILE} is damaged"]
    lines = []
    if scenario.name not in other.controls:
        lines.append(f"control {name}: it does not name {scenario.name} as its control")
    if scenario.expect == other.expect:
        lines.append(f"control {name}: {scenario.expect} is expected of both")
    parts = [{"model": _model(x), "settings": x.settings, "fairness": x.fairness} for x in (scenario, other)]
    differing = [part for part in parts[0] if parts[0][part] != parts[1][part]]
    if len(differing) != 1:
        what = f"{' and '.join(differing)} differ" if differing else "neither model nor settings nor fairness differ"
        lines.append(f"control {name}: {what}; a pair differs in exactly one of model, settings and fairness")
    if any(getattr(scenario, x) != getattr(other, x) for x in ("invariants", "liveness", "deadlock")):
        lines.append(f"control {name}: other invariants are checked there")
    return lines


def beside(scenario: Scenario, name: str) -> Path:
    """The folder of the scenario `name`. A folder beside `scenario` takes precedence.

    Looks in the parent of the scenario's folder and in the subfolders of this parent. Then looks in the grandparent and
    its subfolders, because scenarios may be in groups (folders beside each other). If no scenario has this name, the
    result is the folder that it would have beside `scenario`.
    """
    group = scenario.folder.resolve().parent
    return called(name, group) or called(name, group.parent) or group / name


def _model(scenario: Scenario) -> str:
    """The scenario's model, in a form that does not depend on the scenario's folder."""
    file = scenario.file
    return scenario.model if file is None else f"{file.resolve()}:{scenario.model.partition(':')[2]}"
