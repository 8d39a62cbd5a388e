"""The story as text: `check`, `replay` and `show` print it, and `--plain` leaves it out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.report.story_text import log_lines
from isrcheck.checker.results.story import DrawnLog, DrawnRecord
from isrcheck.checker.trace.narration import logs
from isrcheck.model.semantics.concrete_state import initial_states
from tests.cli.running import run
from tests.designs.shipped import OF_SHARED_PARTS
from tests.scenarios.shipped import FOLDERS

ROOT = Path(__file__).parents[2] / "counterexamples"
SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
TRACE = FOLDERS["truncate-to-hw"] / "trace.itf.json"

STORY = """\
  7  broker 1    Broker 1 copies record 0 of epoch 0 to offset 0 from broker 0, still leader of epoch 0 in its own
                 eyes; its high watermark stays 0.
                 follower-replicate(follower=1, leader=0)
                 broker 1    follows 0 in epoch 0  [|| #0/0]  high watermark 0, log end 1
"""
"""Broker 1 has no star, because the controller removed it from the ISR in the step into state 3."""


def test_replay_tells_a_recorded_trace() -> None:
    shown = run("replay", TRACE)
    assert shown.code == 12
    lines = shown.out.splitlines()
    assert lines[0] == "VALID  weak-isr: 9 states, ends in a violation of weak-isr"
    text = (FOLDERS["truncate-to-hw"] / "trace.txt").read_text()
    assert lines[2:] == text[: text.index("  The fix acts at step 9 ")].splitlines()
    assert STORY in shown.out


def test_plain_shows_changes_of_variables_alone() -> None:
    out = run("replay", TRACE, "--plain").out
    assert "  8  leader-inc-high-watermark(leader=0)   by broker 0\n     replica[0].high_watermark  0 -> 1\n" in out
    assert "raises" not in out


def test_check_tells_the_story_unless_it_is_asked_for_plain_states() -> None:
    asked = ("check", "truncate-to-hw", "-s", "replicas=2", "--invariant", "weak-isr")
    assert "Broker 0 takes the request of epoch 0" in run(*asked).out
    plain = run(*asked, "--plain").out
    assert "takes the request" not in plain and "came together" not in plain
    assert "leader-write(replica=0)   by broker 0" in plain


def test_an_invalid_trace_is_not_told(tmp_path: Path) -> None:
    data = json.loads(TRACE.read_text())
    del data["states"][3]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(data))
    outcome = run("replay", path)
    assert outcome.code == 10
    assert outcome.out.startswith("INVALID  weak-isr: state 4 of 8 cannot follow state 3 by ")
    assert "takes" not in outcome.out


def test_the_json_of_a_check_and_of_a_replay_has_the_story(tmp_path: Path) -> None:
    checked, replayed = tmp_path / "c.json", tmp_path / "r.json"
    run("check", "truncate-to-hw", "-s", "replicas=2", "--json", checked, "--invariant", "weak-isr")
    run("replay", checked, "--json", replayed)
    found, walked = json.loads(checked.read_text()), json.loads(replayed.read_text())
    for data in (found, walked):
        Draft202012Validator(SCHEMA).validate(data)
    outcome, story = found["invariants"]["weak-isr"], walked["traces"][0]["story"]
    reported = [(step["lane"], step["sentence"]) for step in outcome["trace"][1:]]
    assert reported == [(step["lane"], step["sentence"]) for step in story["steps"]]
    assert outcome["why"]["choice"] == {"leader": 0, "member": 1, "offset": 0}
    assert outcome["why"]["reads"]["log[1]"] == []
    assert outcome["why"]["last_held"]["state"] == 8
    assert outcome["why"]["reasons"] == walked["traces"][0]["why"]["reasons"]


RECORDS = (DrawnRecord(0, 0, 0), DrawnRecord(1, 1, 2))


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (DrawnLog(0, RECORDS, 2, 1), "broker 0    [#0/0 || #1/2]  high watermark 1, log end 2"),
        (DrawnLog(0, RECORDS, 2), "broker 0    [#0/0 #1/2]  log end 2"),
        (
            DrawnLog(1, (), 0, 0, partition=1, member=True),
            "partition 1, broker 1 *    [||]  high watermark 0, log end 0",
        ),
        (DrawnLog(0, None, 3, role="down"), "broker 0  down    log end 3"),
        (
            DrawnLog(2, RECORDS, 2, 2, role="follower", leader=1, epoch=3, member=False),
            "broker 2    follows 1 in epoch 3  [#0/0 #1/2 ||]  high watermark 2, log end 2",
        ),
    ],
)
def test_a_log_in_a_line(log: DrawnLog, line: str) -> None:
    assert log_lines([log], "") == [line]


@pytest.mark.parametrize("name", ["kip-101", "async-isr", *OF_SHARED_PARTS])
def test_every_model_with_logs_is_drawn(name: str) -> None:
    model: Any = load_model_class(name).cls()
    drawn = logs(model, initial_states(model)[0])
    assert [log.broker for log in drawn] == list(range(model.broker_count))
    assert all(log.log_end == 0 and log.high_watermark in (0, None) for log in drawn)
    assert [log.role for log in drawn if log.role == "leader"] in (["leader"], [])


def test_several_partitions_are_told_apart() -> None:
    model: Any = load_model_class("v3").cls(partitions=2)
    drawn = logs(model, initial_states(model)[0])
    assert [(log.partition, log.broker) for log in drawn] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_broker_that_is_down_is_drawn_so() -> None:
    """Broker 0 has crashed without a checkpoint, so its high watermark is 0 again. Its record is still on disk."""
    out = run("replay", FOLDERS["v3-unclean-election"] / "trace.itf.json").out
    assert "broker 0 *  down  [|| #0/0]  high watermark 0, log end 1\n" in out
