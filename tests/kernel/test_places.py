"""The numbering of states by their places in the table of a store."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.engines.explicit import search_loops
from isrcheck.checker.engines.explicit.table_store import Places, Store
from isrcheck.checker.kernel.layout import Layout, Words
from tests.agreement.profiles import examples
from tests.kernel.toys import leaves_of


def filled(widths: list[int], generator: np.random.Generator, levels: int, count: int) -> tuple[Store, Words, Words]:
    """A store with `levels` levels of random states, the states in it, and further random states."""
    layout = Layout(leaves_of(*(("number", 0, (1 << w) - 1) for w in widths)))
    limits = [min(1 << w, int(generator.integers(1, 1 << 20))) for w in widths]
    inside, outside = (
        layout.pack(np.stack([generator.integers(0, limit, count) for limit in limits], 1)) for _ in range(2)
    )
    store = Store(layout, sample=inside, first_entries=1, chunk=1)
    for part in np.array_split(inside, levels):
        store.insert(part)
        store.close()
    known = {row.tobytes() for row in inside}
    others = [row for row in outside if row.tobytes() not in known]
    return store, inside, np.array(others, dtype=np.uint64).reshape(-1, layout.words)


@examples(120)
@given(st.lists(st.integers(1, 62), min_size=1, max_size=6), st.integers(0, 2**32), st.integers(1, 4))
def test_a_number_stands_for_one_state_and_is_found_by_it(widths: list[int], seed: int, levels: int) -> None:
    generator = np.random.default_rng(seed)
    store, inside, outside = filled(widths, generator, levels, 400 * levels)
    places, counts = Places(store), store.dictionaries.counts.tolist()
    listed = list(places.every(store.depth, 128))
    numbers, states, of = (np.concatenate(column) for column in zip(*listed, strict=True))
    assert len(numbers) == store.total == len({row.tobytes() for row in inside}) == len(set(numbers.tolist()))
    assert places.size > numbers.max()
    at = generator.permutation(len(numbers))
    found, names = places.find(states[at])
    assert (found == numbers[at]).all()
    assert (places.ids(numbers[at]) == names).all()
    assert (places.states(names) == states[at]).all()
    assert (places.levels(numbers[at]) == of[at]).all()
    for level in range(1, store.depth + 1):
        there = sorted(row.tobytes() for rows in store.blocks(level, 100) for row in rows)
        assert sorted(row.tobytes() for row in states[of == level]) == there
    assert (places.find(outside)[0] == -1).all()
    assert store.dictionaries.counts.tolist() == counts  # whoever asks adds nothing
    assert (places.find(states)[0] == numbers).all()


@examples(40)
@given(st.integers(0, 2**32))
def test_levels_that_are_not_asked_for_are_left_out(seed: int) -> None:
    store, _, _ = filled([20, 9], np.random.default_rng(seed), 3, 300)
    found = np.concatenate([of for _, _, of in Places(store).every(2, 50)])
    assert set(found.tolist()) == {1, 2}
    assert len(found) == sum(store.sizes[:2])


def test_both_sizes_of_entries_and_entries_behind_their_bucket() -> None:
    sizes, displaced = set[int](), 0
    for widths, levels in (([24], 1), ([60, 60, 60, 60], 600)):
        store, inside, _ = filled(widths, np.random.default_rng(1), levels, 60_000)
        places = Places(store)
        assert (places.states(places.ids(places.find(inside)[0])) == inside).all()
        sizes |= set(store.partitions[:, search_loops.SIZE].tolist())
        displaced += displaced_in(store)
    assert sizes == {4, 8}
    assert displaced > 0


def displaced_in(store: Store) -> int:
    """The number of entries that are not in the bucket of their name, but behind it."""
    displaced = 0
    for p, tables in enumerate(store._tables):
        rest, size = int(store.partitions[p, search_loops.REST]), int(store.partitions[p, search_loops.SIZE])
        entries = tables[0].view(np.uint32 if size == 4 else np.uint64)
        displaced += int(((entries >> rest & 7 != 0) & (entries != 0)).sum())
    return displaced
