"""Replay decides whether the model allows a trace, and otherwise names the refused step and the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.result import Step, Trace
from isrcheck.checker.trace.fixed_run import possible
from isrcheck.checker.trace.step_replay import replay
from isrcheck.model.semantics.concrete_state import initial_states
from isrcheck.model.semantics.interpreter import Interpreter
from tests.cli.running import Outcome, counter, mistaken, run
from tests.traces.recorded import changed, record, shelf

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())


def replayed(folder: Path, change: Any, *options: str) -> Outcome:
    """The replay of a recorded trace of the shelf with changed states. Asserts that text and JSON agree."""
    result, _ = record(folder)
    changed(result, lambda data: change(data["invariants"]["is-low"]["trace"]))
    out = folder / "out.json"
    outcome = run("replay", result, "--model", shelf(folder), "--quiet", "--json", out, *options)
    data = json.loads(out.read_text())
    Draft202012Validator(SCHEMA).validate(data)
    assert data["exit_code"] == outcome.code
    assert [each["valid"] for each in data["traces"]] == [outcome.out.startswith("VALID")]
    return outcome


def nothing(trace: Any) -> None:
    """Leaves the trace unchanged."""


def test_a_valid_trace_to_a_violation_exits_12(tmp_path: Path) -> None:
    outcome = replayed(tmp_path, nothing)
    assert (outcome.code, outcome.out) == (12, "VALID  is-low: 4 states, ends in a violation of is-low\n")


def test_expected_it_exits_0(tmp_path: Path) -> None:
    assert replayed(tmp_path, nothing, "--expect-violation").code == 0


def test_a_valid_trace_that_ends_before_the_violation(tmp_path: Path) -> None:
    def shorter(trace: Any) -> None:
        del trace[-1]

    outcome = replayed(tmp_path, shorter)
    assert (outcome.code, outcome.out) == (0, "VALID  is-low: 3 states, is-low holds in the last state\n")
    assert replayed(tmp_path, shorter, "--expect-violation").code == 10


def test_the_first_state_must_be_initial(tmp_path: Path) -> None:
    def elsewhere(trace: Any) -> None:
        trace[0]["state"]["count"] = 1

    outcome = replayed(tmp_path, elsewhere)
    assert (outcome.code, outcome.out) == (
        10,
        "INVALID  is-low: the first state is not an initial state of the model\n"
        "     count  the model: 0  the trace: 1\n",
    )


def test_a_requirement_that_fails_is_shown_with_what_it_reads(tmp_path: Path) -> None:
    def other(trace: Any) -> None:
        trace[2]["parameters"]["by"] = 1

    outcome = replayed(tmp_path, other)
    line = next(i for i, text in enumerate(shelf(tmp_path).read_text().splitlines(), 1) if "s.count < 8" in text)
    assert (outcome.code, outcome.out) == (
        10,
        "INVALID  is-low: state 3 of 4 cannot follow state 2 by put(by=1): the action requires s.members.has(by)\n"
        f"  at shelf.py:{line}, false in state 2, where\n"
        "     members  {0}\n",
    )


def test_a_requirement_on_what_was_read_before_shows_all_that_was_read(tmp_path: Path) -> None:
    def once_more(trace: Any) -> None:
        trace.append(trace[-1])

    outcome = replayed(tmp_path, once_more)
    assert outcome.code == 10
    assert outcome.out.splitlines()[0].endswith("by put(by=0): the action requires ~mine.is_full")
    assert outcome.out.splitlines()[2:] == [
        "     members  {0}",
        "     count    3",
        "     log[0]   [0: (id 0, from_ 0), 1: (id 1, from_ 0), 2: (id 2, from_ 0)]",
    ]


def test_the_first_of_several_requirements_that_fails_is_shown(tmp_path: Path) -> None:
    def twice(trace: Any) -> None:
        joined = {**trace[0]["state"], "members": [0, 1], "colour": "green"}
        trace[1:] = [{"action": "join", "parameters": {"by": 0, "who": 1}, "state": joined}] * 2

    outcome = replayed(tmp_path, twice)
    assert outcome.out.splitlines()[0].endswith("by join(by=0, who=1): the action requires ~s.members.has(who)")
    assert outcome.out.splitlines()[2:] == ["     members  {0, 1}"]


def test_another_state_than_the_action_leads_to(tmp_path: Path) -> None:
    def wrong(trace: Any) -> None:
        trace[1]["state"]["log"][0][0]["id"] = 5
        trace[1]["state"]["table"][1][1] = None

    outcome = replayed(tmp_path, wrong)
    assert (outcome.code, outcome.out) == (
        10,
        "INVALID  is-low: state 2 of 4 cannot follow state 1 by put(by=0): the action leads to another state\n"
        "     log[0]          the model: [0: (id 0, from_ 0)]  the trace: [0: (id 5, from_ 0)]\n"
        "     table[2][true]  the model: 0                     the trace: none\n",
    )


def test_an_instance_that_does_not_exist(tmp_path: Path) -> None:
    def itself(trace: Any) -> None:
        trace[1].update(action="join", parameters={"by": 0, "who": 0})

    outcome = replayed(tmp_path, itself)
    assert (outcome.code, outcome.out) == (
        10,
        "INVALID  is-low: state 2 of 4 cannot follow state 1 by join(by=0, who=0): there is no such "
        "action instance: the action returns before it requires or assigns anything\n",
    )


def test_a_trace_does_not_go_on_outside_the_constraints(tmp_path: Path) -> None:
    model = load_model_class(str(shelf(tmp_path))).cls(brokers_=3)
    interpreter = Interpreter(model, {})
    named = {str(label): number for number, label in enumerate(interpreter.labels)}
    steps = [Step(None, None, initial_states(model)[0])]
    joins = ["join(by=0, who=1)", "join(by=0, who=2)"]
    for name in [*joins, *["put(by=0)", "put(by=1)", "put(by=2)"] * 2, "put(by=0)", "put(by=1)"]:
        after = interpreter.step(steps[-1].state, named[name])
        assert after is not None
        steps.append(Step(interpreter.labels[named[name]], None, after))
    variables = tuple(model.domains.items())
    # The state with a count of seven is a step of the model, but the last one.
    assert replay(model, Trace(variables, tuple(steps[:-1]))).valid
    refusal = replay(model, Trace(variables, tuple(steps))).refusal
    assert refusal is not None
    assert (refusal.state, refusal.what) == (
        11,
        "state 10 is outside the constraints, so the model does not continue from it",
    )


def test_a_deadlock_is_replayed_as_one(tmp_path: Path) -> None:
    result, itf = tmp_path / "r.json", tmp_path / "t.itf.json"
    model = counter(tmp_path)
    run("check", model, "-s", "wraps=false", "--deadlock", "--json", result, "--itf", itf, "--engine", "reference")
    for path in (result, itf):
        outcome = run("replay", path, "--model", model, "--quiet")
        assert (outcome.code, outcome.out) == (11, "VALID  deadlock: 4 states, ends in a deadlock\n")
        assert run("replay", path, "--model", model, "--expect-violation").code == 0
    changed(result, lambda data: data["deadlock"]["trace"].pop())
    assert (
        run("replay", result, "--model", model, "--quiet").out
        == "VALID  deadlock: 3 states, the last state has a successor\n"
    )


def test_an_evaluation_error_is_replayed_as_one(tmp_path: Path) -> None:
    result, itf = tmp_path / "r.json", tmp_path / "t.itf.json"
    model = mistaken(tmp_path, '"""Acts."""\ns.x = s.x + 1')
    run("check", model, "--json", result, "--itf", itf, "--engine", "reference")
    for path in (result, itf):
        outcome = run("replay", path, "--model", model, "--quiet")
        words = "VALID  evaluation: 4 states, the model is undefined in the last state\n"
        assert (outcome.code, outcome.out) == (75, words)


def test_settings_come_from_the_file_and_may_be_changed(tmp_path: Path) -> None:
    result, _ = record(tmp_path)
    outcome = run("replay", result, "--model", shelf(tmp_path), "-s", "high=9", "--quiet")
    assert (outcome.code, outcome.out) == (0, "VALID  is-low: 4 states, is-low holds in the last state\n")


def test_one_of_several_traces(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    run("check", "kip-101", "-s", "replicas=2", "--json", path)
    assert run("replay", path, "--quiet").out == (
        "VALID  strong-isr: 12 states, ends in a violation of strong-isr\n"
        "VALID  weak-isr: 12 states, ends in a violation of weak-isr\n"
    )
    assert run("replay", path, "--invariant", "weak-isr").out.startswith("VALID  weak-isr: 12 states")
    assert run("replay", path, "--invariant", "weak-is").err == (
        f"isrcheck: {path}: it contains no trace of weak-is; did you mean weak-isr? known: strong-isr, weak-isr\n"
    )


@pytest.mark.parametrize("model", ["truncate-to-hw", "kip-101"])
def test_every_step_of_a_published_trace_is_refused_when_another_takes_its_place(tmp_path: Path, model: str) -> None:
    path = tmp_path / "r.json"
    run("check", model, "-s", "replicas=2", "--json", path, "--invariant", "weak-isr")
    data = json.loads(path.read_text())
    trace = data["invariants"]["weak-isr"]["trace"]
    for i in range(1, len(trace) - 1):
        swapped = [*trace[:i], trace[i + 1], *trace[i + 1 :]]
        path.write_text(json.dumps({**data, "invariants": {"weak-isr": {"verdict": "violated", "trace": swapped}}}))
        outcome = run("replay", path)
        assert outcome.code == 10
        assert f"INVALID  weak-isr: state {i + 1} of {len(trace)} cannot follow state {i}" in outcome.out


def test_an_undefined_step_is_not_an_enabled_one(tmp_path: Path) -> None:
    path = mistaken(tmp_path, '"""Fails."""\ns.x += 99')
    path.write_text(
        path.read_text() + '\n    @action(actor="x")\n    def up(self, s):\n        """Works."""\n        s.x = 1\n'
    )
    interpreter = Interpreter(load_model_class(str(path)).cls(), {})
    (start,) = initial_states(interpreter.model)
    assert len(list(interpreter.steps(start))) == 2
    variables = tuple(interpreter.model.domains.items())
    trace = Trace(variables, (Step(None, None, start), Step(None, None, (2,))))
    refusal = replay(interpreter, trace).refusal
    assert refusal is not None
    assert refusal.what == "none of 1 enabled instance leads to this state: up()"
    assert possible(interpreter, start) == ["up()"]
