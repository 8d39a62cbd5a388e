"""A transition system as programs over columns of states.

The programs can run immediately, because nothing is compiled for the model.

A *column* holds the values of an expression in up to `LANES` states. The values are bytes if the interval of the
expression fits into a byte, else 64-bit integers. A flag is a byte, 0 or 1. An instruction computes a column from two
others. Compiled code runs the instructions (`isrcheck.checker.kernel.machine`). This code is the same for all models.
As soon as nothing reads the values in a column any more, the column is free for other values. So the columns of a
program are few and fit the processor's cache.

The programs give the same successors in the same order, the same tallies and the same verdicts as the LLVM text of
`isrcheck.checker.kernel.llvm`. But this text must be compiled before it runs. If the time for compiling is counted, the
programs are faster in searches of up to a few hundred thousand states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel import programs
from isrcheck.checker.kernel.hashing import FIRST, LAST
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.machined import LANES, Integers, Program
from isrcheck.checker.kernel.passes import BLOCK
from isrcheck.checker.kernel.ranges import require_fitting
from isrcheck.checker.kernel.tally import ACTIONS, FAILURES, GREATEST, LEAST
from isrcheck.model.language.expressions import Expression
from isrcheck.model.language.system import TransitionSystem


class Columns:
    """The functions of a system over arrays of packed states. Each program is written when it is first needed."""

    def __init__(self, system: TransitionSystem, layout: Layout, bits: Sequence[Expression]) -> None:
        self._system, self._layout, self._bits = system, layout, bits
        self._actions = np.array([system.actions.index(t.label.action) for t in system.transitions], dtype=np.int64)
        self._expanding: Program | None = None
        self._failing: Program | None = None
        self._judging: Program | None = None
        require_fitting(self._all())

    def _all(self) -> Iterable[Expression]:
        for transition in self._system.transitions:
            yield transition.guard
            yield transition.failure
            yield from transition.updates.values()
        yield from self._bits

    # --- functions --------------------------------------------------------------------------------------------------

    def expand(self, states: Words, tally: Integers) -> tuple[Words, Integers, Integers]:
        """Returns the packed successors, the positions of their sources in `states`, and their transitions' numbers.

        Updates `tally` (see `isrcheck.checker.kernel.tally`).
        """
        if self._expanding is None:
            self._expanding = programs.expansion(self._system, self._layout)
        blocks = [self._expanded(self._expanding, block, start, tally) for start, block in _blocks(states)]
        if not blocks:
            blocks = [(states[:0], np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        if len(blocks) == 1:
            return blocks[0]
        successors, sources, transitions = zip(*blocks, strict=True)
        return np.concatenate(successors), np.concatenate(sources), np.concatenate(transitions)

    def _expanded(
        self, program: Program, states: Words, start: int, tally: Integers
    ) -> tuple[Words, Integers, Integers]:
        found = program.expand(np.ascontiguousarray(states), start)
        tally[FAILURES] += found.failing
        np.add.at(tally, ACTIONS + self._actions[found.numbers], found.counts)
        tally[LEAST] = min(tally[LEAST], found.degrees.min())
        tally[GREATEST] = max(tally[GREATEST], found.degrees.max())
        return found.rows, found.positions, found.transitions

    def failures(self, states: Words) -> tuple[Integers, Integers]:
        """For each failing instance, returns the position of its state in `states` and the number of its transition."""
        if self._failing is None:
            self._failing = programs.failures(self._system, self._layout)
        sources, transitions = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for start, block in _blocks(states):
            bits = np.zeros((len(block), len(self._system.transitions) // 64 + 1), dtype="<u8")
            self._failing.judge(block, bits)
            source, which = np.nonzero(np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little"))
            order = np.lexsort((source, which, source // BLOCK))
            sources.append(source[order] + start)
            transitions.append(which[order])
        return np.concatenate(sources), np.concatenate(transitions)

    def judge(self, states: Words) -> Words:
        """The verdict bits of each state, shape (states, words of a verdict)."""
        if self._judging is None:
            self._judging = programs.judgement(self._bits, self._layout)
        out = np.zeros((len(states), (len(self._bits) + 63) // 64), dtype=np.uint64)
        for start, block in _blocks(states):
            self._judging.judge(block, out[start : start + len(block)])
        return out

    def hashes(self, states: Words) -> npt.NDArray[np.uint64]:
        """The owner hash of each state (see `isrcheck.checker.kernel.hashing`)."""
        h = np.zeros(len(states), dtype=np.uint64)
        for word in states.T:
            h ^= word
            h ^= h >> np.uint64(32)
            h *= np.uint64(FIRST)
            h ^= h >> np.uint64(29)
        h *= np.uint64(LAST)
        h ^= h >> np.uint64(32)
        return h


def _blocks(states: Words) -> Iterable[tuple[int, Words]]:
    return ((start, states[start : start + LANES]) for start in range(0, len(states), LANES))
