"""V3: the variants in which the leader is provably in the ISR, and the rule that the proof needs."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.model.designs.v3 import ControllerDesign
from isrcheck.model.designs.v3_proof import V3Proof
from tests.proofs.asking import attempt, pairs


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"crashes": 1},
        {"controller_write": "unconditional", "crashes": 1},
        pytest.param({"controller_failover": True, "crashes": 1}, marks=pytest.mark.exhaustive),
        pytest.param({"partitions": 2}, marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
def test_the_leader_is_in_the_isr(settings: dict[str, Any]) -> None:
    result = attempt(ControllerDesign, settings, V3Proof)
    assert (result.verdict, result.exit_code) == ("proved", 0)


def test_without_conditional_writes_the_proof_fails_where_leaders_write() -> None:
    result = attempt(ControllerDesign, {"isr_write": "unconditional"}, V3Proof)
    assert result.verdict == "not proved"
    assert pairs(result) == {("expand-isr", "the-leader-is-in-the-isr"), ("shrink-isr", "the-leader-is-in-the-isr")}


def test_a_topic_that_is_created_again_starts_its_versions_again() -> None:
    result = attempt(ControllerDesign, {"topic_changes": 1, "crashes": 1}, V3Proof)
    assert result.verdict == "not proved"
    assert {action for action, _ in pairs(result)} == {"delete-topic", "init-leaders", "on-topic-change"}
