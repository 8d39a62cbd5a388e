"""With the same seed, walks make the same choices as plain Python, on toys and on random models."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, reject

from isrcheck.checker.engines.simulation import walk_loops
from isrcheck.checker.engines.simulation.random_search import FAILING, MEANINGLESS, STUCK, Sampled, search
from isrcheck.checker.engines.simulation.walk_summary import STANDARD_ERROR, estimate, summary
from isrcheck.checker.engines.simulation.walks import CHUNK
from isrcheck.model.semantics.expressions import FALSE, TRUE, add, and_, eq, le, leaf, not_
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.kernel.toys import grid, leaves_of, number, predicate, ring, system, transition
from tests.marks import RELEASE
from tests.simulation.plain_walks import Walked, walked


def sampled(of: TransitionSystem, walks: int, depth: int, seed: int, workers: int = 2) -> Sampled:
    return search(of, walks=walks, depth=depth, seed=seed, deadlock=True, seconds=None, workers=workers, report=None)


def assert_same(of: TransitionSystem, walks: int, depth: int, seed: int) -> None:
    ours, plain = sampled(of, walks, depth, seed), walked(of, seed, walks, depth)
    if not ours.seen.walks:
        reject()  # an initial state is wrong: nobody walks
    reported = summary(ours, walks)
    assert Counter(dict(enumerate(ours.seen.taken.tolist()))) == plain.taken
    assert Counter(dict(enumerate(ours.seen.lengths.tolist()))) == plain.lengths
    assert +Counter(reported["ends"]) == plain.ends
    assert +Counter(reported["goals"] | reported["bounds"]) == plain.reached
    assert (reported["states_visited"], reported["constraint_rejected"]) == (plain.visited, plain.rejected)
    assert firsts(ours) == plain.first
    assert reported["distinct_estimate"] == pytest.approx(len(plain.states), rel=0.02)
    assert_paths(of, ours, plain)


def firsts(ours: Sampled) -> dict[str, tuple[int, int]]:
    names = {**ours.kernel.verdicts.invariants, "meaningless": 0}
    names |= {"stuck": ours.start.stuck, "failing": ours.start.failing}
    codes = {name: int(ours.seen.first[place]) for name, place in names.items()}
    walk = (1 << walk_loops.WALK_BITS) - 1
    return {name: (c >> walk_loops.WALK_BITS, c & walk) for name, c in codes.items() if c != walk_loops.NEVER}


def assert_paths(of: TransitionSystem, ours: Sampled, plain: Walked) -> None:
    """Asserts that each path is possible, has the length of plain Python's path, and ends in the observation."""
    words = {STUCK: "stuck", FAILING: "failing", MEANINGLESS: "meaningless"}
    assert {words.get(name, name) for name in ours.paths} == set(plain.first)
    for name, path in ours.paths.items():
        state = ours.kernel.layout.pack([path.start])
        for step in path.instances:
            successors, _, transitions, _ = ours.kernel.expand(state)
            state = successors[transitions == step]
        assert ours.wrong[name](state).tolist() == [True]
        assert len(path.instances) + 1 == plain.first[words.get(name, name)][0]


def fenced() -> TransitionSystem:
    """Two counters with a constraint on the first. The first successor of some states is outside, and violates."""
    (first,) = leaves_of(("number", 0, 3))
    small = le(leaf(first), number(1))
    return grid([4, 9], constraints=[predicate("small", small)], invariants=[predicate("few", small)])


def leaving() -> TransitionSystem:
    """A counter that may stop at any time, with a smile or without, so that walks end one after the other."""
    leaves = leaves_of(("number", 0, 40), ("flag", 0, 1), ("flag", 0, 1))
    count, stopped, smiling = map(leaf, leaves)
    goes = not_(stopped)
    steps = [
        transition("count", and_(goes, le(count, number(39))), {0: add(count, number(1))}),
        transition("stop", goes, {1: TRUE}),
        transition("smile", and_(goes, not_(smiling), eq(count, number(3))), {2: TRUE}),
    ]
    return system(
        leaves, [(0, 0, 0)], steps, goals=[predicate("has-smiled", smiling), predicate("ten", eq(count, number(10)))]
    )


TOYS = {"ring 3": ring(3), "ring 5": ring(5), "grid": grid([4, 3, 2]), "fenced": fenced(), "leaving": leaving()}


@pytest.mark.parametrize(
    "toy",
    [
        pytest.param("ring 3", marks=pytest.mark.exhaustive),
        pytest.param("ring 5", marks=pytest.mark.exhaustive),
        "grid",
        pytest.param("fenced", marks=pytest.mark.exhaustive),
        "leaving",
    ],
)
@pytest.mark.parametrize(("walks", "depth", "seed"), [(3 * CHUNK + 7, 9, 0), (40, 60, 2**62 + 1)])
def test_walks_are_those_of_plain_python(toy: str, walks: int, depth: int, seed: int) -> None:
    assert_same(TOYS[toy], walks, depth, seed)


@examples(12, shrink=False)
@given(models())
def test_walks_through_random_models_are_those_of_plain_python(source: str) -> None:
    _, system = traced(load(source))
    assert_same(system, 60, 12, 5)


@pytest.mark.parametrize("workers", [1, 3, 5])
def test_threads_change_nothing(workers: int) -> None:
    one, many = sampled(ring(4), 5_000, 30, 11, 1), sampled(ring(4), 5_000, 30, 11, workers)
    for name in ("taken", "tally", "lengths", "ends", "reached", "first", "registers", "cursor"):
        assert (getattr(one.seen, name) == getattr(many.seen, name)).all(), name
    assert one.paths == many.paths


def test_another_seed_takes_other_walks() -> None:
    assert (sampled(ring(4), 500, 30, 1).seen.taken != sampled(ring(4), 500, 30, 2).seen.taken).any()


def test_every_enabled_instance_is_as_likely() -> None:
    """Eight instances lead from 0 to 1, 2, ... 7 (two to 7). Each is taken in about an eighth of the walks."""
    (place,) = leaves_of(("number", 0, 7))
    at_start = eq(leaf(place), number(0))
    ways = [transition("go", at_start, {0: number(min(i + 1, 7))}, which=i) for i in range(8)]
    walks = 80_000
    taken = sampled(system([place], [(0,)], ways), walks, 2, 3).seen.taken
    expected = walks / 8
    # With seven degrees of freedom chi-square is above 24.3 once in a thousand seeds; this is one seed.
    assert sum((n - expected) ** 2 / expected for n in taken.tolist()) < 24.3
    assert taken.sum() == walks


def test_initial_states_are_as_likely() -> None:
    (place,) = leaves_of(("number", 0, 3))
    ways = [transition("stay", eq(leaf(place), number(i)), {}, which=i) for i in range(4)]
    taken = sampled(system([place], [(i,) for i in range(4)], ways), 40_000, 2, 9).seen.taken
    assert sum((n - 10_000) ** 2 / 10_000 for n in taken.tolist()) < 16.3  # once in a thousand, three degrees


@pytest.mark.parametrize("count", [0, 1, 100, 40_000, pytest.param(1_000_000, marks=RELEASE)])
def test_different_fingerprints_are_counted_within_the_stated_error(count: int) -> None:
    registers = np.zeros(1 << walk_loops.FINGERPRINT_BITS, dtype=np.uint8)
    for h in range(count):
        walk_loops.fingerprint(registers, np.uint64(h * 2654435761))
    assert estimate(registers) == pytest.approx(count, rel=3 * STANDARD_ERROR, abs=1)


def test_walks_stop_after_the_round_with_a_violation() -> None:
    (place,) = leaves_of(("number", 0, 1))
    step = transition("go", not_(eq(leaf(place), number(1))), {0: number(1)})
    found = sampled(system([place], [(0,)], [step], invariants=[predicate("never", FALSE)]), 10**9, 5, 1)
    assert found.seen.walks == 0  # the initial state is wrong already
    bad = predicate("zero", eq(leaf(place), number(0)))
    found = sampled(system([place], [(0,)], [step], invariants=[bad]), 10**9, 5, 1)
    assert (found.seen.walks, found.paths["zero"].instances) == (32 * CHUNK, (0,))
