"""The scenarios of V3: pairs that are each other's control, and nothing of the model that none of them uses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checker.library import load_model_class
from checker.scenarios.scenario import Scenario, read

ROOT = Path(__file__).parents[2] / "counterexamples"
SCENARIOS = {path.parent.name: read(path.parent, ROOT) for path in sorted(ROOT.glob("v3-*/scenario.toml"))}
V3 = load_model_class("v3").cls
NEVER_FIRED: set[str] = set()
NEVER_REACHED: set[str] = set()
ALWAYS_DEFAULT: set[str] = set()
"""Settings that no scenario changes."""


def recorded(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((ROOT / name / "expected.json").read_text())
    return data


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_and_its_control_differ_in_settings_and_verdict(scenario: Scenario) -> None:
    assert scenario.model == "v3"
    assert scenario.controls
    for name in scenario.controls:
        other = SCENARIOS[name]
        assert scenario.name in other.controls
        assert (scenario.invariants, scenario.keep_going) == (other.invariants, other.keep_going)
        assert {recorded(scenario.name)["verdict"], recorded(name)["verdict"]} == {"violated", "holds"}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_scenario_and_its_control_differ_in_what_the_fix_is_about(scenario: Scenario) -> None:
    for name in scenario.controls:
        mine, other = scenario.settings, SCENARIOS[name].settings
        differ = {key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)}
        if {scenario.name, name} != {"v3-as-written", "v3-with-later-fixes"}:
            # KIP-320 without one of its parts is compared with the whole, as is the truncation before KIP-320.
            assert len(differ) == 1, differ


@pytest.mark.parametrize("name", [name for name, s in SCENARIOS.items() if s.expect == "holds"])
def test_what_holds_was_explored_to_the_end(name: str) -> None:
    assert (recorded(name)["exit_code"], recorded(name)["left"]) == (0, 0)


def test_each_invariant_that_is_checked_is_checked_where_it_fails_and_where_it_holds() -> None:
    verdicts: dict[str, set[str]] = {}
    for name in SCENARIOS:
        for invariant, finding in recorded(name)["invariants"].items():
            verdicts.setdefault(invariant, set()).add(finding["verdict"])
    assert not [name for name, found in verdicts.items() if "holds" not in found]


def test_the_scenarios_use_the_whole_model() -> None:
    actions, goals = set(V3.actions()), set(V3.predicates("goal"))
    fired = {action for name in SCENARIOS for action, counts in recorded(name)["generated"].items() if sum(counts)}
    reached = {goal for name in SCENARIOS for goal in goals - set(recorded(name)["vacuity"]["goals_never_reached"])}
    assert actions - fired == NEVER_FIRED
    assert goals - reached == NEVER_REACHED


def test_the_scenarios_use_every_setting() -> None:
    used = {key for s in SCENARIOS.values() for key, value in s.settings.items() if value != V3().settings[key]}
    assert set(V3.declared_settings()) - used == ALWAYS_DEFAULT
