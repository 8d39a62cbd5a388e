"""The proof of KIP-320 succeeds for KIP-320, and fails for every model that lacks one of its rules."""

from __future__ import annotations

import pytest

from isrcheck import check
from isrcheck.model.language.model import Model
from isrcheck.model.published.kip_279 import Kip279
from isrcheck.model.published.kip_320 import Kip320
from isrcheck.model.published.kip_320_proof import Kip320Proof
from isrcheck.model.published.kip_320_without import (
    CommitWithoutFencing,
    ExpansionBeforeOwnEpoch,
    FetchWithoutFencing,
    TruncationWithoutFencing,
)
from tests.proofs.asking import LIMITS, attempt, bounds, pairs

TARGETS = {"leader-in-isr-or-none", "strong-isr", "weak-isr", "no-committed-loss"}


@pytest.mark.parametrize("at", ["2/2/2/2", pytest.param("3/2/2/1", marks=pytest.mark.exhaustive)])
def test_it_is_proved_at_bounds(at: str) -> None:
    result = attempt(Kip320, bounds(at), Kip320Proof, look=at == "2/2/2/2")
    assert (result.verdict, result.exit_code, set(result.targets), result.failing) == ("proved", 0, TARGETS, [])
    if at == "2/2/2/2":
        assert result.checks["history variables restrict nothing"] == "every step is a step of the model"
        # TLC's 5,973 states are those without history: with it there are as many or more, and every lemma holds.
        assert result.checks["lemmas hold in reachable states"].startswith("all 7,497 states at 2/2/2/2")


@pytest.mark.exhaustive
def test_it_is_proved_without_bounds() -> None:
    result = attempt(Kip320, {"replicas": 2}, Kip320Proof, form="unbounded")
    assert (result.verdict, result.failing) == ("proved", [])
    assert result.settings == {
        "replicas": 2,
        "log_size": "unbounded",
        "max_records": "unbounded",
        "max_leader_epoch": "unbounded",
    }


# The lengths of the first and the third and of the second are those that two other searches measured.
MUTANTS = [
    (CommitWithoutFencing, "strong-isr", 9, "fenced-leader-inc-high-watermark"),
    (ExpansionBeforeOwnEpoch, "strong-isr", 12, "fenced-leader-expand-isr"),
    (FetchWithoutFencing, "weak-isr", 13, "fenced-follower-fetch"),
    (TruncationWithoutFencing, "strong-isr", 14, "fenced-become-follower-and-truncate"),
]


@pytest.mark.parametrize(
    ("mutant", "invariant", "length", "action"),
    [MUTANTS[0], *(pytest.param(*m, marks=pytest.mark.exhaustive) for m in MUTANTS[1:])],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_mutant_violates_and_is_not_proved(mutant: type[Model], invariant: str, length: int, action: str) -> None:
    settings = bounds("3/2/2/2")
    found = check(mutant, settings, invariants=[invariant], limits=LIMITS).invariants[invariant]
    assert found.trace is not None
    assert found.trace.length == length
    result = attempt(mutant, bounds("2/2/2/2"), Kip320Proof)
    assert (result.verdict, result.exit_code) == ("not proved", 10)
    # Only the action that was changed breaks lemmas.
    assert {name for name, _ in pairs(result)} == {action}


@pytest.mark.exhaustive
def test_kip_279_is_not_proved_and_become_follower_is_among_the_reasons() -> None:
    result = attempt(Kip279, bounds("2/2/2/2"), Kip320Proof, targets=("strong-isr",))
    assert (result.verdict, result.exit_code) == ("not proved", 10)
    assert ("become-follower", "followers-are-not-ahead") in pairs(result)
    for failing in result.failing:
        shown = failing.counterexample
        assert shown is not None
        assert (shown.trace.length, failing.answer) == (2, "false")
        assert str(shown.trace.steps[1].label) == failing.instances[0]
