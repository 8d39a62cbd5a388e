"""A run of a real cluster of Kafka 4.4.0: three brokers and a controller on loopback, by `benchmarks.cluster`.

`failover.ndjson`: the leader is paused until it is fenced, another broker leads, and the first leader returns and is
elected as preferred leader. `forgotten_expansion.ndjson`: an acknowledged record is lost
(docs/findings/forgotten-expansion.md).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.trace_validation.recording_file import recognised
from isrcheck.checker.trace_validation.validate import validate
from isrcheck.checker.trace_validation.validation_result import Answer


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(__file__).parent / name).read_text().splitlines()]


RECORDED = lines_of("failover.ndjson")
SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "recording.schema.json").read_text())


def answered(lines: list[dict[str, Any]]) -> Answer:
    recording = recognised("\n".join(map(json.dumps, lines)).encode())
    return validate(recording, load_model_class("kraft"), recording.settings, "failover.ndjson", 4)


def changed(process_log: str, order: int, **observed: Any) -> list[dict[str, Any]]:
    """The recording with other observed values at one line."""
    found = [dict(line) for line in RECORDED]
    (line,) = (x for x in found if (x.get("lane"), x.get("order")) == (process_log, order))
    assert observed.keys() <= line["observed"].keys()
    line["observed"] = {**line["observed"], **observed}
    return found


def test_a_failover_is_explained() -> None:
    for line in RECORDED:
        Draft202012Validator(SCHEMA).validate(line)
    answer = answered(RECORDED)
    assert (answer.verdict, answer.exit_code) == ("explained", 0)
    assert answer.explanation is not None
    actions = [step.label.action for step in answer.explanation.trace.steps if step.label is not None]
    assert [x for x in actions if x in ("fence-broker", "unfence-broker", "elect-preferred-leader")] == [
        "fence-broker", "unfence-broker", "elect-preferred-leader",
    ]  # fmt: skip
    assert "no-acknowledged-loss" in answer.explanation.holds


TAMPERED = {
    # Who was fenced is still in the ISR.
    "an ISR with who was fenced": (
        "controller", 1, {"state[0]": {"leader": 1, "isr": [0, 1, 2], "epoch": 1, "version": 1}},
    ),
    # Another than the first replica is elected as the preferred leader.
    "a leader that is not preferred": (
        "controller", 4, {"state[0]": {"leader": 2, "isr": [0, 1, 2], "epoch": 2, "version": 3}},
    ),
    # Only two records were written until then.
    "a log end that nobody wrote": ("broker 0", 3, {"replica[0][0].epoch_start": 3}),
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TAMPERED)
def test_what_cannot_have_been_is_refused_at_its_line(name: str) -> None:
    process_log, order, observed = TAMPERED[name]
    answer = answered(changed(process_log, order, **observed))
    assert (answer.verdict, answer.exit_code) == ("unexplained", 15)
    assert answer.frontier is not None
    assert answer.frontier.refused[0].line.place == (process_log, order)
    assert answer.frontier.refused[0].reasons


@pytest.mark.exhaustive
def test_a_record_that_a_consumer_missed_was_acknowledged_and_lost() -> None:
    recorded = lines_of("forgotten_expansion.ndjson")
    reported = [line["text"] for line in recorded if line.get("lane") == "client" and "observed" in line]
    at_the_end = [line["observed"] for line in recorded if line.get("text", "").startswith("segments")]
    assert "the producer of r1 is told" in reported
    assert [[each["id"] for each in x[f"log[0][{b}]"]] for b, x in enumerate(at_the_end)] == [[0, 1, 3]] * 3
    answer = answered(recorded)
    assert answer.verdict == "explained"
    assert answer.explanation is not None
    assert {"no-acknowledged-loss", "quorum-is-superset-of-isr"} <= set(answer.explanation.violated)
    assert answer.explanation.similar_scenarios[0].scenario.startswith("kraft-forgotten-expansion")
