"""Every command that takes MODEL also takes `--scenario`, and then uses the scenario's model and settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from isrcheck.checker.cli import main
from tests.cli.running import run

NAME = "v3-unclean-election"


def test_an_export_by_scenario_is_that_at_its_settings() -> None:
    from isrcheck.checker.scenarios.collection import one

    scenario = one(NAME)
    pairs = [
        x for n, v in scenario.settings.items() for x in ("-s", f"{n}={str(v).lower() if isinstance(v, bool) else v}")
    ]
    names = [x for n in scenario.invariants or () for x in ("--invariant", n)]
    by_hand = run("export", scenario.model, "--profile", "bare", *pairs, *names, "--to", "murphi").out
    assert run("export", "--scenario", NAME, "--to", "murphi").out == by_hand != ""
    other = run("export", "--scenario", NAME, "--to", "murphi", "-s", "unclean=false").out
    assert other not in ("", by_hand)


def test_walks_of_a_scenario_meet_its_violation(tmp_path: Path) -> None:
    outcome = run("simulate", "--scenario", NAME, "--seed", "1", "--walks", "3000", "--quiet")
    assert outcome.code == 12
    assert "no-committed-loss in 7 states" in outcome.out


@pytest.mark.parametrize("command", ["refine", "simulate", "mutate", "prove", "export", "explore"])
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "Missing argument 'MODEL', or --scenario."),
        (("v3", "--scenario", NAME), 2, "remove MODEL"),
        (("--scenario", NAME, "--profile", "bare"), 2, "remove --profile"),
        (("--scenario", "v3-uncle"), 150, "there is no scenario 'v3-uncle'"),
    ],
)
def test_what_names_no_model_is_refused(command: str, words: tuple[str, ...], code: int, message: str) -> None:
    needed = ("--to", "tla") if command == "export" else ()
    outcome = run(command, *words, *needed)
    assert outcome.code == code
    assert message in outcome.err


def test_every_command_with_a_model_takes_a_scenario() -> None:
    for command in ("check", "refine", "simulate", "mutate", "prove", "export", "explore"):
        assert "--scenario NAME" in CliRunner().invoke(main, [command, "--help"]).output
