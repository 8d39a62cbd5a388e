"""`check --symmetry`: its reports, its refusals, and verdicts and traces equal to those of the full search."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.engines.symbolic import solver
from isrcheck.checker.engines.symbolic.symmetry_proof import symmetry
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.result import Result
from isrcheck.checker.scenarios.scenario import read
from isrcheck.model.language import UnknownName
from isrcheck.model.semantics.tracing import trace
from tests.agreement.profiles import THOROUGH
from tests.cli.running import run
from tests.cli.test_exit_codes import valid
from tests.marks import EXHAUSTIVE, one_in
from tests.scenarios.shipped import FOLDERS
from tests.symmetry.favoured import Favoured
from tests.symmetry.orbits import brokers

LIMITS = Limits(memory=3 << 30)
COUNTS = ("distinct", "generated", "constraint_rejected", "levels", "left", "initial_states", "actions", "symmetry")
OF_A_RUN = ("orbits", "out_degree", "workers", "seconds", "peak_rss_bytes", "store_bytes", "states_per_second")


def said(result: Result) -> str:
    """A result as text, without counts and without parts that differ from run to run."""
    data = result.to_json()
    degrees = data.get("out_degree")
    if degrees is not None:
        data["degrees"] = degrees["least"], degrees["greatest"]
    outcomes = {**result.invariants, "deadlock": result.deadlock, "evaluation": result.evaluation}
    return json.dumps({k: v for k, v in data.items() if k not in (*COUNTS, *OF_A_RUN)}, indent=1) + repr(outcomes)


def assert_same(model: Any, settings: dict[str, Any], **question: Any) -> tuple[Result, Result]:
    full, reduced = (
        check(model, settings, profile="bare", limits=LIMITS, symmetry=symmetric, **question)
        for symmetric in (False, True)
    )
    assert said(full) == said(reduced)
    assert reduced.orbits is not None
    assert reduced.orbits.states == full.levels
    assert full.orbits is None
    return full, reduced


VOTE_FOR_ANYBODY = {"replicas": 3, "max_leader_epoch": 2, "timeouts": 2, "first_record": False, "vote": "any"}
QUESTIONS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "published, three brokers": ("truncate-to-hw", {}, {}),
    "published, one trace each": ("kip-101", {"max_records": 1}, {"keep_going": True, "workers": 1}),
    "published, everything": ("kip-279", {"log_size": 1, "max_records": 1}, {"keep_going": True, "deadlock": True}),
    "two brokers": ("kip-101", {"replicas": 2}, {"invariants": ("weak-isr",)}),
    "a fixed leader": ("async-isr", {}, {"deadlock": True}),
    "a design": ("majority", VOTE_FOR_ANYBODY, {"invariants": ("elected-leader-has-what-is-committed",)}),
}


EVERY_RUN = ("two brokers",)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in EVERY_RUN else pytest.mark.exhaustive) for n in QUESTIONS]
)
def test_verdicts_and_traces_are_those_of_the_full_search(name: str) -> None:
    model, settings, question = QUESTIONS[name]
    assert_same(model, settings, **question)


ALL = sorted(FOLDERS.values())


EACH = 10**9 if THOROUGH else 5


def of_three() -> list[Path]:
    """The smallest scenarios of each model with at least three brokers. z3 may take half a minute for one."""
    sizes = [(found["model"], found["distinct"], folder) for folder in ALL if (found := counted(folder))]
    by_model = itertools.groupby(sorted(sizes, key=lambda x: (x[0], x[1], x[2].name)), key=lambda x: x[0])
    return [folder for _, found in by_model for _, _, folder in itertools.islice(found, EACH)]


def counted(folder: Path) -> dict[str, Any]:
    """The recorded data of a scenario with at least three brokers, or nothing."""
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    return found if found["settings"]["replicas"] >= 3 else {}


SLOW = ("majority-three-of-five-fail", "kraft-forgotten-expansion-and-the-isr")
"""Scenarios of which each takes half a minute."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "folder",
    one_in(8, [f for f in of_three() if f.name not in SLOW])
    + [pytest.param(f, marks=pytest.mark.release) for f in of_three() if f.name in SLOW],
    ids=lambda f: f.name,
)
def test_scenarios_of_three_brokers_end_as_without_symmetry(folder: Path) -> None:
    scenario = read(folder)
    question = {"invariants": scenario.invariants, "keep_going": scenario.keep_going, "deadlock": scenario.deadlock}
    try:
        assert_same(scenario.specification(), dict(scenario.settings), **question)
    except UnknownName as error:
        assert "symmetry reduction is not possible" in str(error)


OPTIONS = {
    "deadlock": ("--deadlock",),
    "everything": ("--continue",),
    "one worker": ("--workers", "1"),
    "vacuity": ("--fail-on-vacuity",),
    "states": ("--max-states", "5000"),
    "memory": ("--max-memory", "1GiB"),
    "time": ("--max-seconds", "86400"),
    "one invariant": ("--invariant", "weak-isr"),
    "too few states": ("--max-states", "2"),
}


@pytest.mark.parametrize("options", one_in(2, [(x,) for x in OPTIONS.values()], EXHAUSTIVE), ids=OPTIONS)
def test_every_other_option_says_the_same_under_symmetry(options: tuple[str, ...]) -> None:
    small = ("kip-279", "-s", "log_size=1", "-s", "max_records=1", "-s", "max_leader_epoch=0", "-s", "replicas=3")
    one, other = run("check", *small, *options), run("check", *small, *options, "--symmetry")
    assert one.code == other.code
    assert one.out.splitlines()[0].partition(";")[0] == other.out.splitlines()[0].partition(";")[0]


@pytest.mark.exhaustive
def test_a_scenario_is_as_expected_under_symmetry() -> None:
    folder = FOLDERS["majority-vote-for-anybody"]
    outcome = run("check", "--scenario", folder, "--symmetry")
    assert outcome.code == 12
    assert "as expected: violated, elected-leader-has-what-is-committed in 8 states" in outcome.out


# --- what is refused ------------------------------------------------------------------------------------------------


def test_a_model_that_tells_all_brokers_apart_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    outcome = run("check", "v3", "--profile", "bare", "--symmetry", "--json", path)
    words = (
        "symmetry reduction is not possible: brokers 0 and 1 are distinguished by the initial states; check without it"
    )
    assert (outcome.code, outcome.out, outcome.err) == (150, "", f"isrcheck: {words}\n")
    assert valid(path)["reason"] == words


PARTS = {
    "action": "action step",
    "constraint": "constraint near",
    "invariant": "invariant not-all-far",
    "goal": "goal all-began",
    "bound": "bound steps",
}


@pytest.mark.parametrize("part", PARTS)
def test_what_tells_brokers_apart_is_named(part: str) -> None:
    with pytest.raises(UnknownName) as refusal:
        check(Favoured(replicas=2, favouring=part), symmetry=True)
    words = f"symmetry reduction is not possible: brokers 0 and 1 are distinguished by {PARTS[part]}; check without it"
    assert str(refusal.value) == words


def test_only_invariants_that_are_checked_have_to_be_fair() -> None:
    model = Favoured(favouring="invariant")
    assert check(model, symmetry=True, limits=LIMITS).to_json()["orbits"]["interchangeable"] == [[0, 1]]
    everybody = check(model, invariants=(), symmetry=True, limits=LIMITS)
    assert everybody.to_json()["orbits"]["interchangeable"] == [[0, 1, 2]]


def test_a_model_without_two_brokers_is_refused() -> None:
    with pytest.raises(UnknownName) as refusal:
        check("kip-320", {"replicas": 1}, symmetry=True)
    assert str(refusal.value) == (
        "symmetry reduction is not possible: the model has fewer than two brokers; check without it"
    )


@pytest.mark.parametrize("engine", ["reference", "symbolic", "spark"])
def test_other_engines_have_no_orbits(engine: str) -> None:
    outcome = run("check", "kip-320", "--symmetry", "--engine", engine)
    assert outcome.code == 2
    assert f"--engine {engine} does not support symmetry reduction; --symmetry requires --engine local" in outcome.err
    with pytest.raises(UnknownName, match="symmetry requires engine local"):
        check("kip-320", symmetry=True, engine=engine)


def test_brokers_count_as_different_where_the_solver_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(self: solver.Solver, *assumed: Any) -> bool:
        raise solver.GaveUp("unknown", "canceled")

    model = Favoured()
    system = trace(model, model.predicates("invariant"))
    assert symmetry(system).classes() == brokers([0, 1, 2])
    monkeypatch.setattr(solver.Solver, "satisfiable", unknown)
    assert symmetry(system).classes() == []


# --- what is reported -----------------------------------------------------------------------------------------------


def test_all_counts_are_of_orbits_and_say_so(tmp_path: Path) -> None:
    """By hand: three brokers at 0, 1 or 2 give 27 states and 10 multisets. All at 2 violates the constraint."""
    path = tmp_path / "r.json"
    (tmp_path / "favoured.py").write_text((Path(__file__).parent / "favoured.py").read_text())
    outcome = run("check", f"{tmp_path}/favoured.py", "--symmetry", "--continue", "--json", path)
    data = valid(path)
    assert data["symmetry"] is True
    assert (data["distinct"], data["levels"]) == (9, [1, 1, 2, 2, 2, 1])
    assert data["orbits"] == {
        "interchangeable": [[0, 1, 2]],
        "scalarsets": ["broker"],
        "permutations": 6,
        "states": 26,
        "levels": [1, 3, 6, 7, 6, 3],
    }
    # One state of each orbit: as many steps as brokers below 2.
    assert (data["generated"], data["constraint_rejected"]) == (1 + 3 + 3 + (3 + 2) + (3 + 2) + (2 + 1) + 1, 1)
    assert "brokers 0, 1, 2: 6 permutations" in outcome.out
    assert "orbits, of 26 states" in outcome.out


@pytest.mark.exhaustive
def test_limits_and_deadlocks_say_orbits(tmp_path: Path) -> None:
    outcome = run("check", "kip-320", "--symmetry", "--max-states", "100")
    assert outcome.code == 152
    assert "orbits found but not expanded" in outcome.out
    assert "orbits (" in outcome.out.splitlines()[0]
