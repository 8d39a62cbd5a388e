"""What is proved of a random model holds: at the settings there, without bounds at every bound that is looked at."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given

from isrcheck import check
from isrcheck.checker.exploration import Limits
from isrcheck.model.language import ModelError
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Proof
from tests.agreement.profiles import examples
from tests.proofs.asking import attempt
from tests.proofs.random_proofs import Author, load, proofs

LARGEST = 5
"""What is planted shows at bounds of 5 or below."""
LOOK = Limits(states=1500)


def says(model: type[Model], proof: type[Proof], form: str, top: int) -> str:
    """The verdict of the obligations alone: nothing that is looked at besides may be needed."""
    try:
        return attempt(model, {"top": top}, proof, form=form).verdict
    except ModelError:
        return "refused"


def broken(model: type[Model], top: int) -> bool:
    """Whether a search within the bound finds the invariant violated, or a step without a meaning."""
    try:
        found = check(model, {"top": top}, invariants=["fine"], engine="reference", limits=LOOK)
    except ModelError:
        return False
    return found.findings["fine"].verdict == "violated" or found.evaluation is not None


def judge(source: str) -> str:
    """The verdict without bounds; no proof says what a search refutes."""
    model, proof = load(source)
    for_all = says(model, proof, "unbounded", 2)
    if for_all == "proved":
        assert not [top for top in (LARGEST, 2, 1) if broken(model, top)], source
    if says(model, proof, "bit-vectors", 2) == "proved":
        assert not broken(model, 2), source
        if for_all != "proved" and broken(model, LARGEST):
            return "planted"
    return for_all


@examples(120, shrink=False)
@given(proofs())
def test_nothing_is_proved_that_a_larger_search_refutes(source: str) -> None:
    judge(source)


class Dice:
    """Draws as hypothesis does, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, strategy: object) -> int:
        low, high = strategy.wrapped_strategy.start, strategy.wrapped_strategy.end  # type: ignore[attr-defined]
        return self.random.randint(low, high)


def verdicts(seeds: range) -> Counter[str]:
    return Counter(judge(Author(Dice(seed)).source()) for seed in seeds)


def test_the_models_are_of_every_sort() -> None:
    """Some are proved for all bounds; of some a proof at bounds is right, and what is planted beyond is seen."""
    found = verdicts(range(60))
    assert min(found["proved"], found["planted"], found["not proved"]) >= 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(6))
def test_thousands_of_random_proofs(part: int) -> None:
    verdicts(range(1000 * part, 1000 * (part + 1)))
