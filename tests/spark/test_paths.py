"""In random graphs, the paths that tasks find in a dataset's files are the canonical paths."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as Folder
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from isrcheck.checker.datasets.storage import Storage
from isrcheck.checker.engines.spark import backward_search, state_files
from isrcheck.checker.engines.spark import dataset_paths as paths
from isrcheck.checker.engines.spark import dataset_paths as stored
from isrcheck.checker.engines.spark.dataset_paths import StoredLevels, StoredPaths
from isrcheck.checker.results.exploration import Exploration, Path
from isrcheck.model.semantics.expressions import FALSE, Expression, and_, eq, if_, leaf, not_, or_
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem
from tests.agreement.profiles import attempts, examples
from tests.agreement.test_canonical_trace import Graph, graphs, picked
from tests.kernel.toys import grid, leaves_of, number, predicate, system, transition
from tests.spark.searching import StandIn, explored

FAILING = st.sets(st.integers(0, 29), max_size=12)
Case = tuple[Graph, int, int, int, set[int]]
"""A graph, the owners, the states of a cone that a task holds, the bytes that it returns, and the failing states."""
CASES = st.tuples(
    graphs(6), st.sampled_from([1, 2, 7]), st.sampled_from([0, 99]), st.sampled_from([0, 24, 99]), FAILING
)


PLACES: Final = leaves_of(("number", 0, 7), ("number", 0, 7))


def leaves(order: int) -> tuple[int, int]:
    """The leaves of a state. Their order is the order of the states."""
    return order // 8, order % 8


def at(states: set[int]) -> Expression:
    where = (zip(PLACES, leaves(x), strict=True) for x in sorted(states))
    return or_(FALSE, *(and_(*(eq(leaf(place), number(x)) for place, x in pairs)) for pairs in where))


def system_of(graph: Graph, failing: set[int], predicates_fail: bool) -> TransitionSystem:
    """The graph as a system, with each state's order in its leaves. Instances fail, or else the invariant."""
    order = graph.order
    transitions: list[Transition] = []
    for instance, actor in enumerate(graph.actors):
        to = {order[s]: order[t] for s, i, t in graph.steps if i == instance}
        values = [leaf(place) for place in PLACES]
        for source, target in to.items():
            values = [if_(at({source}), number(x), y) for x, y in zip(leaves(target), values, strict=True)]
        # Of two instances that fail in the same state the least is reported.
        failure = at(failing if instance and not predicates_fail else set())
        step = transition(f"i{instance}", at(set(to)), dict(enumerate(values)), failure)
        transitions.append(replace(step, actor=actor))
    invariant = predicate("good", not_(at({order[x] for x in graph.bad})), at(failing if predicates_fail else set()))
    return system(PLACES, [leaves(order[x]) for x in graph.levels[0]], transitions, invariants=[invariant])


def asked(case: Case, predicates_fail: bool, ask: Callable[[Exploration, StoredLevels, StoredPaths], Any]) -> Any:
    graph, owners, held, inline, failing = case
    toy = system_of(graph, failing, predicates_fail)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "SMALL", 0)
        patch.setattr(backward_search, "HELD", held)
        patch.setattr(backward_search, "INLINE", inline)
        patch.setattr(backward_search, "CHUNK_BYTES", held)
        patch.setattr(state_files, "SLAB", 1)
        found, levels = explored(toy, folder, StandIn(owners, owners), keep_going=True, deadlock=True, group=2)
        answer = ask(found, levels, StoredPaths(levels, [t.actor for t in toy.transitions]))
        assert not list(Folder(folder).glob("cones*"))
    return answer


def wanted_of(graph: Graph) -> Path | None:
    chosen = picked(graph)
    return None if chosen is None else Path(leaves(chosen[0]), chosen[1])


def ends_at_deadlocks(graph: Graph, length: int) -> Graph:
    """The graph up to a level, with the states without a step in this level as the states to reach."""
    stuck = {x for x in graph.levels[length - 1] if not any(s == x for s, _, _ in graph.steps)}
    return replace(graph, levels=graph.levels[:length], bad=stuck)


def assert_canonical(case: Case) -> None:
    graph, length = case[0], len(case[0].levels)
    wanted = wanted_of(graph)

    def ask(found: Exploration, levels: StoredLevels, found_paths: StoredPaths) -> None:
        assert found.deadlock is not None
        to_end = found_paths.to_deadlock(found.deadlock)
        assert to_end == wanted_of(ends_at_deadlocks(graph, found.deadlock))
        assert found.violated.get("good") == (None if wanted is None else length)
        if wanted is not None:
            assert found_paths.to_violation("good", length) == wanted
        for state in graph.levels[-1]:
            one = wanted_of(replace(graph, bad={state}))
            if one is not None:
                assert found_paths.to_state(leaves(graph.order[state]), length) == one

    asked((*case[:4], set()), False, ask)


def reached(graph: Graph) -> list[set[int]]:
    """The orders of the states that are reached in each level."""
    levels = [set(graph.levels[0])]
    while levels[-1]:
        levels.append({t for s, _, t in graph.steps if s in levels[-1]})
    return [{graph.order[x] for x in level} for level in levels]


def assert_least_failure(case: Case) -> None:
    graph, failing = case[0], case[4]
    for predicates_fail in (False, True):
        error = asked(case, predicates_fail, lambda found, levels, paths: found.error)
        there = [(k, x) for k, level in enumerate(reached(graph), start=1) for x in sorted(level & failing)]
        assert error == (None if not there else (there[0][0], leaves(there[0][1]), None if predicates_fail else 1))


@pytest.mark.exhaustive
@examples(40)
@given(CASES)
def test_paths_are_those_that_the_contract_picks(case: Case) -> None:
    assert_canonical(case)


@pytest.mark.exhaustive
@examples(20)
@given(CASES)
def test_the_least_failure_is_found(case: Case) -> None:
    assert_least_failure(case)


def test_a_dataset_may_be_read_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Folder) -> None:
    """The cones are then stored elsewhere on this machine. A cluster has no such place."""
    toy = grid([4, 4], invariants=[predicate("near", not_(eq(leaf(leaves_of(("number", 0, 3))[0]), number(3))))])
    root, elsewhere, make = tmp_path / "dataset", tmp_path / "elsewhere", Storage.make
    spark = StandIn(2)
    found, levels = explored(toy, root, spark)
    there, found_paths = sorted(root.rglob("*")), StoredPaths(levels, [t.actor for t in toy.transitions])
    wanted = found_paths.to_violation("near", found.violated["near"])
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    used = []

    def refused(self: Storage, folder: str) -> None:
        if self.root == str(root):
            raise PermissionError(13, "Permission denied")
        used.append(self.root)
        make(self, folder)

    monkeypatch.setattr(Storage, "make", refused)
    assert found_paths.to_violation("near", found.violated["near"]) == wanted
    assert [Folder(place).parent for place in used] == [elsewhere]
    assert sorted(root.rglob("*")) == there
    assert not list(elsewhere.iterdir())
    spark.context.master = "spark://there:7077"
    with pytest.raises(OSError, match="make it writable for the driver and the executors"):
        found_paths.to_violation("near", found.violated["near"])


# --- broken on purpose ----------------------------------------------------------------------------------------------


def without_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward_search, "costs", lambda rows, words: np.zeros((len(rows), 9), dtype=np.uint32))


def without_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = backward_search.with_costs
    least = np.minimum
    monkeypatch.setattr(backward_search, "with_costs", lambda states, after: made(states, 0 * least(after, 0)))


def without_what_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    cone = StoredPaths._slice
    monkeypatch.setattr(StoredPaths, "_slice", lambda *asked: cone(*asked)[:1])


def without_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    around = state_files.Reader.around

    def shortened(self: Any, wanted: Any) -> Any:
        for rows, hashes, a, b in around(self, wanted):
            yield rows[1:], hashes[1:], a, b

    monkeypatch.setattr(state_files.Reader, "around", shortened)


def other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    lexsort = np.lexsort
    monkeypatch.setattr(paths.np, "lexsort", lambda keys: lexsort((-keys[0], *keys[1:])))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "broken", [without_costs, without_changes, without_what_is_large, without_first_row, other_order]
)
def test_what_is_broken_is_noticed(broken: Callable[[pytest.MonkeyPatch], None]) -> None:
    def differs(case: Case) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            broken(patch)
            try:
                assert_canonical(case)
            except Exception:
                return True
        return False

    try:
        find(CASES, differs, settings=attempts(200))
    except NoSuchExample:
        pytest.fail("nobody noticed")
