"""In random graphs, the canonical trace is the trace that a search through all shortest paths picks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from isrcheck.checker.results.exploration import Edges
from isrcheck.checker.trace import canonical
from tests.agreement.profiles import attempts, examples

Step = tuple[int, int, int]


@dataclass
class Graph:
    """States are numbers in levels. `steps` has (state, instance, state), with one target for a state and an instance.

    `order` has the leaves of each state. `bad` has the states to reach. Those of them that are in no level are not
    counted.
    """

    levels: list[list[int]]
    steps: list[Step]
    order: list[int]
    bad: set[int]
    actors: list[str]

    def edges_into_violation(self, level: int, invariant: str) -> Edges:
        return self.edges_into(level, sorted(self.bad))

    def edges_into(self, level: int, targets: list[int]) -> Edges:
        found = [x for x in self.steps if x[0] in self.levels[level - 1] and x[2] in targets]
        sources = sorted({s for s, _, _ in found}, reverse=True)
        rows = [(sources.index(s), i, targets.index(t)) for s, i, t in found]
        source, instance, target = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return Edges(sources, targets, source, instance, target)

    def deadlocked(self, level: int) -> list[int]:
        return []

    def state(self, leaves: tuple[int, ...]) -> list[int]:
        return [self.order.index(leaves[0])]

    def leaves(self, states: list[int]) -> list[tuple[int, ...]]:
        return [(self.order[state],) for state in states]


@st.composite
def graphs(draw: Any, widest: int = 3) -> Graph:
    """Random graphs of two to five levels. The last level has states to reach, and there are many parallel steps."""
    widths = draw(st.lists(st.integers(1, widest), min_size=2, max_size=5))
    total = itertools.count()
    levels = [[next(total) for _ in range(width)] for width in widths]
    states = next(total)
    order = draw(st.permutations(range(states)))
    actors = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=5))
    steps = []
    for here, there in itertools.pairwise(levels):
        for state in here:
            chosen = draw(st.lists(st.sampled_from([None, *there]), min_size=len(actors), max_size=len(actors)))
            steps += [(state, i, target) for i, target in enumerate(chosen) if target is not None]
    bad = set(levels[-1][: draw(st.integers(1, len(levels[-1])))])
    return Graph(levels, steps, list(order), bad, actors)


def paths(graph: Graph, state: int, level: int) -> Iterator[tuple[int, ...]]:
    """The instances of every path from a state to a bad state in the last level."""
    if level == len(graph.levels):
        if state in graph.bad:
            yield ()
        return
    for source, instance, target in graph.steps:
        if source == state:
            yield from ((instance, *rest) for rest in paths(graph, target, level + 1))


def changes(graph: Graph, instances: tuple[int, ...]) -> int:
    return sum(graph.actors[a] != graph.actors[b] for a, b in itertools.pairwise(instances))


def picked(graph: Graph) -> tuple[int, tuple[int, ...]] | None:
    """The canonical path, chosen from all paths literally as its definition says."""
    starts = [s for s in graph.levels[0] if any(True for _ in paths(graph, s, 1))]
    if not starts:
        return None
    start = min(starts, key=lambda s: graph.order[s])
    left = list(paths(graph, start, 1))
    for k in range(len(graph.levels) - 1):
        # Of all that remain, the step with the fewest changes from its predecessor on, then the least label.
        instance = min(left, key=lambda p: (changes(graph, p[max(k - 1, 0) :]), p[k]))[k]
        left = [p for p in left if p[k] == instance]
    return graph.order[start], left[0]


def assert_canonical(graph: Graph) -> None:
    wanted = picked(graph)
    if wanted is not None:
        expected = canonical.Path((wanted[0],), wanted[1])
        length = len(graph.levels)
        assert canonical.to_violation(graph, length, "any", graph.actors) == expected
        assert canonical.to_states(graph, length, sorted(graph.bad), graph.actors) == expected


@examples(1200)
@given(graphs())
def test_the_trace_is_the_one_that_the_contract_picks_among_all_shortest_paths(graph: Graph) -> None:
    assert_canonical(graph)


def test_a_change_of_actor_costs_the_same_now_and_later() -> None:
    """Two paths have one change each, so the least label decides: the step of the same actor comes first."""
    steps = [(0, 0, 1), (1, 1, 2), (1, 2, 3), (2, 3, 4), (3, 3, 4)]
    graph = Graph([[0], [1], [2, 3], [4]], steps, list(range(5)), {4}, ["a", "a", "b", "b"])
    assert canonical.to_states(graph, 4, [4], graph.actors) == canonical.Path((0,), (0, 1, 3))


def test_a_path_of_one_state_is_the_least_of_the_states_to_reach() -> None:
    graph = Graph([[0, 1, 2]], [], [2, 1, 0], {0, 1}, ["a"])
    assert canonical.to_states(graph, 1, [0, 1], graph.actors) == canonical.Path((1,), ())


def assert_noticed() -> None:
    def differs(graph: Graph) -> bool:
        try:
            assert_canonical(graph)
        except AssertionError:
            return True
        return False

    try:
        find(graphs(), differs, settings=attempts(400))
    except NoSuchExample:
        pytest.fail("nobody noticed")


def test_a_wrong_choice_among_equals_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    lexsort = np.lexsort
    monkeypatch.setattr(canonical.np, "lexsort", lambda keys: lexsort((-keys[0], keys[1])))
    assert_noticed()


def test_changes_of_actor_that_are_not_weighed_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = canonical._weights
    monkeypatch.setattr(canonical, "_weights", lambda *given: [0 * w for w in weights(*given)])
    assert_noticed()


def test_a_previous_actor_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    lexsort = np.lexsort

    def by_label_only(keys: Any) -> Any:
        return lexsort((keys[0], np.zeros_like(keys[1])))

    monkeypatch.setattr(canonical.np, "lexsort", by_label_only)
    assert_noticed()


def test_another_initial_state_than_the_least_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "min", lambda *given, **by: max(*given, **by), raising=False)
    assert_noticed()
