"""The answers of `simulate`: shortened and replayed violations, exit codes, and coverage that is marked as a sample."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
import isrcheck.checker.analysis.simulate
from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.simulate import simulate
from isrcheck.checker.engines.simulation import random_search as walking
from isrcheck.checker.engines.simulation.path_reduction import shortened
from isrcheck.checker.engines.simulation.random_search import Sampled, search
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.exploration import Path as Steps
from isrcheck.checker.results.result import Result
from isrcheck.checker.scenarios.collection import one
from isrcheck.model.language import UnknownName
from isrcheck.model.semantics.tracing import trace
from tests.cli.running import counter, mistaken, run
from tests.scenarios.shipped import FOLDERS

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
ROOT = Path(__file__).parent.parent.parent
NOTHING_NEARBY = Limits(states=1, memory=1 << 28)
CHANGING = ("seconds", "peak_rss_bytes", "workers")

ADDER = '''\
from isrcheck.model.language import Model, action, constraint, invariant, number, setting


class Adder(Model):
    """Two numbers that go up; the second is bounded by a constraint."""

    most = setting(3, at_least=0, at_most=9, meaning="how far the second may go")
    large = setting(99, at_least=0, at_most=99, meaning="what the sum may not be")
    wraps = setting(True, meaning="whether the first starts again")

    def variables(self):
        return {"first": number(0, 9), "second": number(0, 9)}

    @action(actor="hand")
    def raise_first(self, s):
        """One more."""
        s.require(s.first < 9)
        s.first += 1

    @action(actor="hand")
    def raise_second(self, s):
        """One more."""
        s.require(s.second < 9)
        s.second += 1

    @action(actor="hand")
    def start_again(self, s):
        """Back to zero."""
        s.require(self.wraps, s.first == 9)
        s.first = 0

    @constraint
    def second_is_small(self, s):
        """The second number is small."""
        return s.second <= self.most

    @invariant
    def sum_is_small(self, s):
        """The sum is not large."""
        return s.first + s.second < self.large

    @invariant
    def second_stays(self, s):
        """The second number goes one beyond the constraint at most."""
        return s.second <= self.most
'''


def adder(folder: Path) -> str:
    path = folder / "adder.py"
    path.write_text(ADDER)
    return str(path)


def comparable(result: Result) -> dict[str, Any]:
    data = result.to_json()
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(data)))
    return {name: value for name, value in data.items() if name not in CHANGING}


# --- violations -----------------------------------------------------------------------------------------------------

SCENARIOS = ("v3-unclean-election", "v3-one-epoch-two-leaders", "alter-isr-shrink-before-it-is-granted")
SLOW = SCENARIOS[1:]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive if n in SLOW else ()) for n in SCENARIOS]
)
def test_walks_find_the_violations_of_scenarios(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the small search the trace is that of `check`. Without it, the trace may be longer, but never shorter."""
    scenario = one(str(FOLDERS[name]))
    asked = {"invariants": scenario.invariants, "seed": 4, "walks": 50_000}
    found = simulate(scenario.specification(), scenario.settings, profile="bare", **asked)  # type: ignore[arg-type]
    assert (found.verdict, found.exit_code) == ("violated", 12)
    lengths = {n: f.trace.length for n, f in found.invariants.items() if f.trace is not None}
    proved = {n for n, how in found.extra["sampling"]["shortened"].items() if how["shortest"]}
    assert proved <= set(lengths) <= set(scenario.lengths)
    for violated in lengths:
        assert lengths[violated] >= scenario.lengths[violated]
        assert violated not in proved or lengths[violated] == scenario.lengths[violated]
    monkeypatch.setattr(isrcheck.checker.analysis.simulate, "NEARBY", NOTHING_NEARBY)
    alone = simulate(scenario.specification(), scenario.settings, profile="bare", **asked)  # type: ignore[arg-type]
    for violated, outcome in alone.invariants.items():
        if outcome.trace is not None:
            how = alone.extra["sampling"]["shortened"][violated]
            assert scenario.lengths[violated] <= outcome.trace.length == how["shortened"] <= how["walked"]
            assert not outcome.canonical
            assert not how["shortest"]


def test_the_canonical_trace_is_shown_where_a_small_search_finds_it() -> None:
    two = {"replicas": 2}
    ours, exact = simulate("kip-101", two, seed=1), check("kip-101", two)
    assert ours.invariants["weak-isr"].trace == exact.invariants["weak-isr"].trace
    assert ours.invariants["weak-isr"].canonical


def sampled(model: str, settings: dict[str, Any], seed: int) -> Sampled:
    loaded = load_model_class(model)
    system = trace(loaded.cls(**settings), loaded.chosen(None))
    asked: dict[str, Any] = {"walks": 20_000, "depth": 400, "deadlock": False, "seconds": None, "report": None}
    return search(system, seed=seed, workers=1, **asked)


def ends_in(of: Sampled, name: str, steps: tuple[int, ...], start: tuple[int, ...]) -> bool:
    """True if the steps are possible one after the other, and their last state has the observation."""
    state = of.kernel.layout.pack([start])
    for step in steps:
        successors, _, transitions, _ = of.kernel.expand(state)
        state = successors[transitions == step]
        if not len(state):
            return False
    return bool(of.wrong[name](state)[0])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 4))])
def test_of_a_shortened_path_no_single_step_can_be_left_out(seed: int) -> None:
    found = sampled("kip-101", {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 4}, seed)
    assert found.paths
    for name, path in found.paths.items():
        short = shortened(found, name)
        assert len(short.instances) <= len(path.instances)
        assert ends_in(found, name, short.instances, short.start)
        for i in range(len(short.instances)):
            assert not ends_in(found, name, short.instances[:i] + short.instances[i + 1 :], short.start)


def test_time_runs_for_the_walks_and_not_while_the_model_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's clock advances by an hour during the compilation, and then stands still."""
    now = [0.0]

    class Slow(walking.Start):
        def __init__(self, *of: Any) -> None:
            super().__init__(*of)
            now[0] += 3600

    monkeypatch.setattr(walking, "Start", Slow)
    monkeypatch.setattr(walking, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    found = simulate("kip-320", {"replicas": 2}, seed=1, walks=500, seconds=60, workers=1)
    assert (found.extra["sampling"]["walks"], found.reason) == (500, "random walks are only a sample")
    assert found.seconds["compile"] == 3600


def test_circles_and_what_is_beside_the_point_are_left_away(tmp_path: Path) -> None:
    """A sum of fourteen takes fourteen steps. This walk makes a hundred cycles before."""
    loaded = load_model_class(adder(tmp_path))
    system = trace(loaded.cls(most=9, large=14), loaded.chosen(("sum-is-small",)))
    asked: dict[str, Any] = {"walks": 1, "depth": 1000, "deadlock": False, "seconds": None, "report": None}
    found = search(system, seed=1, workers=1, **asked)
    start = found.paths["sum-is-small"].start
    numbers = {t.label.action: i for i, t in enumerate(system.transitions)}
    round_ = [numbers["raise-first"]] * 9 + [numbers["start-again"]]
    long = round_ * 100 + [numbers["raise-second"]] * 5 + [numbers["raise-first"]] * 9
    found.paths["sum-is-small"] = Steps(start, tuple(long), canonical=False)
    assert len(shortened(found, "sum-is-small").instances) == 14


def test_a_violation_outside_the_constraints_is_found(tmp_path: Path) -> None:
    result = simulate(adder(tmp_path), {"most": 2}, invariants=["second-stays"], seed=1, walks=5)
    trace_ = result.invariants["second-stays"].trace
    assert trace_ is not None
    assert trace_.length == 4  # three steps lead from 0 to 3
    assert result.extra["sampling"]["constraint_rejected"] > 0


def test_a_violation_in_the_first_state_needs_no_walk(tmp_path: Path) -> None:
    result = simulate(adder(tmp_path), {"large": 0}, invariants=["sum-is-small"], seed=1)
    assert result.invariants["sum-is-small"].trace is not None
    assert (result.invariants["sum-is-small"].trace.length, result.extra["sampling"]["walks"]) == (1, 0)


# --- exit codes and what is said ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "settings"), [("kip-320", {}), ("kip-101", {}), ("v3", {"crashes": 1})])
def test_the_same_seed_gives_the_same_answer_with_any_number_of_workers(model: str, settings: dict[str, Any]) -> None:
    answers = [comparable(simulate(model, settings, profile="bare", seed=8, walks=3_000, workers=w)) for w in (1, 2, 3)]
    assert answers[0] == answers[1] == answers[2]


CODES = {
    "nothing met": (0, (), "incomplete"),
    "violated": (12, ("-s", "least=2"), "violated"),
    "deadlock": (11, ("--deadlock", "-s", "wraps=false"), "violated"),
    "time before the walks are done": (152, ("--walks", "1000000000", "--seconds", "0.3"), "incomplete"),
    "time alone": (0, ("--seconds", "0.3"), "incomplete"),
    "no time for a single walk": (152, ("--seconds", "0.000001"), "incomplete"),
}


@pytest.mark.parametrize("case", CODES)
def test_exit_codes(tmp_path: Path, case: str) -> None:
    code, options, verdict = CODES[case]
    path = tmp_path / "r.json"
    outcome = run("simulate", counter(tmp_path), *options, "--json", path, "--seed", "5", "--depth", "40")
    data = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(data)
    assert (outcome.code, data["exit_code"], data["verdict"]) == (code, code, verdict)
    assert (data["engine"], data["distinct"], data["sampling"]["seed"]) == ("simulation", None, 5)
    assert "seed" in outcome.out
    assert data["sampling"]["reproducible"] == ("time" not in case)
    assert verdict == "violated" or all(i["checked_depth"] == 1 for i in data["invariants"].values())


def test_nothing_is_said_to_hold(tmp_path: Path) -> None:
    outcome = run("simulate", counter(tmp_path), "--seed", "5", "--quiet", "--walks", "50", "--depth", "10")
    met = "no violation found in 50 random walks over 500 states (seed 5)"
    assert outcome.out == f"INCOMPLETE  counter: {met}\nwarning: never seen in any walk: goal is-seven\n"


def test_coverage_is_that_of_the_walks(tmp_path: Path) -> None:
    """The counter has only one walk: 0, 1, 2, 3, 0, ... In ten states it counts seven times and restarts twice."""
    reported = simulate(str(counter(tmp_path)), seed=5, walks=600, depth=10).extra["sampling"]
    assert reported["actions"] == {
        "count": {"enabled": 600 * 7, "taken": 600 * 7},
        "start-again": {"enabled": 600 * 2, "taken": 600 * 2},
    }
    assert (reported["states_visited"], reported["distinct_estimate"]) == (6_000, 4)
    assert (reported["goals"], reported["goals_never_reached"]) == ({"is-seven": 0}, ["is-seven"])
    assert reported["bounds"] == {"top": 600}
    assert reported["ends"]["at the depth"] == 600
    assert (reported["lengths"]["least"], reported["lengths"]["mean"], reported["lengths"]["greatest"]) == (
        10,
        10.0,
        10,
    )


def test_a_seed_is_drawn_and_shown_where_none_is_given(tmp_path: Path) -> None:
    seeds = {simulate(str(counter(tmp_path)), walks=1).extra["sampling"]["seed"] for _ in range(3)}
    assert len(seeds) == 3


def test_an_evaluation_error_exits_75(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    model = mistaken(tmp_path, '"""Acts."""\ns.x = s.x + 1')
    outcome = run("simulate", model, "--json", path, "--quiet")
    assert outcome.code == 75
    assert outcome.out == "EVALUATION ERROR  mine: mine.py:16: x: the value 4 is not a number from 0 to 3\n"
    error = json.loads(path.read_text())["evaluation_error"]
    assert (error["action"], len(error["trace"])) == ("act", 4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("kip-999",), "there is no model 'kip-999'"),
        (("kip-320", "--invariant", "isr"), "has no invariant 'isr'"),
        (("kip-320", "-s", "replicas=99"), "replicas"),
    ],
)
def test_names_that_are_not_there_exit_150(options: tuple[str, ...], words: str) -> None:
    outcome = run("simulate", *options)
    assert outcome.code == 150
    assert words in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("wrong", [{"walks": 0}, {"depth": 1}, {"seed": -1}, {"workers": 0}])
def test_senseless_numbers_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UnknownName):
        simulate("kip-320", **wrong)
