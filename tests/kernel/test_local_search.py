"""The local engine has the same counts as a search in plain Python, and stops at the right places."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.engines.explicit import large_search, search_loops
from isrcheck.checker.engines.explicit.large_search import TableSearch, minimum_memory
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.engines.explicit.memory_account import OutOfMemory
from isrcheck.checker.engines.explicit.table_store import GROWTH, Store
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.results.exploration import Edges, Exploration, Limits, Progress
from isrcheck.checker.results.result import LimitTooSmall
from isrcheck.model.semantics.expressions import FALSE, TRUE, Expression, Leaf, add, and_, eq, le, leaf, lt, not_, or_
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.profiles import examples
from tests.kernel.large import search
from tests.kernel.toys import State, explore, grid, leaves_of, number, predicate, ring, successors, system, transition


def run(
    toy: TransitionSystem, keep_going: bool = True, deadlock: bool = False, limits: Limits | None = None
) -> tuple[Exploration, NativeLevels]:
    return search(toy, keep_going=keep_going, deadlock=deadlock, limits=limits or Limits(), report=None)


def wide(words: int) -> TransitionSystem:
    """A system with counters up to 2, each in a leaf that fills a whole word."""
    leaves = leaves_of(*(("number", 0, (1 << 62) - 1) for _ in range(words)))
    steps = [transition("step", lt(leaf(x), number(2)), {x.index: add(leaf(x), number(1))}) for x in leaves]
    return system(leaves, [[0] * words], steps)


def below(toy_side: int, bound: int) -> TransitionSystem:
    """A grid of two counters, with a constraint that keeps their sum below a bound."""
    x, y = leaves_of(("number", 0, toy_side - 1), ("number", 0, toy_side - 1))
    total = add(leaf(x), leaf(y))
    return grid(
        [toy_side, toy_side],
        constraints=[predicate("small", lt(total, number(bound)))],
        invariants=[
            predicate("never-at-bound", not_(eq(total, number(bound)))),
            predicate("x-below-3", le(leaf(x), number(2))),
            predicate("true", TRUE),
        ],
        goals=[predicate("at-bound", eq(total, number(bound))), predicate("x-3", eq(leaf(x), number(3)))],
        bounds=[predicate("x-2", eq(leaf(x), number(2)))],
    )


TOYS = {
    "ring": ring(3),
    "ring of five": ring(5),
    "grid": grid([3, 4, 5]),
    "grid of four words": wide(4),
    "constrained": below(7, 4),
    "no transitions": system(leaves_of(("number", 0, 3)), [(1,), (2,)], []),
    "nothing counted": system(leaves_of(("flag", 0, 1)), [(0,), (1,)], [], constraints=[predicate("none", FALSE)]),
    "one outside": system(
        leaves_of(("number", 0, 3)),
        [(0,), (3,)],
        [transition("up", lt(leaf(leaves_of(("number", 0, 3))[0]), number(3)), {0: number(3)})],
        constraints=[predicate("not-3", lt(leaf(leaves_of(("number", 0, 3))[0]), number(3)))],
        invariants=[predicate("never-3", lt(leaf(leaves_of(("number", 0, 3))[0]), number(3)))],
    ),
}


def states_of(levels: NativeLevels, level: int) -> set[State]:
    found = levels.leaves(levels.level_states(level))
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize("name", TOYS)
def test_counts_and_levels_agree_with_plain_python(name: str) -> None:
    toy = TOYS[name]
    found, levels = run(toy, deadlock=True)
    wanted = explore(toy)
    assert found.initial == len(toy.initial)
    assert found.levels == [len(level) for level in wanted.levels]
    assert [states_of(levels, k + 1) for k in range(len(found.levels))] == [set(level) for level in wanted.levels]
    assert found.generated == wanted.generated
    assert found.rejected == wanted.rejected
    assert (found.violated, found.goals, found.bounds) == (wanted.violated, wanted.goals, wanted.bounds)
    assert found.degrees == wanted.degrees
    assert found.deadlock == wanted.deadlock
    assert (found.stopped, found.error, found.partial, found.partial_violations) == (None, None, None, set())


@examples(30)
@given(st.data())
def test_random_systems_agree_with_plain_python(data: st.DataObject) -> None:
    sizes = [data.draw(st.integers(1, 5)) for _ in range(3)]
    leaves = leaves_of(*(("number", -2, size - 2) for size in sizes))

    def condition() -> Expression:
        x = data.draw(st.sampled_from(leaves))
        return data.draw(st.sampled_from([le, eq]))(leaf(x), number(data.draw(st.integers(x.low, x.high))))

    def update(x: Leaf) -> Expression:
        return number(data.draw(st.integers(x.low, x.high)))

    steps = []
    for i in range(data.draw(st.integers(1, 8))):
        changed = data.draw(st.sets(st.sampled_from(leaves), max_size=2))
        updates = {x.index: update(x) for x in sorted(changed, key=lambda x: x.index)}
        guard = and_(condition(), or_(condition(), not_(condition())))
        steps.append(transition(f"a{i % 3}", guard, updates, which=i))
    initial = [tuple(data.draw(st.integers(x.low, x.high)) for x in leaves) for _ in range(2)]
    toy = system(
        leaves,
        initial,
        steps,
        constraints=[predicate("c", or_(condition(), condition()))],
        invariants=[predicate("i", not_(and_(condition(), condition())))],
        goals=[predicate("g", condition())],
    )
    found, wanted = run(toy, deadlock=True)[0], explore(toy)
    assert found.levels == [len(level) for level in wanted.levels]
    assert (found.generated, found.rejected, found.violated) == (wanted.generated, wanted.rejected, wanted.violated)
    assert (found.goals, found.degrees, found.deadlock) == (wanted.goals, wanted.degrees, wanted.deadlock)


# --- where it stops -------------------------------------------------------------------------------------------------


def test_a_violation_stops_the_search_at_the_end_of_its_level() -> None:
    found, _ = run(below(7, 4), keep_going=False)
    wanted = explore(below(7, 4))
    assert found.stopped == "violation"
    assert found.violated == {"x-below-3": 4}
    assert found.levels == [len(level) for level in wanted.levels[:4]]
    assert found.generated == wanted.generated[:3]
    assert found.rejected == 0


def test_a_violation_outside_the_constraints_stops_the_search_too() -> None:
    toy = below(7, 4)
    found, levels = run(replace(toy, invariants=toy.invariants[:1]), keep_going=False)
    assert (found.stopped, found.violated, found.levels) == ("violation", {"never-at-bound": 5}, [1, 2, 3, 4])
    assert found.rejected == 8
    edges = levels.edges_into_violation(4, "never-at-bound")
    assert sorted(levels.leaves(edges.targets)) == [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)]


def test_a_violating_initial_state_stops_before_anything_is_expanded() -> None:
    x = leaf(leaves_of(("number", 0, 3))[0])
    toy = grid([4], invariants=[predicate("positive", lt(number(0), x))])
    found, _ = run(toy, keep_going=False)
    assert (found.stopped, found.levels, found.generated, found.degrees) == ("violation", [1], [], None)


def test_a_deadlock_ends_the_search_at_its_own_level_and_the_next_is_not_kept() -> None:
    x, y = (leaf(z) for z in leaves_of(("number", 0, 3), ("number", 0, 3)))
    stuck = and_(eq(x, number(1)), eq(y, number(0)))
    toy = grid([4, 4], invariants=[predicate("x-below-2", lt(x, number(2)))])
    steps = [replace(t, guard=and_(t.guard, not_(stuck))) for t in toy.transitions]
    found, _ = run(replace(toy, transitions=tuple(steps)), keep_going=False, deadlock=True)
    assert (found.stopped, found.deadlock, found.levels, found.violated) == ("violation", 2, [1, 2], {})
    assert len(found.generated) == 1
    ignored, _ = run(replace(toy, transitions=tuple(steps)), keep_going=False)
    assert (ignored.deadlock, ignored.violated) == (None, {"x-below-2": 4})
    _, levels = run(replace(toy, transitions=tuple(steps)), deadlock=True)
    assert levels.leaves(levels.deadlocked(2)) == [(1, 0)]
    assert len(levels.deadlocked(3)) == 0


def test_a_failing_instance_stops_with_the_least_state_and_transition() -> None:
    x, y = (leaf(z) for z in leaves_of(("number", 0, 3), ("number", 0, 3)))
    toy = grid([4, 4])
    sick = transition("sick", TRUE, {0: number(0)}, and_(eq(add(x, y), number(2)), lt(number(0), x)), which=8)
    found, _ = run(replace(toy, transitions=(sick, *toy.transitions, sick), actions=("sick", "step-0", "step-1")))
    assert (found.stopped, found.error) == ("error", (3, (1, 1), 0))
    assert found.levels == [1, 2, 3]


def test_a_failing_predicate_stops_with_the_least_state_also_outside_the_constraints() -> None:
    x, y = (leaf(z) for z in leaves_of(("number", 0, 3), ("number", 0, 3)))
    toy = grid([4, 4], invariants=[predicate("sick", TRUE, eq(add(x, y), number(2)))])
    found, _ = run(toy)
    assert (found.stopped, found.error, found.levels) == ("error", (3, (0, 2), None), [1, 2, 3])
    outside = replace(toy, constraints=(predicate("small", lt(add(x, y), number(2))),))
    found, _ = run(outside)
    assert (found.stopped, found.error, found.levels) == ("error", (3, (0, 2), None), [1, 2])


def test_a_failing_initial_state() -> None:
    found, _ = run(grid([4], goals=[predicate("sick", TRUE, TRUE)]))
    assert (found.stopped, found.error, found.goals) == ("error", (1, (0,), None), {})


def test_the_limit_of_states_is_tested_at_the_end_of_a_level() -> None:
    found, _ = run(grid([5, 5]), limits=Limits(states=5))
    assert (found.stopped, found.levels, found.partial) == ("states", [1, 2, 3], None)
    assert run(grid([5, 5]), limits=Limits(states=25))[0].stopped is None
    assert run(grid([5, 5]), limits=Limits(states=24))[0].stopped == "states"


@pytest.mark.exhaustive
@pytest.mark.parametrize("levels", [-1, large_search.MOST_LEVELS], ids=["table", "runs"])
def test_the_limit_of_seconds_gives_whole_levels_and_what_was_seen_of_the_next(
    levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By runs, only what is settled counts as a state of the next level."""
    monkeypatch.setattr(large_search, "MOST_LEVELS", levels)
    found, _ = run(grid([40] * 5), limits=Limits(seconds=0.5))
    whole = [len(level) for level in explore(grid([6] * 5)).levels[:6]]
    assert found.stopped == "time"
    assert found.levels[:6] == whole
    assert len(found.generated) == len(found.levels) - 1
    assert found.partial is not None
    assert found.partial["generated"] >= found.partial["distinct"] >= 0
    assert found.partial["generated"] > 0
    assert levels > 0 or found.partial["distinct"] > 0


def test_the_limit_of_memory_is_kept_and_too_little_is_refused() -> None:
    toy = grid([40] * 4)
    least = minimum_memory(toy)
    found, _ = run(toy, limits=Limits(memory=4 * least))
    assert found.stopped == "memory"
    assert found.peak_store_bytes <= 4 * least
    assert sum(found.levels) > 1000
    assert run(toy, limits=Limits(memory=least))[0].stopped == "memory"
    with pytest.raises(LimitTooSmall, match=f"needs at least {least} bytes of memory; the limit is {least - 1}"):
        run(toy, limits=Limits(memory=least - 1))


def test_a_violation_seen_in_a_level_that_is_not_whole_is_named() -> None:
    w, x, y, z = (leaf(i) for i in leaves_of(*(("number", 0, 63) for _ in range(4))))
    total = add(add(w, x), add(y, z))
    toy = grid([64] * 4, invariants=[predicate(f"below-{i}", lt(total, number(i))) for i in range(1, 100)])
    found, levels = run(toy, limits=Limits(memory=2 * minimum_memory(toy)))
    depth = len(found.levels)
    assert found.partial_violations == {f"below-{depth}"}
    assert found.violated == {f"below-{i}": i + 1 for i in range(1, depth + 1)}
    targets = levels.leaves(levels.edges_into_violation(depth, f"below-{depth}").targets)
    assert {sum(state) for state in targets} == {depth}


def test_an_interruption_keeps_the_whole_levels() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.distinct > 500_000:
            signal.raise_signal(signal.SIGINT)

    toy = grid([24] * 5)
    found, levels = search(toy, keep_going=False, deadlock=False, limits=Limits(), report=interrupt)
    assert found.stopped == "interrupt"
    assert found.levels[:3] == [1, 5, 15]
    assert len(levels.level_states(len(found.levels))) == found.levels[-1]


def test_progress_tells_where_the_search_is() -> None:
    seen: list[Progress] = []
    found, _ = search(grid([30] * 4), keep_going=False, deadlock=False, limits=Limits(), report=seen.append)
    assert seen
    assert [p.distinct for p in seen] == sorted(p.distinct for p in seen)
    assert all(0 < p.expanded <= p.frontier == found.levels[p.level - 2] for p in seen)
    assert seen[-1].memory <= found.peak_store_bytes


# --- the store ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row_bytes", [3, 5, 8, 9, 14, 15, 16, 18, 23, 40])
def test_a_store_grows_and_keeps_every_state_once(row_bytes: int) -> None:
    """The store has each of many random states once. The states use every bit, and many of them share words."""
    generator, words = np.random.default_rng(4), (row_bytes + 7) // 8
    drawn = generator.integers(0, 256, size=(20_000, row_bytes), dtype=np.uint8)
    drawn[:5000, :-1] = drawn[5000:10_000, :-1]
    states = np.zeros((len(drawn), 8 * words), dtype=np.uint8)
    states[:, :row_bytes] = drawn
    states = states.view("<u8")
    kernel = Kernel(system(leaves_of(*(("number", 0, 1 << 62) for _ in range(words))), [], []))
    assert kernel.words == words
    store, known = Store(kernel.layout, first_entries=2), set[tuple[int, ...]]()
    for part in np.array_split(np.concatenate([states, states[::-1]]), 7):
        store.insert(part)
        new = {tuple(row) for row in part.tolist()} - known
        known |= new
        assert store.fresh == len(new)
        store.close()
        assert len(known) == store.total
        if new:
            # The last level is in the queue, and all are in the table.
            assert stored(store, store.depth) == sorted(new)
    kept = [row for level in range(1, store.depth + 1) for row in stored(store, level)]
    assert sorted(kept) == sorted(known)
    assert store.held <= store.peak


def stored(store: Store, level: int) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for rows in store.blocks(level, 1000) for row in rows.tolist())


LAYOUT = Layout(ring(3).leaves)


def test_partitions_do_not_all_grow_at_the_same_moment() -> None:
    capacities = np.sort(Store(LAYOUT, first_entries=1 << 14).partitions[:, search_loops.CAPACITY])
    assert (np.diff(capacities) > 0).all()
    assert capacities[-1] > 0.99 * GROWTH * capacities[0]


def test_a_store_refuses_to_grow_past_its_limit() -> None:
    store = Store(LAYOUT)
    with pytest.raises(OutOfMemory):
        Store(LAYOUT, limit=store.held - 1)


def test_a_search_from_the_smallest_store_and_chunks_agrees() -> None:
    toy, wanted = ring(4), explore(ring(4))
    kernel = Kernel(toy)
    tiny = Store(kernel.layout, first_entries=2, chunk=512)
    found = TableSearch(kernel, tiny, Limits(), None, time.perf_counter()).explore(True, False)
    assert (found.levels, found.generated) == ([len(level) for level in wanted.levels], wanted.generated)


# --- levels, for traces ---------------------------------------------------------------------------------------------


def steps_of(levels: NativeLevels, edges: Edges) -> set[tuple[State, int, State]]:
    sources, targets = levels.leaves(edges.sources), levels.leaves(edges.targets)
    triples = zip(edges.source.tolist(), edges.transition.tolist(), edges.target.tolist(), strict=True)
    found = [(sources[s], t, targets[g]) for s, t, g in triples]
    assert len(found) == len(set(found))
    assert {s for s, _, _ in found} == set(sources)
    return set(found)


def test_edges_into_targets_are_all_steps_into_them() -> None:
    toy = ring(3)
    _, levels = run(toy)
    wanted = explore(toy).levels
    for level in range(1, len(wanted)):
        targets = levels.level_states(level + 1)[::2]
        chosen = set(levels.leaves(targets))
        steps = {(s, t, g) for s in wanted[level - 1] for t, g in successors(toy, s) if g in chosen}
        assert steps_of(levels, levels.edges_into(level, targets)) == steps


def test_edges_into_a_violation_go_to_counted_states_and_others() -> None:
    toy = below(7, 4)
    _, levels = run(toy)
    violations: dict[str, Callable[[State], bool]] = {
        "never-at-bound": lambda s: sum(s) == 4,
        "x-below-3": lambda s: s[0] > 2,
    }
    for name, wanted in violations.items():
        edges = levels.edges_into_violation(4, name)
        steps = {(s, t, g) for s in explore(toy).levels[3] for t, g in successors(toy, s) if wanted(g)}
        assert steps_of(levels, edges) == steps
    assert len(levels.edges_into_violation(1, "true").sources) == 0


def test_a_state_given_by_its_leaves_has_steps_into_it_whether_it_is_counted_or_not() -> None:
    _, levels = run(below(7, 4))
    for state, level in (((1, 1), 2), ((2, 2), 4)):
        targets = levels.state(state)
        assert levels.leaves(targets) == [state]
        assert len(levels.edges_into(level, targets).source) == 2
