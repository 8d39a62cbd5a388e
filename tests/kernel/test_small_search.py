"""The search for small state spaces gives the answers of the large search, which takes over if it gives up."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import run

import numpy as np
import pytest

from isrcheck.checker.engines.explicit import large_search as large
from isrcheck.checker.engines.explicit import search_cache, small_search
from isrcheck.checker.engines.explicit.large_kernel import Arranged
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.engines.explicit.small_search import SmallSearch, TooLarge
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.results.exploration import Exploration, Limits, Progress
from isrcheck.model.semantics.expressions import eq, le, leaf, lt
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.kernel.toys import grid, leaves_of, number, predicate, ring

ANYTHING = {"keep_going": False, "deadlock": True, "limits": Limits(), "report": None}


def comparable(found: Exploration) -> Exploration:
    return replace(found, seconds={}, peak_store_bytes=0, workers=0)


@pytest.mark.parametrize("toy", [grid([5, 4]), ring(7), grid([30] * 3)], ids=["grid", "ring", "cube"])
def test_both_searches_find_the_same_levels(toy: TransitionSystem) -> None:
    (one, its), (other, levels) = search(toy, **ANYTHING), search(toy, **ANYTHING, small=0)  # type: ignore[arg-type]
    assert type(its) is not type(levels)
    assert comparable(one) == comparable(other)
    assert its.depth == levels.depth == len(one.levels)
    for level in range(1, its.depth + 1):
        rows, others = its.level_states(level), levels.level_states(level)
        assert np.array_equal(np.unique(rows, axis=0), np.unique(others, axis=0))
        edges, same = its.edges_into(level, others[:3]), levels.edges_into(level, others[:3])
        assert len(edges.source) == len(same.source)


def test_a_space_that_is_larger_is_explored_by_the_other_search(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = grid([10, 10])
    with pytest.raises(TooLarge):
        SmallSearch(toy, Kernel(toy), Limits(), None, 0.0, largest=99).explore(False, False)
    assert SmallSearch(toy, Kernel(toy), Limits(), None, 0.0, largest=100).explore(False, False).levels
    assert comparable(search(toy, **ANYTHING, small=99)[0]) == comparable(search(toy, **ANYTHING)[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(("keep_going", "workers"), [pytest.param(False, 1, marks=pytest.mark.exhaustive), (True, 2)])
def test_the_other_search_goes_on_with_the_whole_levels_of_a_small_one(keep_going: bool, workers: int) -> None:
    x = leaf(leaves_of(("number", 0, 5), ("number", 0, 5))[0])
    toy = grid([6, 6], goals=[predicate("three", eq(x, number(3)))], constraints=[predicate("few", le(x, number(4)))])
    toys = [toy, replace(toy, invariants=(predicate("four", lt(x, number(4))),)), ring(4)]
    for toy in toys:
        how = {**ANYTHING, "keep_going": keep_going, "workers": workers}
        wanted, levels = search(toy, **how, small=0)  # type: ignore[arg-type]
        for size in range(1, sum(wanted.levels) + 2, 4):
            found, its = search(toy, **how, small=size)  # type: ignore[arg-type]
            assert comparable(found) == comparable(wanted)
            assert its.depth == levels.depth
            for level in range(1, its.depth + 1):
                assert np.array_equal(*(np.unique(x.level_states(level), axis=0) for x in (its, levels)))


def test_an_interrupt_between_the_searches_keeps_the_whole_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object, **how: object) -> None:
        raise KeyboardInterrupt

    toy = grid([10, 10])
    wanted = search(toy, **ANYTHING)[0].levels  # type: ignore[arg-type]
    monkeypatch.setattr(large, "search_large", interrupted)
    found, levels = search(toy, **ANYTHING, small=50)  # type: ignore[arg-type]
    assert (found.stopped, found.levels) == ("interrupt", wanted[: len(found.levels)])
    assert levels.depth == len(found.levels) == 9  # of which 45 states are
    with pytest.raises(KeyboardInterrupt):
        search(toy, **ANYTHING, small=0)  # type: ignore[arg-type]


def test_an_interrupt_after_the_end_of_a_search_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    toy = grid([10, 10])
    anything = {**ANYTHING, "keep_going": True}
    wanted = search(toy, **anything)[0]  # type: ignore[arg-type]
    monkeypatch.setattr(search_cache, "note_compiled", interrupted)
    found = search(toy, **anything, small=50)[0]  # type: ignore[arg-type]
    assert found.stopped == "interrupt"
    assert comparable(replace(found, stopped=None)) == comparable(wanted)


def test_arrays_explore_more_where_the_other_search_was_never_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ISRCHECK_CACHE", str(tmp_path / "cache"))
    module = sys.modules[search.__module__]
    monkeypatch.setattr(module, "LARGEST", 50)
    monkeypatch.setattr(module, "LARGEST_AT_FIRST", 150)

    def explored(side: int) -> bool:
        """True if the small search explores the whole state space."""
        return isinstance(search(grid([side, 10]), **ANYTHING)[1], small_search.SmallLevels)  # type: ignore[arg-type]

    monkeypatch.setattr(search_cache, "_loaded", False)
    assert [explored(10), explored(10), explored(20)] == [True, True, False]
    assert [explored(10), explored(5)] == [False, True]
    monkeypatch.setattr(search_cache, "_loaded", False)  # as in another process
    assert not explored(10)
    monkeypatch.setenv("ISRCHECK_CACHE", "")
    assert not explored(10)  # nothing is kept, but this process has the loops
    monkeypatch.setattr(search_cache, "_loaded", False)
    assert explored(10)
    # Of wide states arrays explore fewer.
    for words, whole in ((150, True), (99, False)):
        monkeypatch.setattr(search_cache, "_loaded", False)
        monkeypatch.setattr(module, "WORDS_AT_FIRST", words)
        assert explored(10) == whole


def test_what_is_compiled_ahead_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, calls, made = Arranged.begin, list[int](), set[int]()

    def noted(large: Arranged, levels: Sequence[Words]) -> None:
        begin(large, levels)
        calls.append(sum(map(len, levels)))
        made.add(id(large.kernel))

    monkeypatch.setattr(Arranged, "begin", noted)
    search(grid([10, 10]), **ANYTHING, small=50)  # type: ignore[arg-type]
    assert len(calls) == 1  # when it is needed: the only processor has other work
    calls.clear()
    made.clear()
    search(grid([10, 10]), **ANYTHING, workers=2, small=50)  # type: ignore[arg-type]
    assert len(calls) > 1
    assert calls[0] < calls[-1]
    assert len(made) == 1


def test_states_with_one_hash_are_found_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of 64 bits practically never collide, so the test shortens them."""
    toy = grid([6, 6])
    wanted, levels = search(toy, **ANYTHING)  # type: ignore[arg-type]
    targets = levels.level_states(4)
    edges = levels.edges_into(3, targets)
    hashes = Kernel.hashes
    monkeypatch.setattr(Kernel, "hashes", lambda self, states: hashes(self, states) & np.uint64(1))
    found, levels = search(toy, **ANYTHING)  # type: ignore[arg-type]
    assert comparable(found) == comparable(wanted)
    with pytest.raises(small_search.Ambiguous):
        small_search.Known.of(levels.kernel, targets)
    same = levels.edges_into(3, targets)
    assert np.array_equal(same.targets, edges.targets)
    assert sorted(zip(same.transition, same.target, strict=True)) == sorted(
        zip(edges.transition, edges.target, strict=True)
    )


def test_an_interrupt_and_the_time_leave_whole_levels() -> None:
    toy, seen = grid([40] * 3), list[Progress]()

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        raise KeyboardInterrupt

    monkey = pytest.MonkeyPatch()
    with monkey.context() as patched:
        patched.setattr(small_search, "BLOCK", 64)
        found = SmallSearch(toy, Kernel(toy), Limits(), interrupt, 0.0).explore(False, False)
    whole = search(toy, **ANYTHING)[0].levels  # type: ignore[arg-type]
    assert (found.stopped, found.levels) == ("interrupt", whole[: len(found.levels)])
    assert found.partial is not None
    assert 0 < found.partial["distinct"] <= whole[len(found.levels)]
    assert seen[0].frontier == found.levels[-1]
    found = SmallSearch(toy, Kernel(toy), Limits(seconds=1e-9), None, 0.0).explore(False, False)
    assert (found.stopped, found.levels) == ("time", [1])


CODE = """
import sys
import isrcheck
result = isrcheck.check("kip-101", {"replicas": 2})
print(result.verdict, sorted({"numba"} & set(sys.modules)))
"""


def test_a_small_check_imports_no_numba() -> None:
    assert run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout == "violated []\n"
