"""Trace files are data: foreign, damaged or unreadable files are refused in one line, and no code in them runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.trace import trace_files
from tests.cli.running import run
from tests.traces.recorded import changed, record, shelf

DAMAGED = {
    "empty": (b"", "it is not JSON: Expecting value at line 1, column 1"),
    "cut off": (b'{"format": 1,\n "inv', "it is not JSON: Unterminated string starting at at line 2, column 2"),
    "binary": (b"\x80\x04\x95", "it is not UTF-8 text"),
    "a list": (b"[]", "it is neither an isrcheck result nor an ITF trace"),
    "foreign": (b'{"states": []}', "it is neither an isrcheck result nor an ITF trace"),
    "not a number": (b'{"format": NaN}', "it is not JSON: NaN is not a JSON number"),
    "twice": (b'{"format": 1, "format": 1}', "it is not JSON: an object has a duplicate key"),
    "deep": (b"[" * 100_000, "it is nested too deeply"),
    "huge number": (b'{"a": ' + b"1" * 5000 + b"}", "it is not JSON: Exceeds the limit (4300 digits)"),
    "format": (b'{"format": 2, "invariants": {}}', "its format is 2; this version of isrcheck reads format 1"),
    "truth": (b'{"format": true, "invariants": {}}', "its format is True; this version of isrcheck reads format 1"),
    "invariants": (b'{"format": 1, "invariants": []}', "invariants is missing or not an object"),
    "finding": (b'{"format": 1, "invariants": {"a": 1}}', "invariants.a is not an object"),
    "no model": (b'{"format": 1, "invariants": {}}', "model is missing or not a string"),
    "trace": (
        b'{"format": 1, "invariants": {"a": {"verdict": "violated"}}}',
        "invariants.a.trace is missing or not a list",
    ),
    "no states": (b'{"vars": [], "states": []}', "states has 0 states; a trace has 1 to 100000"),
    "state": (b'{"vars": [], "states": [1]}', "states: state 1 is not an object"),
    "lasso": (b'{"vars": [], "states": [{}], "loop": 0}', "it is a lasso (loop) from another tool"),
    "claim": (
        b'{"vars": [], "states": [{"#meta": {}}], "#meta": {"isrcheck": {"format": 1}}}',
        "#meta.isrcheck does not say why the trace was recorded",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_and_foreign_files_exit_150(tmp_path: Path, case: str) -> None:
    content, message = DAMAGED[case]
    path, out = tmp_path / "t.json", tmp_path / "out.json"
    path.write_bytes(content)
    outcome = run("replay", path, "--json", out)
    assert (outcome.code, outcome.out) == (150, "")
    assert outcome.err.startswith(f"isrcheck: {path}: {message}")
    assert outcome.err.count("\n") == 1
    assert json.loads(out.read_text())["exit_code"] == 150


def test_a_file_that_cannot_be_read_exits_153(tmp_path: Path) -> None:
    outcome = run("replay", tmp_path / "absent.json")
    assert (outcome.code, outcome.err) == (153, f"isrcheck: {tmp_path}/absent.json: No such file or directory\n")
    assert run("replay", tmp_path).err == f"isrcheck: {tmp_path}: Is a directory\n"


def test_a_file_that_is_too_large_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_files, "LARGEST_FILE", 2**20)
    outcome = run("replay", "/dev/zero")
    assert (outcome.code, outcome.err) == (150, "isrcheck: /dev/zero: it is larger than 1 MiB\n")


def test_a_model_path_in_a_trace_is_never_imported(tmp_path: Path) -> None:
    result, itf = record(tmp_path)
    witness = tmp_path / "witness"
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(witness)!r}, 'w')\n")
    changed(result, lambda data: data.update(model=str(evil)))
    changed(itf, lambda data: data["#meta"]["isrcheck"].update(model=str(evil)))
    for path in (result, itf):
        outcome = run("replay", path)
        assert (outcome.code, outcome.err) == (
            150,
            f"isrcheck: {path}: it was recorded with {str(evil)!r}, which is not a shipped model; use "
            "--model my_model.py\n",
        )
    assert not witness.exists()


def test_a_result_without_a_trace_says_so(tmp_path: Path) -> None:
    result, _ = record(tmp_path, "-s", "high=9")
    outcome = run("replay", result, "--model", shelf(tmp_path))
    assert (outcome.code, outcome.err) == (150, f"isrcheck: {result}: it contains no trace: nothing was violated\n")


def put(place: str, name: str, value: Any) -> Any:
    """Changes an entry of the second state of the recorded trace, or of its parameters."""

    def change(data: Any) -> None:
        step = data["invariants"]["is-low"]["trace"][1]
        (step if place == "" else step[place])[name] = value

    return change


NAMES = "known: colour, count, log, members, owner, pair, sent, table"
FOREIGN = {
    "variable": (put("state", "cuont", 1), f"state 2: the model has no 'cuont' here; did you mean count? {NAMES}"),
    "value": (put("state", "count", 10), "state 2: count: 10 is not a number from 0 to 9"),
    "fraction": (put("state", "count", 1.0), "state 2: count: 1.0 is not a number from 0 to 9"),
    "truth": (put("state", "count", True), "state 2: count: True is not a number from 0 to 9"),
    "null": (
        put("state", "members", None),
        "state 2: members: None is not a set of brokers from 0 to 1: a set is a list",
    ),
    "action": (put("", "action", "putt"), "state 2: there is no action 'putt'; did you mean put? known: join, put"),
    "no action": (put("", "action", 1), "state 2: action is not a string, or parameters is not an object"),
    "parameter": (put("parameters", "by", 2), "state 2: put: by: 2 is not a broker from 0 to 1"),
    "another parameter": (
        put("parameters", "bye", 1),
        "state 2: put: the model has no 'bye' here; did you mean by? known: by",
    ),
    "no parameters": (put("", "parameters", {}), "state 2: put: by is missing"),
    "no state": (put("", "state", []), "state 2: its values are missing or not an object"),
    "setting": (
        lambda data: data["settings"].update(tall=1),
        "model shelf has no setting 'tall'; known: brokers_, high",
    ),
    "setting's value": (
        lambda data: data["settings"].update(high="x"),
        "setting high must be an integer from 1 to 9, not 'x'",
    ),
    "invariant": (
        lambda data: data["invariants"].update(low=data["invariants"].pop("is-low")),
        "the model has no invariant 'low'; did you mean is-low? known: is-low",
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_names_and_values_that_the_model_does_not_have_exit_150(tmp_path: Path, case: str) -> None:
    change, message = FOREIGN[case]
    result, _ = record(tmp_path)
    outcome = run("replay", changed(result, change), "--model", shelf(tmp_path))
    assert (outcome.code, outcome.out) == (150, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
