"""The table of states is exact for all names, also when it is full, when it grows, and when threads meet in it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.engines.explicit import search_loops
from isrcheck.checker.engines.explicit.compressed_ids import pairs_of
from isrcheck.checker.engines.explicit.table_store import BEHIND_BITS, PARTITIONS, Store
from isrcheck.checker.kernel.layout import Layout, Words
from tests.agreement.profiles import examples
from tests.kernel.toys import leaves_of
from tests.marks import EXHAUSTIVE, one_in

Name = tuple[int, int]
SIZES = (4, 8)


class Table:
    """A table with partitions of `buckets` buckets each, for names below two bounds. Tests fill it directly."""

    def __init__(self, buckets: int, firsts: int, seconds: int, size: int, room: int | None = None) -> None:
        self.rows = np.zeros((PARTITIONS, search_loops.COLUMNS), dtype=np.uint64)
        memory = np.zeros(8 * (PARTITIONS * buckets + 1), dtype=np.uint64)
        self._memory, self._at = memory, memory.ctypes.data + -memory.ctypes.data % 64
        rest = ((firsts * seconds - 1) // buckets).bit_length()
        assert rest + BEHIND_BITS + 6 <= 8 * size
        for p, row in enumerate(self.rows):
            row[search_loops.TABLE], row[search_loops.CAPACITY], row[search_loops.SIZE] = (
                self._at + 64 * buckets * p,
                buckets,
                size,
            )
            row[search_loops.FIRSTS], row[search_loops.SECONDS], row[search_loops.REST] = firsts, seconds, rest
            row[search_loops.ROOM] = 64 // size * buckets if room is None else room
        self.capacity = 64 // size * buckets

    def enter(self, names: Iterable[Name], level: int) -> tuple[int, list[Name]]:
        """The number of names that were entered or known before one had no place, and the new names."""
        packed = np.array([first << 32 | second for first, second in names], dtype=np.uint64)
        done, new = self.enter_packed(packed, level)
        return done, [unpacked(n) for n in new.tolist()]

    def enter_packed(self, names: Words, level: int, at_once: int = search_loops.AT_ONCE) -> tuple[int, Words]:
        chunk, filled = np.zeros(len(names) + 1, dtype=np.uint64), np.zeros(1, dtype=np.uint64)
        scratch, kept = np.zeros((4, search_loops.AT_ONCE), dtype=np.uint64), np.zeros(1, dtype=np.int64)
        rows, place, done = names.copy(), np.uint64(chunk.ctypes.data), 0
        while done < len(names):
            size = min(at_once, len(names) - done)
            scratch[0, :size] = names[done : done + size]
            came = search_loops.enter(
                size,
                self.rows,
                np.uint64(level),
                scratch,
                (np.uint64(rows.ctypes.data), 1),
                done,
                kept,
                (place, filled),
            )
            done += came
            if came < size:
                break
        return done, chunk[: int(filled[0])]

    def names(self, level: int) -> list[Name]:
        levels, scratch = (np.uint64(level), np.uint64(level)), np.zeros((2, search_loops.AT_ONCE), dtype=np.uint64)
        counts = np.zeros(1, dtype=np.int64)
        search_loops.counted(self.rows, 0, PARTITIONS, levels, scratch, counts)
        out = np.zeros(int(counts[0]), dtype=np.uint64)
        search_loops.of_levels(self.rows, 0, PARTITIONS, levels, scratch, np.zeros(1, dtype=np.int64), out)
        return [unpacked(n) for n in out.tolist()]


def unpacked(name: int) -> Name:
    return name >> 32, name & 0xFFFFFFFF


def names_at(p: int, values: Iterable[int], firsts: int, seconds: int) -> list[Name]:
    """The names that `permuted` maps to these values in a partition."""
    return [
        unpacked(search_loops.recovered(np.uint64(v), np.uint64(p), np.uint64(firsts), np.uint64(seconds)))
        for v in values
    ]


@pytest.mark.parametrize(("firsts", "seconds"), [(1, 1), (1, 7), (7, 1), (2, 2), (13, 6), (5, 12)])
def test_the_permutation_is_one_to_one_and_undone(firsts: int, seconds: int) -> None:
    found = set()
    for first in range(firsts):
        for second in range(seconds * PARTITIONS):
            h = np.uint64(search_loops.mixed(np.uint64(first)))
            p = (second ^ int(h)) % PARTITIONS
            place = np.uint64(first), np.uint64(second // PARTITIONS)
            value = search_loops.permuted(h, *place, np.uint64(firsts), np.uint64(seconds))
            assert int(value) < firsts * seconds
            found.add((p, int(value)))
            assert names_at(p, [value], firsts, seconds) == [(first, second)]
    assert len(found) == firsts * seconds * PARTITIONS


@examples(200)
@given(st.integers(1, (1 << 32) - 1), st.integers(1, 1 << 25), st.randoms(use_true_random=False))
def test_large_names_come_back(firsts: int, seconds: int, random: st.Random) -> None:
    for _ in range(20):
        first, second = random.randrange(firsts), random.randrange(seconds * PARTITIONS)
        h = np.uint64(search_loops.mixed(np.uint64(first)))
        place = np.uint64(first), np.uint64(second // PARTITIONS)
        value = int(search_loops.permuted(h, *place, np.uint64(firsts), np.uint64(seconds)))
        assert value < firsts * seconds
        assert names_at((second ^ int(h)) % PARTITIONS, [value], firsts, seconds) == [(first, second)]


@examples(200)
@given(
    st.sampled_from(SIZES),
    st.integers(8, 11),
    st.lists(st.lists(st.tuples(st.integers(0, 39), st.integers(0, 3 * PARTITIONS - 1)), max_size=80), max_size=6),
)
def test_a_table_is_a_set(size: int, buckets: int, levels: list[list[Name]]) -> None:
    table, known = Table(buckets, 40, 3, size), set[Name]()
    for level, names in enumerate(levels, 1):
        done, new = table.enter(names, level)
        assert done == len(names)
        assert sorted(new) == sorted(set(names) - known)
        known |= set(names)
        assert sorted(table.names(level)) == sorted(new)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("home", [0, 3, 8])
def test_names_of_one_bucket_go_to_those_behind_it_and_round_the_end(size: int, home: int) -> None:
    """All names have the same of 9 buckets. When 8 buckets are full, no name fits, and the entered names stay known."""
    buckets, firsts, seconds, p = 9, 300, 20, 77
    table, fits = Table(buckets, firsts, seconds, size), 64 // size * search_loops.FARTHEST
    names = names_at(p, range(home, firsts * seconds, buckets), firsts, seconds)
    assert len(set(names)) > fits
    assert table.enter(names, 5) == (fits, names[:fits])
    assert table.rows[p, search_loops.FULL] == 1
    assert table.enter(names[:fits], 6) == (fits, [])
    assert sorted(table.names(5)) == sorted(names[:fits])
    assert table.names(6) == []


@pytest.mark.parametrize("size", SIZES)
def test_neighbours_that_are_displaced_are_not_mixed_up(size: int) -> None:
    """Two neighbouring buckets overflow into the same buckets, and the stored parts of their names are equal."""
    buckets, firsts, seconds, p = 8, 128, 40, 3
    table, each = Table(buckets, firsts, seconds, size), 2 * 64 // size
    one, other = ([b + buckets * k for k in range(each)] for b in (6, 7))
    here, there = (names_at(p, values, firsts, seconds) for values in (one, other))
    assert table.enter(here, 1) == (each, here)
    assert table.enter(there, 2) == (each, there)
    assert (table.enter(here, 3)[1], table.enter(there, 3)[1]) == ([], [])
    assert (sorted(table.names(1)), sorted(table.names(2))) == (sorted(here), sorted(there))


@pytest.mark.parametrize("size", SIZES)
def test_a_partition_takes_no_more_than_it_has_room_for_and_none_that_is_too_large(size: int) -> None:
    table = Table(16, 50, 6, size, room=10)
    names = names_at(9, range(12), 50, 6)
    assert table.enter(names, 1) == (10, names[:10])
    assert Table(16, 50, 6, size).enter([(50, 0)], 1) == (0, [])
    assert Table(16, 50, 6, size).enter([(0, 6 * PARTITIONS)], 1) == (0, [])


@pytest.mark.parametrize(("before", "after"), [(4, 4), (4, 8), (8, 4)])
@pytest.mark.parametrize("larger", [1, 3], ids=["same names", "larger names"])
def test_a_table_moves_with_its_names_and_levels(before: int, after: int, larger: int) -> None:
    firsts, seconds, generator = 60, 8, np.random.default_rng(1)
    old, new = Table(12, firsts, seconds, before), Table(31, larger * firsts, larger * seconds, after)
    drawn = [(int(a), int(b)) for a, b in generator.integers(0, (firsts, seconds * PARTITIONS), (3000, 2))]
    found = {level: old.enter(drawn[1000 * level - 1000 : 1000 * level], level)[1] for level in (1, 2, 3)}
    for p in range(PARTITIONS):
        rows = (table.rows[p : p + 1] for table in (old, new))
        assert search_loops.moved(*rows, np.uint64(p), np.zeros((4, search_loops.AT_ONCE), dtype=np.uint64))
    for level, names in found.items():
        assert sorted(new.names(level)) == sorted(names)
    assert new.enter(drawn, 4) == (len(drawn), [])


def test_a_table_that_is_too_small_for_what_moves_there_says_so() -> None:
    buckets, firsts, seconds = 16, 300, 20
    old, new = Table(buckets, firsts, seconds, 4), Table(9, firsts, seconds, 8)
    assert old.enter(names_at(0, range(0, 9 * 65, 9), firsts, seconds), 1)[0] == 65
    assert not search_loops.moved(
        old.rows[:1], new.rows[:1], np.uint64(0), np.zeros((4, search_loops.AT_ONCE), dtype=np.uint64)
    )


@pytest.mark.parametrize("size", one_in(2, SIZES, EXHAUSTIVE))
def test_threads_that_insert_the_same_names_keep_each_once(size: int) -> None:
    """They insert in the same order and start together, again and again, so that they meet in the same entries."""
    generator = np.random.default_rng(2)
    for level in range(1, 13):
        table, start, new = Table(64, 1 << 10, 16, size), threading.Barrier(4), list[Words]()
        names = generator.integers(0, 1 << 10, 20_000).astype(np.uint64) << np.uint64(32)
        names |= generator.integers(0, 16 * PARTITIONS, 20_000).astype(np.uint64)

        def insert(table: Table = table, names: Words = names, start: threading.Barrier = start) -> None:
            start.wait()
            new.append(table.enter_packed(names, level)[1])  # noqa: B023

        threads = [threading.Thread(target=insert) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(np.concatenate(new).tolist()) == np.unique(names).tolist()
        assert sorted(table.names(level)) == [unpacked(n) for n in np.unique(names).tolist()]


# --- whole stores ---------------------------------------------------------------------------------------------------

WIDTHS = st.lists(st.integers(1, 62), min_size=1, max_size=6)


def layout_of(widths: list[int]) -> Layout:
    return Layout(leaves_of(*(("number", 0, (1 << w) - 1) for w in widths)))


@examples(80)
@given(WIDTHS, st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 400))
def test_a_store_is_a_set_of_states_with_levels(widths: list[int], seed: int, levels: int, count: int) -> None:
    """Some leaves have few values and others many. The store grows from empty, through every size of entries."""
    layout, generator = layout_of(widths), np.random.default_rng(seed)
    drawn = np.stack(
        [generator.integers(0, min(1 << w, int(generator.integers(1, 1 << 20))), levels * count) for w in widths], 1
    )
    states = layout.pack(drawn)
    sample = states if generator.integers(2) else None
    store, known, wanted = Store(layout, sample=sample, first_entries=1, chunk=1), set[bytes](), list[list[bytes]]()
    for part in np.array_split(states, levels):
        store.insert(part)
        if new := {row.tobytes() for row in part} - known:
            wanted.append(sorted(new))
            known |= new
        assert store.fresh == len(new)
        store.close()
    found = [sorted(row.tobytes() for rows in store.blocks(k, 100) for row in rows) for k in range(1, store.depth + 1)]
    assert found == wanted


def test_levels_that_entries_of_four_bytes_cannot_say_make_them_wider() -> None:
    """Each state has its own level, as in a counter. The levels need more bits than a small entry has."""
    layout = layout_of([20, 30, 30])
    values = [(k, (k * 7919) % (1 << 30), (k * 104729) % (1 << 30)) for k in range(3000)]
    store = Store(layout)
    for k, row in enumerate(layout.pack(values)):
        store.insert(row.reshape(1, -1))
        store.close()
        assert store.depth == k + 1
    sizes = set(store.partitions[:, search_loops.SIZE].tolist())
    assert sizes <= {4, 8}
    back = [layout.unpack(rows).tolist() for k in range(1, 3001) for rows in store.blocks(k, 10)]
    assert back == [[list(value)] for value in values]


def test_words_that_go_well_together_are_paired_first() -> None:
    """The second and the last word are equal. The first and the third determine each other."""
    n = np.arange(64, dtype=np.uint64)
    sample: Words = np.stack([n, n % np.uint64(7), n ^ np.uint64(1), n % np.uint64(7), n * n % np.uint64(11)], axis=1)
    pairs, _ = pairs_of(5, 0, sample)
    assert pairs.tolist()[0] == [1, 3]
    assert sorted(pairs.reshape(-1).tolist()) == list(range(8))
    pairs, counts = pairs_of(2, 0, sample[:, :2])
    assert (pairs.tolist(), counts) == ([[0, 1]], (len(n), 7))
    pairs, counts = pairs_of(1, 3, sample[:, :1])
    assert (pairs.tolist(), counts) == ([[0, 1]], (8, -(-len(n) // 8)))


def test_the_pairs_of_many_words_are_found_with_few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = np.random.default_rng(1).integers(0, 3, (50_000, 60), dtype=np.uint64)
    compared, unique = [], np.unique

    def counted(values: Any, *given: Any, **named: Any) -> Any:
        compared.append(len(values))
        return unique(values, *given, **named)

    monkeypatch.setattr(np, "unique", counted)
    pairs, _ = pairs_of(60, 0, sample)
    # Each of the 60 words has at most eight after it, and so has each of the 58 dictionaries that are made.
    assert len(compared) <= 60 + 8 * 60 + (16 + 1) * 58
    assert max(compared) <= 1 << 13
    assert sorted(pairs.reshape(-1).tolist()) == list(range(118))
    assert all(left < 60 + k and right < 60 + k for k, (left, right) in enumerate(pairs.tolist()))
