"""Marks of names, compared with sets, and what happens when there is too little memory for them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.engines.explicit import run_loops, search_loops, visited_bits
from isrcheck.checker.engines.explicit.memory_account import Account, OutOfMemory
from isrcheck.checker.engines.explicit.visited_bits import TILE, VisitedBits
from isrcheck.checker.kernel.layout import Words
from tests.agreement.profiles import examples


class Marking:
    """Marks names as a worker does, and enlarges the marks when they are full. `found` are the names without a mark."""

    def __init__(self, turn: int = 0, limit: int | None = None) -> None:
        self.account = Account(limit)
        self.visited, self.turn = VisitedBits(self.account), np.uint64(turn)
        self.visited.begin(1, 1)
        self.enlarged = 0

    def worker(self, names: Words) -> list[int]:
        scratch = np.zeros((3, search_loops.AT_ONCE), dtype=np.uint64)
        found, filled = np.zeros(len(names), dtype=np.uint64), np.zeros(1, dtype=np.int64)
        firsts, seconds = int((names >> np.uint64(32)).max()) + 1, int((names & np.uint64(0xFFFFFFFF)).max()) + 1
        for start in range(0, len(names), search_loops.AT_ONCE):
            some = names[start : start + search_loops.AT_ONCE]
            scratch[0, : len(some)] = some
            while not run_loops.visit(len(some), self.turn, self.visited.columns, scratch, found, filled):
                self.visited.make_room(firsts, seconds, 1 << 40)
                self.enlarged += 1
        return [int(run_loops.turned.function(name, self.turn)) for name in found[: filled[0]]]


def names_of(dice: np.random.Generator, firsts: int, seconds: int, count: int) -> Words:
    first, second = dice.integers(0, firsts, count), dice.integers(0, seconds, count)
    return first.astype(np.uint64) << np.uint64(32) | second.astype(np.uint64)


@examples(60)
@given(
    st.integers(0, 1 << 32),
    st.sampled_from([1, 7, 8, 9, 3000]),
    st.sampled_from([1, 63, 64, 65, 20_000]),
    st.sampled_from([0, 32]),
)
def test_names_are_found_once_in_the_order_in_which_they_come(seed: int, firsts: int, seconds: int, turn: int) -> None:
    dice, marking, known = np.random.default_rng(seed), Marking(turn), dict[int, None]()
    names = names_of(dice, firsts, seconds, 1)
    for more in (1, 2, 3):
        names = np.concatenate([dice.choice(names, 500), names_of(dice, more * firsts, more * seconds, 2000)])
        new = [name for name in dict.fromkeys(names.tolist()) if name not in known]
        assert marking.worker(names) == new
        known |= dict.fromkeys(new)
    # The grid grew and kept its tiles. Otherwise a known name would be found again.
    assert marking.enlarged > 0 or (3 * firsts <= 8 and 3 * seconds <= 64)


def test_marks_that_several_workers_have_lost_are_set_again() -> None:
    marking = Marking()
    all_names = names_of(np.random.default_rng(3), 300, 5000, 200_000)
    distinct = sorted(set(all_names.tolist()))
    marking.visited.make_room(300, 5000, 1 << 40)
    while int(marking.visited.columns[run_loops.ROOM]) < 300 * 5000:  # so many tiles that no worker waits for more
        marking.visited.columns[run_loops.ROOM] += np.uint64(1 << 20)
    before = marking.worker(all_names[:50_000])
    found: list[list[int]] = []

    def work() -> None:
        found.append(marking.worker(all_names))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    # A name may be found by several workers, but no name that had a mark before they began.
    later = {name for names in found for name in names}
    assert later == set(distinct) - set(before)
    scratch, columns = np.zeros((2, search_loops.AT_ONCE), dtype=np.uint64), marking.visited.columns
    run_loops.visit_again(np.array(distinct, dtype=np.uint64), marking.turn, columns, scratch)
    assert marking.worker(all_names) == []


@pytest.mark.parametrize("turn", [0, 32])
def test_each_lost_mark_is_set_again(turn: int) -> None:
    marking = Marking(turn)
    names = np.unique(names_of(np.random.default_rng(4), 40, 900, 3000))
    assert marking.worker(names) == names.tolist()
    turned = names << np.uint64(turn) | names >> np.uint64(64 - turn & 63)
    scratch, columns = np.zeros((2, search_loops.AT_ONCE), dtype=np.uint64), marking.visited.columns
    assert run_loops.visit_again(turned, marking.turn, columns, scratch) == 0
    tiles = marking.visited.held[2]
    tiles[: int(columns[run_loops.ROOM]) * TILE // 8] &= np.uint64(0x5555555555555555)
    lost = int(np.count_nonzero(names & np.uint64(1)))
    assert run_loops.visit_again(turned, marking.turn, columns, scratch) == lost > 1000
    assert marking.worker(names) == []


def test_memory_is_counted_and_given_back() -> None:
    marking = Marking()
    assert marking.account.held == marking.visited.nbytes > 0
    marking.worker(names_of(np.random.default_rng(1), 4000, 4000, 50_000))
    tiles = int(marking.visited.columns[run_loops.TAKEN])
    assert marking.account.held == marking.visited.nbytes >= TILE * tiles + 4 * (4000 // 8) * (4000 // 64)
    marking.visited.drop()
    assert (marking.account.held, bool(marking.visited)) == (0, False)
    marking.visited.make_room(10, 10, 10)
    assert not marking.visited


def test_marks_are_dropped_before_a_limit_ends_the_search() -> None:
    account = Account(1 << 20)
    some = VisitedBits(account)
    some.begin(100, 100)
    assert some
    account.take((1 << 20) - some.nbytes)
    assert some
    account.take(1)
    assert not some
    with pytest.raises(OutOfMemory):
        account.take(1 << 20)


def test_marks_that_take_more_than_a_table_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    for states, kept in ((1000, True), (10, False)):
        some = VisitedBits(Account(None))
        monkeypatch.setattr(visited_bits, "LITTLE", 0)
        monkeypatch.setattr(visited_bits, "MOST_EACH", 100)
        some._tiles = some._account.reserve(1 << 20)
        some.columns[run_loops.TILES], some.columns[run_loops.TAKEN] = some._tiles.ctypes.data, 1
        some.make_room(64, 64, states)
        assert (bool(some), some.nbytes > 0) == (kept, kept)


def test_marks_keep_their_own_limit() -> None:
    some = VisitedBits(Account(None), 1 << 18)
    some.begin(1, 1)
    some.make_room(8 * 100, 64 * 100, 1 << 40)
    assert some.nbytes >= 4 * 100 * 100
    some.make_room(8 * 1000, 64 * 100, 1 << 40)
    assert not some


@pytest.mark.parametrize(("text", "most"), [("800000\n", 200_000 // TILE * TILE), ("max\n", None), (None, None)])
def test_the_memory_of_a_container_counts(
    text: str | None, most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.max"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(visited_bits, "CONTAINER", (file,))
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 // TILE * TILE
    assert VisitedBits(Account(None), 1 << 60)._most == (most or machine)


def test_marks_grow_by_less_where_there_is_no_room_for_twice_as_many() -> None:
    some = VisitedBits(Account(None), TILE * 4000)
    some.begin(100, 100)
    room = int(some.columns[run_loops.ROOM])
    some.columns[run_loops.TAKEN] = room
    some.make_room(100, 100, 1 << 20)
    assert some
    assert room * 9 // 8 < int(some.columns[run_loops.ROOM]) < 2 * room + room // 4
    some.columns[run_loops.TAKEN] = 3800
    some.columns[run_loops.ROOM] = 3900
    some.make_room(100, 100, 1 << 20)
    assert not some, "there is no room at all"


def test_without_memory_there_are_no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Account, size: int, more: int = 0, present: bool = False) -> Any:
        raise OutOfMemory

    monkeypatch.setattr(Account, "reserve", refuse)
    account = Account(None)
    some = VisitedBits(account)
    some.begin(100, 100)
    assert (bool(some), account.held) == (False, 0)
    with pytest.raises(OutOfMemory):
        account.allocate(1 << 20)
    assert account.held == 0
