"""The results of a search depend neither on the number of workers nor on their timing."""

from __future__ import annotations

import signal
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given

from isrcheck import check
from isrcheck.checker.cli import main
from isrcheck.checker.engines.explicit.large_search import TableSearch, minimum_memory
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.engines.explicit.table_store import Store
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.results.exploration import Exploration, Limits, Progress
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.kernel.large import search
from tests.kernel.toys import explore, grid, ring
from tests.marks import EXHAUSTIVE, one_in


def found_by(toy: TransitionSystem, workers: int, limits: Limits | None = None) -> tuple[Exploration, NativeLevels]:
    return search(toy, keep_going=True, deadlock=True, limits=limits or Limits(), report=None, workers=workers)


def comparable(found: Exploration) -> Exploration:
    """The exploration without times, memory and the number of workers."""
    return replace(found, seconds={}, peak_store_bytes=0, workers=0)


def states(levels: NativeLevels) -> list[list[bytes]]:
    """The states of each level, sorted, with any duplicates."""
    found = [levels.level_states(k) for k in range(1, levels.depth + 1)]
    return [sorted(row.tobytes() for row in level) for level in found]


@pytest.mark.parametrize(
    "workers", [pytest.param(2, marks=pytest.mark.exhaustive), 3, pytest.param(8, marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("toy", [ring(5), grid([6] * 5), grid([40, 40, 40])], ids=["ring", "wide", "deep"])
def test_levels_and_counts_are_the_same(toy: TransitionSystem, workers: int) -> None:
    one, many = found_by(toy, 1), found_by(toy, workers)
    assert comparable(one[0]) == comparable(many[0])
    assert states(one[1]) == states(many[1])


@examples(60)
@given(models())
def test_random_models_have_the_same_levels(source: str) -> None:
    _, system = traced(load(source))
    one, many = (found_by(system, n, Limits(states=150)) for n in (1, 3))
    assert comparable(one[0]) == comparable(many[0])
    assert states(one[1]) == states(many[1])


@pytest.fixture(scope="module")
def many() -> tuple[Kernel, list[int]]:
    """The kernel of a system with many states, and the sizes of its levels."""
    toy = grid([12] * 4)
    return Kernel(toy), [len(level) for level in explore(toy).levels]


@pytest.mark.parametrize("again", one_in(2, range(6), EXHAUSTIVE))
def test_workers_that_meet_all_the_time_keep_every_state_once(again: int, many: tuple[Kernel, list[int]]) -> None:
    """With few slots, small blocks and a short switching interval, tables grow all the time and threads race."""
    kernel, levels = many
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        store = Store(kernel.layout, None, 6, first_entries=1, chunk=1)
        run = TableSearch(kernel, store, Limits(), None, time.perf_counter(), 6)
        run._bits = 3
        found = run.explore(True, False)
    finally:
        sys.setswitchinterval(interval)
    assert found.levels == levels
    kept = np.concatenate(states_of(run.levels))
    assert len(np.unique(kept, axis=0)) == len(kept) == 12**4


def states_of(levels: NativeLevels) -> list[Any]:
    return [levels.level_states(k) for k in range(1, levels.depth + 1)]


def test_one_state_that_many_insert_at_once_is_there_once() -> None:
    """All threads insert the same rows in the same order, so every insertion is a race."""
    kernel = Kernel(grid([1 << 20]))
    rows = kernel.layout.pack([[i] for i in range(60_000)])
    store = Store(kernel.layout, None, 8, first_entries=1 << 10)
    start, done = threading.Barrier(8), []

    def insert() -> None:
        from isrcheck.checker.engines.explicit import search_loops

        mine, cursor = rows.copy(), np.zeros(search_loops.CURSOR, dtype=np.int64)
        cursor[search_loops.CHUNK] = -1
        start.wait()
        search_loops.insert(
            np.uint64(mine.ctypes.data), len(rows), store.codec, store.partitions, np.uint64(1), store.queue.room,
            cursor, store.arrays(),
        )  # fmt: skip
        done.append((int(cursor[search_loops.INSERTED]), int(cursor[search_loops.NEW])))

    threads = [threading.Thread(target=insert) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    new = sum(n for _, n in done)
    assert new == store.fresh == store.total >= max(n for n, _ in done)
    store.close()
    kept = np.concatenate(list(store.blocks(1, 1 << 14)))
    assert len(np.unique(kept)) == len(kept) == new
    assert set(kept[:, 0].tolist()) <= set(rows[:, 0].tolist())


@pytest.mark.parametrize("name", ["kip-101", "kip-279", "v3"])
def test_reports_are_the_same_to_the_byte(name: str) -> None:
    settings = {"replicas": 2} if name != "v3" else {"crashes": 1, "truncation": "high-watermark", "max_records": 2}
    one, many = (check(name, settings, profile="bare", keep_going=True, workers=n).to_json() for n in (1, 4))
    for report in (one, many):
        for place_or_time in ("seconds", "peak_rss_bytes", "store_bytes", "states_per_second", "workers"):
            report.pop(place_or_time)
    assert one == many


def test_a_memory_limit_that_is_too_small_for_many_workers_takes_fewer() -> None:
    toy = grid([6] * 3)
    assert found_by(toy, 8, Limits(memory=minimum_memory(toy)))[0].workers == 1
    assert found_by(toy, 8)[0].workers == 8


def test_an_interruption_of_many_workers_keeps_the_whole_levels() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.distinct > 500_000:
            signal.raise_signal(signal.SIGINT)

    found, levels = search(
        grid([24] * 5), keep_going=False, deadlock=False, limits=Limits(), report=interrupt, workers=4
    )
    assert found.stopped == "interrupt"
    assert found.levels[:3] == [1, 5, 15]
    assert len(levels.level_states(len(found.levels))) == found.levels[-1]


def test_workers_are_of_the_local_engine_alone() -> None:
    command = ["check", "kip-101", "-s", "replicas=2", "--workers", "2"]
    assert CliRunner().invoke(main, command).exit_code == 12
    refused = CliRunner().invoke(main, [*command, "--engine", "reference"])
    assert refused.exit_code == 2
    assert "--engine reference does not support workers; --workers requires --engine local" in refused.output
