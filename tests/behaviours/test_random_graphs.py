"""The comparison of random graphs' behaviours, checked against the sets of all their words of up to eight letters."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from isrcheck.checker.analysis.inclusion.inclusion_check import Comparison, OneWay, compare
from isrcheck.checker.analysis.inclusion.subset_construction import Bounds
from isrcheck.checker.results.result import Trace
from tests.behaviours.graphs import Table, Word, pair, shortest_lacking, words
from tests.marks import EXHAUSTIVE, one_in

LONGEST = 8
SEEDS = range(100)


@cache
def found(seed: int) -> Comparison:
    one, other = pair(seed)
    return compare(one.side("one"), other.side("other"), ("seen",))


def both_ways(seed: int) -> list[tuple[OneWay, Table, Table]]:
    """For each direction: the answer, the side that should have the behaviour, and the other side."""
    one, other = pair(seed)
    return [(found(seed).gone, one, other), (found(seed).new, other, one)]


def word_of(trace: Trace) -> Word:
    letters = [step.state[0] for step in trace.steps]
    return tuple(x for i, x in enumerate(letters) if i == 0 or x != letters[i - 1])


@pytest.mark.parametrize("seed", one_in(3, SEEDS, EXHAUSTIVE))
def test_the_first_difference_is_that_of_all_words(seed: int) -> None:
    for way, mine, other in both_ways(seed):
        known = words(other, LONGEST)
        shortest = shortest_lacking(mine, known, LONGEST)
        length = None if way.endings is None else way.endings.trace.length
        assert (length if length is not None and length <= LONGEST else None) == shortest
        if way.endings is not None and way.endings.trace.length <= LONGEST:
            assert word_of(way.endings.trace) not in known
            reported = way.endings.other
            assert (() if reported is None else word_of(reported)) == word_of(way.endings.trace)[:-1]


@pytest.mark.exhaustive
def test_the_random_graphs_are_of_all_kinds() -> None:
    verdicts = Counter((found(seed).new.verdict, found(seed).gone.verdict) for seed in SEEDS)
    assert all(verdicts[new, gone] >= 5 for new in ("none", "found") for gone in ("none", "found"))
    lengths = Counter(w.endings.trace.length for s in SEEDS for w, _, _ in both_ways(s) if w.endings is not None)
    assert {2, 3, 4, 5} <= set(lengths)
    # Some parting is by a state in which the other side may be in several ways, and some behaviours stutter.
    assert any(word_of(w.endings.trace) != tuple(x.state[0] for x in w.endings.trace.steps)
               for s in SEEDS for w, _, _ in both_ways(s) if w.endings is not None)  # fmt: skip


@pytest.mark.parametrize("pairs", [2, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (1, 4))])
def test_what_is_known_where_a_limit_is_reached_is_true(pairs: int) -> None:
    stopped = 0
    for seed in SEEDS[:40]:
        one, other = pair(seed)
        way = compare(one.side("one"), other.side("other"), ("seen",), Bounds(pairs=pairs)).gone
        if way.verdict != "incomplete":
            continue
        stopped += 1
        assert way.depth is not None
        assert way.stopped == "pairs"
        assert shortest_lacking(one, words(other, LONGEST), min(way.depth, LONGEST)) is None
    assert stopped >= 5


def test_a_state_that_is_met_again_with_fewer_states_of_the_other_side_is_looked_at_again() -> None:
    """After the short path the other side may be in two states; after the long path in one, which has no step."""
    own = [((0, 0), (1, 0)), ((0, 0), (2, 0)), ((2, 0), (1, 0)), ((1, 0), (0, 1))]
    others = [((0, 0), (1, 1)), ((0, 0), (1, 2)), ((0, 0), (2, 0)), ((2, 0), (1, 2)), ((1, 1), (0, 1))]
    mine, other = (Table(tuple(edges), frozenset({(0, 0)}), frozenset()) for edges in (own, others))
    way = compare(mine.side("one"), other.side("other"), ("seen",)).gone
    assert way.endings is not None
    assert word_of(way.endings.trace) == (0, 2, 1, 0)


def test_everything_visible_is_compared_state_by_state() -> None:
    one, _ = pair(3)
    same = compare(one.side("one"), one.side("other"))
    assert (same.visible, same.hidden, same.exit_code) == (("seen", "hidden"), (), 0)
