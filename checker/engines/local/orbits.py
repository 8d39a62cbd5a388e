"""The levels of a search under symmetry, which keeps only one state of each orbit: its representative.

An orbit has all states that differ only by exchanging interchangeable brokers (`isrcheck.checker.kernel.orbits`).
Members of other scalarsets (sets of interchangeable values) are treated like brokers. A trace leads from state to
state, but not always from representative to representative. So a search for a trace first finds the representatives
with a step into the orbit of a target. It replaces these representatives by all states of their orbits, and then
continues as without symmetry. This is correct, because all states of an orbit have the same level in a search without
symmetry. (Exchanging brokers maps initial states to initial states and steps to steps.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isrcheck.checker.engines.local.levels import BLOCK, NativeLevels, Wanted
from isrcheck.checker.engines.local.stored import Stored
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.orbits import Orbits, distinct
from isrcheck.model.language.system import TransitionSystem


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
