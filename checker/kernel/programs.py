"""Writes a transition system as programs over columns. A column has one value for each of up to `LANES` states.
Registers (`registers.py`) share columns, so that a program needs few columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.machined import Expanded, Machined
from isrcheck.checker.kernel.operators import Writer
from isrcheck.checker.kernel.planes import GROUP
from isrcheck.checker.kernel.registers import Change, Column, Part, Register
from isrcheck.checker.kernel.steps import COMPARISONS, FUNCTIONS, Code, Integers, Placed, Steps
from isrcheck.model.language.expressions import FALSE, Expression
from isrcheck.model.language.system import Transition, TransitionSystem

LANES: Final = 1 << 11
"""How many states are processed at a time. With so few states, the columns stay in the processor's cache."""
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


def judgement(bits: Sequence[Expression], layout: Layout) -> Program:
    return _flags({number: bit for number, bit in enumerate(bits) if bit is not FALSE}, layout)


def _flags(flags: dict[int, Expression], layout: Layout) -> Program:
    writer, parts = Writer(), list[Part]()
    for number, expression in flags.items():
        first, flag = writer.shared(), writer.register(expression)
        end = len(writer)
        parts.append(Part(number, first, end, end, flag))
    return Program(writer, parts, layout)


# --- places ---------------------------------------------------------------------------------------------------------


class Program:
    """The parts that a writer has written, with their columns.

    The columns of constants and leaves are filled before the program runs.

    Columns are numbered in this order: first the columns of bytes, then the same columns again as numpy flags
    (`bool`), then the columns of 64-bit integers.
    """

    def __init__(self, writer: Writer, parts: Sequence[Part], layout: Layout) -> None:
        self.layout = layout
        places = _placed(writer.code, parts, [*writer.constants, *writer.leaves])
        at = np.array(places, dtype=np.int64)
        narrow, wide = (1 + int(at[width::2].max(initial=-1)) for width in (0, 1))
        self._narrow = np.zeros((narrow, LANES), dtype=np.int8)
        self._wide = np.zeros((wide, LANES), dtype=np.int64)
        for register, value in writer.constants.items():
            (self._wide if register & 1 else self._narrow)[places[register]] = value
        at[1::2] += 2 * narrow
        self._code = Code(_instructions(writer.code, at, narrow), self._addresses)
        self.leaves = [(int(at[register]), layout.places[leaf.index]) for register, leaf in writer.leaves.items()]
        self.parts = [self._part(part, places) for part in parts]

    def _part(self, part: Part, places: Sequence[int]) -> Placed:
        flags = len(self._narrow)

        def at(register: Register) -> int:
            return places[register] + 2 * flags if register & 1 else places[register]

        return Placed(
            part.number,
            Steps(self._code, part.first, part.body),
            Steps(self._code, part.body, part.end),
            None if part.flag is None else at(part.flag) + flags,
            None if part.failure is None else at(part.failure) + flags,
            [Change(c.word, c.kept, c.base, [(at(r), shift) for r, shift in c.values]) for c in part.changes],
        )

    @cached_property
    def _addresses(self) -> Integers:
        """The address of each column. Columns are never moved."""
        narrow, wide = self._narrow, self._wide
        bytes_ = narrow.ctypes.data + np.arange(len(narrow), dtype=np.int64) * narrow.strides[0]
        integers = wide.ctypes.data + np.arange(len(wide), dtype=np.int64) * wide.strides[0]
        return np.concatenate([bytes_, bytes_, integers])

    @cached_property
    def machined(self) -> Machined:
        """The program in the form for compiled code."""
        odd = self._addresses + (np.arange(len(self._addresses)) >= 2 * len(self._narrow))
        return Machined(self.parts, self.leaves, odd, self.layout.words, LANES)

    def expand(self, states: Words, first: int) -> Expanded:
        """Does the same as `Machined.expand`, with numpy."""
        columns, failing = self.begin(states), 0
        words = np.ascontiguousarray(states.T)
        degrees = np.zeros(len(states), dtype=np.int32)
        rows, sources, fired = [np.empty((len(words), 0), dtype=np.uint64)], list[Integers](), list[tuple[int, int]]()
        for part in self.parts:
            part.instructions.run(columns, len(states))
            enabled = None if part.flag is None else columns[part.flag]
            if part.failure is not None:
                failing += int(np.count_nonzero(columns[part.failure]))
                if enabled is not None:
                    enabled = np.greater(enabled, columns[part.failure])
            if enabled is None or not (count := int(np.count_nonzero(enabled))):
                continue
            part.body.run(columns, len(states))
            degrees += enabled
            (where,) = np.nonzero(enabled)
            rows.append(_changed(part, words.take(where, axis=1), where, columns))
            sources.append(where)
            fired.append((part.number, count))
        numbers, counts = np.array(fired, dtype=np.int64).reshape(-1, 2).T
        source = np.concatenate([np.empty(0, dtype=np.int64), *sources])
        order = by_group(source)
        successors = np.ascontiguousarray(np.concatenate(rows, axis=1)[:, order].T)
        transitions = np.repeat(numbers, counts)[order]
        return Expanded(successors, source[order] + first, transitions, numbers, counts, degrees, failing)

    def judge(self, states: Words, out: Words) -> None:
        """Does the same as `Machined.judge`, with numpy."""
        columns = self.begin(states)
        for part in self.parts:
            part.instructions.run(columns, len(states))
            assert part.flag is not None
            (where,) = np.nonzero(columns[part.flag])
            if len(where):
                out[where, part.number // 64] |= np.uint64(1 << part.number % 64)

    def begin(self, states: Words) -> list[Column]:
        """Fills the columns of leaves from some states. Returns all columns for these states."""
        words = np.ascontiguousarray(states.T)
        narrow = self._narrow[:, : len(states)]
        columns: list[Column] = [*narrow, *narrow.view(np.bool_), *self._wide[:, : len(states)]]
        bits = np.empty(len(states), dtype=np.uint64)
        for at, place in self.leaves:
            np.right_shift(words[place.word], np.uint64(place.shift), out=bits)
            np.bitwise_and(bits, np.uint64((1 << place.width) - 1), out=bits)
            column = columns[at]
            column[...] = bits
            if place.low:
                column += place.low
        return columns


def by_group(sources: Integers) -> Integers:
    """The permutation that sorts successors as compiled code does: by group of `GROUP` source states. `sources` has the
    successors' sources in the order of transitions. Successors keep this order within a group."""
    return np.argsort((sources // GROUP).astype(np.uint16), kind="stable")


def _changed(part: Placed, words: Words, where: Integers, columns: Sequence[Column]) -> Words:
    """Makes the changes of a transition in the words of some states. Returns these words.

    `words` has one row for each word of a state. `where` has the lanes of the states.
    """
    for change in part.changes:
        word = words[change.word]
        word &= change.kept
        word += change.base
        for place, shift in change.values:
            value = columns[place][where].astype(np.uint64)
            value <<= shift
            word += value
    return words


def _placed(code: Sequence[int], parts: Sequence[Part], kept: Sequence[Register]) -> list[int]:
    """Chooses for each register a place: a row of `_narrow` or `_wide`.

    After the register's last use, the place is free for another register. The places of the registers `kept` are never
    free. The instructions are read from the end to the beginning, so the last use of a register comes first.
    """
    registers = len(code) // 4 + len(kept)
    places = [-1] * (2 * registers)
    free = [list(range(registers - 1, -1, -1)) for _ in (0, 1)]
    for register in kept:
        places[register] = free[register & 1].pop()
    for part in reversed(parts):
        for register in part.reads():
            if places[register] < 0:
                places[register] = free[register & 1].pop()
        fields = iter(code[4 * part.first : 4 * part.end][::-1])
        for out, b, a, _ in zip(fields, fields, fields, fields, strict=True):
            fallow = free[out & 1]
            if places[out] < 0:
                places[out] = fallow.pop()
            # An operand may have the same place as the result, because numpy reads an element before it writes it.
            fallow.append(places[out])
            if places[a] < 0:
                places[a] = free[a & 1].pop()
            if places[b] < 0:
                places[b] = free[b & 1].pop()
    return places


def _instructions(code: Sequence[int], at: Integers, flags: int) -> Integers:
    """The instructions with columns in place of registers.

    A comparison writes numpy flags. So `flags`, the number of columns of bytes, is added to the number of its result
    column.
    """
    rows = np.array(code, dtype=np.int64).reshape(-1, 4)
    rows[:, 1:] = at[rows[:, 1:]]
    compares = np.array([function in COMPARISONS for function in FUNCTIONS])
    rows[:, 3] += flags * compares[rows[:, 0]]
    return rows
