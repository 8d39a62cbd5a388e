"""docs/reference/designs.md names existing parts of the designs, and every action and goal of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.language import UnknownName
from isrcheck.model.language.settings import Setting
from tests.designs import shipped

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/designs.md").read_text().partition("\n## Ghost variables\n")[0]
DESIGNS = {name: load_model_class(name) for name in shipped.DESIGNS}
FEATURES: dict[str, tuple[dict[str, object], ...]] = {
    "v3": (
        {},
        {"crashes": 1, "truncation": "kip-101", "controller_failover": True},
        {"topic_changes": 1},
        {"reassignments": 1},
    ),
    "v1": ({}, {"reassignments": 1}),
    "kraft": ({}, {"crashes": 1}),
    "majority": ({},),
    "primary-backup": ({},),
    "v2": ({}, {"reassignments": 1, "lifecycle": True}, {"topic_changes": 1}),
    "alter-isr": ({}, {"controller_failover": True}, {"shutdowns": 1}),
}
"""Settings at which a design has every variable that the page names."""
SETTINGS = {name for m in DESIGNS.values() for name in m.cls.declared_settings()}
VARIABLES = {n for d, m in DESIGNS.items() for settings in FEATURES[d] for n in m.cls(**settings).domains}
SCENARIOS = {
    p.parent.name: p.read_text() for d in DESIGNS for p in ROOT.glob(f"counterexamples/**/{d}-*/scenario.toml")
}
NAMES = re.findall(r"`([^`]+)`", PAGE)
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| --- ")]
PUBLISHED = {"weak-isr", "strong-isr"}
WHOLE = {"v2-as-written", "v3-as-written", "alter-isr-as-written"}
"""Scenarios about whole pages."""
SHARED_GOALS = DESIGNS["v3"].cls.predicates("goal").keys()
"""Goals of the data plane and the control plane, which only require that something happens at all."""


def test_every_name_exists() -> None:
    known = {*VARIABLES, *SETTINGS, *SCENARIOS, *DESIGNS}
    for m in DESIGNS.values():
        known |= {*m.cls.actions(), *m.invariants, *m.properties, *m.cls.predicates("goal")}
    others = {"counterexamples/", "epoch", "model/designs/kraft/"}
    names = {name for name in NAMES if " = " not in name}
    assert len(names) > 400
    assert sorted(names - known - others) == []


@pytest.mark.parametrize("name", sorted({name for name in NAMES if " = " in name}))
def test_every_choice_of_a_setting_exists(name: str) -> None:
    setting, _, value = name.partition(" = ")
    assert any(can_be(m.cls.declared_settings().get(setting), value) for m in DESIGNS.values())


def can_be(setting: Setting | None, value: str) -> bool:
    try:
        return setting is not None and setting.parsed(value) is not None
    except UnknownName:
        return False


@pytest.mark.parametrize("design", DESIGNS)
def test_all_that_a_design_does_appears(design: str) -> None:
    assert not DESIGNS[design].cls.actions().keys() - set(NAMES)


@pytest.mark.parametrize("design", DESIGNS)
def test_all_that_a_design_should_reach_appears(design: str) -> None:
    assert not DESIGNS[design].cls.predicates("goal").keys() - SHARED_GOALS - set(NAMES)


@pytest.mark.parametrize("design", DESIGNS)
def test_every_setting_and_every_invariant_of_a_design_appears(design: str) -> None:
    settings = DESIGNS[design].cls.declared_settings().keys() - {name.partition(" = ")[0] for name in NAMES}
    invariants = DESIGNS[design].invariants.keys() - set(NAMES) - PUBLISHED
    assert not (settings or invariants), f"docs/reference/designs.md names nowhere {settings | invariants} of {design}"


def test_every_row_has_three_cells() -> None:
    assert [row for row in ROWS if row.count(" | ") + row.count(" |\n") != 2 and not row.endswith("| |")] == []


def test_every_violated_scenario_is_about_some_rule() -> None:
    violated = {name for name, text in SCENARIOS.items() if 'expect = "violated"' in text}
    assert violated - set(NAMES) == WHOLE, "each one belongs in the row of the rule that it breaks"
