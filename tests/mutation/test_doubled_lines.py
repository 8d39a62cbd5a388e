"""Lines that do the same work: each survives alone, and what both protect breaks without the two."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck import check
from isrcheck.checker.library import load_model_class
from isrcheck.checker.mutation.edits import candidates
from isrcheck.checker.mutation.mutants import mutated
from isrcheck.checker.scenarios.scenario import read
from isrcheck.model.designs.controller import Controller
from isrcheck.model.language.model import Model

COUNTEREXAMPLES = Path(__file__).parents[2] / "counterexamples"


def without_forgetting(cls: type[Model], action: str, function: str) -> type[Model]:
    """The design in which a method, where an action runs it, leaves what was sent to a broker in its channel."""
    (edit,) = [e for e in candidates(vars(Controller)[function]) if e.text == "s.channel[c][b] = []"]
    return mutated(cls, action, edit)


@pytest.mark.parametrize(
    ("actions", "lengths"),
    [
        (["crash"], {}),
        (["on-broker-startup"], {}),
        (["crash", "on-broker-startup"], {"no-committed-loss": 17}),
    ],
    ids=["at-the-crash", "at-the-start", "both"],
)
def test_what_was_sent_is_forgotten_at_a_crash_or_at_the_start(actions: list[str], lengths: dict[str, int]) -> None:
    """KIP-380: a command sent before a bounce does not count. Either line is enough for that."""
    scenario = read(COUNTEREXAMPLES / "v3" / "v3-bounce-and-stale-command-fixed-by-kip-380")
    cls = load_model_class("v3").cls
    for action in actions:
        cls = without_forgetting(cls, action, "stop" if action == "crash" else "begin_session")
    result = check(cls, scenario.settings, profile="bare", invariants=scenario.invariants, workers=1)
    assert {n: f.trace.length for n, f in result.findings.items() if f.trace is not None} == lengths
    assert result.verdict == ("violated" if lengths else "holds")
