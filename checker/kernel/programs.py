"""A transition system as programs over columns of states.

The programs can run immediately, because nothing is compiled for the model.

A *column* holds the values of an expression in up to `LANES` states. The values are bytes if the interval of the
expression fits into a byte, else 64-bit integers. A flag is a byte, 0 or 1. An instruction computes a column from two
others. Compiled code runs the instructions (`isrcheck.checker.kernel.bytecode`). This code is the same for all models.
As soon as nothing reads the values in a column any more, the column is free for other values. So the columns of a
program are few and fit the processor's cache.

The programs give the same successors in the same order, the same tallies and the same verdicts as the LLVM text of
`isrcheck.checker.kernel.llvm_module`. But this text must be compiled before it runs. If the time for compiling is
counted, the programs are faster in searches of up to a few hundred thousand states.

Writes a transition system as programs over columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.bytecode import Writer
from isrcheck.checker.kernel.layout import Integers, Layout, Words, require_fitting
from isrcheck.checker.kernel.llvm_words import FIRST, LAST
from isrcheck.checker.kernel.verdict_bits import ACTIONS, FAILURES, GREATEST, LEAST
from isrcheck.checker.kernel.vm import LANES, Change, Part, Program
from isrcheck.checker.kernel.vm_passes import BLOCK
from isrcheck.model.semantics.expressions import FALSE, Expression
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem

_WORD: Final = (1 << 64) - 1


def expansion(system: TransitionSystem, layout: Layout) -> Program:
    """The program that expands states. It computes the changes of a transition only if one of the states enables the
    transition."""
    writer, parts = Writer(), list[Part]()
    for number, transition in enumerate(system.transitions):
        if transition.guard is FALSE and transition.failure is FALSE:
            continue
        first = writer.shared()
        failure = None if transition.failure is FALSE else writer.register(transition.failure)
        flag = None if transition.guard is FALSE else writer.register(transition.guard)
        body = writer.body()
        changes = [] if flag is None else _changes(writer, layout, transition)
        parts.append(Part(number, first, body, len(writer), flag, failure, changes))
    return Program(writer, parts, layout)


def _changes(writer: Writer, layout: Layout, transition: Transition) -> list[Change]:
    """How a transition changes the words of a state. Each leaf has its own bits of a word. A change sets the bits of
    updated leaves to 0, and then adds the new values at these places. An intermediate sum may be below 0, so sums are
    computed modulo 2**64."""
    changes = dict[int, Change]()
    updates = [(layout.places[i], update) for i, update in transition.updates.items() if layout.places[i].width]
    for place, update in sorted(updates, key=lambda x: x[0].word):
        change = changes.setdefault(place.word, Change(place.word, kept=_WORD))
        change.kept &= ~place.mask
        added = -place.low
        if isinstance(update.value, int):
            added += update.value
        else:
            change.values.append((writer.register(update), place.shift))
        change.base = change.base + (added << place.shift) & _WORD
    return list(changes.values())


def failures(system: TransitionSystem, layout: Layout) -> Program:
    flags = {number: t.failure for number, t in enumerate(system.transitions) if t.failure is not FALSE}
    return _flags(flags, layout)


def evaluation(bits: Sequence[Expression], layout: Layout) -> Program:
    return _flags({number: bit for number, bit in enumerate(bits) if bit is not FALSE}, layout)


def _flags(flags: dict[int, Expression], layout: Layout) -> Program:
    writer, parts = Writer(), list[Part]()
    for number, expression in flags.items():
        first, flag = writer.shared(), writer.register(expression)
        end = len(writer)
        parts.append(Part(number, first, end, end, flag))
    return Program(writer, parts, layout)


# --- places ---------------------------------------------------------------------------------------------------------


class Columns:
    """The functions of a system over arrays of packed states. Each program is written when it is first needed."""

    def __init__(self, system: TransitionSystem, layout: Layout, bits: Sequence[Expression]) -> None:
        self._system, self._layout, self._bits = system, layout, bits
        self._actions = np.array([system.actions.index(t.label.action) for t in system.transitions], dtype=np.int64)
        self._expanding: Program | None = None
        self._failing: Program | None = None
        self._evaluation: Program | None = None
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

        Updates `tally` (see `isrcheck.checker.kernel.verdict_bits`).
        """
        if self._expanding is None:
            self._expanding = expansion(self._system, self._layout)
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
            self._failing = failures(self._system, self._layout)
        sources, transitions = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for start, block in _blocks(states):
            bits = np.zeros((len(block), len(self._system.transitions) // 64 + 1), dtype="<u8")
            self._failing.evaluate(block, bits)
            source, which = np.nonzero(np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little"))
            order = np.lexsort((source, which, source // BLOCK))
            sources.append(source[order] + start)
            transitions.append(which[order])
        return np.concatenate(sources), np.concatenate(transitions)

    def evaluate(self, states: Words) -> Words:
        """The verdict bits of each state, shape (states, words of a verdict)."""
        if self._evaluation is None:
            self._evaluation = evaluation(self._bits, self._layout)
        out = np.zeros((len(states), (len(self._bits) + 63) // 64), dtype=np.uint64)
        for start, block in _blocks(states):
            self._evaluation.evaluate(block, out[start : start + len(block)])
        return out

    def hashes(self, states: Words) -> npt.NDArray[np.uint64]:
        """The partition hash of each state (see `isrcheck.checker.kernel.layout`)."""
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
