"""The states of a small search, held against a set of Python's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isrcheck.checker.engines.explicit.small_search import LEAST_SLOTS, StateSet
from tests.agreement.profiles import examples


@given(
    words=st.integers(1, 4),
    batches=st.lists(st.lists(st.integers(0, 40), max_size=60), max_size=12),
)
@examples(300)
def test_new_states_are_those_that_a_set_does_not_have(words: int, batches: list[list[int]]) -> None:
    states, known = StateSet(words), set[tuple[int, ...]]()
    for batch in batches:
        # Rows that differ in one word only, the last one, and in high bits too.
        rows = np.ones((len(batch), words), dtype=np.uint64)
        rows[:, -1] = np.array(batch, dtype=np.uint64) << np.uint64(57)
        wanted = []
        for row in map(tuple, rows.tolist()):
            if row not in known:
                known.add(row)
                wanted.append(row)
        assert list(map(tuple, states.add(rows).tolist())) == wanted
        assert len(states) == len(known)


@pytest.mark.parametrize("words", [1, 3])
def test_a_table_grows(words: int) -> None:
    generator, states, known = np.random.default_rng(1), StateSet(words), set[bytes]()
    sizes = set()
    for _ in range(12):
        rows = generator.integers(0, 12 if words == 3 else 1 << 15, (2 * LEAST_SLOTS, words)).astype(np.uint64)
        new = states.add(rows)
        fresh = {row.tobytes() for row in rows} - known
        assert {row.tobytes() for row in new} == fresh and len(new) == len(fresh)
        known |= fresh
        sizes.add(states.nbytes)
    assert len(known) > (1 << 14 if words == 1 else 1 << 10) and len(sizes) > 1
