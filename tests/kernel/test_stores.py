"""Where the states are makes no difference to what is found, and a store that may omit some says so."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given

from isrcheck import check
from isrcheck.checker.cli import main
from isrcheck.checker.engines.local import NativeLevels, loops
from isrcheck.checker.engines.local.large import Search, omission_probability
from isrcheck.checker.engines.local.store import OutOfMemory, Store
from isrcheck.checker.exploration import Exploration, Limits, Storing
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.model.language.system import TransitionSystem
from tests.agreement.engines import traced
from tests.agreement.profiles import examples
from tests.agreement.random_models import load, models
from tests.kernel.large import search
from tests.kernel.toys import explore, grid, ring

OTHERS: tuple[Literal["disk", "compact"], ...] = ("disk", "compact")


def found_by(toy: TransitionSystem, storing: Storing, workers: int = 1) -> tuple[Exploration, NativeLevels]:
    return search(toy, keep_going=True, deadlock=True, limits=Limits(), report=None, workers=workers, storing=storing)


def essence(found: Exploration) -> Exploration:
    return replace(found, seconds={}, peak_store_bytes=0, workers=0, extra={})


def states(levels: NativeLevels) -> list[list[bytes]]:
    return [sorted(row.tobytes() for row in levels.level_states(k)) for k in range(1, levels.depth + 1)]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("toy", [ring(5), grid([40, 40, 40]), grid([6] * 5)], ids=["ring", "deep", "wide"])
def test_levels_and_counts_are_the_same(
    toy: TransitionSystem, kind: Literal["disk", "compact"], workers: int, tmp_path: Path
) -> None:
    one, other = found_by(toy, Storing()), found_by(toy, Storing(kind, str(tmp_path)), workers)
    assert essence(one[0]) == essence(other[0])
    assert states(one[1]) == states(other[1])
    assert list(tmp_path.iterdir()) == []


@examples(15)
@given(models())
def test_random_models_have_the_same_levels(source: str) -> None:
    _, system = traced(load(source))
    found = [
        search(system, keep_going=True, deadlock=True, limits=Limits(states=150), report=None, storing=Storing(kind))
        for kind in ("memory", *OTHERS)
    ]
    assert essence(found[0][0]) == essence(found[1][0]) == essence(found[2][0])
    assert states(found[0][1]) == states(found[1][1]) == states(found[2][1])


def test_workers_that_meet_all_the_time_keep_every_fingerprint_once() -> None:
    toy = grid([12] * 4)
    kernel = Kernel(toy)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        shape = (kernel.words, kernel.layout.row_bytes, kernel.code.addresses["hashes"])
        store = Store(*shape, None, 6, first_slots=1, block=3, compact=True)
        run = Search(toy, kernel, store, Limits(), None, time.perf_counter(), 6)
        run._bits = 3
        found = run.explore(True, False)
    finally:
        sys.setswitchinterval(interval)
    assert found.levels == [len(level) for level in explore(toy).levels]


def test_a_fingerprint_is_that_of_splitmix64_and_never_0() -> None:
    def mixed(words: list[int]) -> int:
        h, mask = 0, (1 << 64) - 1
        for word in words:
            h ^= word
            h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
            h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
            h ^= h >> 31
        return h or 1

    for words in ([0], [1], [(1 << 64) - 1], [3, 5], [5, 3], [1 << 63, 7, 9], [0, 0]):
        row = np.array(words, dtype=np.uint64)
        assert int(loops.fingerprint(np.uint64(row.ctypes.data), len(words))) == mixed(words)
    # The first output of the published generator from 0, whose state is then 0x9E3779B97F4A7C15.
    assert mixed([0x9E3779B97F4A7C15]) == 0xE220A8397B1DCDAF


def test_states_with_equal_fingerprints_are_one_and_that_is_what_the_probability_is_about() -> None:
    """Two states of two words can be made to have one fingerprint; in one partition, the second is omitted."""
    kernel = Kernel(grid([1 << 40, 1 << 40]))
    assert kernel.words == 2
    first = np.arange(1, 2001, dtype=np.uint64)
    inner = [int(loops.fingerprint(np.uint64(first[i:].ctypes.data), 1)) for i in range(len(first))]
    pairs = np.array([[w, h ^ 77] for w, h in zip(first.tolist(), inner, strict=True)], dtype=np.uint64)
    hashes = np.full(len(pairs), 5 << 57, dtype=np.uint64)
    for compact, kept in ((True, 1), (False, 2000)):
        store = Store(2, 16, kernel.code.addresses["hashes"], compact=compact, first_slots=1 << 13)
        store.insert(pairs, kernel.hashes(pairs) if not compact else hashes)
        assert int(store.counts.sum()) == kept


def test_the_probability_of_an_omission() -> None:
    assert omission_probability(0) == 0.0
    # 10**18 / 2**71 = 4.24e-4; 1 / 2**71 = 4.24e-22
    assert omission_probability(10**9) == 5e-4
    assert omission_probability(1) == 5e-22
    assert omission_probability(10**12) == 1.0


def test_a_compact_store_says_so_in_the_verdict_and_in_the_json(tmp_path: Path) -> None:
    words = ["check", "kip-320", "-s", "replicas=2", "-s", "log_size=1", "--quiet"]
    shown = CliRunner().invoke(main, [*words, "--store", "compact", "--store-folder", str(tmp_path)])
    assert shown.exit_code == 0
    assert "(up to omission with probability < " in shown.output
    assert "omission" not in CliRunner().invoke(main, [*words, "--store", "disk"]).output
    report = check("kip-320", {"replicas": 2, "log_size": 1}, storing=Storing("compact")).to_json()
    assert (report["store"], report["omission_probability"]) == ("compact", omission_probability(report["distinct"]))


def test_states_on_disk_take_no_memory() -> None:
    """A limit of memory that is too small for the states is large enough for their table."""
    toy = grid([1 << 20] * 4)
    question: dict[str, Any] = {"keep_going": False, "deadlock": False, "report": None}
    found = {}
    for kind in ("memory", "disk"):
        found[kind], _ = search(toy, **question, limits=Limits(memory=5 << 20), storing=Storing(kind))
        assert found[kind].stopped == "memory"
    assert sum(found["disk"].levels) > 1.5 * sum(found["memory"].levels)


def test_a_compact_store_refuses_to_grow_past_its_limit_and_keeps_what_it_has() -> None:
    toy = grid([1 << 20] * 4)
    found, levels = search(
        toy, keep_going=False, deadlock=False, report=None, limits=Limits(memory=5 << 20), storing=Storing("compact")
    )
    assert found.stopped == "memory"
    assert [len(level) for level in states(levels)] == found.levels
    with pytest.raises(OutOfMemory):
        Store(1, 8, 0, limit=1000, compact=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--store", "disk", "--engine", "reference"), "--store goes with --engine local"),
        (("--store-folder", "a"), "--store-folder goes with --store disk or --store compact"),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], message: str) -> None:
    refused = CliRunner().invoke(main, ["check", "kip-320", *words])
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())
