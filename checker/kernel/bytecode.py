"""Compiled code that runs instructions over columns. A column is an array with one value for each state.

One function, `run`, is enough for all programs, because the instructions are an argument of `run`. `run` is compiled
once, in about 0.06 s, and kept on disk like all compiled code. To begin an instruction, it needs some nanoseconds.

`run(program, count, first, last)` runs the `count` instructions at the address `program` on the lanes from `first` to
`last - 1`. A lane is the position of a state in a column. An instruction is four 64-bit integers: the number of its
operation in `OPERATIONS`, and the addresses of two operand columns and of the result column. `run` works on whole
blocks of `BLOCK` lanes, so it also writes lanes after the last state. Columns are long enough for this, and no result
for a state depends on those lanes. The functions in `isrcheck.checker.kernel.vm_passes` run whole programs by calls of
`run`.

A program over columns: its registers, and its parts, which are groups of instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.llvm_words import splat
from isrcheck.checker.kernel.vm_passes import BLOCK, SIGNATURES, passes_text

if TYPE_CHECKING:
    from isrcheck.checker.kernel.llvm_compiler import Code


Column = npt.NDArray[Any]
Function = Callable[[Column, Column, Column], object]
"""A function of three columns that computes the third from the first two. It says what an operation computes."""
Register = int
"""The number of a value that has no column yet. The number is odd if the column will be wide (64-bit integers).

Instruction `i` writes register `2 * i` or `2 * i + 1`. Registers below 0 have their values before the program runs,
and no other register uses their columns.
"""


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


def copied(a: Column, b: Column, out: Column) -> None:
    """Copies a column into a column of another width."""
    out[...] = a


def counted(members: Column, again: Column, out: Column) -> None:
    """Counts the members of each set in a column."""
    out[...] = np.bitwise_count(members)


NARROW: Final = 8
WIDE: Final = 64

_SAME: Final = ((NARROW, NARROW), (WIDE, WIDE))
_FLAGS: Final = ((NARROW, NARROW), (WIDE, NARROW))
_WIDTHS: Final[dict[Function, tuple[tuple[int, int], ...]]] = {
    np.bitwise_and: _SAME,
    np.bitwise_or: _SAME,
    np.bitwise_xor: _SAME,
    np.add: _SAME,
    np.subtract: _SAME,
    np.multiply: _SAME,
    np.left_shift: _SAME,
    counted: _SAME,
    np.equal: _FLAGS,
    np.not_equal: _FLAGS,
    np.less_equal: _FLAGS,
    copied: ((NARROW, WIDE), (WIDE, NARROW)),
}
"""For each function of an instruction, the possible pairs of widths in bits: (width of the operands, of the result)."""
OPERATIONS: Final = {
    (function, *bits): number
    for number, (function, bits) in enumerate((f, bits) for f, widths in _WIDTHS.items() for bits in widths)
}
"""The number of each operation. An operation is a function, the width of its operands, and the width of its result."""
_PLAIN: Final[dict[Function, str]] = {
    np.bitwise_and: "and",
    np.bitwise_or: "or",
    np.bitwise_xor: "xor",
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
}
_COMPARED: Final[dict[Function, str]] = {np.equal: "eq", np.not_equal: "ne", np.less_equal: "sle"}


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
    lines = "\n".join(f"  {line}" for line in _value(n, function, given, gives))
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


def _value(n: int, function: Function, given: int, gives: int) -> list[str]:
    """LLVM instructions for operation `n`: if `n` is 7, they compute `%o7` from `%a7` and `%b7`."""
    taken, made = f"<{BLOCK} x i{given}>", f"<{BLOCK} x i{gives}>"
    if function in _PLAIN:
        return [f"%o{n} = {_PLAIN[function]} {taken} %a{n}, %b{n}"]
    if function in _COMPARED:
        flags = f"%c{n} = icmp {_COMPARED[function]} {taken} %a{n}, %b{n}"
        return [flags, f"%o{n} = zext <{BLOCK} x i1> %c{n} to {made}"]
    if function is copied:
        return [f"%o{n} = {'sext' if given < gives else 'trunc'} {taken} %a{n} to {made}"]
    if function is counted:
        return [f"%o{n} = call {made} @llvm.ctpop.v{BLOCK}i{gives}({taken} %a{n})"]
    # As in numpy, a shift by -1, or by at least the number of bits, gives zero.
    return [
        f"%c{n} = icmp ult {taken} %b{n}, {splat(given, given)}",
        f"%d{n} = select <{BLOCK} x i1> %c{n}, {taken} %b{n}, {taken} zeroinitializer",
        f"%e{n} = shl {taken} %a{n}, %d{n}",
        f"%o{n} = select <{BLOCK} x i1> %c{n}, {taken} %e{n}, {taken} zeroinitializer",
    ]
