"""Programs over columns: written for a transition system, with their registers in as few columns as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.machine import NARROW, OPERATIONS, WIDE
from isrcheck.checker.kernel.machined import Expanded, Machined
from isrcheck.checker.kernel.operators import Writer
from isrcheck.checker.kernel.planes import GROUP
from isrcheck.checker.kernel.registers import Change, Column, Function, Instruction, Part, Register
from isrcheck.checker.kernel.steps import Integers, Placed, PlacedChange, Placing, Steps
from isrcheck.model.language.expressions import FALSE, Expression, Leaf
from isrcheck.model.language.system import Transition, TransitionSystem

LANES: Final = 1 << 11
"""How many states are processed at once: their columns stay in the cache."""
_WORD: Final = (1 << 64) - 1
COMPARISONS: Final[tuple[Function, ...]] = (np.equal, np.not_equal, np.less_equal)
"""Functions whose results are flags of numpy."""


def expansion(system: TransitionSystem, layout: Layout) -> Program:
    """Guards are computed for all states. What only a transition needs is computed if any state enables it."""
    writer, parts = Writer(), list[Part]()
    for number, transition in enumerate(system.transitions):
        part = Part(writer.shared(), number=number)
        if transition.failure is not FALSE:
            part.failure = writer.register(transition.failure)
        if transition.guard is not FALSE:
            part.flag = writer.register(transition.guard)
            part.body = writer.body()
            part.changes = _changes(writer, layout, transition)
        if part.flag is not None or part.failure is not None:
            parts.append(part)
    return Program(parts, writer.constants, writer.leaves, layout)


def _changes(writer: Writer, layout: Layout, transition: Transition) -> list[Change]:
    """The words that a transition changes. Fields do not overlap, so a sum of fields carries nothing between them."""
    changes = []
    for word in range(layout.words):
        changed = [i for i in transition.updates if layout.places[i].word == word and layout.places[i].width]
        if not changed:
            continue
        kept, base, values = _WORD, 0, list[tuple[Register, np.uint64]]()
        for i in changed:
            place, update = layout.places[i], transition.updates[i]
            kept &= ~place.mask
            base -= place.low << place.shift
            if isinstance(update.value, int):
                base += update.value << place.shift
            else:
                values.append((writer.register(update), np.uint64(place.shift)))
        changes.append(Change(word, np.uint64(kept), np.uint64(base & _WORD), tuple(values)))
    return changes


def failures(system: TransitionSystem, layout: Layout) -> Program:
    flags = {number: t.failure for number, t in enumerate(system.transitions) if t.failure is not FALSE}
    return _flags(flags, layout)


def judgement(bits: Sequence[Expression], layout: Layout) -> Program:
    return _flags({number: bit for number, bit in enumerate(bits) if bit is not FALSE}, layout)


def _flags(flags: dict[int, Expression], layout: Layout) -> Program:
    writer, parts = Writer(), list[Part]()
    for number, expression in flags.items():
        part = Part(writer.shared(), number=number)
        part.flag = writer.register(expression)
        parts.append(part)
    return Program(parts, writer.constants, writer.leaves, layout)


# --- places ---------------------------------------------------------------------------------------------------------


class Program:
    """Parts with their columns; `constants` and `leaves` are filled before it runs."""

    def __init__(
        self, parts: Sequence[Part], constants: dict[Register, int], leaves: dict[Register, Leaf], layout: Layout
    ) -> None:
        self.layout = layout
        places = _placed(parts, [*constants, *leaves])
        narrow, wide = (1 + max((p for r, p in places.items() if r.wide == w), default=-1) for w in (False, True))
        self._narrow = np.zeros((narrow, LANES), dtype=np.int8)
        self._wide = np.zeros((wide, LANES), dtype=np.int64)
        self._count = narrow
        for register, value in constants.items():
            (self._wide if register.wide else self._narrow)[places[register]] = value
        self._at = {register: place + (2 * narrow if register.wide else 0) for register, place in places.items()}
        """The number of a register's column among all: bytes, the same bytes as flags of numpy, and wide columns."""
        self.leaves = [(self._at[register], layout.places[leaf.index]) for register, leaf in leaves.items()]
        self.parts = [self._part(part) for part in parts]

    def _part(self, part: Part) -> Placed:
        at, flags = self._at, self._count
        return Placed(
            self._steps(part.instructions),
            None if part.flag is None else at[part.flag] + flags,
            None if part.failure is None else at[part.failure] + flags,
            part.number,
            self._steps(part.body),
            [PlacedChange(c.word, c.kept, c.base, [(at[r], shift) for r, shift in c.values]) for c in part.changes],
        )

    def _steps(self, instructions: Sequence[Instruction]) -> Steps:
        at, flags = self._at, dict.fromkeys(COMPARISONS, self._count)
        placings = [(i.function, at[i.a], at[i.b], at[i.out] + flags.get(i.function, 0)) for i in instructions]
        return Steps(placings, self._code)

    def _code(self, placings: list[Placing]) -> Integers:
        """The instructions in the form that the machine reads: the number of an operation, and addresses of columns."""
        rows = [(OPERATIONS[f, self._bits(a), self._bits(out)], a, b, out) for f, a, b, out in placings]
        code = np.array(rows, dtype=np.int64).reshape(len(rows), 4)
        code[:, 1:] = self._addresses[code[:, 1:]]
        return code

    def _bits(self, at: int) -> int:
        return NARROW if at < 2 * self._count else WIDE

    @cached_property
    def _addresses(self) -> Integers:
        """The address of each column. Columns are never moved."""
        narrow, wide = self._narrow, self._wide
        bytes_ = narrow.ctypes.data + np.arange(len(narrow), dtype=np.int64) * narrow.strides[0]
        integers = wide.ctypes.data + np.arange(len(wide), dtype=np.int64) * wide.strides[0]
        return np.concatenate([bytes_, bytes_, integers])

    def address(self, at: int) -> int:
        """Where a column lies, plus one if it is wide: as `isrcheck.checker.kernel.passes` reads it."""
        return int(self._addresses[at]) + (self._bits(at) == WIDE)

    @cached_property
    def machined(self) -> Machined:
        """The program in the form that compiled code runs."""
        leaves = [(self.address(at), place) for at, place in self.leaves]
        return Machined(self.parts, leaves, self.address, self.layout.words, LANES)

    def expand(self, states: Words, first: int) -> Expanded:
        """The same as `Machined.expand`, by numpy."""
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
        """The same as `Machined.judge`, by numpy."""
        columns = self.begin(states)
        for part in self.parts:
            part.instructions.run(columns, len(states))
            assert part.flag is not None
            (where,) = np.nonzero(columns[part.flag])
            if len(where):
                out[where, part.number // 64] |= np.uint64(1 << part.number % 64)

    def begin(self, states: Words) -> list[Column]:
        """The columns for some states, with their leaves."""
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
    """The order of compiled code: by groups of `GROUP` states, and within a group by transition."""
    return np.argsort((sources // GROUP).astype(np.uint16), kind="stable")


def _changed(part: Placed, words: Words, where: Integers, columns: Sequence[Column]) -> Words:
    """Words of states after a transition, one row for each word; `where` are the lanes of the states."""
    for change in part.changes:
        word = words[change.word]
        word &= change.kept
        word += change.base
        for place, shift in change.values:
            value = columns[place][where].astype(np.uint64)
            value <<= shift
            word += value
    return words


def _placed(parts: Sequence[Part], kept: Sequence[Register]) -> dict[Register, int]:
    """A place for each register, free again after its last use. Narrow and wide registers have separate places."""
    last = _last_uses(parts) | dict.fromkeys(kept, -1)
    places: dict[Register, int] = {}
    free: dict[bool, list[int]] = {False: [], True: []}
    count = {False: 0, True: 0}

    def take(register: Register) -> list[int]:
        wide = register.wide
        if free[wide]:
            places[register] = free[wide].pop()
        else:
            places[register] = count[wide]
            count[wide] += 1
        return free[wide]

    for register in kept:
        take(register)
    for step, (reads, out) in enumerate(_steps(parts)):
        # Its operands' places are free for the result: numpy reads an element before it writes it.
        for register in reads:
            if last[register] == step:
                free[register.wide].append(places[register])
                last[register] = -1
        if out is not None:
            fallow = take(out)
            if out not in last:
                fallow.append(places[out])
    return places


def _last_uses(parts: Sequence[Part]) -> dict[Register, int]:
    """The last step that reads each register."""
    return {register: step for step, (reads, _) in enumerate(_steps(parts)) for register in reads}


def _steps(parts: Sequence[Part]) -> Iterable[tuple[Sequence[Register], Register | None]]:
    """The registers that are read and written, in the order of a run in which every part runs."""
    for part in parts:
        for instructions in (part.instructions, part.body):
            for instruction in instructions:
                yield (instruction.a, instruction.b), instruction.out
        yield tuple(part.reads()), None
