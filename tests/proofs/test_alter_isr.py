"""alter-isr: four lemmas that every step preserves, and the gaps in a proof that the leader is in the ISR."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck.model.designs.alter_isr import AlterIsr
from isrcheck.model.designs.alter_isr_proof import AlterIsrProof
from tests.proofs.asking import attempt, pairs


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"requests_in_flight": 2}, marks=pytest.mark.exhaustive),
        pytest.param({"isr_in_flight": "committed"}, marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
def test_the_lemmas_are_kept_where_steps_have_a_meaning(settings: dict[str, Any]) -> None:
    result = attempt(AlterIsr, settings, AlterIsrProof)
    assert result.verdict == "not proved"
    assert {what for _, what in pairs(result)} == {"every step is defined"}


class SendsNobody(AlterIsr):
    """The page's leader, but one that asks for an ISR without itself."""

    def change_isr(self, s: Any, p: int, b: Any, isr: Any) -> None:
        super().change_isr(s, p, b, isr - {b})


def test_a_leader_that_leaves_itself_out_breaks_a_lemma() -> None:
    result = attempt(SendsNobody, {}, AlterIsrProof)
    assert ("shrink-isr", "who-asks-for-an-isr-is-in-it") in pairs(result)
