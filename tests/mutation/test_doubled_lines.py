"""Lines that protect the same: a mutant without one of them survives, and without both an invariant is violated."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck import check
from isrcheck.checker.changes.mutation.edits import candidates
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.scenarios.scenario import read
from isrcheck.model.designs.commands import Commands
from isrcheck.model.designs.controller import Controller
from isrcheck.model.language.model import Model

COUNTEREXAMPLES = Path(__file__).parents[2] / "counterexamples"


def without_forgetting(cls: type[Model], action: str, function: str) -> type[Model]:
    """The design in which a method, when this action calls it, does not clear the channel to a broker."""
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
    """KIP-380: a command that was sent before a bounce does not count. Each of the two lines is enough for that."""
    scenario = read(COUNTEREXAMPLES / "v3" / "v3-bounce-and-stale-command-fixed-by-kip-380")
    cls = load_model_class("v3").cls
    for action in actions:
        cls = without_forgetting(cls, action, "stop" if action == "crash" else "begin_session")
    result = check(cls, scenario.settings, profile="bare", invariants=scenario.invariants, workers=1)
    assert {n: f.trace.length for n, f in result.invariants.items() if f.trace is not None} == lengths
    assert result.verdict == ("violated" if lengths else "holds")


MADE_TWICE = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1, "expiries": 1}
"""Settings with an election of another leader, with 794 states."""
ONCE = {"its-epoch": (Commands.is_followed, "request.epoch > replica.epoch"),
        "the-channel": (Commands.taken, "s.channel[c][b].remove_first()")}  # fmt: skip


@pytest.mark.parametrize(
    ("without", "lengths"),
    [
        (["its-epoch"], {}),
        (["the-channel"], {}),
        (["its-epoch", "the-channel"], {"epoch-starts-before-its-records": 6, "isr-has-what-is-committed": 12}),
    ],
    ids=["by-its-epoch", "by-the-channel", "by-neither"],
)
def test_a_command_makes_a_leader_once_by_its_epoch_or_for_it_is_gone(
    without: list[str], lengths: dict[str, int]
) -> None:
    """A leader that handles the same command twice forgets its ISR and the start of its epoch."""
    cls = load_model_class("v3").cls
    for name in without:
        function, text = ONCE[name]
        (edit,) = [e for e in candidates(function) if e.text == text and e.kind != "weakened"]
        cls = mutated(cls, "become-leader-by-command", edit)
    names = ["epoch-starts-before-its-records", "isr-has-what-is-committed"]
    settings = {**MADE_TWICE, "truncation": "kip-320"}
    result = check(cls, settings, profile="bare", invariants=names, keep_going=True, workers=1)
    assert {n: f.trace.length for n, f in result.invariants.items() if f.trace is not None} == lengths
