"""Programs over columns: written for a transition system, with their registers in as few columns as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.machine import NARROW, OPERATIONS, WIDE, machine
from isrcheck.checker.kernel.operators import Writer
from isrcheck.checker.kernel.registers import Change, Column, Function, Instruction, Part, Register
from isrcheck.model.language.expressions import FALSE, Expression, Leaf
from isrcheck.model.language.system import Transition, TransitionSystem

LANES: Final = 1 << 11
"""How many states are processed at once: their columns stay in the cache."""
ENOUGH: Final = 1 << 17
"""After this many instructions by numpy, compiled code takes over: numpy's 0.1 s are as long as loading that code."""
_WORD: Final = (1 << 64) - 1
COMPARISONS: Final[tuple[Function, ...]] = (np.equal, np.not_equal, np.less_equal)
"""Functions whose results are flags of numpy."""
Code = npt.NDArray[np.int64]
Placing = tuple[Function, int, int, int]
"""An instruction with the places of its registers."""


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


@dataclass(frozen=True)
class Placed:
    """A part with the places of its registers."""

    instructions: Steps
    flag: int | None
    failure: int | None
    number: int
    body: Steps
    changes: list[PlacedChange]


@dataclass(frozen=True)
class PlacedChange:
    word: int
    kept: np.uint64
    base: np.uint64
    values: list[tuple[int, np.uint64]]


class Steps:
    """Instructions with the places of their registers; `code` gives them in the form that the machine reads."""

    def __init__(self, placings: list[Placing], code: Callable[[list[Placing]], Code]) -> None:
        self._placings, self._written = placings, code

    @cached_property
    def _code(self) -> tuple[Code, int]:
        code = self._written(self._placings)
        return code, code.ctypes.data

    def run(self, columns: Sequence[Column], lanes: int) -> None:
        """Runs them on the columns that `Program.begin` has made for some states."""
        global _by_numpy
        if _by_numpy >= ENOUGH:
            machine()(self._code[1], len(self._placings), lanes)
            return
        _by_numpy += len(self._placings)
        for function, a, b, out in self._placings:
            function(columns[a], columns[b], columns[out])


_by_numpy = 0
"""Instructions that numpy has run in this process."""


class Program:
    """Parts with their columns; `constants` and `leaves` are filled before it runs."""

    def __init__(
        self, parts: Sequence[Part], constants: dict[Register, int], leaves: dict[Register, Leaf], layout: Layout
    ) -> None:
        self._layout = layout
        places = _placed(parts, [*constants, *leaves])
        narrow, wide = (1 + max((p for r, p in places.items() if r.wide == w), default=-1) for w in (False, True))
        self._narrow = np.zeros((narrow, LANES), dtype=np.int8)
        self._wide = np.zeros((wide, LANES), dtype=np.int64)
        self._count = narrow
        for register, value in constants.items():
            (self._wide if register.wide else self._narrow)[places[register]] = value
        self._at = {register: place + (2 * narrow if register.wide else 0) for register, place in places.items()}
        """The number of a register's column among all: bytes, the same bytes as flags of numpy, and wide columns."""
        self._leaves = [(self._at[register], layout.places[leaf.index]) for register, leaf in leaves.items()]
        self.parts = [self._part(part) for part in parts]
        self.words: Words = np.empty((layout.words, 0), dtype=np.uint64)

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

    def _code(self, placings: list[Placing]) -> Code:
        """The instructions in the form that the machine reads: the number of an operation, and addresses of columns."""
        rows = [(OPERATIONS[f, self._bits(a), self._bits(out)], a, b, out) for f, a, b, out in placings]
        code = np.array(rows, dtype=np.int64).reshape(len(rows), 4)
        code[:, 1:] = self._addresses[code[:, 1:]]
        return code

    def _bits(self, at: int) -> int:
        return NARROW if at < 2 * self._count else WIDE

    @cached_property
    def _addresses(self) -> Code:
        """The address of each column. Columns are never moved."""
        narrow, wide = self._narrow, self._wide
        bytes_ = narrow.ctypes.data + np.arange(len(narrow), dtype=np.int64) * narrow.strides[0]
        integers = wide.ctypes.data + np.arange(len(wide), dtype=np.int64) * wide.strides[0]
        return np.concatenate([bytes_, bytes_, integers])

    def begin(self, states: Words) -> list[Column]:
        """The columns for some states, with their leaves; `words` are their words."""
        self.words = np.ascontiguousarray(states.T)
        narrow = self._narrow[:, : len(states)]
        columns: list[Column] = [*narrow, *narrow.view(np.bool_), *self._wide[:, : len(states)]]
        bits = np.empty(len(states), dtype=np.uint64)
        for at, place in self._leaves:
            np.right_shift(self.words[place.word], np.uint64(place.shift), out=bits)
            np.bitwise_and(bits, np.uint64((1 << place.width) - 1), out=bits)
            column = columns[at]
            column[...] = bits
            if place.low:
                column += place.low
        return columns


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
