"""`isrcheck models` says what there is to check."""

from __future__ import annotations

import json
from pathlib import Path

from isrcheck.checker.library import model_names
from tests.cli.running import counter, run

DETAILS = """\
counter: A number that goes up by one until it is at its top.

Settings (default, values, meaning)
  top       3     a whole number from 1 to 9  where it ends (a bound)
  least     9     a whole number from 0 to 9  what is no longer small
  wraps     true  true or false               whether it starts again
  brokers_  2     a whole number from 1 to 3  brokers

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
    assert run("models", counter(tmp_path)).out == DETAILS


def test_json(tmp_path: Path) -> None:
    data = json.loads(run("models", counter(tmp_path), "--json").out)
    assert data["settings"]["top"] == {
        "default": 3,
        "values": "a whole number from 1 to 9",
        "at_least": 1,
        "at_most": 9,
        "choices": None,
        "bound": True,
        "meaning": "where it ends",
    }
    assert data["invariants"]["is-small"] == {"default": True, "sentence": "The number is below the least large one."}
    assert [each["name"] for each in json.loads(run("models", "--json").out)][:2] == ["alter-isr", "async-isr"]
