"""No proof succeeds if a larger search finds a violation. Each test is a hole that the mechanism had or could have."""

from __future__ import annotations

from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.proofs.attempts import Attempt, obligations_of
from isrcheck.checker.proofs.obligations import open_goals
from isrcheck.model.language import ModelError
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Proof
from isrcheck.model.published.kip_320 import Kip320
from isrcheck.model.published.kip_320_proof import Kip320Proof
from tests.proofs import holes
from tests.proofs.asking import LIMITS, attempt, loaded, pairs
from tests.proofs.holes import ChoosesSomeProof, CounterProof, NamingProof, NestingProof, RestatingProof


def violated_at(model: type[Model], top: int, invariant: str = "fine") -> bool:
    found = check(model, {"top": top}, invariants=[invariant], engine="reference", limits=LIMITS)
    return found.invariants[invariant].verdict == "violated"


@pytest.mark.parametrize(
    "model", [holes.BadAtTheTop, holes.BadBelowTheTop, holes.BadFromZero, holes.BadByNesting], ids=lambda m: m.__name__
)
@pytest.mark.parametrize("top", [1, 2])
def test_what_is_bad_beyond_small_bounds_is_not_proved_without_bounds(model: type[Model], top: int) -> None:
    assert not violated_at(model, 2)
    assert violated_at(model, 4)
    # Whatever is looked at besides: the obligations themselves see it.
    result = attempt(model, {"top": top}, CounterProof, form="unbounded")
    assert (result.verdict, pairs(result)) == ("not proved", {("fall", "nothing-bad")})


def test_python_does_not_decide_by_a_bound() -> None:
    assert violated_at(holes.BadInARange, 3)
    with pytest.raises(ModelError, match=r"holes.py:\d+: a branch depends on the state or on a bound"):
        attempt(holes.BadInARange, {}, CounterProof, form="unbounded")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (holes.BadByTheTypeOfABound, r"holes.py:\d+: the Python type of a state value is tested"),
        (holes.CatchesItsMistake, r"holes.py:\d+: an unknown number where Python needs"),
        (holes.IsThereAboveABound, r"holes.py:\d+: the where of fall uses a bound, but there are no bounds here"),
    ],
)
def test_methods_are_heeded_in_a_proof_too(model: type[Model], words: str) -> None:
    assert violated_at(model, 4)
    with pytest.raises(ModelError, match=words):
        attempt(model, {}, CounterProof, form="unbounded")


def test_what_a_model_keeps_of_its_settings_is_kept_of_the_unknown_bound() -> None:
    result = attempt(holes.RemembersTheBound, {}, CounterProof, form="unbounded")
    # The bound is never above itself.
    assert result.verdict == "proved"
    assert not violated_at(holes.RemembersTheBound, 4)


def test_names_of_actions_and_parameters_capture_nothing() -> None:
    result = attempt(holes.ChoosesSome, {}, ChoosesSomeProof, form="unbounded")
    assert (result.verdict, pairs(result)) == ("not proved", {(a, "is-not-one-more") for a in ("climb", "some")})


def test_definitions_are_distinct_and_go_with_lemmas() -> None:
    assert attempt(holes.OnlyCounts, {}, NestingProof, form="unbounded", look=True).verdict == "proved"
    result = attempt(holes.OnlyCounts, {}, holes.FalseNestingProof, form="unbounded")
    assert (result.verdict, pairs(result)) == ("not proved", {("climb", "the-end-is-small")})


@pytest.mark.parametrize("form", ["bit-vectors", "unbounded"])
def test_a_target_does_not_restate_an_invariant(form: str) -> None:
    with pytest.raises(ModelError, match=r"holes.py:\d+: target is-below-four has the name of an invariant of model"):
        attempt(holes.OnlyCounts, {}, RestatingProof, form=form)


def test_what_is_proved_is_the_invariant_as_the_model_has_it() -> None:
    assert violated_at(holes.OnlyCounts, 4, "is-below-four")
    result = attempt(holes.OnlyCounts, {}, NamingProof, form="unbounded", look=True)
    assert (result.verdict, pairs(result)) == ("not proved", {("targets", "is-below-four")})
    chosen = ("is-below-its-bound",)
    assert attempt(holes.OnlyCounts, {}, NamingProof, form="unbounded", look=True, targets=chosen).verdict == "proved"


@pytest.mark.exhaustive
def test_a_wrong_search_for_the_common_records_is_seen() -> None:
    label = "fenced-become-follower-and-truncate(follower=0, leader=1, epoch=any)"

    def goals_lost(model: type[Model]) -> list[str]:
        obligations, _, _ = obligations_of(Attempt(loaded(model), {"replicas": 2}, Kip320Proof, form="unbounded"))
        (step,) = [each for each in obligations.all if each.label == label]
        with Watch(LIMITS) as watch:
            return [each.goal for each in open_goals(obligations, step, watch)]

    assert goals_lost(Kip320) == []
    # Who truncates to what it found too little of loses records, committed ones too.
    assert "the-isr-has-what-is-committed" in goals_lost(holes.ComparesTwo)


def test_a_loop_up_to_a_bound_is_refused() -> None:
    with pytest.raises(ModelError, match=r"holes.py:\d+: a branch depends on the state or on a bound"):
        attempt(holes.ComparesTwoInALoop, {"replicas": 2}, Kip320Proof, form="unbounded")


@pytest.mark.parametrize("user", [{"top": 1}, {"top": 9}])
def test_the_form_is_compared_at_bounds_of_three_whatever_the_settings(user: dict[str, Any]) -> None:
    result = attempt(holes.OnlyCounts, user, NestingProof, form="unbounded", look=True)
    assert result.checks["the unbounded form matches the model"] == "z3, each action at 3"


def test_a_model_that_starts_anywhere_is_refused() -> None:
    class AnyProof(Proof):
        of = holes.ManyStarts
        invariants = ("fine",)

    with pytest.raises(ModelError, match="several initial states are not supported without bounds"):
        attempt(holes.ManyStarts, {}, AnyProof, form="unbounded")
