"""The scenarios of each design form pairs of a scenario and its control, and together use all of the design's model."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.scenarios.scenario import Scenario, read
from isrcheck.model.designs.data_plane import DataPlane
from isrcheck.model.designs.logs import Logs
from isrcheck.model.designs.partition_state import PartitionState
from isrcheck.model.designs.v3 import ControllerDesign
from tests.marks import one_in
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2] / "counterexamples"


@dataclass(frozen=True)
class Unused:
    """Parts of a design's model that no scenario uses, and pairs that differ in several settings, with reasons."""

    actions: dict[str, str] = field(default_factory=dict)
    goals: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    wholes: frozenset[frozenset[str]] = frozenset()


V2_UNUSED = Unused(
    actions={
        "read-isr-for-election": "reading earlier opens no other window than the one before the epoch is written",
        "creation-times-out": "nothing is lost by it: requests stay in order",
        "clean-failed-creation": "as creation-times-out",
        "watch-leader-again": "a replica of V2 watches the leader node as it reads it",
    },
    settings={
        "election_read": "as read-isr-for-election",
        "count_load": "numbers, not verdicts",
    },
    wholes=frozenset({frozenset({"v2-as-written", "v2-with-later-fixes"})}),
)
NUMBERS = {"count_load": "numbers, not verdicts"}
OF_V3 = "shared with v3, whose scenarios are about it"
DESIGNS = {
    "alter-isr": Unused(
        actions={
            "reassign-partition": OF_V3,
            "on-partitions-reassigned": OF_V3,
            "on-new-replicas-in-isr": OF_V3,
            "move-leader-to-target": OF_V3,
            "remove-old-replicas": OF_V3,
        },
        settings={
            "assigned_at_start": OF_V3,
            "channel_size": OF_V3,
            "controller_epoch_guard": OF_V3,
            "deletion_waits": OF_V3,
            "max_controller_epoch": OF_V3,
            "reassignments": OF_V3,
            "unclean": OF_V3,
        },
        wholes=frozenset({frozenset({"alter-isr-as-written", "alter-isr-with-later-fixes"})}),
    ),
    "kraft": Unused(
        settings={
            "failed_directory": "with an empty one nothing happens, as kraft-lost-directory-and-a-clean-stop says",
            "late_notes": "one fetch that is noted late is enough for seen behaviours",
        }
    ),
    "v1": Unused(
        actions={"broker-startup": "what a restart loses is what truncation to a high watermark loses in V3"},
        settings=NUMBERS,
    ),
    "majority": Unused(),
    "primary-backup": Unused(),
    "v2": V2_UNUSED,
    "v3": Unused(
        actions={"answer-that-logs-diverge": "answers that truncate, and are late, are asked of kraft (KAFKA-18991)"},
        wholes=frozenset({frozenset({"v3-as-written", "v3-with-later-fixes"})}),
    ),
}
SHARED = (PartitionState, DataPlane, Logs)
"""Parts that designs share. The scenarios of V3 use all of them."""
SCENARIOS = {
    path.parent.name: read(path.parent, ROOT)
    for design in DESIGNS
    for path in sorted(ROOT.glob(f"{design}/*/scenario.toml"), key=lambda p: p.parent.name)
}


def of(design: str) -> list[Scenario]:
    return [s for s in SCENARIOS.values() if s.model == design]


@cache
def recorded(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDERS[name] / "expected.json").read_text())
    return data


@pytest.mark.parametrize("design", DESIGNS)
def test_a_scenario_and_its_control_differ_in_settings_and_verdict(design: str) -> None:
    for scenario in of(design):
        assert scenario.name.startswith(f"{scenario.model}-"), f"{scenario.name} does not begin with its model's name"
        assert scenario.fixed_versions, (
            f"{scenario.name} names no control, a scenario that differs by the fix (docs/how-to/scenarios.md)"
        )
        for name in scenario.fixed_versions:
            other = SCENARIOS[name]
            assert scenario.name in other.fixed_versions
            one, two = ((s.model, s.invariants, s.keep_going) for s in (scenario, other))
            assert one == two, (scenario.name, name)
            verdicts = {recorded(each)["verdict"] for each in (scenario.name, name)}
            assert verdicts == {"violated", "holds"}, (scenario.name, name)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_scenario_and_its_control_differ_in_what_the_fix_is_about(design: str) -> None:
    for scenario, name in ((s, name) for s in of(design) for name in s.fixed_versions):
        mine, other = scenario.settings, SCENARIOS[name].settings
        differ = {key for key in mine.keys() | other.keys() if mine.get(key) != other.get(key)}
        if frozenset({scenario.name, name}) not in DESIGNS[scenario.model].wholes:
            # KIP-320 without one of its parts is compared with the whole, as is the truncation before KIP-320.
            assert len(differ) == 1, (scenario.name, name, differ)
            # With the defaults of all the others as well: a default that changes would make a second difference.
            own, others = recorded(scenario.name)["settings"], recorded(name)["settings"]
            assert {key for key in own if own[key] != others[key]} == differ, (scenario.name, name)


@pytest.mark.parametrize("design", DESIGNS)
def test_what_holds_was_explored_to_the_end(design: str) -> None:
    for name in (s.name for s in of(design) if s.expect == "holds"):
        assert (recorded(name)["exit_code"], recorded(name)["left"]) == (0, 0), name


@pytest.mark.parametrize("design", DESIGNS)
def test_each_invariant_that_is_checked_is_checked_where_it_holds(design: str) -> None:
    verdicts: dict[str, set[str]] = {}
    for scenario in of(design):
        for invariant, outcome in recorded(scenario.name)["invariants"].items():
            verdicts.setdefault(invariant, set()).add(outcome["verdict"])
    assert not [name for name, found in verdicts.items() if "holds" not in found]


@pytest.mark.parametrize("design", DESIGNS)
def test_the_scenarios_use_the_whole_model(design: str) -> None:
    cls, scenarios = load_model_class(design).cls, [recorded(s.name) for s in of(design)]
    fired = {action for found in scenarios for action, counts in found["generated"].items() if sum(counts)}
    reached = {
        goal
        for found in scenarios
        for goal in cls.predicates("goal").keys() - set(found["vacuity"]["goals_never_reached"])
    }
    shared = set() if design == "v3" else {action for part in SHARED for action in part.actions()}
    assert cls.actions().keys() - fired - shared == DESIGNS[design].actions.keys()
    assert cls.predicates("goal").keys() - reached == DESIGNS[design].goals.keys()


@pytest.mark.parametrize("design", DESIGNS)
def test_the_scenarios_use_every_setting(design: str) -> None:
    cls = load_model_class(design).cls
    usual = cls().settings
    used = {key for s in of(design) for key, value in s.settings.items() if value != usual[key]}
    shared = set() if design == "v3" else {name for part in SHARED for name in part.declared_settings()}
    assert cls.declared_settings().keys() - used - shared == DESIGNS[design].settings.keys()


class StopsEverything(ControllerDesign):
    """A broker that deletes every partition it has, whichever StopReplica names."""

    def delete_replica(self, s: Any, p: int, b: Any) -> None:
        for q in self.all_partitions:
            super().delete_replica(s, q, b)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("v3-late-stop-after-a-recreation-fixed-by-kip-516", "holds"),
        ("v3-two-partitions-and-a-late-stop-fixed-by-kip-516", "violated"),
    ],
)
def test_stopping_a_partition_that_is_not_named_is_noticed_where_there_are_two(name: str, verdict: str) -> None:
    scenario = SCENARIOS[name]
    assert check(StopsEverything, scenario.settings, profile="bare", invariants=scenario.invariants).verdict == verdict


WIDENED = [name for name, s in SCENARIOS.items() if s.seen_to_hold]


@pytest.mark.parametrize("design", DESIGNS)
def test_what_was_seen_to_hold_has_wider_bounds(design: str) -> None:
    declared = load_model_class(design).cls.declared_settings()
    for scenario in of(design):
        for bound, value in scenario.seen_to_hold.items():
            assert declared[bound].bound is not None, (scenario.name, bound)
            assert value > recorded(scenario.name)["settings"][bound], (scenario.name, bound)


# --- benchmarks/widened.toml ------------------------------------------------------------------------------------------

sys.path.insert(0, str(ROOT.parent / "benchmarks"))
widened_controls = importlib.import_module("widened_controls")
ROWS = widened_controls.read_rows(widened_controls.DATA)


def test_a_row_of_the_table_is_about_a_scenario_as_it_is() -> None:
    for name, row in ROWS.items():
        assert (recorded(name)["verdict"], recorded(name)["distinct"]) == ("holds", row.states), name
        assert list(row.together.items()) == list(read(FOLDERS[name], ROOT).seen_to_hold.items()), name


def test_why_a_verdict_turns_is_in_the_note() -> None:
    for name, row in ROWS.items():
        note = read(FOLDERS[name], ROOT).note or ""
        for cell in row.violated:
            if "from" in cell:
                assert f"{cell['raised']} = {cell['to']}" in note, name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("v3-frozen-isr-fixed-by-kafka-1382", marks=pytest.mark.exhaustive),
        "truncate-to-hw-fixed-by-kip-101",
    ],
)
def test_a_row_of_the_table_is_derived_anew_and_put_where_it_was(name: str, tmp_path: Path) -> None:
    row = widened_controls.row(read(FOLDERS[name], ROOT), widened_controls.STATES)
    assert str(row) == str(ROWS[name])
    text = widened_controls.DATA.read_text(encoding="utf-8")
    path = tmp_path / "widened.toml"
    path.write_text(text.replace(f"{ROWS[name].as_toml()}\n", ""), encoding="utf-8")
    assert name not in widened_controls.read_rows(path)
    widened_controls.write_row(path, row)
    assert path.read_text(encoding="utf-8") == text


def test_the_table_is_shown_as_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    widened_controls.show(["truncate-to-hw-*"])
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == 7
    assert rows == [str(row) for name, row in ROWS.items() if name.startswith("truncate-to-hw-")] != []


def test_what_is_undecided_is_asked_again_cell_by_cell() -> None:
    """The program gives a row after each cell and repeats no cell at the same limit, so it can be stopped."""
    scenario = read(FOLDERS["truncate-to-hw-fixed-by-kip-101"], ROOT)
    given_up = [
        {"raised": "max_records", "from": 1, "to": 2, "depth": 3},
        {"raised": "log_size", "from": 2, "to": 3, "depth": 3, "limit": 1_000_000},
        {"raised": "max_leader_epoch", "from": 1, "to": 2, "depth": 3, "limit": 300},
    ]
    before = widened_controls.Row(scenario.name, 341, undecided=given_up)
    rows = list(widened_controls.ask_again(scenario, before, 1_000_000))
    assert [row.undecided for row in rows] == [given_up[1:], [given_up[1]]]
    assert rows[-1].holds == [
        cell for cell in ROWS[scenario.name].holds if cell["raised"] in ("max_records", "max_leader_epoch")
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(8, WIDENED))
def test_what_was_seen_to_hold_holds(name: str) -> None:
    scenario = SCENARIOS[name]
    settings = {**scenario.settings, **scenario.seen_to_hold}
    assert check(scenario.model, settings, profile="bare", invariants=scenario.invariants).verdict == "holds"
