"""Proved invariants of random models hold: at the settings of the proof, or (without bounds) at every bound tried."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given

from isrcheck import check
from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.proofs.attempts import Attempt, obligations_of
from isrcheck.checker.proofs.obligations import follows
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.language import ModelError
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Proof
from tests.agreement.profiles import examples
from tests.proofs.asking import LIMITS, attempt, loaded
from tests.proofs.random_proofs import Author, load, proofs

LARGEST = 5
"""Planted violations occur at bounds of 5 or below."""
LOOK = Limits(states=1500)


def says(model: type[Model], proof: type[Proof], form: str, top: int) -> str:
    """The verdict of the obligations alone, because the proof must not need the side conditions."""
    try:
        return attempt(model, {"top": top}, proof, form=form).verdict
    except ModelError:
        return "refused"


def follows_all(model: type[Model], proof: type[Proof], form: str) -> bool:
    """True if all obligations follow. Stops at the first that does not."""
    try:
        obligations, _, _ = obligations_of(Attempt(loaded(model), {"top": 2}, proof, form=form))  # type: ignore[arg-type]
        with Watch(LIMITS) as watch:
            return all(follows(obligations, each, watch) for each in obligations.all)
    except ModelError:
        return False


def broken(model: type[Model], top: int) -> bool:
    """True if a search within the bound finds a violation of the invariant or an undefined step."""
    try:
        found = check(model, {"top": top}, invariants=["fine"], engine="reference", limits=LOOK)
    except ModelError:
        return False
    return found.invariants["fine"].verdict == "violated" or found.evaluation is not None


def refuted(source: str) -> bool:
    """True if a search finds a violation. Asserts that no proof then succeeds."""
    model, proof = load(source)
    if not broken(model, LARGEST):
        return False
    assert not follows_all(model, proof, "unbounded"), source
    assert not broken(model, 2) or not follows_all(model, proof, "bit-vectors"), source
    return True


@examples(80, shrink=False)
@given(proofs())
def test_nothing_is_proved_that_a_larger_search_refutes(source: str) -> None:
    refuted(source)


class Dice:
    """Draws values like hypothesis, from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, strategy: object) -> int:
        low, high = strategy.wrapped_strategy.start, strategy.wrapped_strategy.end  # type: ignore[attr-defined]
        return self.random.randint(low, high)


def sort_of(source: str) -> str:
    """The verdict without bounds; "planted" if the proof is right only at small bounds."""
    model, proof = load(source)
    for_all = says(model, proof, "unbounded", 2)
    if for_all != "proved" and broken(model, LARGEST) and says(model, proof, "bit-vectors", 2) == "proved":
        return "planted"
    return for_all


@pytest.mark.exhaustive
def test_the_models_are_of_every_sort() -> None:
    found = Counter(sort_of(Author(Dice(seed)).source()) for seed in range(12))
    assert min(found["proved"], found["planted"], found["not proved"]) >= 1


@pytest.mark.release
@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(10))
def test_thousands_of_random_proofs(part: int) -> None:
    found = [refuted(Author(Dice(seed)).source()) for seed in range(500 * part, 500 * (part + 1))]
    assert sum(found) > 50
