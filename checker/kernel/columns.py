"""A transition system as a program over columns of states, run by numpy: it answers at once, for nothing is compiled.

A *column* holds a value of each of up to `LANES` states: in bytes where the interval of the expression allows, else in
64-bit integers; a flag is a byte, 0 or 1. An instruction is a function of numpy with the numbers of its columns.
Columns are used again as soon as nothing later reads them, so that a program works in the cache of the processor.

What is written here is what `isrcheck.checker.kernel.llvm` writes as LLVM text: the same successors in the same order,
tallies and verdicts. It is faster for up to some hundred thousand states, the time of compilation included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.hashing import FIRST, LAST
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.ranges import require_fitting, require_in_set
from isrcheck.checker.kernel.tally import ACTIONS, FAILURES, GREATEST, LEAST
from isrcheck.model.language.expressions import FALSE, Expression, Leaf
from isrcheck.model.language.system import Transition, TransitionSystem

Integers = npt.NDArray[np.int64]
Column = npt.NDArray[Any]
LANES: Final = 1 << 11
"""States at once: their columns stay in the cache."""
GROUP: Final = 8
"""Successors of so many states stand together, transition by transition."""
BYTE: Final = range(-128, 128)
_WORD: Final = (1 << 64) - 1

Function = Callable[[Column, Column, Column], object]
"""From two columns to a third, which is the last argument."""


@dataclass(frozen=True, eq=False)
class Register:
    """A column before it has its place; `kept` ones are filled before the program runs and have a place for good."""

    number: int
    wide: bool
    kept: bool = False


@dataclass(frozen=True, eq=False)
class Instruction:
    """`function(a, b, out)`."""

    function: Function
    a: Register
    b: Register
    out: Register


@dataclass(frozen=True)
class Change:
    """A word after a transition: `(word & kept) + base`, and each value shifted to its place and added."""

    word: int
    kept: np.uint64
    base: np.uint64
    values: tuple[tuple[Register, np.uint64], ...]


@dataclass
class Part:
    """Instructions, then what is read when they are done.

    `flag` says of which states something is true; `body` computes what only those need.
    """

    instructions: list[Instruction] = field(default_factory=list)
    flag: Register | None = None
    failure: Register | None = None
    number: int = 0
    body: list[Instruction] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def reads(self) -> Iterable[Register]:
        """The columns that are read after the instructions."""
        yield from (register for register in (self.flag, self.failure) if register is not None)
        yield from (register for change in self.changes for register, _ in change.values)


class Columns:
    """The functions of a system over arrays of packed states; each program is written when it is first asked for."""

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
        """All successors of some states: packed, source positions, transitions; `tally` is updated."""
        if self._expanding is None:
            self._expanding = _expansion(self._system, self._layout)
        blocks = [self._expanded(self._expanding, block, start, tally) for start, block in _blocks(states)]
        if not blocks:
            blocks = [(states[:0], np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        successors, sources, transitions = zip(*blocks, strict=True)
        return np.concatenate(successors), np.concatenate(sources), np.concatenate(transitions)

    def _expanded(
        self, program: Program, states: Words, start: int, tally: Integers
    ) -> tuple[Words, Integers, Integers]:
        columns = program.begin(states)
        words = program.words
        degree = np.zeros(len(states), dtype=np.int32)
        rows, sources, fired = [np.empty((len(words), 0), dtype=np.uint64)], list[Integers](), list[tuple[int, int]]()
        for part in program.parts:
            part.run(columns)
            enabled = None if part.flag is None else columns[part.flag]
            if part.failure is not None:
                failing = columns[part.failure]
                tally[FAILURES] += np.count_nonzero(failing)
                if enabled is not None:
                    enabled = np.greater(enabled, failing)
            if enabled is None or not (count := int(np.count_nonzero(enabled))):
                continue
            part.run_body(columns)
            degree += enabled
            (where,) = np.nonzero(enabled)
            after = words.take(where, axis=1)
            for change in part.changes:
                word = after[change.word]
                word &= change.kept
                word += change.base
                for place, shift in change.values:
                    value = columns[place][where].astype(np.uint64)
                    value <<= shift
                    word += value
            rows.append(after)
            sources.append(where)
            fired.append((part.number, count))
        numbers = np.array([number for number, _ in fired], dtype=np.int64)
        counts = np.array([count for _, count in fired], dtype=np.int64)
        np.add.at(tally, ACTIONS + self._actions[numbers], counts)
        tally[LEAST] = min(tally[LEAST], degree.min())
        tally[GREATEST] = max(tally[GREATEST], degree.max())
        source = np.concatenate([np.empty(0, dtype=np.int64), *sources])
        order = _by_group(source)
        successors = np.concatenate(rows, axis=1)[:, order]
        return np.ascontiguousarray(successors.T), source[order] + start, np.repeat(numbers, counts)[order]

    def failures(self, states: Words) -> tuple[Integers, Integers]:
        """Positions in `states` and transitions of the failing instances."""
        if self._failing is None:
            self._failing = _failures(self._system, self._layout)
        none = np.empty(0, dtype=np.int64)
        sources, transitions = [none], [none]
        for start, block in _blocks(states):
            columns = self._failing.begin(block)
            found, which = [none], [none]
            for part in self._failing.parts:
                part.run(columns)
                assert part.flag is not None
                (where,) = np.nonzero(columns[part.flag])
                found.append(where)
                which.append(np.full(len(where), part.number, dtype=np.int64))
            source = np.concatenate(found)
            order = _by_group(source)
            sources.append(source[order] + start)
            transitions.append(np.concatenate(which)[order])
        return np.concatenate(sources), np.concatenate(transitions)

    def judge(self, states: Words) -> Words:
        """The verdict bits of each state, shape (states, words of a verdict)."""
        if self._judging is None:
            self._judging = _judgement(self._bits, self._layout)
        out = np.zeros((len(states), (len(self._bits) + 63) // 64), dtype=np.uint64)
        for start, block in _blocks(states):
            columns = self._judging.begin(block)
            for part in self._judging.parts:
                part.run(columns)
                assert part.flag is not None
                (where,) = np.nonzero(columns[part.flag])
                if len(where):
                    out[start + where, part.number // 64] |= np.uint64(1 << part.number % 64)
        return out

    def hashes(self, states: Words) -> npt.NDArray[np.uint64]:
        """The owner hash of each state."""
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


def _by_group(sources: Integers) -> Integers:
    """The order in which states stand in groups, and else as they stood."""
    return np.argsort((sources // GROUP).astype(np.uint16), kind="stable")


# --- programs -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """A part whose registers have their places."""

    instructions: list[tuple[Function, int, int, int]]
    flag: int | None
    failure: int | None
    number: int
    body: list[tuple[Function, int, int, int]]
    changes: list[PlacedChange]

    def run(self, columns: Sequence[Column]) -> None:
        for function, a, b, out in self.instructions:
            function(columns[a], columns[b], columns[out])

    def run_body(self, columns: Sequence[Column]) -> None:
        for function, a, b, out in self.body:
            function(columns[a], columns[b], columns[out])


@dataclass(frozen=True)
class PlacedChange:
    word: int
    kept: np.uint64
    base: np.uint64
    values: list[tuple[int, np.uint64]]


class Program:
    """Parts with their columns; `constants` and `leaves` are those that are filled before it runs."""

    def __init__(
        self, parts: Sequence[Part], constants: dict[Register, int], leaves: dict[Register, Leaf], layout: Layout
    ) -> None:
        self._layout = layout
        self._places = _placed(parts, [*constants, *leaves])
        narrow = sum(1 for _ in {p for r, p in self._places.items() if not r.wide})
        wide = sum(1 for _ in {p for r, p in self._places.items() if r.wide})
        self._narrow = np.zeros((narrow, LANES), dtype=np.int8)
        self._wide = np.zeros((wide, LANES), dtype=np.int64)
        self._count = narrow
        for register, value in constants.items():
            (self._wide if register.wide else self._narrow)[self._places[register]] = value
        self._leaves = [(self._at(register), layout.places[leaf.index]) for register, leaf in leaves.items()]
        self.parts = [self._part(part) for part in parts]
        self.words: Words = np.empty((layout.words, 0), dtype=np.uint64)

    def _at(self, register: Register, flag: bool = False) -> int:
        """The number of a register's column among all: bytes, the same bytes as flags of numpy, and wide ones."""
        place = self._places[register]
        return place + (2 * self._count if register.wide else self._count if flag else 0)

    def _part(self, part: Part) -> Placed:
        at = self._at
        return Placed(
            self._instructions(part.instructions),
            None if part.flag is None else at(part.flag, flag=True),
            None if part.failure is None else at(part.failure, flag=True),
            part.number,
            self._instructions(part.body),
            [PlacedChange(c.word, c.kept, c.base, [(at(r), shift) for r, shift in c.values]) for c in part.changes],
        )

    def _instructions(self, instructions: Sequence[Instruction]) -> list[tuple[Function, int, int, int]]:
        at = self._at
        return [(i.function, at(i.a), at(i.b), at(i.out, flag=i.function in COMPARISONS)) for i in instructions]

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
    """A place for each register, given again after its last use; narrow and wide ones have places of their own."""
    last: dict[Register, int] = {}
    steps = list(_steps(parts))
    for step, (reads, _) in enumerate(steps):
        for register in reads:
            last[register] = step
    places: dict[Register, int] = {}
    free: dict[bool, list[int]] = {False: [], True: []}
    count = {False: 0, True: 0}

    def take(register: Register) -> None:
        if free[register.wide]:
            places[register] = free[register.wide].pop()
        else:
            places[register] = count[register.wide]
            count[register.wide] += 1

    for register in kept:
        take(register)
    for step, (reads, out) in enumerate(steps):
        # Its operands' places are free for the result: numpy reads an element before it writes it.
        for register in dict.fromkeys(reads):
            if last[register] == step and not register.kept:
                free[register.wide].append(places[register])
        if out is not None:
            take(out)
            if out not in last:
                free[out.wide].append(places[out])
    return places


def _steps(parts: Sequence[Part]) -> Iterable[tuple[Sequence[Register], Register | None]]:
    """What is read and what is written, in the order of a run in which every part is entered."""
    for part in parts:
        for instruction in (*part.instructions, *part.body):
            yield (instruction.a, instruction.b), instruction.out
        yield tuple(part.reads()), None


# --- writing programs -----------------------------------------------------------------------------------------------


class _Writer:
    """Instructions for expressions, each once, where it is first needed.

    `begin_body` starts what later parts do not see, for a part that is not entered computes nothing of it.
    """

    def __init__(self) -> None:
        self.constants: dict[Register, int] = {}
        self.leaves: dict[Register, Leaf] = {}
        self._numbers: dict[tuple[int, bool], Register] = {}
        self._shared: dict[object, Register] = {}
        self._local: dict[object, Register] = {}
        self._inside = False
        self._count = 0
        self.instructions: list[Instruction] = []

    def shared(self) -> list[Instruction]:
        """The instructions that follow are seen by all later ones."""
        self._inside, self.instructions = False, []
        return self.instructions

    def body(self) -> list[Instruction]:
        """The instructions that follow are seen by no other part."""
        self._inside, self._local, self.instructions = True, {}, []
        return self.instructions

    def register(self, of: Expression) -> Register:
        """The column of an expression, as wide as its interval demands."""
        stack = [of]
        while stack:
            node = stack[-1]
            missing = [a for a in node.arguments if self._found(a) is None]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if self._found(node) is None:
                self._note(node, self._write(node))
        found = self._found(of)
        assert found is not None
        return found

    def _found(self, key: object) -> Register | None:
        return self._local.get(key) or self._shared.get(key) if self._inside else self._shared.get(key)

    def _note(self, key: object, register: Register) -> None:
        (self._local if self._inside and not register.kept else self._shared)[key] = register

    def _new(self, wide: bool, kept: bool = False) -> Register:
        self._count += 1
        return Register(self._count, wide, kept)

    def _do(self, function: Function, a: Register, b: Register, wide: bool) -> Register:
        out = self._new(wide)
        self.instructions.append(Instruction(function, a, b, out))
        return out

    def number(self, value: int, wide: bool) -> Register:
        """The column of a constant."""
        if (value, wide) not in self._numbers:
            register = self._numbers[value, wide] = self._new(wide, kept=True)
            self.constants[register] = value
        return self._numbers[value, wide]

    def _write(self, node: Expression) -> Register:
        if isinstance(node.value, Leaf):
            register = self._new(_wide(node), kept=True)
            self.leaves[register] = node.value
            return register
        if isinstance(node.value, int):
            return self.number(node.value, _wide(node))
        return _OPERATORS[node.operator](self, node)

    def _as(self, of: Expression, wide: bool) -> Register:
        """The column of an operand in the width of its operation."""
        if of.value is not None and not isinstance(of.value, Leaf):
            return self.number(of.value, wide)
        register = self._found(of)
        assert register is not None
        return self._resized(register, wide)

    def _resized(self, register: Register, wide: bool) -> Register:
        if register.wide == wide:
            return register
        key = register, wide
        found = self._found(key)
        if found is None:
            found = self._do(_copy, register, register, wide)
            self._note(key, found)
        return found

    # --- operators --------------------------------------------------------------------------------------------------

    def not_(self, node: Expression) -> Register:
        return self._do(np.bitwise_xor, self._as(node.arguments[0], False), self.number(1, False), False)

    def junction(self, node: Expression) -> Register:
        function = np.bitwise_and if node.operator == "and" else np.bitwise_or
        result, *others = (self._as(a, False) for a in node.arguments)
        for other in others:
            result = self._do(function, result, other, False)
        return result

    def comparison(self, node: Expression) -> Register:
        wide = _wide(*node.arguments)
        a, b = (self._as(x, wide) for x in node.arguments)
        return self._do(np.equal if node.operator == "eq" else np.less_equal, a, b, False)

    def binary(self, node: Expression) -> Register:
        wide = _wide(node, *node.arguments)
        a, b = (self._as(x, wide) for x in node.arguments)
        return self._resized(self._do(_ARITHMETIC[node.operator], a, b, wide), _wide(node))

    def if_(self, node: Expression) -> Register:
        """`no ^ ((yes ^ no) & mask)`: without branches, and numpy has no faster way."""
        condition, yes, no = node.arguments
        wide = _wide(node, yes, no)
        mask = self._mask(condition, wide)
        if all(isinstance(x.value, int) for x in (yes, no)):
            differing = self.number(yes.low ^ no.low, wide)
        else:
            differing = self._do(np.bitwise_xor, self._as(yes, wide), self._as(no, wide), wide)
        picked = self._do(np.bitwise_and, differing, mask, wide)
        if isinstance(no.value, int) and no.value == 0:
            return self._resized(picked, _wide(node))
        return self._resized(self._do(np.bitwise_xor, picked, self._as(no, wide), wide), _wide(node))

    def _mask(self, condition: Expression, wide: bool) -> Register:
        """All bits where the condition holds."""
        key = "mask", condition, wide
        found = self._found(key)
        if found is None:
            found = self._do(np.subtract, self.number(0, wide), self._as(condition, wide), wide)
            self._note(key, found)
        return found

    def _bit(self, broker: Expression, wide: bool) -> Register:
        """The set of one broker. A shift by -1 gives nothing, which is the set of nobody; numpy says so."""
        require_in_set(broker)
        if isinstance(broker.value, int):
            return self.number(1 << broker.value if broker.value >= 0 else 0, wide)
        key = "bit", broker, wide
        found = self._found(key)
        if found is None:
            found = self._do(np.left_shift, self.number(1, wide), self._as(broker, wide), wide)
            self._note(key, found)
        return found

    def has(self, node: Expression) -> Register:
        members, broker = node.arguments
        wide = _wide(members, broker) or broker.high > 6
        common = self._do(np.bitwise_and, self._as(members, wide), self._bit(broker, wide), wide)
        return self._do(np.not_equal, common, self.number(0, wide), False)

    def only(self, node: Expression) -> Register:
        (broker,) = node.arguments
        wide = _wide(node, broker) or broker.high > 6
        return self._resized(self._bit(broker, wide), _wide(node))

    def difference(self, node: Expression) -> Register:
        """`a ^ (a & b)`."""
        wide = _wide(*node.arguments)
        a, b = (self._as(x, wide) for x in node.arguments)
        out = self._do(np.bitwise_xor, a, self._do(np.bitwise_and, a, b, wide), wide)
        return self._resized(out, _wide(node))

    def subset(self, node: Expression) -> Register:
        wide = _wide(*node.arguments)
        a, b = (self._as(x, wide) for x in node.arguments)
        return self._do(np.equal, self._do(np.bitwise_and, a, b, wide), a, False)

    def size(self, node: Expression) -> Register:
        (members,) = node.arguments
        register = self._as(members, _wide(members))
        return self._resized(self._do(_size, register, register, register.wide), _wide(node))


def _wide(*expressions: Expression) -> bool:
    """Whether a value of one of these may need more than a byte."""
    return any(x.low not in BYTE or x.high not in BYTE for x in expressions)


def _copy(a: Column, b: Column, out: Column) -> None:
    out[...] = a


def _size(members: Column, again: Column, out: Column) -> None:
    out[...] = np.bitwise_count(members)


COMPARISONS: Final[tuple[Function, ...]] = (np.equal, np.not_equal, np.less_equal)
"""Functions that give flags of numpy."""
_ARITHMETIC: Final[dict[str, Function]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "union": np.bitwise_or,
    "intersection": np.bitwise_and,
}
_OPERATORS: Final[dict[str, Callable[[_Writer, Expression], Register]]] = {
    "not": _Writer.not_,
    "and": _Writer.junction,
    "or": _Writer.junction,
    "eq": _Writer.comparison,
    "le": _Writer.comparison,
    "add": _Writer.binary,
    "subtract": _Writer.binary,
    "multiply": _Writer.binary,
    "if": _Writer.if_,
    "has": _Writer.has,
    "only": _Writer.only,
    "union": _Writer.binary,
    "intersection": _Writer.binary,
    "difference": _Writer.difference,
    "subset": _Writer.subset,
    "size": _Writer.size,
}


def _expansion(system: TransitionSystem, layout: Layout) -> Program:
    """Guards are computed for all; what only a transition needs, where any state enables it."""
    writer, parts = _Writer(), list[Part]()
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


def _changes(writer: _Writer, layout: Layout, transition: Transition) -> list[Change]:
    """The words that a transition changes. Sums of fields that do not overlap carry nothing from one to the next."""
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


def _failures(system: TransitionSystem, layout: Layout) -> Program:
    flags = {number: t.failure for number, t in enumerate(system.transitions) if t.failure is not FALSE}
    return _flags(flags, layout)


def _judgement(bits: Sequence[Expression], layout: Layout) -> Program:
    return _flags({number: bit for number, bit in enumerate(bits) if bit is not FALSE}, layout)


def _flags(flags: dict[int, Expression], layout: Layout) -> Program:
    writer, parts = _Writer(), list[Part]()
    for number, expression in flags.items():
        part = Part(writer.shared(), number=number)
        part.flag = writer.register(expression)
        parts.append(part)
    return Program(parts, writer.constants, writer.leaves, layout)
