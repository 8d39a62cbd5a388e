"""The levels that a search has found, and the steps between their states. Traces are made from these.

Gives each state of a store a number: the state's place in the store's table. Liveness questions use these numbers.

The numbers take no memory. A state keeps its number as long as nothing is inserted.

The levels of a search under symmetry, which keeps only one state of each orbit: its representative.

An orbit has all states that differ only by exchanging interchangeable brokers (`isrcheck.checker.kernel.llvm_orbits`).
Members of other scalarsets (sets of interchangeable values) are treated like brokers. A trace leads from state to
state, but not always from representative to representative. So a search for a trace first finds the representatives
with a step into the orbit of a target. It replaces these representatives by all states of their orbits, and then
continues as without symmetry. This is correct, because all states of an orbit have the same level in a search without
symmetry. (Exchanging brokers maps initial states to initial states and steps to steps.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.kernel.llvm_orbits import Orbits, distinct
from isrcheck.checker.results.exploration import Edges
from isrcheck.model.semantics.transition_system import TransitionSystem

if TYPE_CHECKING:
    from isrcheck.checker.engines.explicit.compressed_ids import Stored
    from isrcheck.checker.engines.explicit.table_store import Places


BLOCK: Final = 1 << 14
"""How many states are expanded at once. The arrays of a block are a few megabytes."""
Wanted = Callable[[Words], npt.NDArray[np.bool_]]
"""A function that says for each of several states whether the state is wanted."""


class NativeLevels:
    """The packed states of each level. They are copied from the store in blocks.

    A block is an array of shape (states, words). The levels have only states that the constraints allow.
    """

    def __init__(self, system: TransitionSystem, kernel: Kernel, store: Stored) -> None:
        self.system = system
        self.kernel = kernel
        self.store = store

    @property
    def depth(self) -> int:
        """The number of whole levels."""
        return self.store.depth

    def blocks(self, level: int) -> Iterator[Words]:
        """The states of a level, at most `BLOCK` at a time."""
        return self.store.blocks(level, BLOCK)

    def places(self) -> Places | None:
        """Numbers for the states: their places in the store's table. None if the store has no table."""
        from isrcheck.checker.engines.explicit.table_store import Places, Store

        return Places(self.store) if isinstance(self.store, Store) else None

    def level_states(self, level: int) -> Words:
        """All states of a level."""
        return _joined(list(self.blocks(level)), self.kernel.words)

    def edges_into_violation(self, level: int, invariant: str) -> Edges:
        """Every step from a state of `level` to a state, inside the constraints or not, that violates the invariant."""
        bit = self.kernel.verdicts.invariants[invariant]

        def violating(successors: Words) -> npt.NDArray[np.bool_]:
            word = self.kernel.evaluate(successors)[:, bit // 64]
            return (word >> np.uint64(bit % 64) & np.uint64(1)).astype(np.bool_)

        sources, transition, found = self._steps(self._leading(level, violating), violating)
        targets, target = _distinct(found)
        return _edges(sources, targets, transition, target)

    def edges_into(self, level: int, targets: Words) -> Edges:
        """Every step from a state of `level` to one of `targets`. A target may be outside the constraints."""
        targets = np.ascontiguousarray(targets, dtype=np.uint64).reshape(-1, self.kernel.words)
        find = self.finder(targets)
        sources, transition, found = self._steps(self._before(level, targets), lambda states: find(states) >= 0)
        return _edges(sources, targets, transition, find(found))

    def deadlocked(self, level: int) -> Words:
        """The states of `level` without an enabled instance."""
        stuck = []
        for states in self.blocks(level):
            degrees = np.bincount(self.kernel.expand(states)[1], minlength=len(states))
            stuck.append(states[degrees == 0])
        return _joined(stuck, self.kernel.words)

    def members(self, states: Words) -> Words:
        """Under symmetry, all states of the orbits of `states`. Without symmetry, `states` itself."""
        return states

    def state(self, leaves: tuple[int, ...]) -> Words:
        """The packed state with these leaves, a target for `edges_into`. The state may be outside the constraints."""
        return self.kernel.layout.pack([leaves])

    def leaves(self, states: Words) -> list[tuple[int, ...]]:
        """The leaves of each state."""
        return [tuple(row) for row in self.kernel.layout.unpack(states).tolist()]

    def _leading(self, level: int, wanted: Wanted) -> Iterator[Words]:
        """All states of a level, in blocks. A subclass may leave out states that have no wanted successor."""
        return self.blocks(level)

    def _before(self, level: int, targets: Words) -> Iterator[Words]:
        """All states of a level, in blocks. A subclass may leave out states that have no successor in `targets`."""
        return self.blocks(level)

    def _steps(self, blocks: Iterable[Words], wanted: Wanted) -> tuple[Words, Integers, Words]:
        """Source, transition and successor of every step from a state in `blocks` to a wanted successor."""
        sources, transitions, found = [], [], []
        for states in blocks:
            successors, source, transition, _ = self.kernel.expand(states)
            chosen = wanted(successors)
            sources.append(states[source[chosen]])
            transitions.append(transition[chosen])
            found.append(successors[chosen])
        words = self.kernel.words
        which = np.concatenate(transitions) if transitions else np.empty(0, dtype=np.int64)
        return _joined(sources, words), which, _joined(found, words)

    def finder(self, targets: Words) -> Callable[[Words], Integers]:
        """A function that gives each state's position in `targets`, or -1. There must be fewer than 2^31 targets."""
        from isrcheck.checker.engines.explicit import search_loops

        index = np.zeros(1 << (2 * len(targets) + 1).bit_length(), dtype=np.int32)
        search_loops.index_rows(self.kernel.hashes(targets), index)

        def find(states: Words) -> Integers:
            found = np.empty(len(states), dtype=np.int64)
            search_loops.positions(index, targets, states, self.kernel.hashes(states), found)
            return found

        return find


def _joined(parts: list[Words], words: int) -> Words:
    return np.concatenate(parts) if parts else np.empty((0, words), dtype=np.uint64)


def _distinct(states: Words) -> tuple[Words, Integers]:
    """The distinct rows of `states`, and for each row of `states` its position among the distinct rows."""
    if not len(states):
        return states, np.empty(0, dtype=np.int64)
    rows, position = np.unique(states, axis=0, return_inverse=True)
    return rows, position.reshape(-1).astype(np.int64)


def _edges(sources: Words, targets: Words, transition: Integers, target: Integers) -> Edges:
    distinct, source = _distinct(sources)
    return Edges(distinct, targets, source, transition, target)


class OrbitLevels(NativeLevels):
    """The levels under symmetry. `blocks` and `level_states` give only representatives.

    `deadlocked` and the methods for edges look at all states of the orbits.
    """

    def __init__(self, system: TransitionSystem, kernel: Kernel, store: Stored, orbits: Orbits) -> None:
        super().__init__(system, kernel, store)
        self.orbits = orbits

    def members(self, states: Words) -> Words:
        return self.orbits.members(states)

    def places(self) -> None:
        return None

    def deadlocked(self, level: int) -> Words:
        return self.members(super().deadlocked(level))

    def _leading(self, level: int, wanted: Wanted) -> Iterator[Words]:
        for states in self.blocks(level):
            successors, source, _, _ = self.kernel.expand(states)
            near = self.members(states[np.unique(source[wanted(successors)])])
            yield from (near[i : i + BLOCK] for i in range(0, len(near), BLOCK))

    def _before(self, level: int, targets: Words) -> Iterator[Words]:
        find = self.finder(distinct(self.orbits.representatives(targets)))
        return self._leading(level, lambda states: find(self.orbits.representatives(states)) >= 0)
