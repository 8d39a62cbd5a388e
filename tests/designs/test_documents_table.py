"""docs/documents.md names what the model has, and all that the model does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.library import load_model_class

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/documents.md").read_text()
V3 = load_model_class("v3")
SETTINGS = V3.cls.declared_settings()
SCENARIOS = {path.parent.name for path in ROOT.glob("counterexamples/v3-*/scenario.toml")}
VARIABLES = {
    name
    for settings in ({}, {"crashes": 1, "truncation": "kip-101", "controller_failover": True}, {"topic_changes": 1})
    for name in V3.cls(**settings).domains
} | set(V3.cls(reassignments=1).domains)
NAMES = re.findall(r"`([^`]+)`", PAGE)
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| --- ")]


@pytest.mark.parametrize("name", sorted({name for name in NAMES if " = " not in name}))
def test_every_name_exists(name: str) -> None:
    places = (V3.cls.actions(), SETTINGS, V3.invariants, SCENARIOS, VARIABLES)
    assert name in ("v3", "counterexamples/") or any(name in place for place in places)


@pytest.mark.parametrize("name", sorted({name for name in NAMES if " = " in name}))
def test_every_choice_of_a_setting_exists(name: str) -> None:
    setting, _, value = name.partition(" = ")
    assert value in SETTINGS[setting].choices


def test_all_that_the_model_does_appears() -> None:
    assert not set(V3.cls.actions()) - set(NAMES)


def test_every_setting_and_every_invariant_of_the_designs_appears() -> None:
    published = {"weak-isr", "strong-isr"}
    assert not SETTINGS.keys() - {name.partition(" = ")[0] for name in NAMES}
    assert not V3.invariants.keys() - set(NAMES) - published


def test_every_row_has_three_cells() -> None:
    assert [row for row in ROWS if row.count(" | ") + row.count(" |\n") != 2 and not row.endswith("| |")] == []


def test_every_violated_scenario_is_about_some_rule() -> None:
    fixed = {
        name for name in SCENARIOS if 'expect = "holds"' in (ROOT / f"counterexamples/{name}/scenario.toml").read_text()
    }
    assert SCENARIOS - fixed - set(NAMES) == {"v3-as-written"}
