"""`isrcheck models` lists the models and describes them."""

from __future__ import annotations

import json
from pathlib import Path

from isrcheck.checker.registry.loader import model_names
from tests.cli.running import counter, run

DETAILS = """\
counter: A number that goes up by one until it is at its top.
  class Counter in {file}

Settings (default, values, meaning)
  top       3     an integer from 1 to 9  where it ends (a bound)
  least     9     an integer from 0 to 9  what is no longer small
  wraps     true  true or false           whether it starts again
  brokers_  2     an integer from 1 to 3  brokers

Variables (at the bare defaults)
  value  a number from 0 to 9
  seen   a list of 2, each a flag

Actions
  count        One more.
  start-again  Back to zero.

Goals
  is-seven  The number is seven.

Invariants
  half               Eight has no successor here.
  is-small  default  The number is below the least large one.
"""


def test_one_line_a_model() -> None:
    outcome = run("models")
    assert [line.split()[0] for line in outcome.out.splitlines()] == model_names()
    assert all(line.endswith(".") for line in outcome.out.splitlines())
    assert (outcome.code, outcome.err) == (0, "")


def test_settings_and_invariants_of_one_model(tmp_path: Path) -> None:
    file = counter(tmp_path)
    assert run("models", file).out == DETAILS.format(file=file)


def test_the_source_of_a_model(tmp_path: Path) -> None:
    file = counter(tmp_path)
    assert run("models", file, "--source").out == file.read_text()
    assert run("models", "kip-320", "--source").out.startswith('"""KIP-320: fetches and truncations carry')
    assert run("models", "--source").code == 2
    assert run("models", "kip-320", "--source", "--json").code == 2


def test_json(tmp_path: Path) -> None:
    data = json.loads(run("models", counter(tmp_path), "--json").out)
    assert data["settings"]["top"] == {
        "default": 3,
        "values": "an integer from 1 to 9",
        "at_least": 1,
        "at_most": 9,
        "choices": None,
        "bound": True,
        "meaning": "where it ends",
    }
    assert (data["class"], data["actions"]["count"], data["goals"]) == (
        "Counter",
        "One more.",
        {"is-seven": "The number is seven."},
    )
    assert data["variables"] == {"value": "a number from 0 to 9", "seen": "a list of 2, each a flag"}
    assert data["invariants"]["is-small"] == {"default": True, "sentence": "The number is below the least large one."}
    assert [each["name"] for each in json.loads(run("models", "--json").out)][:2] == ["alter-isr", "async-isr"]
