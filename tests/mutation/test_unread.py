"""Mutants that differ only in values on which nothing depends, on toys and compared with the reference semantics."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from isrcheck.checker.changes.mutation.mutant_verdicts import Question, Verdict
from isrcheck.checker.changes.mutation.mutants import mutated
from isrcheck.checker.changes.mutation.mutation_run import Mutation, mutation
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.semantics.concrete_state import State, initial_states
from isrcheck.model.semantics.interpreter import Interpreter

HERE = Path(__file__).parent
TOYS: dict[str, dict[str, int]] = {"diary": {}, "turnstile": {}, "car_park": {"sold": 0}}
DESIGN = {"log_size": 1, "max_records": 1, "max_leader_epoch": 2, "truncation": "kip-320", "crashes": 1, "expiries": 1}


@cache
def asked(toy: str) -> Mutation:
    return mutation(Question(str(HERE / f"{toy}.py"), TOYS[toy], None, workers=1))


def of(toy: str, action: str, change: str) -> Verdict:
    (found,) = [v for v in asked(toy).verdicts if (v.action, v.edit.words) == (action, change)]
    return found


def test_what_nobody_reads_is_named() -> None:
    found = of("diary", "unlock", "without s.last = s.count")
    assert (found.outcome, found.differing) == ("unread", ("last",))
    assert found.extra is not None


def test_a_step_that_may_be_taken_once_more_and_does_nothing_is_not_missed() -> None:
    # To close what is closed changes nothing: it reaches nothing new, which is said before.
    assert of("diary", "lock", "without s.open").outcome == "nothing new"


def test_what_is_read_later_is_not_unread() -> None:
    # The lamp that stays on shows when the second ticket is to be sold.
    found = of("car_park", "leave", "without s.lamp = False")
    assert (found.outcome, found.differing) == ("survived", ())


def test_what_an_invariant_reads_is_not_unread() -> None:
    assert of("diary", "unlock", "without s.count += 1").outcome == "killed"


@pytest.mark.parametrize("toy", TOYS)
def test_the_reference_semantics_sees_no_difference_either(toy: str) -> None:
    checked = [v for v in asked(toy).verdicts if v.outcome in ("survived", "unread")]
    assert checked
    for verdict in checked:
        assert _differ_unread(toy, verdict) == (verdict.outcome == "unread"), verdict.edit.words


def _differ_unread(toy: str, verdict: Verdict) -> bool:
    """True if a model and a mutant, walked side by side, always agree on other actions and on invariants."""
    loaded, settings = load_model_class(str(HERE / f"{toy}.py")), TOYS[toy]
    asks, changed = dict(loaded.chosen(None)), mutated(loaded.cls, verdict.action, verdict.edit)
    model, mutant = Interpreter(loaded.cls(**settings), asks), Interpreter(changed(**settings), asks)
    todo: list[tuple[State, State]] = [(s, s) for s in initial_states(model.model)]
    seen = set(todo)
    while todo:
        ours, theirs = todo.pop()
        if model.violated(ours) != model.violated(theirs):
            return False
        for i, label in enumerate(model.labels):
            one, other = model.step(ours, i), mutant.step(theirs, i)
            if label.action != verdict.action and (one is None) != (other is None):
                return False
            if one is not None or other is not None:
                pair = (one or ours, other or theirs)
                if pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
    return True


KEPT = {
    ("become-follower-by-command", "without s.replica[p][b].version = request.version"): ("replica.version",),
    ("on-broker-startup", "without replica.version = when(here, state.version, 0)"): ("replica.version",),
    ("commit", "end >= replica.high_watermark, not end > replica.high_watermark"): ("committed.by",),
}


@pytest.mark.exhaustive
def test_nobody_reads_the_version_that_a_follower_keeps() -> None:
    asked = Question("v3", DESIGN, None, tuple(action for action, _ in KEPT), workers=1)
    found = mutation(asked, wanted=lambda _, mutant: (mutant.action, mutant.edit.words) in KEPT).verdicts
    assert {v.outcome for v in found} == {"unread"}
    assert {(v.action, v.edit.words): v.differing for v in found} == KEPT
