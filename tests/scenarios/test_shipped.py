"""The shipped scenarios: their records are up to date, they form pairs, and they agree with TLC."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from isrcheck.checker.scenarios.collection import unpaired
from isrcheck.checker.scenarios.scenario import read
from tests.cli.running import run
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2] / "counterexamples"
SCENARIOS = [read(folder, ROOT) for folder in FOLDERS.values()]


def test_the_smallest_scenario_of_each_group_is_as_recorded() -> None:
    """`.ci/run` runs `isrcheck regress` for all scenarios."""
    sizes = [(json.loads((s.folder / "expected.json").read_text())["distinct"], s) for s in SCENARIOS]
    groups = sorted({s.folder.parent for s in SCENARIOS})
    smallest = [min((n, s.name) for n, s in sizes if s.folder.parent == group)[1] for group in groups]
    assert len(smallest) == 8
    outcome = run("regress", *(FOLDERS[name] for name in smallest), "--workers", 1)
    assert outcome.out.splitlines()[-1] == "8 scenarios: 8 as recorded" and outcome.code == 0


def test_every_scenario_has_a_control() -> None:
    for scenario in SCENARIOS:
        assert scenario.fixed_versions, (
            f"{scenario.name} names no control, a scenario that differs by the fix (docs/how-to/scenarios.md)"
        )
        assert unpaired(scenario) == []


def test_controls_of_another_model_are_checked_with_the_same_settings() -> None:
    recorded = {s.name: json.loads((s.folder / "expected.json").read_text()) for s in SCENARIOS}
    for scenario, name in ((s, name) for s in SCENARIOS for name in s.fixed_versions):
        own, other = recorded[scenario.name], recorded[name]
        shared = own["settings"].keys() & other["settings"].keys()
        if own["model"] != other["model"]:
            same = {n: own["settings"][n] for n in shared} == {n: other["settings"][n] for n in shared}
            assert same, (scenario.name, name)
        assert {own["verdict"], other["verdict"]} == {"violated", "holds"}, (scenario.name, name)


def test_counts_and_lengths_are_those_of_tlc() -> None:
    # TLC's runs of the published specification at the same bounds.
    found = {s.name: json.loads((s.folder / "expected.json").read_text()) for s in SCENARIOS}
    explored = {
        "kip-101-fixed-by-kip-279": (9_027, 18),
        "kip-279": (60_106, 22),
        "kip-279-fixed-by-kip-320": (39_619, 22),
        "truncate-to-hw": (353, 12),
        "truncate-to-hw-fixed-by-kip-101": (341, 12),
    }
    assert {name: (found[name]["distinct"], found[name]["depth"]) for name in explored} == explored
    lengths = {s.name: s.lengths for s in SCENARIOS if s.name in ("kip-101", "truncate-to-hw", "kip-279")}
    assert lengths == {
        "kip-101": {"strong-isr": 12, "weak-isr": 12},
        "kip-279": {"strong-isr": 12},
        "truncate-to-hw": {"strong-isr": 10, "weak-isr": 9},
    }


def test_the_trace_is_what_check_prints_and_writes(tmp_path: Path) -> None:
    folder = FOLDERS["kip-101"]
    outcome = run("check", "--scenario", folder, "--itf", tmp_path / "trace.json")
    assert (folder / "trace.txt").read_text() in outcome.out
    assert (folder / "trace.itf.json").read_bytes() == (tmp_path / "trace.json").read_bytes()


@pytest.mark.exhaustive
@pytest.mark.release
def test_the_recorded_traces_replay() -> None:
    for path in sorted(ROOT.glob("**/trace.itf.json")):
        assert run("replay", path, "--expect-violation").code == 0


def test_serial_and_parallel_regressions_say_the_same(tmp_path: Path) -> None:
    for name in ("kip-101", "kip-101-fixed-by-kip-279", "truncate-to-hw", "truncate-to-hw-fixed-by-kip-101"):
        shutil.copytree(FOLDERS[name], tmp_path / name)
    (tmp_path / "truncate-to-hw" / "trace.txt").unlink()
    serial, parallel = (run("regress", tmp_path, "--workers", n, "--json", tmp_path / f"{n}.json") for n in (1, 2))
    assert serial == parallel
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert serial.code == 10
    assert serial.out.splitlines() == [
        "as recorded      kip-101: violated: strong-isr 12, weak-isr 12; 5,491 states, depth 12",
        "as recorded      kip-101-fixed-by-kip-279: holds; 9,027 states, depth 18",
        "DRIFT            truncate-to-hw: violated: strong-isr 10, weak-isr 9; 353 states, depth 12",
        "  trace.txt is not recorded",
        "as recorded      truncate-to-hw-fixed-by-kip-101: holds; 341 states, depth 12",
        "4 scenarios: 1 DRIFT, 3 as recorded",
    ]
