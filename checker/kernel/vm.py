"""Programs over columns, and the compiled code that runs them.

A column is an array with one value for each of up to `LANES` states. Registers (`bytecode.py`) share columns, so that
a program needs few columns. The compiled code reads a program as *records*. A record is a few integers in a fixed
order. For example, a change of a word is a record of `CHANGE` integers. A *leaf* is one of the integers of a state.

One function, `run`, is enough for all programs, because the instructions are an argument of `run`. `run` is compiled
once, in about 0.06 s, and kept on disk like all compiled code. To begin an instruction, it needs some nanoseconds.

`run(program, count, first, last)` runs the `count` instructions at the address `program` on the lanes from `first` to
`last - 1`. A lane is the position of a state in a column. An instruction is four 64-bit integers: the number of its
operation in `OPERATIONS`, and the addresses of two operand columns and of the result column. `run` works on whole
blocks of `BLOCK` lanes, so it also writes lanes after the last state. Columns are long enough for this, and no result
for a state depends on those lanes. The functions in `isrcheck.checker.kernel.vm_passes` run whole programs by calls of
`run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.bytecode import NARROW, OPERATIONS, WIDE, Function, Register, Writer, text
from isrcheck.checker.kernel.layout import Integers, Layout, Words
from isrcheck.checker.kernel.vm_passes import BLOCK, CHANGE, SIGNATURES, VALUE, passes_text

if TYPE_CHECKING:
    from isrcheck.checker.kernel.llvm_compiler import Code

LANES: Final = 1 << 11
"""How many states are processed at a time. With so few states, the columns stay in the processor's cache."""
INTEGER: Final = 8
"""The size of an integer in a record, in bytes."""
INSTRUCTION: Final = 4 * INTEGER
"""The size of an instruction, in bytes."""


@dataclass(slots=True)
class Change:
    """A transition's change of the word with the number `word`.

    An old word w becomes `(w & kept) + base`, plus each value shifted to its place. `values` has pairs: a register, and
    the number of bits by which its value is shifted.
    """

    word: int
    kept: int
    base: int = 0
    values: list[tuple[Register, int]] = field(default_factory=list)


@dataclass(slots=True)
class Part:
    """The instructions from `first` to before `end`, and the registers that are read after these instructions.

    `flag` tells for each state whether a condition holds, such as a guard. `failure` tells for each state whether the
    transition fails. The instructions from `body` on compute values that are needed only for states where the flag
    holds.
    """

    number: int
    first: int
    body: int
    end: int
    flag: Register | None = None
    failure: Register | None = None
    changes: list[Change] = field(default_factory=list)

    def reads(self) -> Iterable[Register]:
        """The registers that are read after the instructions."""
        yield from (register for register in (self.flag, self.failure) if register is not None)
        yield from (register for change in self.changes for register, _ in change.values)


class Expanded(NamedTuple):
    """All successors of some states. Those of the first 64 states come first, then those of the next 64 states, and so
    on. Within each of these groups, the successors are sorted by transition."""

    rows: Words
    positions: Integers
    transitions: Integers
    numbers: Integers
    """The numbers of all transitions that fired, and perhaps of some others. `counts` says for each number how often
    the transition fired."""
    counts: Integers
    degrees: npt.NDArray[np.int32]
    failing: int
    """The number of failing instances, summed over the states."""


class Program:
    """The parts that a writer has written, as records of integers. The methods take up to `LANES` states at a time.

    The columns of constants are filled once, those of leaves for each call.
    """

    def __init__(self, writer: Writer, parts: Sequence[Part], layout: Layout) -> None:
        self._kept = list[Integers]()
        self._place(writer, parts)
        places = [(register, layout.places[leaf.index]) for register, leaf in writer.leaves.items()]
        fields = [(self._tagged(at), x.word, x.shift, (1 << x.width) - 1, x.low) for at, x in places]
        self._leaves, self._leaf_count = self._array(fields), len(fields)
        self._parts, self._part_count = self._records(parts), len(parts)
        self._numbers = np.array([part.number for part in parts], dtype=np.int64)
        self._firing = sum(part.flag is not None for part in parts)
        self._words = np.zeros((layout.words, LANES), dtype=np.uint64)
        self._degrees = np.zeros(LANES, dtype=np.int32)
        self._masks, self._ends = np.zeros(LANES // BLOCK, dtype=np.int64), np.zeros(LANES // BLOCK, dtype=np.int64)
        self._counts = np.zeros(len(parts), dtype=np.int64)
        self._out, self._sources = np.empty((0, layout.words), dtype=np.uint64), np.empty(0, dtype=np.int64)

    # --- columns and records ----------------------------------------------------------------------------------------

    def _place(self, writer: Writer, parts: Sequence[Part]) -> None:
        """Makes the columns, fills those of constants, and stores the instructions with the addresses of columns in
        place of registers."""
        places = _placed(writer.code, parts, [*writer.constants, *writer.leaves])
        at = np.array(places, dtype=np.int64)
        narrow, wide = (1 + int(at[width::2].max(initial=-1)) for width in (0, 1))
        self._narrow = np.zeros((narrow, LANES), dtype=np.int8)
        self._wide = np.zeros((wide, LANES), dtype=np.int64)
        for register, value in writer.constants.items():
            (self._wide if register & 1 else self._narrow)[places[register]] = value
        at[0::2] = self._narrow.ctypes.data + at[0::2] * self._narrow.strides[0]
        at[1::2] = self._wide.ctypes.data + at[1::2] * self._wide.strides[0]
        code = np.array(writer.code, dtype=np.int64).reshape(-1, 4)
        code[:, 1:] = at[code[:, 1:]]
        self._code, self._addresses = self._array(code), at.tolist()

    def _tagged(self, register: Register) -> int:
        """The address of a register's column. Its lowest bit is set if the column has 64-bit integers."""
        address: int = self._addresses[register]
        return address | register & 1

    def _array(self, rows: npt.ArrayLike) -> int:
        """Stores integers in an array that lives as long as this object. Returns the address of the array."""
        self._kept.append(np.array(rows, dtype=np.int64))
        return self._kept[-1].ctypes.data

    def _records(self, parts: Sequence[Part]) -> int:
        """Stores the records of parts, of changes and of values. Returns the address of the records of parts."""
        all_changes = [change for part in parts for change in part.changes]
        values = self._array([(self._tagged(at), shift) for change in all_changes for at, shift in change.values])
        rows = list[tuple[int, ...]]()
        for change in all_changes:
            rows.append((change.word, _signed(change.kept), _signed(change.base), values, len(change.values)))
            values += len(change.values) * VALUE * INTEGER
        changes, records = self._array(rows), list[tuple[int, ...]]()
        for part in parts:
            records.append(self._part(part, changes))
            changes += len(part.changes) * CHANGE * INTEGER
        return self._array(records)

    def _part(self, part: Part, changes: int) -> tuple[int, ...]:
        flag, failure = (0 if at is None else self._tagged(at) for at in (part.flag, part.failure))
        first, body = (self._code + at * INSTRUCTION for at in (part.first, part.body))
        return (
            first, part.body - part.first, flag, failure, body, part.end - part.body,
            changes, len(part.changes), part.number,
        )  # fmt: skip

    # --- calls ------------------------------------------------------------------------------------------------------

    def _read(self, states: Words) -> None:
        words = self._words
        words[:, : len(states)] = states.T
        vm_functions()["unpack"](self._leaves, self._leaf_count, words.ctypes.data, words.shape[1], len(states))

    def expand(self, states: Words, first: int) -> Expanded:
        """The successors of `states`. For each successor, `positions` has the position of its source in `states`, plus
        `first`."""
        n, size, width, count = len(states), len(states) * self._firing, states.shape[1], self._part_count
        if len(self._sources) < size:
            self._out, self._sources = np.empty((size, width), dtype=np.uint64), np.empty(size, dtype=np.int64)
        self._read(states)
        self._degrees[:], self._ends[:] = 0, 0
        run, parts, counts, ends = vm_functions(), self._parts, self._counts, self._ends
        out, sources = self._out.ctypes.data, self._sources.ctypes.data
        failing = run["expand"](
            parts, count, states.ctypes.data, width, n, self._degrees.ctypes.data, self._masks.ctypes.data,
            ends.ctypes.data, out, sources, counts.ctypes.data,
        )  # fmt: skip
        found = int(ends.sum())
        ends[1:] = np.cumsum(ends[:-1])
        ends[0] = 0
        rows = np.empty((found, width), dtype=np.uint64)
        positions, transitions = np.empty(found, dtype=np.int64), np.empty(found, dtype=np.int64)
        run["arrange"](
            parts, count, counts.ctypes.data, width, ends.ctypes.data, out, sources, first,
            rows.ctypes.data, positions.ctypes.data, transitions.ctypes.data,
        )  # fmt: skip
        return Expanded(rows, positions, transitions, self._numbers, counts, self._degrees[:n], failing)

    def evaluate(self, states: Words, out: Words) -> None:
        """Sets bits in each state's verdict (a row of `out`): a bit for each part whose flag holds in the state."""
        self._read(states)
        vm_functions()["evaluate"](self._parts, self._part_count, len(states), out.ctypes.data, out.shape[1])


def _placed(code: Sequence[int], parts: Sequence[Part], kept: Sequence[Register]) -> list[int]:
    """Chooses for each register a place: a row of the narrow or of the wide columns.

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
            # An operand may have the same place as the result, because a block of lanes is read before it is written.
            fallow.append(places[out])
            if places[a] < 0:
                places[a] = free[a & 1].pop()
            if places[b] < 0:
                places[b] = free[b & 1].pop()
    return places


def _signed(word: int) -> int:
    """A 64-bit word as a signed integer with the same bits."""
    return word - (1 << 64) if word >> 63 else word


# --- compiled code --------------------------------------------------------------------------------------------------

_MAKING: Final = Lock()


def vm_functions() -> Mapping[str, Any]:
    """The compiled functions by name. They are compiled, or loaded from disk, when one of them is first needed."""
    with _MAKING:  # with `cache` alone, two threads could each make a `Code`, and one would be freed during a call
        return _code().calls


@cache
def _code() -> Code:
    """The `Code` object that keeps the compiled functions alive."""
    from isrcheck.checker.kernel.code_cache import objects
    from isrcheck.checker.kernel.llvm_compiler import Code

    return Code(vm_text(), {"run": (4, False), **SIGNATURES}, objects())


def vm_text() -> str:
    """The LLVM text of `run` and of the functions in `isrcheck.checker.kernel.vm_passes`."""
    cases = "\n".join(f"    i64 {number}, label %operation{number}" for number in OPERATIONS.values())
    operations = "\n".join(_operation(number, *key) for key, number in OPERATIONS.items())
    return f"""\
declare <{BLOCK} x i{NARROW}> @llvm.ctpop.v{BLOCK}i{NARROW}(<{BLOCK} x i{NARROW}>)
declare <{BLOCK} x i{WIDE}> @llvm.ctpop.v{BLOCK}i{WIDE}(<{BLOCK} x i{WIDE}>)
attributes #0 = {{ nounwind "min-legal-vector-width"="512" }}
define void @run(i64 %place, i64 %count, i64 %first_lane, i64 %lanes) #0 {{
entry:
  %program = inttoptr i64 %place to ptr
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %instruction, label %done
instruction:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %start = mul i64 %i, 4
  %at = getelementptr i64, ptr %program, i64 %start
  %operation = load i64, ptr %at, align 8
  %at1 = getelementptr i64, ptr %at, i64 1
  %first = load ptr, ptr %at1, align 8
  %at2 = getelementptr i64, ptr %at, i64 2
  %second = load ptr, ptr %at2, align 8
  %at3 = getelementptr i64, ptr %at, i64 3
  %result = load ptr, ptr %at3, align 8
  switch i64 %operation, label %next [
{cases}
  ]
{operations}
next:
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %instruction, label %done
done:
  ret void
}}
{passes_text()}"""


def _operation(n: int, function: Function, given: int, gives: int) -> str:
    """The loop over the lanes for one operation, which is number `n` in `OPERATIONS`."""
    taken, made = f"<{BLOCK} x i{given}>", f"<{BLOCK} x i{gives}>"
    lines = "\n".join(f"  {line}" for line in text(function, given, gives))
    return f"""\
operation{n}:
  %j{n} = phi i64 [ %first_lane, %instruction ], [ %k{n}, %operation{n} ]
  %pa{n} = getelementptr i{given}, ptr %first, i64 %j{n}
  %a{n} = load {taken}, ptr %pa{n}, align 1
  %pb{n} = getelementptr i{given}, ptr %second, i64 %j{n}
  %b{n} = load {taken}, ptr %pb{n}, align 1
{lines}
  %po{n} = getelementptr i{gives}, ptr %result, i64 %j{n}
  store {made} %o{n}, ptr %po{n}, align 1
  %k{n} = add i64 %j{n}, {BLOCK}
  %more{n} = icmp slt i64 %k{n}, %lanes
  br i1 %more{n}, label %operation{n}, label %next"""
