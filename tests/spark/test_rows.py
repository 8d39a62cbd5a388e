"""Sorted rows and files of rows, compared with sets, also if states share a hash."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.engines.spark import executor_kernels, executor_queries, row_order, state_files, tasks
from isrcheck.checker.engines.spark.spark_search import sizes
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.llvm_words import partition_hash
from isrcheck.model.semantics.expressions import Leaf
from tests.agreement.profiles import examples
from tests.kernel.toys import grid

States = list[tuple[int, int]]
SPREAD = 1 << 61
"""The distance of the few hashes: an eighth of all hashes, so that many states share a hash."""


def packed(states: States) -> np.ndarray:
    return np.array(states, dtype=np.uint64).reshape(-1, 2)


def coarse(states: np.ndarray) -> np.ndarray:
    """A hash that many states share."""
    return (states[:, 0] % np.uint64(4)) * np.uint64(SPREAD)


def listed(array: np.ndarray) -> States:
    return [tuple(row) for row in array.tolist()]


hashes = st.integers(0, (1 << 64) - 1)
states = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=40)


@examples(200)
@given(states)
def test_distinct_rows_are_a_set_in_order(given: States) -> None:
    found, hashes = row_order.distinct(packed(given), coarse(packed(given)))
    assert sorted(listed(found)) == sorted(set(given))
    assert hashes.tolist() == coarse(found).tolist()
    order = list(zip(hashes.tolist(), listed(found), strict=True))
    assert order == sorted(order)


@examples(200)
@given(st.lists(st.integers(0, 300) | st.integers(0, (1 << 64) - 1), max_size=300))
def test_hashes_are_put_in_order_also_where_they_differ_in_the_last_bits_alone(given: list[int]) -> None:
    hashes = np.array(given, dtype=np.uint64)
    order = row_order.order_of(hashes)
    assert hashes[order].tolist() == sorted(given)
    assert sorted(order.tolist()) == list(range(len(given)))


@examples(100)
@given(st.lists(states, max_size=4), st.integers(1, 9))
def test_parts_in_order_are_put_together_slice_by_slice(given: list[States], size: int) -> None:
    parts = [row_order.distinct(packed(part), coarse(packed(part))) for part in given]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_order, "SLICE", size)
        found, hashes = row_order.together(parts, 2, 0, 1 << 63)
    every = [state for part in given for state in part]
    wanted, wanted_hashes = row_order.distinct(packed(every), coarse(packed(every)))
    assert (listed(found), hashes.tolist()) == (listed(wanted), wanted_hashes.tolist())


@examples(200)
@given(states, states, st.integers(1, 9))
def test_looking_up_is_membership(given: States, known: States, size: int) -> None:
    mine, my_hashes = row_order.distinct(packed(given), coarse(packed(given)))
    theirs, their_hashes = row_order.distinct(packed(known), coarse(packed(known)))
    at = row_order.positions(mine, my_hashes, theirs, their_hashes)
    assert [listed(theirs)[i] if i >= 0 else None for i in at] == [x if x in known else None for x in listed(mine)]
    new = np.ones(len(mine), dtype=np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_order, "LOOKED_THROUGH", size)
        row_order.mark_known(new, mine, my_hashes, theirs, their_hashes)
    assert set(listed(mine[new])) == set(given) - set(known)


@examples(100)
@given(states, states, st.integers(1, 5))
def test_files_give_back_what_was_written_and_find_it(
    tmp_path_factory, given: States, known: States, group: int
) -> None:  # type: ignore[no-untyped-def]
    path = str(tmp_path_factory.mktemp("rows")), "part.parquet"
    theirs, their_hashes = row_order.distinct(packed(known), coarse(packed(known)))
    slabs = [(theirs[i : i + 7], their_hashes[i : i + 7]) for i in range(0, len(theirs), 7)]
    entry = state_files.write(*path, slabs, 2, group)
    assert entry["rows"] == len(theirs)
    if not known:
        assert not Path(*path).exists()
        return
    reader = state_files.Reader(*path, coarse)
    for low in range(0, 1 << 64, SPREAD):
        high = min(low + 2 * SPREAD, 1 << 64)
        part = [listed(r) for r, _ in reader.between(low, high)]
        wanted = [x for x, h in zip(listed(theirs), their_hashes.tolist(), strict=True) if low <= h < high]
        assert [x for piece in part for x in piece] == wanted
    mine, my_hashes = row_order.distinct(packed(given), coarse(packed(given)))
    new = np.ones(len(mine), dtype=np.bool_)
    for some, some_hashes, a, b in reader.around(my_hashes):
        row_order.mark_known(new[a:b], mine[a:b], my_hashes[a:b], some, some_hashes)
    reader.close()
    assert set(listed(mine[new])) == set(given) - set(known)


def test_a_page_that_has_changed_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "part.parquet"
    many = packed([(i * 7919, i) for i in range(1000)])
    state_files.write(str(path.parent), path.name, [(many, np.arange(1000, dtype=np.uint64))], 2, 100)
    content = path.read_bytes()
    path.write_bytes(content[:3000] + bytes([content[3000] ^ 1]) + content[3001:])
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        list(state_files.Reader(str(path.parent), path.name, coarse).all())


def test_looking_for_few_states_reads_few_row_groups(tmp_path: Path) -> None:
    many = packed([(i, 0) for i in range(10_000)])
    hashes = np.array([partition_hash(map(int, row)) for row in many], dtype=np.uint64)
    many, hashes = row_order.distinct(many, hashes)
    path = str(tmp_path), "part.parquet"
    state_files.write(*path, [(many, hashes)], 2, 100)

    def again(states: np.ndarray) -> np.ndarray:
        return np.array([partition_hash(map(int, row)) for row in states], dtype=np.uint64)

    reader = state_files.Reader(*path, again)
    seen = [(a, b, len(some)) for some, _, a, b in reader.around(hashes[[150, 151, 9_950]])]
    assert (seen, len(reader.firsts)) == ([(0, 3, 200)], 100)
    reader.close()


@examples(100)
@given(
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)).map(sorted), max_size=9), st.integers(1, 9)
)
def test_an_owner_is_given_the_files_that_may_have_its_states(ends: list[list[int]], parts: int) -> None:
    entries = [{"path": str(i), "hashes": [f"{end:016x}" for end in pair]} for i, pair in enumerate(ends)]
    limits = row_order.bounds(parts)
    work = {"plan": SimpleNamespace(value=state_files.plan(entries[:4], entries[4:], limits))}
    for owner, (low, high) in enumerate(itertools.pairwise(limits)):
        wanted = [e for e, (first, last) in zip(entries, ends, strict=True) if first < high and last >= low]
        mine = state_files.mine(work, owner)
        assert [*mine["frontier"], *mine["known"]] == wanted
        assert all(e in entries[:4] for e in mine["frontier"])


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 8, 200])
def test_every_hash_has_one_owner_the_one_of_its_first_bits(parts: int) -> None:
    limits = row_order.bounds(parts)
    assert (limits[0], limits[-1], len(limits)) == (0, 1 << 64, parts + 1)
    hashes = np.sort(np.random.default_rng(1).integers(0, 1 << 64, size=1000, dtype=np.uint64))
    edges = row_order.cuts(hashes, limits)
    owners = [next(p for p in range(parts) if edges[p] <= i < edges[p + 1]) for i in range(1000)]
    assert owners == [(h >> 32) * parts >> 32 for h in hashes.tolist()]


def test_a_power_of_two_gives_the_partitions_of_the_local_engine() -> None:
    assert row_order.bounds(16) == [p << 60 for p in range(17)]


def test_the_newest_files_are_read_first_and_no_others_for_what_they_have(tmp_path: Path) -> None:
    """There are two files of known states. Candidates in the newer file are not searched in the older file."""
    system = grid([40, 40])
    kernel, limits = Kernel(system), row_order.bounds(1)
    base = {"root": str(tmp_path), "states": "states", "kernel": sizes(kernel, False), "bounds": limits}
    work = {**base, "most_runs": 8, "group": 50, "plan": state_files.plan([], [], limits)}
    executor_kernels.at_hand(work, kernel.code)
    (tmp_path / "states").mkdir()
    every = kernel.layout.pack([(x, y) for x in range(40) for y in range(40)])
    older, newer = (tasks.merge(work, 0, [row_order.distinct(part, kernel.hashes(part))[0].tobytes()])["part"]
                    for part in (every[:800], every[800:1200]))  # fmt: skip
    known = {**work, "plan": state_files.plan([], [older, newer], limits)}

    def merged(states: np.ndarray) -> tuple[int, int]:
        report = tasks.merge(known, 0, [row_order.distinct(states, kernel.hashes(states))[0].tobytes()])
        return report["distinct"], report["read"]

    size = {entry["path"]: 8 * kernel.words * entry["rows"] for entry in (older, newer)}
    new, read = merged(every[800:1200])
    assert new == 0
    assert 0 < read <= 1.1 * size[newer["path"]]
    new, read = merged(every)
    assert new == 400
    assert read > size[older["path"]] / 2


def test_queries_read_the_numbers_that_were_packed() -> None:
    """checker/engines/spark/executor_queries.py, tested without Spark, because executors run plain functions."""
    ends = [(-3, 4), (0, 1), (5, 5), (-(1 << 40), 1 << 20), (7, 300)]
    layout = Layout([Leaf(i, f"x{i}", "number", low, high) for i, (low, high) in enumerate(ends)])
    given = [tuple(high for _, high in ends), tuple(low for low, _ in ends), (0, 1, 5, 12, 299)]
    read = [
        executor_queries.leaf(layout.pack(given), [x.word, x.shift, x.width, x.low]).tolist() for x in layout.places
    ]
    assert read == [list(column) for column in zip(*given, strict=True)], (
        "checker/engines/spark/executor_queries.py: leaf reads other numbers"
    )
