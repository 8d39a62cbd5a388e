"""Reasons, the steps that made the facts, compared with results by hand and with other computations."""

from __future__ import annotations

import random
import sys
from itertools import pairwise
from typing import Any

import pytest

from isrcheck import Model, action, check, invariant, number
from isrcheck.checker.results.condition_text import Words
from isrcheck.checker.results.story import Causes
from isrcheck.checker.trace.causes import causes
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace
from isrcheck.model.semantics.expressions import add, evaluate, has_more_leaves, leaf
from isrcheck.model.semantics.tracing import layout
from tests.kernel.toys import leaves_of
from tests.marks import one_in
from tests.traces.walks import VIOLATED, walk

SOME = ("kip-101", "kip-279", "truncate-to-hw", "v1-split-brain", "v2-two-leaders-share-an-epoch")
SOME += ("v3-one-epoch-two-leaders", "v3-unclean-election", "majority-forgets-its-vote", "alter-isr-lost-response")


def found(name: str) -> tuple[EvaluatedTrace, Causes]:
    evaluated = walk(name)[3]
    reported = causes(evaluated)
    assert reported is not None
    return evaluated, reported


@pytest.mark.parametrize(
    ("name", "at_once", "steps"),
    [
        ("kip-101", [], [[2, 5], [6, 7, 8, 9], [3, 4, 10, 11, 12]]),
        ("v3-stale-high-watermark", [], [[5, 6], [2, 3, 4, 7], [8, 9, 10], [11]]),
        ("v3-one-epoch-two-leaders", [14], [[2], [3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13]]),
    ],
)
def test_the_steps_of_a_trace_are_divided_as_one_does_by_hand(
    name: str, at_once: list[int], steps: list[list[int]]
) -> None:
    _, reported = found(name)
    assert list(reported.at_once) == at_once
    assert [list(reason.steps) for reason in reported.causes] == steps


@pytest.mark.parametrize("name", ["kip-101", "v1-split-brain", "v3-one-epoch-two-leaders"])
def test_a_check_tells_them_from_the_system_that_it_searched(name: str) -> None:
    scenario, loaded, invariant, _ = walk(name)
    result = check(loaded, scenario.settings, profile="bare", invariants=scenario.invariants, workers=1)
    assert result.invariants[invariant].causes == found(name)[1]  # of the trace that is recorded, traced anew


def assert_divided(name: str) -> None:
    evaluated, reported = found(name)
    divided = [step for reason in reported.causes for step in reason.steps]
    assert len(divided) == len(set(divided)), "each step is in one reason at most"
    assert not set(divided) & set(reported.at_once)
    assert all(reason.steps[-1] == reason.end for reason in reported.causes), "an end is the last of its reason"
    assert sorted({*divided, *reported.at_once}) == sorted(reported.needs)
    assert all(need.step < k for k, needs in reported.needs.items() for need in needs), "causes come before"
    assert all(fact.text for reason in reported.causes for fact in reason.facts)
    assert all(fact.since == 1 for fact in reported.from_the_start)
    assert all(2 <= k <= evaluated.length for k in reported.needs)


@pytest.mark.parametrize("name", SOME)
def test_each_step_is_in_one_reason_at_most(name: str) -> None:
    assert_divided(name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(3, VIOLATED))
def test_each_step_of_every_recorded_trace_is_in_one_reason_at_most(name: str) -> None:
    assert_divided(name)


def havoc(evaluated: EvaluatedTrace, leaves: list[int], k: int, chance: random.Random) -> list[int]:
    """A state with random values in all leaves that do not matter from state k on."""
    bounds = layout(evaluated.model)[1]
    matter = evaluated.relevant[k - 1]
    return [x if i in matter else chance.randint(bounds[i].low, bounds[i].high) for i, x in enumerate(leaves)]


def assert_complete(name: str) -> None:
    """Asserts that with random values in leaves that do not matter, the same steps still lead to the violation."""
    evaluated, chance = walk(name)[3], random.Random(name)
    state = havoc(evaluated, list(evaluated.states[0]), 1, chance)
    for k in range(2, evaluated.length + 1):
        step = evaluated.step(k)
        assert evaluate([step.guard], state) == [1], f"step {k}"
        values = evaluate(list(step.updates.values()), state)
        for scalar, value in zip(step.updates, values, strict=True):
            state[scalar] = value
        matter = evaluated.relevant[k - 1]
        assert all(state[i] == evaluated.states[k - 1][i] for i in matter)
        state = havoc(evaluated, state, k, chance)
    assert evaluated.violation is not None
    assert evaluate([evaluated.violation], state) == [0]


@pytest.mark.parametrize("name", SOME)
def test_what_is_said_not_to_matter_does_not(name: str) -> None:
    assert_complete(name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(3, VIOLATED))
def test_what_is_said_not_to_matter_does_not_in_any_recorded_trace(name: str) -> None:
    assert_complete(name)


@pytest.mark.parametrize("name", SOME)
def test_a_condition_has_been_so_since_the_state_that_is_named(name: str) -> None:
    """The test evaluates each atom of each guard in every state."""
    evaluated = walk(name)[3]
    for k in range(2, evaluated.length + 1):
        for atom in evaluated.decide(evaluated.step(k).guard, k - 1):
            values = [evaluate([atom], state)[0] for state in evaluated.states[: k - 1]]
            since = evaluated.since(atom, k - 1)
            assert set(values[since - 1 :]) == {values[-1]}
            assert since == 1 or values[since - 2] != values[-1]


@pytest.mark.parametrize("name", SOME)
def test_the_atoms_that_decide_a_guard_do_so_alone(name: str) -> None:
    """With the leaves that they read unchanged and all others random, the guard stays true."""
    evaluated, chance = walk(name)[3], random.Random(name)
    bounds = layout(evaluated.model)[1]
    for k in range(2, evaluated.length + 1):
        guard, state = evaluated.step(k).guard, evaluated.states[k - 2]
        read = set(evaluated.reads(guard, k - 1))
        other = [x if i in read else chance.randint(bounds[i].low, bounds[i].high) for i, x in enumerate(state)]
        assert evaluate([guard], other) == [1]


def test_a_path_of_no_violation_has_no_reasons() -> None:
    evaluated = walk("kip-101")[3]
    assert causes(EvaluatedTrace(evaluated.model, evaluated.trace, None)) is None


def test_scalars_are_called_as_their_leaves_are() -> None:
    """This holds for keys that are their own text. Both list a state's scalars in the same order."""
    for name in ("kip-101", "v3-one-epoch-two-leaders"):
        evaluated = walk(name)[3]
        words = Words(evaluated.trace.variables)
        assert [leaf.path for leaf in layout(evaluated.model)[1]] == list(words.paths)


def test_facts_are_told_as_people_write_them() -> None:
    _, reported = found("v3-stale-high-watermark")
    assert [[fact.text for fact in reason.facts] for reason in reported.causes] == [
        ["log[0][1].length = 0", "up has 1"],
        ["committed[0].records.length = 1"],
        ["state[0].leader = 1"],
        ["replica[0][1].role = leader", "state[0].epoch = replica[0][1].epoch"],
    ]
    _, reported = found("kip-101")
    assert [fact.text for fact in reported.from_the_start] == ["quorum.isr has 1"]
    assert [(need.step, need.text) for need in reported.needs[8]] == [
        (6, "log[0].length > log[1].length"),
        (7, "replica[1].leader = 0"),
    ]


def test_of_two_ways_to_a_step_the_shorter_one_is_not_told_again() -> None:
    """Step 5 of kip-101 rests on 2, and 6 on 5. So it is implied that 6 rests on 2, too."""
    _, reported = found("kip-101")
    behind = {k: {need.step for need in needs} for k, needs in reported.needs.items()}
    for k, direct in behind.items():
        for a, b in pairwise(sorted(direct)):
            assert a not in behind[b], f"step {k}"


class Chain(Model):
    """A number that only goes up."""

    invariants = ("is-small",)

    def variables(self) -> dict[str, Any]:
        return {"n": number(0, 900)}

    @action(actor="clock")
    def tick(self, s: Any) -> None:
        """One more."""
        s.require(s.n < 900)
        s.n += 1

    @invariant
    def is_small(self, s: Any) -> Any:
        """The number stays small."""
        return s.n < 900


def test_a_trace_may_be_longer_than_calls_within_calls_are_deep() -> None:
    """Each step is needed for the next step, so one long chain leads to the end."""
    outcome = check(Chain).invariants["is-small"]
    assert outcome.trace is not None
    assert outcome.trace.length == 901 > sys.getrecursionlimit() / 2
    assert outcome.causes is not None
    assert outcome.causes.at_once == tuple(range(3, 902)), "what rests on nothing but the start is step 2"


def test_a_condition_that_is_much_too_long_is_not_written_out() -> None:
    """Shared parts make a text of 2 ** 40 leaves, of forty operations."""
    (x,) = leaves_of(("number", 0, 1))
    large = leaf(x)
    for _ in range(40):
        large = add(large, large)
    assert has_more_leaves(large, 60)
    some = add(add(leaf(x), leaf(x)), leaf(x))
    assert [has_more_leaves(some, most) for most in (1, 2, 3, 4)] == [True, True, False, False]
