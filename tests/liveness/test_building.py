"""The tools to build a region: growing arrays, ranks of numbers, and a queue that each state joins only once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.analysis.liveness import graph_loops, region_builder
from isrcheck.checker.analysis.liveness import region_builder as arrays
from isrcheck.checker.analysis.liveness.region import Allowance, FairnessObligations, NotAllowed
from isrcheck.checker.kernel.layout import Integers, Words
from tests.agreement.profiles import examples


@examples(200)
@given(st.lists(st.lists(st.integers(0, 65_535), max_size=3000), max_size=8))
def test_what_is_added_stays_as_an_array_grows(parts: list[list[int]]) -> None:
    growing = arrays.Growing(np.uint16, Allowance())
    for part in parts:
        growing.add(np.array(part, dtype=np.int64))
    assert growing.whole().tolist() == [number for part in parts for number in part]
    assert growing.count == len(growing.whole())


def test_an_array_grows_where_its_memory_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed(arrays.mmap.mmap):  # type: ignore[misc, name-defined]
        def resize(self, size: int) -> None:
            raise SystemError("mmap: resizing not available--no mremap()")

    monkeypatch.setattr(arrays, "_anonymous", lambda size: Fixed(-1, size))
    growing = arrays.Growing(np.uint32, Allowance())
    for k in range(9):
        growing.add(np.arange(1000) + 1000 * k)
    assert growing.whole().tolist() == list(range(9000))


def test_an_array_of_numbers_that_are_too_large_becomes_a_wider_one() -> None:
    growing = arrays.Growing(np.uint16, Allowance())
    growing.add(np.array([7, 65_535]))
    assert growing.fitting(65_535, *arrays.LABELS) is growing
    wider = growing.fitting(65_536, *arrays.LABELS)
    wider.add(np.array([65_536]))
    assert wider.whole().tolist() == [7, 65_535, 65_536]


def test_an_array_takes_what_it_may() -> None:
    growing = arrays.Growing(np.uint32, Allowance(memory=40))
    growing.add(np.arange(10))
    with pytest.raises(NotAllowed):
        growing.add(np.arange(1))


def ranking(flags: list[bool]) -> Words:
    ranks = np.zeros((len(flags) // 64 + 1, 2), dtype=np.uint64)
    graph_loops.ranking(np.array(flags, dtype=np.uint8), ranks)
    return ranks


@examples(200)
@given(st.lists(st.booleans(), max_size=400))
def test_a_rank_counts_the_flags_below_a_number(flags: list[bool]) -> None:
    ranks = ranking(flags)
    assert graph_loops.ranking(np.array(flags, dtype=np.uint8), np.zeros_like(ranks)) == sum(flags)
    for number, flagged in enumerate(flags):
        assert graph_loops.rank_of(number, ranks) == (sum(flags[:number]) if flagged else -1)


@examples(200)
@given(st.integers(1, 300), st.data())
def test_a_state_joins_a_queue_once(size: int, data: st.DataObject) -> None:
    numbers = st.lists(st.integers(0, size - 1), max_size=50)
    ranks, places, queue = ranking([True] * size), np.zeros(size, dtype=np.uint32), list[int]()
    for part in data.draw(st.lists(numbers, max_size=5)):
        found = np.empty(len(part), dtype=np.int64)
        given = graph_loops.Queue(ranks, places, len(queue))
        count = graph_loops.joined(np.array(part, dtype=np.int64), given, found)
        fresh = found[:count].tolist()
        assert fresh == [n for i, n in enumerate(part) if n not in queue and n not in part[:i]]
        queue += fresh
    assert [int(places[n]) for n in queue] == list(range(1, len(queue) + 1))


class Itself:
    """Levels in which each state is its own number."""

    def __init__(self, size: int) -> None:
        self.size = size

    def find(self, states: Words) -> tuple[Integers, Words]:
        raise AssertionError("nobody asks")

    def ids(self, numbers: Integers) -> Words:
        return numbers.astype(np.uint64)

    def states(self, ids: Words) -> Words:
        return ids.reshape(-1, 1)

    def levels(self, numbers: Integers) -> Integers:
        return np.ones_like(numbers)


@pytest.mark.parametrize("seed", range(6))
def test_sources_that_are_not_reached_are_left(seed: int) -> None:
    drawn, size = np.random.default_rng(seed), 5 * region_builder.BLOCK + 17
    flags = np.where(drawn.random(size) < 0.7, graph_loops.INSIDE + graph_loops.SOURCE * (drawn.random(size) < 0.5), 0)
    among = region_builder.Candidates(Itself(size), flags.astype(np.uint8))
    known = region_builder.Reached(among, FairnessObligations.made([], 1), Allowance(), cutting=False)
    (sources,) = np.nonzero(flags & graph_loops.SOURCE)
    reached = drawn.permutation(sources)[: len(sources) // 3]
    known.begin(reached)
    assert known.waiting().tolist() == reached.tolist()
    assert np.concatenate(list(known.left())).tolist() == sorted({*sources} - {*reached})
