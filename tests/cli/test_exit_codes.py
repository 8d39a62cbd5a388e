"""Every exit code, and the JSON that goes with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from tests.cli.running import counter, mistaken, run

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())
ENGINES = ("local", "reference")


def valid(path: Path) -> Any:
    """The JSON of a file, which the schema must allow."""
    data = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(data)
    return data


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_is_strict_about_what_readers_rely_on(tmp_path: Path) -> None:
    run("check", counter(tmp_path), "-s", "least=2", "--json", tmp_path / "r.json", "--engine", "reference")
    good = valid(tmp_path / "r.json")
    wrong: list[dict[str, Any]] = [
        {"format": 2},
        {"verdict": "OK"},
        {"exit_code": 1},
        {"distinct": -1},
        {"depth": 2.5},
        {"levels": ["1"]},
        {"symmetry": 0},
        {"invariants": {"is-small": {"verdict": "violated"}}},
        {"invariants": {"is-small": {"verdict": "incomplete"}}},
        {"invariants": {"is-small": {**good["invariants"]["is-small"], "trace": []}}},
        {"invariants": {"is-small": {**good["invariants"]["is-small"], "trace": [{"state": {"x": 0.5}}]}}},
    ]
    for change in wrong:
        assert not Draft202012Validator(SCHEMA).is_valid({**good, **change}), change
    for name in SCHEMA["$defs"]["check"]["required"]:
        assert not Draft202012Validator(SCHEMA).is_valid({k: v for k, v in good.items() if k != name}), name
    assert Draft202012Validator(SCHEMA).is_valid({**good, "spark_levels": 3})


CODES = {
    "holds": (0, (), "holds"),
    "vacuous, not asked": (0, (), "holds"),
    "vacuous, asked": (10, ("--fail-on-vacuity",), "holds"),
    "deadlock": (11, ("--deadlock", "-s", "wraps=false"), "violated"),
    "violated": (12, ("-s", "least=2"), "violated"),
    "violated, everything": (12, ("-s", "least=2", "--continue"), "violated"),
    "violated wins over vacuity": (12, ("-s", "least=2", "--fail-on-vacuity"), "violated"),
    "violated wins over a limit": (12, ("-s", "least=1", "--max-states", "1"), "violated"),
    "states": (152, ("--max-states", "2"), "incomplete"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CODES)
def test_exit_codes_of_finished_searches(tmp_path: Path, case: str, engine: str) -> None:
    code, options, verdict = CODES[case]
    path = tmp_path / "r.json"
    outcome = run("check", counter(tmp_path), *options, "--engine", engine, "--json", path)
    data = valid(path)
    assert (outcome.code, data["exit_code"], data["verdict"]) == (code, code, verdict)
    assert outcome.err == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_an_evaluation_error_exits_75(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "r.json"
    model = mistaken(tmp_path, '"""Acts."""\ns.x = s.x + 1')
    outcome = run("check", model, "--engine", engine, "--json", path, "--quiet")
    assert outcome.code == 75
    assert outcome.out == "EVALUATION ERROR  mine: mine.py:16: x: the value 4 is not a number from 0 to 3\n"
    error = valid(path)["evaluation_error"]
    assert (error["action"], len(error["trace"]), error["where"]) == ("act", 4, "mine.py:16")


def test_an_interrupt_outside_the_search_exits_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("isrcheck.checker.analysis.check.trace", interrupted)
    outcome = run("check", counter(tmp_path), "--json", tmp_path / "r.json")
    assert (outcome.code, outcome.err) == (130, "isrcheck: interrupted\n")
    assert valid(tmp_path / "r.json")["reason"] == "interrupted"


def test_our_own_bug_exits_255_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise AssertionError("two and two\nis five")

    monkeypatch.setattr("isrcheck.checker.analysis.check.check", broken)
    outcome = run("check", counter(tmp_path), "--json", tmp_path / "r.json")
    assert (outcome.code, outcome.err) == (
        255,
        "isrcheck: this is a bug in isrcheck: AssertionError: two and two is five; "
        "please report it with the output of ISRCHECK_DEBUG=1\n",
    )
    assert not (tmp_path / "r.json").exists()


def test_a_disk_that_is_full_at_the_end_exits_153_after_the_report(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    outcome = run("check", counter(tmp_path), "-s", "least=2", "--itf", "/dev/full", "--json", path, "--quiet")
    message = "cannot write /dev/full: No space left on device; choose a file in a writable folder"
    assert (outcome.code, outcome.err) == (153, f"isrcheck: {message}\n")
    assert outcome.out == "VIOLATED  counter: is-small in 3 states\n"
    data = valid(path)
    assert (data["exit_code"], data["reason"], data["verdict"]) == (153, message, "violated")


def test_a_report_that_cannot_be_written_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names all that failed."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    files = [("--junit", tmp_path / "out.xml"), ("--sarif", tmp_path / "out.sarif"), ("--json", tmp_path / "out.json")]
    written = [word for pair in files for word in pair]
    outcome = run(
        "check", counter(tmp_path), "-s", "least=2", "--mermaid", "/dev/full", "--github", *written, "--quiet"
    )
    assert outcome.code == 153
    assert all(path.stat().st_size > 0 for _, path in files)
    reason = json.loads((tmp_path / "out.json").read_text())["reason"]
    assert outcome.err == f"isrcheck: {reason}\n"
    assert [part.split(":")[0].split(" (")[0] for part in reason.split("; ")] == [
        "cannot write /dev/full",
        "choose a file in a writable folder",
        "cannot write GITHUB_STEP_SUMMARY",
    ]


def test_an_unknown_control_is_refused_before_the_search(tmp_path: Path) -> None:
    for question in (("check", "kip-320", "-s", "replicas=2"), ("refine", "kip-320", "-s", "replicas=2")):
        outcome = run(*question, "--control", "kip-32", "--quiet")
        assert (outcome.code, outcome.out) == (150, "")
        assert "kip-32" in outcome.err


def test_one_file_by_two_names_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("check", counter(tmp_path), "--json", "a.json", "--itf", "./a.json")
    assert outcome.code == 2
    assert "--json and --itf name the same file" in outcome.err


@pytest.mark.parametrize(("error", "words"), [(KeyboardInterrupt, "interrupted"), (MemoryError, "out of memory")])
@pytest.mark.parametrize("option", ["--control", "--fixes"])
def test_an_interrupt_after_a_violation_loses_only_the_comparison_with_fixes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, error: type[BaseException], words: str
) -> None:
    def ended(*arguments: object, **more: object) -> None:
        raise error

    monkeypatch.setattr("isrcheck.checker.analysis.compare_with_fix.fix", ended)
    monkeypatch.setattr("isrcheck.checker.analysis.fix_search.fix", ended)
    asked = {"--control": ("--control", "least=9"), "--fixes": ("--fixes",)}[option]
    outcome = run("check", counter(tmp_path), "-s", "least=2", *asked, "--json", tmp_path / "r.json")
    assert (outcome.code, outcome.err.count("\n")) == (12, 1)
    assert outcome.out.startswith("VIOLATED  counter: is-small in 3 states\n")
    assert "the search stopped" not in outcome.out
    data = valid(tmp_path / "r.json")
    assert (data["exit_code"], data["verdict"]) == (12, "violated")
    assert data["reason"].startswith(words)
    assert data["reason"].endswith("not every fix was compared with the trace")
    assert outcome.err == f"isrcheck: {data['reason']}\n"
