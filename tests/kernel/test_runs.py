"""Sorted names on disk or in memory, and the store that consists of them, compared with sets."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isrcheck import check
from isrcheck.checker.engines.explicit import bucket_sort as buckets
from isrcheck.checker.engines.explicit import (
    large_search,
    run_loops,
    run_store,
    runs,
    search_loops,
    sort_loops,
    store_search,
    visited_bits,
)
from isrcheck.checker.engines.explicit.bucket_sort import FEWER_SLICES, MOST_BITS, SLICES, Buckets
from isrcheck.checker.engines.explicit.compressed_ids import one_by_one
from isrcheck.checker.engines.explicit.large_search import RunSearch, TableSearch
from isrcheck.checker.engines.explicit.level_search import Stopped
from isrcheck.checker.engines.explicit.memory_account import Account, OutOfMemory
from isrcheck.checker.engines.explicit.run_store import RunStore
from isrcheck.checker.engines.explicit.runs import MemoryFile
from isrcheck.checker.engines.explicit.search_loops import NONE, UNTIL
from isrcheck.checker.engines.explicit.search_loops import taken as loops_taken
from isrcheck.checker.engines.explicit.small_search import PLENTY
from isrcheck.checker.engines.explicit.store_search import Search
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.jit import Loop
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.results.exploration import Exploration, Limits, StateStore
from isrcheck.model.language.domains import number
from tests.agreement.profiles import examples
from tests.kernel.large import search
from tests.kernel.toys import grid
from tests.marks import EXHAUSTIVE, one_in

TOP = (1 << 64) - 1
WIDE = (1 << 32) - 1
GAPS = st.one_of(
    st.integers(1, 300),
    st.sampled_from([most + more for most in (0xFF, 0xFFFF, WIDE) for more in (0, 1)] + [1 << 40, (1 << 56) + 1]),
    st.integers(1, 1 << 52),
)


@st.composite
def ascending(draw: Any) -> Words:
    """Distinct names in ascending order, in one piece or several, mostly with small gaps or all with large gaps."""
    dice = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    gaps = dice.integers(1, draw(GAPS) + 1, draw(st.integers(0, 3 * run_loops.PIECE)), dtype=np.uint64)
    for place, gap in draw(st.lists(st.tuples(st.integers(0, len(gaps)), GAPS), max_size=20)):
        gaps[place : place + 1] = gap
    first = draw(st.sampled_from([0, 7, 1 << 33]))
    names = [first, *(first + np.cumsum(gaps.astype(object))).tolist()]
    return np.array([name for name in names if name <= TOP], dtype=np.uint64)


@pytest.fixture(params=["on disk", "in memory"])
def run_of(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    def made(names: Words, cuts: list[int]) -> runs.Run:
        account = Account(None)
        file = runs.File(str(tmp_path)) if request.param == "on disk" else MemoryFile(account)
        if request.param == "in memory":
            file.write(np.zeros(run_loops.CHUNK - 300, dtype=np.uint8))  # so that a piece lies in two chunks
        run = runs.Run(file, account)
        for part in np.split(names, sorted(cut % (len(names) + 1) for cut in cuts)):
            run.add(part)
        return run

    return made


@examples(40)
@given(names=ascending(), cuts=st.lists(st.integers(0, 1 << 20), max_size=3), data=st.data())
def test_a_run_has_what_was_added(run_of: Any, names: Words, cuts: list[int], data: st.DataObject) -> None:
    run, known = run_of(names, cuts), names.tolist()
    assert run.count == len(known)
    for largest in (1, 2 * run_loops.PIECE):
        assert np.concatenate([*run.blocks(largest), names[:0]]).tolist() == known
    near = st.sampled_from(known).flatmap(lambda name: st.integers(max(name - 1, 0), min(name + 1, TOP)))
    low, high = sorted((data.draw(near), data.draw(near)))
    assert run.between(low, high).tolist() == [name for name in known if low <= name < high]
    assert run.between(low, None).tolist() == [name for name in known if low <= name]


@examples(60)
@given(names=ascending(), others=ascending(), some=st.integers(0, 1 << 32), share=st.sampled_from([0.001, 0.1, 1.0]))
def test_a_run_strikes_what_it_has(run_of: Any, names: Words, others: Words, some: int, share: float) -> None:
    dice = np.random.default_rng(some)
    around = np.concatenate([names, names + np.uint64(1), others])
    asked = np.unique(around[dice.random(len(around)) < share])
    if len(asked):
        kept, known = np.ones(len(asked), dtype=np.uint8), set(names.tolist())
        run = run_of(names, [run_loops.PIECE, 5 * run_loops.PIECE // 2])
        runs.Known(run.file, [run]).strike(asked, kept)
        assert kept.tolist() == [name not in known for name in asked.tolist()]


def test_a_piece_has_the_sizes_of_its_differences_before_them_and_room_to_read_behind_them(run_of: Any) -> None:
    gaps = [1, 0xFF, 0x100, 0xFFFF, 0x10000, WIDE, WIDE + 1, *[7] * 26]
    names = np.cumsum(np.array([5, *gaps], dtype=np.uint64))
    (size,) = run_of(names, []).pieces.size
    assert size == 2 * 8 + (2 * 1 + 2 * 2 + 2 * 4 + 8 + 26) + 8


@settings(deadline=None)  # the first call compiles a loop
@given(
    st.lists(
        st.tuples(st.integers(0, WIDE), st.integers(0, WIDE)) | st.tuples(st.integers(0, 3), st.integers(0, 3)),
        max_size=300,
    )
)
def test_sorted_names_are_so_and_distinct(halves: list[tuple[int, int]]) -> None:
    names = np.array([high << 32 | low for high, low in halves], dtype=np.uint64)
    expected = sorted(set(names.tolist()))
    count = sort_loops.sorted_distinct(names, np.empty(len(names) + 3, dtype=np.uint64), sort_loops.sorting_room())
    assert names[:count].tolist() == expected


@pytest.mark.parametrize("count", [sort_loops.FEW, sort_loops.FEW + 1, 700, 5 << sort_loops.BUCKET])
@pytest.mark.parametrize(("high", "low"), [(0, 0), (1, 0), (0, 32), (19, 17), (20, 22), (28, 22), (32, 32)])
def test_many_names_are_sorted_and_distinct(high: int, low: int, count: int) -> None:
    """Few and many names, in one and in several buckets, with short and long keys, evenly and unevenly spread."""
    dice = np.random.default_rng(count)
    some = [dice.integers(0, 1 << bits, count // 2, dtype=np.uint64) for bits in (high, low)]
    some[0][: count // 8] //= np.uint64(1000)
    names = dice.choice(some[0] << np.uint64(32) | some[1], count)
    names[:2] = 0, ((1 << high) - 1) << 32 | (1 << low) - 1
    expected = np.unique(names).tolist()
    found = sort_loops.sorted_distinct(names, np.empty(count + 3, dtype=np.uint64), sort_loops.sorting_room())
    assert names[:found].tolist() == expected


def test_a_file_in_memory_has_chunks_and_gives_them_back() -> None:
    account = Account(2 * run_loops.CHUNK + 1000)
    file = MemoryFile(account)
    data = np.random.default_rng(1).integers(0, 256, run_loops.CHUNK + 500, dtype=np.uint8)
    assert [file.write(data[:3]), file.write(data), file.size] == [0, 3, 3 + len(data)]
    assert np.array_equal(file.read(3, len(data)), data)
    assert file.read(run_loops.CHUNK - 2, 5).tolist() == data[run_loops.CHUNK - 5 :][:5].tolist()
    assert len(file.bases) == 2 and account.held == 2 * run_loops.CHUNK
    with pytest.raises(OutOfMemory):
        file.write(data)
    file.clear()
    assert (file.size, account.held, len(file.bases)) == (0, 0, 0)


@pytest.mark.exhaustive
@examples(60)
@given(data=st.data())
def test_buckets_have_the_names_of_all_workers(data: st.DataObject) -> None:
    """Few and many names, evenly distributed or not, some of them in runs; in one range and in several."""
    dice = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    bits = data.draw(st.sampled_from([(0, 0), (3, 4), (17, 20), (20, 22), (32, 32)]))
    workers, room, count = data.draw(st.integers(1, 3)), 1 << 17, data.draw(st.sampled_from([0, 1, 900, 1 << 17]))
    rooms, filled = np.zeros((workers, 2 * room), dtype=np.uint64), []
    skew = data.draw(st.sampled_from([1, 1 << 12]))
    some = [dice.integers(0, 1 << width, max(count, 1), dtype=np.uint64) for width in bits]
    some[0][count // 8 :] //= np.uint64(skew)
    everything = some[0] << np.uint64(32) | some[1]
    for worker in range(workers):
        filled.append(int(dice.integers(0, count + 1)))
        rooms[worker, : filled[-1]] = dice.choice(everything, filled[-1])
    found = [rooms[worker, : filled[worker]].copy() for worker in range(workers)]
    spilled = []
    for _ in range(data.draw(st.integers(0, 2))):
        account = Account(None)
        spilled.append(runs.Run(MemoryFile(account), account))
        found.append(np.unique(dice.choice(everything, count // 3 + 1)))
        spilled[-1].add(found[-1])
    buckets = Buckets(rooms, room, filled, spilled, bits, one_by_one, data.draw(st.sampled_from([0, 0, 1, 4])))
    enough = max(4 << sort_loops.BUCKET, sum(filled) >> 8)
    assert buckets.largest <= enough or len(buckets._sizes) == 1 << min(MOST_BITS, max(sum(bits), 1))
    tasks = data.draw(st.integers(1, 9))
    ranges = list(buckets.ranges(tasks, data.draw(st.sampled_from([1, 5000, 1 << 20]))))
    assert ranges[0][0] == 0 and all(one[1] == other[0] for one, other in pairwise(ranges))
    parts = [buckets.ids(some) for some in ranges]
    assert np.array_equal(np.concatenate(parts), np.unique(np.concatenate(found)))
    # What is counted for each slice stays small where names are uneven, and there are many buckets.
    assert len(buckets._ends) <= ((FEWER_SLICES if buckets.more_bits else SLICES) + 1) * workers


def test_uneven_names_get_more_buckets_which_the_next_level_has_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dice, room = np.random.default_rng(1), 1 << 17
    rooms = np.zeros((2, 2 * room), dtype=np.uint64)
    rooms[:, :room] = dice.integers(0, 32, (2, room), dtype=np.uint64) << np.uint64(32)
    rooms[:, :room] |= dice.integers(0, 1 << 20, (2, room), dtype=np.uint64)
    rooms[0, 0] = (1 << 17) - 1 << 32
    counted, count = list[int](), Buckets._count

    def watched(self: Buckets, each: Any) -> None:
        counted.append(self._first)
        count(self, each)

    monkeypatch.setattr(Buckets, "_count", watched)
    first = Buckets(rooms, room, [room, room], [], (17, 20), one_by_one)
    assert counted == [5, 7, 9, 11, 13, 15][: len(counted)]
    assert len(counted) > 2
    assert first.largest <= 4 << sort_loops.BUCKET
    counted.clear()
    again = Buckets(rooms, room, [room, room], [], (17, 20), one_by_one, first.more_bits)
    assert len(counted) == 1
    assert again.largest == first.largest


# --- the store ------------------------------------------------------------------------------------------------------


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little memory that levels of some hundred states go to the disk in several runs, and are merged in ranges."""
    monkeypatch.setattr(run_store, "LEAST", 2 * search_loops.AT_ONCE)
    monkeypatch.setattr(run_store, "MOST", 4 * search_loops.AT_ONCE)
    monkeypatch.setattr(run_store, "LARGEST_RANGE", 1)
    monkeypatch.setattr(run_store, "LEAST_RANGE", 1)


@pytest.mark.usefixtures("little_room")
@examples(30)
@given(data=st.data())
def test_levels_are_what_was_inserted_and_not_known(tmp_path: Path, data: st.DataObject) -> None:
    """Rows of one, two and five words, with little memory. Each level is inserted in overlapping parts.

    Marks are dropped before a part, or never.
    """
    widths = data.draw(st.sampled_from([[40], [60, 60], [33] * 8]))
    layout = Layout([number(0, (1 << width) - 1) for width in widths])
    dice = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    # Of one part there may be many more than of another: names are turned then.
    most = [data.draw(st.sampled_from([3, 30, 1000, 1 << 33])) for _ in widths]
    everything = layout.pack([tuple(int(dice.integers(0, x)) for x in most) for _ in range(4000)])
    workers = data.draw(st.integers(1, 3))
    folder = data.draw(st.sampled_from([str(tmp_path), None]))
    store = RunStore(layout, folder, workers=workers, sample=everything[:50])
    known, without_marks = set[bytes](), data.draw(st.integers(0, 10))
    for level in range(data.draw(st.integers(1, 5))):
        parts = [everything[dice.integers(0, 4000, data.draw(st.sampled_from([1, 700, 3000])))] for _ in range(2)]
        for number_of_part, part in enumerate(parts):
            assert bool(store.visited) == (2 * level + number_of_part <= without_marks)
            if 2 * level + number_of_part == without_marks:
                store.visited.drop()
            store.insert(part)
        fresh = {row.tobytes() for part in parts for row in part} - known
        assert store.close() == len(fresh)
        assert all(file.size == 0 for file in store._overflow)
        known |= fresh
        assert store.total == len(known)
        if fresh:
            found = [row.tobytes() for rows in store.blocks(store.depth, 500) for row in rows]
            assert sorted(found) == sorted(fresh)
    assert list(tmp_path.iterdir()) == []


@examples(20)
@given(data=st.data())
def test_names_whose_marks_several_workers_have_lost_count_once(data: st.DataObject) -> None:
    """Within each level some new marks are lost, and the same states come to another worker. Then more are lost."""
    layout = Layout([number(0, (1 << 33) - 1)] * 3)
    dice = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    everything = layout.pack(dice.integers(0, data.draw(st.sampled_from([3, 12, 1 << 33])), (3000, 3)))
    store, known, size = RunStore(layout, None, workers=2, sample=everything[:50]), set[bytes](), 100_000

    def lose(before: Words) -> None:
        columns, _, tiles = store.visited.held
        assert int(columns[run_loops.TAKEN]) * 8 < size
        tiles[:size] = before | tiles[:size] & dice.integers(0, 1 << 63, size, dtype=np.uint64)

    for _ in range(data.draw(st.integers(1, 4))):
        part, before = everything[dice.integers(0, 3000, 1000)], store.visited.held[2][:size].copy()
        store.insert(part)
        count = int(store.filled[0][0])
        store.found[1][:count] = store.found[0][:count]
        store.filled[1][0], store.filled[0][0] = count, 0
        lose(before)
        store.insert(part)
        fresh = {row.tobytes() for row in part} - known
        assert count == len(fresh)
        assert int(store.filled[0][0]) > 0 or len(fresh) < 20  # most likely, some of many marks were lost
        lose(before)
        assert store.close() == len(fresh)
        known |= fresh
    # Every mark is set, so nothing is found again.
    store.insert(everything)
    assert int(store.filled[0][0]) == len({row.tobytes() for row in everything} - known)


SMALL = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


def comparable(report: dict[str, Any]) -> dict[str, Any]:
    of_a_run = ("seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers", "store")
    return {name: value for name, value in report.items() if name not in of_a_run}


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("marking", ["always", "never", "at first"])
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.exhaustive), 3])
@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("kind", [pytest.param("memory", marks=pytest.mark.exhaustive), "disk"])
def test_a_space_much_larger_than_the_room_is_the_same(
    kind: str, workers: int, symmetry: bool, marking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if marking == "never":
        monkeypatch.setattr(visited_bits.VisitedBits, "begin", lambda self, firsts, seconds: None)
    elif marking == "at first":
        for name, value in (("FIRST_TILES", 16), ("LITTLE", 20_000), ("MOST_EACH", 0)):
            monkeypatch.setattr(visited_bits, name, value)
    marking_at, close = list[bool](), RunStore.close

    def noted(store: RunStore) -> int:
        marking_at.append(bool(store.visited))
        return close(store)

    monkeypatch.setattr(RunStore, "close", noted)
    question: dict[str, Any] = {"keep_going": True, "symmetry": symmetry}
    one = check("kip-320", SMALL, **question)
    monkeypatch.setattr(sys.modules["isrcheck.checker.engines.explicit.search"], "_small", lambda words: 0)
    state_store = StateStore() if kind == "memory" else StateStore("disk", str(tmp_path))
    other = check("kip-320", SMALL, **question, workers=workers, state_store=state_store)
    assert sum(one.levels if one.orbits is None else one.orbits.states) > 30_000
    assert comparable(one.to_json()) == comparable(other.to_json())
    assert (marking_at[0], marking_at[-1]) == (marking != "never", marking == "always")


@pytest.mark.exhaustive
def test_where_memory_ends_there_is_room_on_disk(tmp_path: Path) -> None:
    toy = grid([1 << 20] * 4)
    question: dict[str, Any] = {"keep_going": False, "deadlock": False, "report": None}
    limits = Limits(states=3_000_000, memory=16 << 20)
    memory, disk = (
        search(
            toy, **question, limits=limits, state_store=StateStore(kind, None if kind == "memory" else str(tmp_path))
        )[0]
        for kind in ("memory", "disk")
    )
    assert (memory.stopped, disk.stopped) == ("memory", "states")
    assert disk.peak_store_bytes <= 16 << 20


def test_a_search_that_ends_while_it_settles_has_its_whole_levels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The states of the next level are not counted twice, and none of them is lost for the other levels."""
    toy = grid([30, 30, 30])
    whole, _ = search(toy, keep_going=True, deadlock=True, limits=Limits(), report=None)
    between = RunSearch._between
    settled = iter(range(12))

    def late(self: RunSearch, level: int, seconds: float, expanded: int) -> None:
        if not expanded and next(settled, None) is None:
            raise Stopped("time")
        between(self, level, seconds, expanded)

    monkeypatch.setattr(large_search.RunSearch, "_between", late)
    state_store = StateStore("disk", str(tmp_path))
    found, levels = search(toy, keep_going=True, deadlock=True, limits=Limits(), report=None, state_store=state_store)
    assert found.stopped == "time"
    assert 5 < len(found.levels) < len(whole.levels)
    assert found.levels == whole.levels[: len(found.levels)]
    assert found.partial is not None
    assert found.partial["distinct"] == whole.levels[len(found.levels)]
    states = [len(levels.level_states(k)) for k in range(1, levels.depth + 1)]
    assert states == found.levels


@pytest.mark.parametrize("workers", [1, 2])
def test_with_marks_no_run_is_read_and_small_levels_wake_no_thread(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    def refused(*given: Any) -> None:
        raise AssertionError

    wanted, _ = search(grid([60, 60]), keep_going=True, deadlock=True, limits=Limits(), report=None)
    monkeypatch.setattr(large_search, "LEAST_STATES", 1)
    monkeypatch.setattr(large_search, "MOST_PASSED", 0)
    monkeypatch.setattr(run_store, "Known", refused)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", refused)
    monkeypatch.setattr(ThreadPoolExecutor, "map", refused)
    monkeypatch.setattr(TableSearch, "explore", refused)
    found, _ = search(
        grid([60, 60]), keep_going=True, deadlock=True, limits=Limits(), report=None, workers=workers,
    )  # fmt: skip
    assert (found.levels, found.generated) == (wanted.levels, wanted.generated)


@pytest.fixture
def without_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without marks, runs are read again at each level. So a space of many small levels goes to a table."""
    monkeypatch.setattr(visited_bits.VisitedBits, "begin", lambda self, *numbers: None)


@pytest.mark.usefixtures("without_marks")
@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 3])
def test_a_space_of_many_small_levels_goes_to_a_table(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """Before, between or behind its levels, nothing is lost or counted twice."""
    toy = grid([60, 60])
    monkeypatch.setattr(large_search, "LEAST_STATES", 1)
    tables = list[TableSearch]()
    explore = TableSearch.explore

    def noted(self: TableSearch, *given: Any) -> Exploration:
        tables.append(self)
        return explore(self, *given)

    def found(most: int) -> Exploration:
        monkeypatch.setattr(large_search, "MOST_PASSED", most)
        one, levels = search(
            toy, keep_going=True, deadlock=True, limits=Limits(), report=None, workers=workers,
        )  # fmt: skip
        assert [len(levels.level_states(k + 1)) for k in range(levels.depth)] == one.levels
        return replace(one, seconds={}, peak_store_bytes=0)

    monkeypatch.setattr(TableSearch, "explore", noted)
    wanted = found(1 << 60)
    assert not tables and sum(wanted.levels) == 3600
    for count, most in enumerate((0, 40, 200, 400), 1):
        assert found(most) == wanted
        assert len(tables) == count
        runs_took = 16 * run_store.LEAST * workers
        assert tables[-1].store.held < tables[-1].store.peak - runs_took, "the runs' memory is given back"


@pytest.mark.usefixtures("without_marks")
@pytest.mark.parametrize("most", [0, 2, 8])
@pytest.mark.parametrize("symmetry", [False, True])
def test_counts_and_traces_are_the_same_after_a_change_of_store(
    symmetry: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    question: dict[str, Any] = {"keep_going": True, "symmetry": symmetry}
    one = check("kip-101", {"replicas": 2}, **question)
    assert one.verdict == "violated"
    monkeypatch.setattr(sys.modules["isrcheck.checker.engines.explicit.search"], "_small", lambda words: 64)
    monkeypatch.setattr(large_search, "LEAST_STATES", 1)
    monkeypatch.setattr(large_search, "MOST_PASSED", most)
    other = check("kip-101", {"replicas": 2}, **question, workers=2)
    assert comparable(one.to_json()) == comparable(other.to_json())


@pytest.mark.usefixtures("without_marks")
@pytest.mark.exhaustive
def test_a_space_may_turn_out_deep_at_its_very_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The level behind the last one has no states, so there is nothing to go on with."""
    toy, passed = grid([60, 60]), list[float]()
    between = RunSearch._between_levels

    def noted(self: RunSearch) -> None:
        passed.append(self.store.passed / max(self.store.total, 1))
        between(self)

    question: dict[str, Any] = {"keep_going": True, "deadlock": True, "limits": Limits(), "report": None}
    monkeypatch.setattr(large_search, "LEAST_STATES", 1)
    monkeypatch.setattr(large_search, "MOST_PASSED", 1 << 60)
    monkeypatch.setattr(RunSearch, "_between_levels", noted)
    wanted, _ = search(toy, **question)
    assert passed[-1] > passed[-2]
    monkeypatch.setattr(large_search, "MOST_PASSED", (passed[-1] + passed[-2]) / 2)
    found, _ = search(toy, **question)
    assert (found.levels, found.stopped) == (wanted.levels, None)


@pytest.mark.usefixtures("without_marks")
@pytest.mark.exhaustive
def test_without_memory_for_a_table_the_runs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    toy, tables = grid([60, 60]), list[TableSearch]()
    question: dict[str, Any] = {"keep_going": True, "deadlock": True, "report": None}
    wanted, _ = search(toy, **question, limits=Limits())
    monkeypatch.setattr(large_search, "LEAST_STATES", 1)
    monkeypatch.setattr(large_search, "MOST_PASSED", 10)
    monkeypatch.setattr(large_search, "MOST_EACH", PLENTY)
    monkeypatch.setattr(TableSearch, "explore", lambda self, *_: tables.append(self))
    found, _ = search(toy, **question, limits=Limits(memory=PLENTY))
    assert found.levels == wanted.levels and not tables


@pytest.mark.usefixtures("without_marks")
@pytest.mark.parametrize(("ends", "stopped"), [(KeyboardInterrupt, "interrupt"), (OutOfMemory, "memory")])
def test_what_ends_the_search_before_the_table_is_filled_leaves_whole_levels(
    monkeypatch: pytest.MonkeyPatch, ends: type[BaseException], stopped: str
) -> None:
    def ended(*given: Any) -> None:
        raise ends

    toy = grid([60, 60])
    question: dict[str, Any] = {"keep_going": True, "deadlock": True, "limits": Limits(), "report": None}
    wanted, _ = search(toy, **question)
    monkeypatch.setattr(large_search, "LEAST_STATES", 1)
    monkeypatch.setattr(TableSearch, "explore", ended)
    found, levels = search(toy, **question)
    assert (found.stopped, found.levels) == (stopped, wanted.levels[: len(found.levels)])
    assert 2 < levels.depth == len(found.levels) < len(wanted.levels)
    assert [len(levels.level_states(k + 1)) for k in range(levels.depth)] == found.levels


def test_what_cannot_be_read_again_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = runs.Run(runs.File(str(tmp_path)), Account(None))
    run.add(np.arange(100, dtype=np.uint64))
    monkeypatch.setattr(os, "preadv", lambda *_: 3)
    with pytest.raises(OSError, match="cannot read"):
        run.between(0, None)


def test_several_workers_settle_ranges_in_their_order() -> None:
    """The order does not depend on the time of each range. After an error in a range nobody continues."""
    from isrcheck.checker.engines.explicit.workers import Team

    team, begun = Team(2), []

    def slow(k: int) -> int:
        begun.append(k)
        time.sleep(0.002 * (k % 3))
        if k == 30:
            raise Stopped("time")
        return k * k

    try:
        assert list(team.mapped(slow, range(25))) == [k * k for k in range(25)]
        with pytest.raises(Stopped):
            list(team.mapped(slow, range(26, 60)))
        assert max(begun) < 40
    finally:
        team.dismiss()


def test_a_kernel_judges_what_is_new_and_nothing_else() -> None:
    """A bound that only a state of the last level reaches is noticed when this level is merged."""
    toy = grid([6, 6])
    found, _ = search(toy, keep_going=True, deadlock=True, limits=Limits(), report=None, state_store=StateStore("disk"))
    one, _ = search(toy, keep_going=True, deadlock=True, limits=Limits(), report=None)
    assert (found.bounds, found.goals, found.violated) == (one.bounds, one.goals, one.violated)
    assert Kernel(toy).words == 1


@pytest.mark.parametrize("workers", [pytest.param(1, marks=EXHAUSTIVE), 2])
def test_a_level_that_cannot_be_read_again_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Not even the last piece of the level may be missing, which only one of the workers reads."""
    write = runs.File.write

    def cut(file: runs.File, data: runs.Bytes) -> int:
        place = write(file, data)
        if data.nbytes > 1 << 14:
            os.ftruncate(file.number, place + data.nbytes - 9)
        return place

    toy, state_store = grid([1 << 10] * 4), StateStore("disk", str(tmp_path))
    question: dict[str, Any] = {"keep_going": True, "deadlock": False, "report": None, "workers": workers}
    limits = Limits(states=400_000)
    search(toy, **question, limits=limits, state_store=state_store)
    monkeypatch.setattr(runs.File, "write", cut)
    found = search(toy, **question, limits=limits, state_store=state_store)[0]
    assert (found.stopped, "cannot read" in str(found.disk_error)) == ("disk", True)


def test_states_of_pieces_that_are_not_full_are_expanded_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A piece ends where a range ends that was settled at a time."""
    for name, value in {"LEAST_TOGETHER": 300, "BUCKET": 7}.items():
        monkeypatch.setattr(buckets, name, value)
    monkeypatch.setattr(run_store, "TASKS", 1 << 20)
    encoded, sizes = run_store.encoded, set[int]()

    def watched(names: Words) -> tuple[runs.Bytes, runs.Pieces]:
        sizes.add(len(names))
        return encoded(names)

    monkeypatch.setattr(run_store, "encoded", watched)
    toy = grid([60, 60, 60])
    for workers in (1, 2):
        found, levels = search(
            toy, keep_going=True, deadlock=True, limits=Limits(), report=None,
            state_store=StateStore("disk", str(tmp_path)), workers=workers,
        )  # fmt: skip
        assert sum(found.levels) == 60**3
        assert levels.depth == 3 * 59 + 1
        assert sum(map(sum, found.generated)) == 3 * 59 * 60 * 60
    assert max(sizes) < run_loops.PIECE
    assert len(sizes) > 100


SLOWLY = [(workers, work, store) for workers in (2, 5) for work in (1, 2560) for store in ("runs", "table")]


@pytest.mark.parametrize(("workers", "work", "store"), one_in(len(SLOWLY), SLOWLY, EXHAUSTIVE))
def test_workers_come_to_the_end_of_a_level_however_little_they_do_at_a_time(
    monkeypatch: pytest.MonkeyPatch, workers: int, work: int, store: str
) -> None:
    """One of them may find nothing left to take while another one must pause."""
    kind: Any = RunSearch if store == "runs" else TableSearch
    between, idle = Search._between, list[int]()

    def slow(self: Search, level: int, seconds: float, expanded: int) -> None:
        between(self, level, seconds, expanded)
        self._work = work
        if seconds and not expanded and not self.store.shared[search_loops.PAUSE]:  # nothing had to grow
            idle.append(level)
            assert len(idle) < 20, "the workers do nothing, infinitely often"

    monkeypatch.setattr(kind, "_between", slow)
    monkeypatch.setattr(large_search, "_needs_table", lambda *question: store == "table")
    found, _ = search(grid([30] * 4), keep_going=True, deadlock=False, limits=Limits(), report=None, workers=workers)
    assert sum(found.levels) == 30**4


@pytest.mark.parametrize("work", one_in(3, [2560, 256, 5000], EXHAUSTIVE))
def test_what_is_done_at_a_time_adapts_to_the_speed(monkeypatch: pytest.MonkeyPatch, work: int) -> None:
    """Whatever it was: it doubles as long as no time passes, and after a stall it is the least."""
    between, seen = Search._between, list[int]()
    pretended = iter([1e-9] * 2 + [100.0] * 3)

    def reported(self: Search, level: int, seconds: float, expanded: int) -> None:
        if expanded and self.history[-1].distinct > 25_000 and len(seen) < 5:
            self._work = self._work if seen else work
            between(self, level, next(pretended), expanded if seen else work)
            seen.append(self._work)

    monkeypatch.setattr(RunSearch, "_between", reported)
    search(grid([60] * 4), keep_going=True, deadlock=False, limits=Limits(states=1_500_000), report=None)
    assert seen[1] == 4 * work
    assert seen[4] == 256


@pytest.mark.exhaustive
@examples(40)
@given(data=st.data())
def test_however_little_fits_anywhere_every_state_is_expanded_once(data: st.DataObject) -> None:
    """Small batches, pieces that are not full, workers that pause all the time, too little room for names and marks."""
    bits, work = data.draw(st.sampled_from([3, 5, 8])), data.draw(st.sampled_from([1, 300, 1 << 14]))
    least, most = (data.draw(st.sampled_from(some)) * search_loops.AT_ONCE for some in ([2, 4, 64], [4, 16, 1 << 16]))
    little: dict[Any, dict[str, Any]] = {
        store_search: {"batch_bits": lambda transitions: bits, "BATCHES_EACH": 1},
        buckets: {
            "LEAST_TOGETHER": data.draw(st.sampled_from([100, 5000])),
            "BUCKET": data.draw(st.sampled_from([5, 14])),
        },
        run_store: {"TASKS": data.draw(st.sampled_from([4, 1 << 20])), "LEAST": least, "MOST": most}
        | dict.fromkeys(("MOST_IN_MEMORY", "MOST_ON_DISK"), data.draw(st.sampled_from([0, 1 << 18, 1 << 29]))),
    }
    between = Search._between

    def hindered(self: Search, level: int, seconds: float, expanded: int) -> None:
        between(self, level, seconds, expanded)
        self._work = work

    state_store = StateStore("disk", tempfile.gettempdir()) if data.draw(st.booleans()) else StateStore()
    with pytest.MonkeyPatch.context() as patched:
        for module, names in little.items():
            for name, value in names.items():
                patched.setattr(module, name, value)
        patched.setattr(RunSearch, "_between", hindered)
        found, _ = search(
            grid([40] * 3), keep_going=True, deadlock=True, limits=Limits(), report=None, state_store=state_store,
            workers=data.draw(st.sampled_from([1, 2, 3, 5])),
        )  # fmt: skip
    assert found.stopped is None
    assert sum(found.levels) == 40**3
    assert sum(map(sum, found.generated)) == 3 * 39 * 40 * 40


@Loop
def taking(shared, count, until, out):  # type: ignore[no-untyped-def]
    """Takes numbers until none is left. Puts them into `out`, and returns how many there are."""
    here, taken = np.uint64(shared.ctypes.data), 0
    while True:
        number = loops_taken(here, count)
        if number == NONE:
            return taken
        if number < 0:
            shared[UNTIL] += until
        else:
            out[taken] = number
            taken += 1


def test_each_number_is_taken_by_one_worker() -> None:
    count, shared = 1 << 20, np.zeros(search_loops.SHARED, dtype=np.int64)
    outs = np.empty((4, count), dtype=np.int64)
    taking(shared, 0, 1, outs[0])  # compiled here, not by all at once
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda out: taking(shared, count, 1000, out), outs))
    assert sum(found) == count
    assert (np.sort(np.concatenate([out[:n] for out, n in zip(outs, found, strict=True)])) == np.arange(count)).all()
