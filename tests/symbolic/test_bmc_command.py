"""`isrcheck check --engine symbolic`: its output and its exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import z3

from isrcheck import check
from isrcheck.checker.cli.progress import counts
from isrcheck.checker.engines.symbolic import solver as solving
from isrcheck.checker.engines.symbolic import symbolic_paths
from isrcheck.checker.engines.symbolic.bounded_search import search
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits, Progress
from isrcheck.model.language import UnknownName
from isrcheck.model.semantics.tracing import trace
from tests.cli.running import Outcome, counter, mistaken, run
from tests.cli.test_exit_codes import valid
from tests.cli.test_process import ISRCHECK, ROOT
from tests.marks import RELEASE


def ask(folder: Path, *options: str | Path) -> tuple[Outcome, Any]:
    """The answer of the symbolic engine on the counter, and its JSON."""
    path = folder / "r.json"
    outcome = run("check", counter(folder), "--engine", "symbolic", "--json", path, *options)
    return outcome, valid(path)


def test_a_violation_has_the_trace_that_every_engine_gives(tmp_path: Path) -> None:
    outcome, data = ask(tmp_path, "-s", "least=2", "--quiet")
    assert (outcome.code, outcome.out) == (12, "VIOLATED  counter: is-small in 3 states\n")
    run("check", counter(tmp_path), "-s", "least=2", "--json", tmp_path / "local.json")
    found, local = data["invariants"]["is-small"], valid(tmp_path / "local.json")["invariants"]["is-small"]
    assert found == local
    assert (data["depth"], data["exit_code"]) == (3, 12)


def test_what_is_not_counted_is_null(tmp_path: Path) -> None:
    _, data = ask(tmp_path, "--depth", "4")
    null = {name for name, value in data.items() if value is None}
    assert null == {
        "distinct", "generated", "constraint_rejected", "levels", "left", "bounds_hit", "states_per_second",
        "profile",
    }  # fmt: skip
    assert data["vacuity"] == {
        "actions_never_fired": None,
        "actions_without_instance": [],
        "goals_never_reached": None,
        "goals_switched_off": [],
    }
    assert data["actions"] == {}


def test_without_a_violation_the_verdict_is_incomplete_even_where_every_path_ends(tmp_path: Path) -> None:
    outcome, data = ask(tmp_path, "-s", "wraps=false", "--depth", "9", "--quiet")
    line = "INCOMPLETE  counter: depth 9 reached (--depth); no violation within 8 steps\n"
    assert (outcome.code, outcome.out) == (152, line)
    assert (data["verdict"], data["reason"]) == ("incomplete", "depth 9 reached (--depth)")
    assert data["invariants"] == {"is-small": {"verdict": "incomplete", "checked_depth": 9}}


def test_the_report_says_what_is_not_known(tmp_path: Path) -> None:
    outcome, _ = ask(tmp_path, "--depth", "1")
    assert "no violation within 0 steps\n" in outcome.out
    for line in (
        "Not covered\n  nothing is known beyond depth 1\n",
        "Search (symbolic engine)\n  depth   1\n  states  not enumerated\n",
        "Vacuity\n  unknown: use another engine to see which actions fire\n",
    ):
        assert line in outcome.out


def test_twenty_levels_are_the_limit_where_none_is_given(tmp_path: Path) -> None:
    outcome, _ = ask(tmp_path, "--quiet")
    assert (outcome.code, outcome.out.partition(": ")[2]) == (
        152,
        "depth 20 reached (--depth); no violation within 19 steps\n",
    )


def test_a_deadlock_exits_11(tmp_path: Path) -> None:
    outcome, data = ask(tmp_path, "-s", "wraps=false", "--deadlock", "--quiet")
    assert (outcome.code, outcome.out) == (11, "VIOLATED  counter: deadlock in 4 states\n")
    assert (data["deadlock"]["length"], data["deadlock"]["canonical"]) == (4, True)
    assert data["invariants"]["is-small"] == {"verdict": "incomplete", "checked_depth": 4}


def test_an_evaluation_error_exits_75(tmp_path: Path) -> None:
    model = mistaken(tmp_path, '"""Acts."""\ns.x = s.x + 1')
    outcome = run("check", model, "--engine", "symbolic", "--json", tmp_path / "r.json", "--quiet")
    assert outcome.code == 75
    assert outcome.out == "EVALUATION ERROR  mine: mine.py:16: x: the value 4 is not a number from 0 to 3\n"
    error = valid(tmp_path / "r.json")["evaluation_error"]
    assert (error["action"], len(error["trace"]), error["canonical"]) == ("act", 4, True)


USAGE = {
    "--engine symbolic --depth 0": "Invalid value for '--depth': 0 is not in the range x>=1.",
    "--depth 3": "--engine local always explores all levels; --depth requires --engine symbolic",
    "--engine symbolic --max-states 3": "--engine symbolic does not enumerate states; --max-states requires "
    "--engine local, reference or "
    "spark",
    "--engine symbolic --fail-on-vacuity": "--engine symbolic does not enumerate states; --fail-on-vacuity "
    "requires --engine local, reference "
    "or spark",
}


@pytest.mark.parametrize("options", USAGE)
def test_options_that_do_not_go_together_are_refused(options: str) -> None:
    outcome = run("check", "kip-320", *options.split())
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == f"Error: {USAGE[options]}"


@pytest.mark.parametrize(
    ("engine", "question"),
    [
        ("local", {"limits": Limits(depth=3)}),
        ("symbolic", {"limits": Limits(states=3)}),
        ("symbolic", {"fail_on_vacuity": True}),
    ],
)
def test_what_an_engine_cannot_do_is_refused(engine: str, question: dict[str, Any]) -> None:
    with pytest.raises(UnknownName, match=f"engine {engine} "):
        check("kip-320", engine=engine, **question)


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_time_ends_a_search_and_what_was_refuted_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    outcome = run("check", "kip-320", "--engine", "symbolic", "--max-seconds", "3", "--json", path, "--quiet")
    data = valid(path)
    assert outcome.code == 152
    assert outcome.out.startswith("INCOMPLETE  kip-320: time limit of 3 s reached (--max-seconds); ")
    assert data["depth"] < 20  # for which minutes would be needed
    assert data["invariants"]["strong-isr"] == {"verdict": "incomplete", "checked_depth": data["depth"]}


def test_memory_ends_a_search(tmp_path: Path) -> None:
    outcome, data = ask(tmp_path, "--max-memory", "1MB", "--quiet")
    words = "more memory needed than 1000000 bytes (--max-memory)"
    assert (outcome.code, outcome.out) == (152, f"INCOMPLETE  counter: {words}; nothing is known\n")
    assert (data["depth"], data["reason"]) == (0, words)


def tire(monkeypatch: pytest.MonkeyPatch, questions: int, why: str) -> None:
    """Lets z3 answer `questions` questions, and makes every later answer unknown."""
    asked: list[Any] = []

    class Tired:
        def __init__(self, solver: Any) -> None:
            self.solver = solver

        def __getattr__(self, name: str) -> Any:
            return getattr(self.solver, name)

        def check(self, *assumed: Any) -> Any:
            asked.append(assumed)
            return z3.unknown if len(asked) > questions else self.solver.check(*assumed)

        def reason_unknown(self) -> str:
            return why

    solver_for = z3.SolverFor
    monkeypatch.setattr(solving.z3, "SolverFor", lambda logic: Tired(solver_for(logic)))


@pytest.mark.parametrize("why", ["max. memory exceeded", "(incomplete quantifiers)"])
def test_an_answer_that_z3_does_not_know_ends_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    tire(monkeypatch, 3, why)
    outcome, data = ask(tmp_path, "--quiet")
    reason = f"z3 gave up: {why}" if "quantifiers" in why else "more memory needed than the memory of this machine"
    assert (outcome.code, data["reason"], data["verdict"]) == (152, reason, "incomplete")
    assert data["depth"] == 3


def test_what_was_found_before_z3_gives_up_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tire(monkeypatch, 3, "tired")
    outcome, data = ask(tmp_path, "-s", "least=2", "--invariant", "half", "--invariant", "is-small")
    assert (outcome.code, data["reason"], data["verdict"]) == (12, "z3 gave up: tired", "violated")
    assert data["invariants"]["half"] == {"verdict": "incomplete", "checked_depth": 2}
    violated = data["invariants"]["is-small"]
    assert (violated["length"], violated["canonical"]) == (3, False)


@pytest.mark.parametrize("questions", [4, 5, 40])
def test_an_error_that_was_met_before_z3_gives_up_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: int
) -> None:
    tire(monkeypatch, questions, "tired")
    model = mistaken(tmp_path, '"""Acts."""\ns.x = s.x + 1')
    outcome = run("check", model, "--engine", "symbolic", "--json", tmp_path / "r.json", "--quiet")
    assert outcome.code == 75
    error = valid(tmp_path / "r.json")["evaluation_error"]
    assert (len(error["trace"]), error["canonical"]) == (4, questions > 5)


def test_a_trace_that_is_not_the_least_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tired(walk: symbolic_paths.LeastPath) -> None:
        raise solving.GaveUp("time")

    monkeypatch.setattr(symbolic_paths.LeastPath, "improve", tired)
    outcome, data = ask(tmp_path, "-s", "least=2")
    assert (outcome.code, outcome.out.splitlines()[0]) == (
        12,
        "VIOLATED  counter: is-small in 3 states (not canonical)",
    )
    assert "is-small  violated, trace of 3 states, perhaps not the canonical one of this length\n" in outcome.out
    assert data["invariants"]["is-small"]["canonical"] is False


@pytest.mark.exhaustive
def test_an_interrupt_ends_a_search_and_what_was_refuted_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    process = subprocess.Popen(
        [*ISRCHECK, "check", "kip-320", "--engine", "symbolic", "--json", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stderr is not None
    while "no violation so far" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in err
    data = json.loads(path.read_text())
    assert (data["exit_code"], data["verdict"], data["reason"]) == (130, "incomplete", "interrupted")
    assert out.startswith("INCOMPLETE  kip-320: interrupted; n")


def test_progress_names_the_level() -> None:
    look = Progress(7, None, None, None, None, memory=3 * 2**20, seconds=2.0)
    assert counts(look) == "level 7, no violation so far, 3.0 MiB"


# --- lengths --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bounds", "weak", "strong"),
    [
        ("truncate-to-hw", "2/2/1/1", 9, 10),
        pytest.param("truncate-to-hw", "2/2/2/2", 9, 10, marks=pytest.mark.exhaustive),
        pytest.param("truncate-to-hw", "3/2/2/1", 9, 9, marks=pytest.mark.exhaustive),
        pytest.param("kip-101", "2/2/2/2", 12, 12, marks=RELEASE),
    ],
)
def test_shortest_violations_are_those_of_tlc(name: str, bounds: str, weak: int, strong: int) -> None:
    """TLC finds the same lengths. `benchmarks/symbolic_engine.py` checks those of length 12 at three replicas."""
    loaded = load_model_class(name)
    names = ("replicas", "log_size", "max_records", "max_leader_epoch")
    settings = dict(zip(names, map(int, bounds.split("/")), strict=True))
    system = trace(loaded.cls(**settings), loaded.chosen(("leader-in-isr", "strong-isr", "weak-isr")))
    found, _ = search(system, keep_going=True, deadlock=False, limits=Limits(depth=max(weak, strong)), report=None)
    assert found.violated == {"leader-in-isr": 1, "weak-isr": weak, "strong-isr": strong}
