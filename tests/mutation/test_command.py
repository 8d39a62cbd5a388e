"""`isrcheck mutate` at the command line: its table, its exit codes, its JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import run

TURNSTILE = Path(__file__).parent / "turnstile.py"


def test_the_exit_code_says_whether_something_survived() -> None:
    outcome = run("mutate", TURNSTILE, "--workers", "1")
    assert outcome.code == 10
    assert outcome.out.startswith("SURVIVORS  turnstile (")
    assert "killed" in outcome.out
    outcome = run("mutate", TURNSTILE, "--action", "pay", "--workers", "1", "--quiet")
    assert outcome.code == 0
    assert outcome.out.startswith("NO SURVIVOR  turnstile (")
    assert outcome.out.count("\n") == 1


def test_one_mutant_is_shown_with_its_trace(tmp_path: Path) -> None:
    run("mutate", TURNSTILE, "--action", "enter", "--workers", "1", "--json", tmp_path / "all.json")
    data = json.loads((tmp_path / "all.json").read_text())
    number = next(m["number"] for m in data["mutants"] if m["change"] == "without s.inside < s.paid")
    outcome = run("mutate", TURNSTILE, "--action", "enter", "--show", number, "--workers", "1")
    assert outcome.code == 0
    assert "NO SURVIVOR  turnstile (" in outcome.out
    assert "Counterexample: who-is-in-has-paid" in outcome.out
    assert run("mutate", TURNSTILE, "--action", "enter", "--show", 99, "--workers", "1").code == 150


def test_the_json_has_every_mutant_and_the_counts(tmp_path: Path) -> None:
    outcome = run("mutate", TURNSTILE, "--action", "enter", "--json", tmp_path / "out.json", "--workers", "1")
    data = json.loads((tmp_path / "out.json").read_text())
    assert (data["exit_code"], data["model"], data["invariants"]) == (outcome.code, "turnstile", ["who-is-in-has-paid"])
    assert sum(data["counts"].values()) == len(data["mutants"])
    killed = next(m for m in data["mutants"] if m["outcome"] == "killed")
    line = TURNSTILE.read_text().splitlines().index("        s.require(s.inside < s.paid)") + 1
    assert (killed["file"], killed["line"]) == ("tests/mutation/turnstile.py", line)
    assert [step.get("action") for step in killed["trace"]] == [None, "enter"]


def test_a_model_that_does_not_hold_is_not_mutated() -> None:
    outcome = run("mutate", "kip-101", "--workers", "1")
    assert outcome.code == 12
    assert outcome.out == (
        "NOT MUTATED  kip-101: strong-isr, weak-isr is violated in it; use settings and invariants for which it holds\n"
    )


def test_a_search_that_did_not_finish_says_nothing() -> None:
    outcome = run("mutate", TURNSTILE, "--max-states", "2", "--workers", "1")
    assert outcome.code == 152
    assert outcome.out.startswith("NOT MUTATED  turnstile: more than 2 states")


def test_unknown_names_are_refused() -> None:
    assert run("mutate", TURNSTILE, "--action", "entr").code == 150
    outcome = run("mutate", TURNSTILE, "--invariant", "nothing")
    assert outcome.code == 150
