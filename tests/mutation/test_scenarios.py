"""Mutants that nothing notices at the given settings are checked in the recorded scenarios of the model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from isrcheck.checker.changes.mutation.further_checks import places
from isrcheck.checker.changes.mutation.mutant_verdicts import Question, Verdict
from isrcheck.checker.changes.mutation.mutation_run import Mutation, mutation
from isrcheck.checker.results.exploration import Limits
from tests.cli.running import run

SETTINGS = {"lots": 1, "sold": 3}
SCENARIO = """\
title = "A car park"
model = "../car_park.py"
expect = "holds"
source = []
story = "Cars go in and out."

[settings]
lots = {lots}
sold = {sold}
"""


@pytest.fixture(scope="module")
def park(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, two recorded scenarios and an unrecorded scenario."""
    root = tmp_path_factory.mktemp("project") / "counterexamples"
    for name, lots, sold in (("three-lots", 3, 3), ("nothing-sold", 1, 0), ("never-recorded", 2, 2)):
        (root / name).mkdir(parents=True)
        (root / name / "scenario.toml").write_text(SCENARIO.format(lots=lots, sold=sold))
    shutil.copy(Path(__file__).parent / "car_park.py", root)
    recorded = [root / "three-lots", root / "nothing-sold"]
    assert run("regress", root, "--update").code == 0
    (root / "never-recorded" / "expected.json").unlink()
    assert all((folder / "expected.json").is_file() for folder in recorded)
    return root


@pytest.fixture(scope="module")
def asked(park: Path) -> Mutation:
    return _asked(park)


def _asked(park: Path, workers: int = 1, limits: Limits = Limits(), **settings: int) -> Mutation:
    model = str(park / "car_park.py")
    found = places(model, (str(park),))
    question = Question(model, SETTINGS | settings, None, limits=limits, workers=workers, scenarios=found)
    return mutation(question)


def of(asked: Mutation, action: str, change: str) -> Verdict:
    (found,) = [v for v in asked.verdicts if (v.action, v.edit.words) == (action, change)]
    return found


def test_the_recorded_scenarios_that_hold_are_asked_the_smallest_first(park: Path) -> None:
    model = str(park / "car_park.py")
    found = places(model, (str(park),))
    assert [(name, settings) for name, settings, _ in found] == [
        ("three-lots", {"lots": 3, "sold": 3}),
        ("nothing-sold", {"lots": 1, "sold": 0}),
    ]
    assert [states for _, _, states in found] == [8, 14]
    assert [name for name, _, _ in places(model, (str(park),), most=8)] == ["three-lots"]
    assert places("kip-101", (str(park),)) == ()


@pytest.mark.exhaustive
def test_a_mutant_that_is_killed_at_the_settings_is_not_asked_elsewhere(asked: Mutation) -> None:
    found = of(asked, "enter", "without s.inside < self.lots")
    assert (found.outcome, found.scenario, found.killed_by, found.length) == ("killed", None, ("never-too-many",), 3)
    assert (found.same_in, found.differs_in) == ((), ())


def test_a_mutant_is_killed_in_a_scenario_by_an_invariant_that_nobody_asked_for(asked: Mutation) -> None:
    # With three tickets for one lot the line says nothing; where none is sold a car enters without.
    found = of(asked, "enter", "without s.inside < s.tickets")
    assert (found.outcome, found.scenario, found.killed_by) == ("killed", "nothing-sold", ("each-has-a-ticket",))
    assert (found.length, found.by, found.difference) == (2, "enter()", 1)
    assert found.same_in == ("three-lots",)
    assert [step["state"]["inside"] for step in found.trace] == [0, 1]


def test_an_invariant_that_is_false_in_the_model_itself_says_nothing(asked: Mutation) -> None:
    # tickets-are-left is false in both scenarios, and would kill everything there.
    assert all("tickets-are-left" not in v.killed_by for v in asked.verdicts)


def test_a_mutant_that_is_the_same_everywhere_is_equivalent_in_every_scenario(asked: Mutation) -> None:
    found = of(asked, "leave", "without s.lamp")
    assert (found.outcome, found.scenario) == ("equivalent", None)
    assert (found.same_in, found.differs_in) == (("three-lots", "nothing-sold"), ())


def test_a_survivor_survives_wherever_it_differs(asked: Mutation) -> None:
    # The lamp stays on though nobody is inside. Only who sells the first tickets looks at it, and no invariant does.
    found = of(asked, "leave", "without s.lamp = False")
    assert (found.outcome, found.scenario, found.extra) == ("survived", "nothing-sold", 6)
    assert found.differs_in == ("three-lots", "nothing-sold")


def test_what_differs_where_nobody_reads_it_is_told_from_a_survivor(park: Path) -> None:
    # With all tickets sold nobody looks at the lamp once all have left.
    found = of(_asked(park, lots=3), "leave", "without s.lamp = False")
    assert (found.outcome, found.scenario, found.differing) == ("survived", "nothing-sold", ())
    question = Question(str(park / "car_park.py"), {"lots": 3, "sold": 3}, None, workers=1)
    found = of(mutation(question), "leave", "without s.lamp = False")
    assert (found.outcome, found.scenario, found.differing) == ("unread", None, ("lamp",))


def test_what_reaches_only_states_of_the_model_is_told_from_a_survivor(asked: Mutation) -> None:
    # Tickets are sold after closing time: at the settings none is left to sell, and where some are, all that is
    # reached is reached by selling first.
    found = of(asked, "sell", "without ~s.closed")
    assert (found.outcome, found.scenario, found.extra) == ("nothing new", "nothing-sold", 0)
    assert found.same_in == ("three-lots",)
    found = of(asked, "leave", "without s.inside = 0")
    assert (found.outcome, found.scenario) == ("survived", None)


def test_what_only_forbids_is_counted_apart_and_noticed_where_its_action_is_never_possible(asked: Mutation) -> None:
    # `not closed` for `not (closed and somebody is inside)`.
    found = of(asked, "enter", "without s.inside > 0")
    assert (found.outcome, found.scenario) == ("forbids", None)
    # `not (tickets >= 0)`: nobody ever closes the park.
    found = of(asked, "close", "without s.closed")
    assert (found.outcome, found.scenario) == ("vacuous", None)


def test_a_mutant_is_noticed_in_a_scenario_where_an_action_never_happens_any_more(asked: Mutation) -> None:
    # At the settings nothing is left to sell; where nothing is sold, the first two tickets never are.
    found = of(asked, "sell", "without s.lamp")
    assert (found.outcome, found.scenario, found.same_in) == ("vacuous", "nothing-sold", ("three-lots",))
    assert found.reason == "never: enter, leave, sell"


def test_where_a_limit_is_reached_nothing_is_said(park: Path) -> None:
    found = of(_asked(park, limits=Limits(states=9)), "enter", "without s.inside < s.tickets")
    assert (found.outcome, found.unfinished_in) == ("equivalent", ("nothing-sold",))


@pytest.mark.exhaustive
def test_any_number_of_processes_says_the_same(park: Path, asked: Mutation) -> None:
    assert _asked(park, workers=3).to_json() == asked.to_json()


def test_the_command_asks_the_scenarios_of_the_current_directory(park: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(park.parent)
    outcome = run("mutate", "counterexamples/car_park.py", "-s", "sold=3", "--action", "enter", "--workers", "1")
    assert "in a scenario" not in outcome.out
    outcome = run(
        *("mutate", "counterexamples/car_park.py", "-s", "sold=3", "--action", "enter", "--workers", "1"),
        *("--scenarios", "--json", "out.json"),
    )
    assert "each-has-a-ticket in 2 (nothing-sold)" in outcome.out
    assert "2 scenarios in which the model holds, the largest being nothing-sold with 14 states" in outcome.out
    data = json.loads(Path("out.json").read_text())
    assert data["scenarios"] == ["three-lots", "nothing-sold"]
    killed = [m for m in data["mutants"] if m["scenario"] == "nothing-sold" and m["outcome"] == "killed"]
    assert {m["text"] for m in killed} == {"s.inside < s.tickets"}
    assert {m["line"] for m in killed} == {27}
