"""History variables restrict no step, lemmas are checked one by one, dropped and redundant lemmas are as expected."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from isrcheck.checker.proofs.attempts import differences, with_history
from isrcheck.model.language import Model, ModelError, UnknownName, action, invariant, number, sequence
from isrcheck.model.language.proofs import Proof, lemma, records
from isrcheck.model.semantics.expressions import TRUE
from isrcheck.model.semantics.tracing import trace
from tests.proofs.asking import attempt, pairs
from tests.proofs.toys import Hill, HillProof, Ring, SoundHillProof


def test_a_sound_proof_of_a_toy() -> None:
    result = attempt(Hill, {}, SoundHillProof, look=True, find_redundant=True)
    assert (result.verdict, result.exit_code, result.failed_checks) == ("proved", 0, [])
    # The target is both lemmas about the two ways together; that a number is not negative its domain says.
    assert result.redundant == ["it-is-a-number"]
    assert attempt(Hill, {}, SoundHillProof, form="unbounded", look=True).verdict == "proved"


def test_a_false_lemma_is_listed_with_the_action_that_breaks_it() -> None:
    result = attempt(Hill, {}, HillProof)
    assert (result.verdict, result.exit_code) == ("not proved", 10)
    # At the turn both are equal; on the way down the height only falls.
    assert pairs(result) == {("turn", "on-the-way-down-it-is-less")}
    (failing,) = result.failing
    assert failing.counterexample is not None
    height, way, greatest = failing.counterexample.trace.steps[1].state
    assert (way, height) == ("down", greatest)
    assert failing.counterexample.reachability is not None
    assert failing.counterexample.reachability.length is not None


def test_a_false_lemma_is_not_proved_without_bounds_either() -> None:
    result = attempt(Hill, {}, HillProof, form="unbounded")
    assert (result.verdict, pairs(result)) == ("not proved", {("turn", "on-the-way-down-it-is-less")})


class Queue(Model):
    """Numbers in the order in which they came."""

    def variables(self) -> dict[str, Any]:
        return {"numbers": sequence(number(0, 1), 2)}

    @action(actor="hand")
    def add(self, s: Any) -> None:
        """One more."""
        s.require(s.numbers.length < 2)
        s.numbers.append(0)

    @invariant
    def has_room(self, s: Any) -> Any:
        """There are at most two numbers."""
        return s.numbers.length <= 2


class Unreadable(Proof):
    """A lemma that has no value in the initial state."""

    of = Queue
    invariants = ("has-room",)

    @lemma()
    def begins_with_nothing(self, s: Any) -> Any:
        """The first number is 0."""
        return s.numbers.at(0) == 0


def test_an_evaluation_error_of_a_lemma_is_not_said_to_be_false() -> None:
    result = attempt(Queue, {}, Unreadable, look=True)
    name = "lemmas hold in reachable states"
    said = r"evaluation error: test_history_and_lemmas.py:\d+: offset 0 of a sequence of length 0"
    assert re.fullmatch(said, result.checks[name])
    assert result.failed_checks == [name]


@pytest.mark.parametrize("form", ["bit-vectors", "unbounded"])
def test_houdini_keeps_the_largest_inductive_subset(form: str) -> None:
    result = attempt(Hill, {}, HillProof, houdini=True, form=form)
    assert (result.verdict, result.dropped) == ("proved", ["on-the-way-down-it-is-less"])


def test_what_houdini_drops_is_no_goal_of_what_is_redundant() -> None:
    result = attempt(Hill, {}, HillProof, houdini=True, find_redundant=True)
    assert result.redundant == attempt(Hill, {}, SoundHillProof, find_redundant=True).redundant != []


def test_history_restricts_nothing() -> None:
    model = with_history(Hill, HillProof)
    plain, full = trace(Hill()), trace(model())
    assert differences(plain, full) == []
    # Three kinds of interference, each noticed.
    narrower = replace(full.transitions[0], guard=TRUE)
    assert differences(plain, replace(full, transitions=(narrower, *full.transitions[1:]))) != []
    still = replace(full.transitions[0], updates={})
    assert differences(plain, replace(full, transitions=(still, *full.transitions[1:]))) != []
    assert differences(plain, replace(full, transitions=full.transitions[1:])) != []
    assert differences(plain, replace(full, initial=())) != []


class Restricting(Proof):
    of = Hill

    def history(self) -> dict[str, Any]:
        return {"seen": number(0, 1)}

    @records("climb")
    def forbid(self, s: Any) -> dict[str, Any]:
        s.height = 0
        return {}


class Meddling(Restricting):
    @records("climb")
    def forbid(self, s: Any) -> dict[str, Any]:
        return {"height": 0}


class Asking(Restricting):
    @records("climb")
    def forbid(self, s: Any, b: Any) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        (Restricting, "an assignment in a predicate; predicates only read the state"),
        (Meddling, "recorder forbid returns 'height', which is not a history variable"),
        (Asking, "recorder forbid takes 'b', which its action does not have"),
    ],
)
def test_a_recorder_that_does_more_than_record_is_refused(proof: type[Proof], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        attempt(Hill, {}, proof)


class Requiring(Restricting):
    @records("climb")
    def forbid(self, s: Any) -> dict[str, Any]:
        s.require(s.height > 100)
        return {"seen": 1}


@pytest.mark.parametrize("form", ["bit-vectors", "unbounded"])
def test_a_recorder_that_requires_is_refused(form: str) -> None:
    words = (
        r"test_history_and_lemmas.py:\d+: a recorder uses require, but history variables must not "
        r"disable a step; return a"
    )
    with pytest.raises(ModelError, match=words):
        attempt(Hill, {}, Requiring, form=form, look=True)


def test_a_proof_is_about_its_model() -> None:
    with pytest.raises(UnknownName, match="proof toys is about models derived from Hill; toys is not one of them"):
        attempt(Ring, {}, HillProof)
    with pytest.raises(UnknownName, match="has no target 'x'; known: never-above-the-greatest"):
        attempt(Hill, {}, HillProof, targets=("x",))


def test_a_lemma_with_other_parameters_is_refused() -> None:
    with pytest.raises(ModelError, match=r"lemma one takes \(b\); declare exactly these parameters"):

        class Mistaken(Proof):
            @lemma(a=number(0, 1))
            def one(self, s: Any, b: Any) -> Any:
                """It is."""
                return True
