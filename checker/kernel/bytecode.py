"""The bytecode of programs over columns: its instructions, and a writer that turns expressions into instructions.

A column is an array with one value for each state. The values are signed bytes if every possible value fits into a
signed byte, else 64-bit integers. An instruction computes a column from two others. `isrcheck.checker.kernel.vm` runs
instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.layout import require_in_set
from isrcheck.checker.kernel.llvm_words import splat
from isrcheck.checker.kernel.vm_passes import BLOCK
from isrcheck.model.semantics.expressions import Expression, Leaf
from isrcheck.model.semantics.operators import complete

Column = npt.NDArray[Any]
Function = Callable[[Column, Column, Column], object]
"""A function of three columns that computes the third from the first two. It says what an operation computes."""
Register = int
"""The number of a value that has no column yet. The number is odd if the column will be wide (64-bit integers).

Instruction `i` writes register `2 * i` or `2 * i + 1`. Registers below 0 have their values before the program runs,
and no other register uses their columns.
"""


def copied(a: Column, b: Column, out: Column) -> None:
    """Copies a column into a column of another width."""
    out[...] = a


def counted(members: Column, again: Column, out: Column) -> None:
    """Counts the members of each set in a column."""
    out[...] = np.bitwise_count(members)


# --- instructions ---------------------------------------------------------------------------------------------------

NARROW: Final = 8
WIDE: Final = 64

_SAME: Final = ((NARROW, NARROW), (WIDE, WIDE))
_FLAGS: Final = ((NARROW, NARROW), (WIDE, NARROW))
_RESIZED: Final = ((NARROW, WIDE), (WIDE, NARROW))
_INSTRUCTIONS: Final[dict[Function, tuple[tuple[tuple[int, int], ...], tuple[str, ...]]]] = {
    np.bitwise_and: (_SAME, ("%o = and {taken} %a, %b",)),
    np.bitwise_or: (_SAME, ("%o = or {taken} %a, %b",)),
    np.bitwise_xor: (_SAME, ("%o = xor {taken} %a, %b",)),
    np.add: (_SAME, ("%o = add {taken} %a, %b",)),
    np.subtract: (_SAME, ("%o = sub {taken} %a, %b",)),
    np.multiply: (_SAME, ("%o = mul {taken} %a, %b",)),
    np.left_shift: (  # as in numpy, a shift by -1, or by at least the number of bits, gives zero
        _SAME,
        (
            "%c = icmp ult {taken} %b, {bits}",
            "%d = select {flags} %c, {taken} %b, {taken} zeroinitializer",
            "%e = shl {taken} %a, %d",
            "%o = select {flags} %c, {taken} %e, {taken} zeroinitializer",
        ),
    ),
    counted: (_SAME, ("%o = call {made} {count}({taken} %a)",)),
    np.equal: (_FLAGS, ("%c = icmp eq {taken} %a, %b", "%o = zext {flags} %c to {made}")),
    np.not_equal: (_FLAGS, ("%c = icmp ne {taken} %a, %b", "%o = zext {flags} %c to {made}")),
    np.less_equal: (_FLAGS, ("%c = icmp sle {taken} %a, %b", "%o = zext {flags} %c to {made}")),
    copied: (_RESIZED, ("%o = {resize} {taken} %a to {made}",)),
}
"""For each function of an instruction, the possible pairs of widths in bits (of the operands, of the result), and the
LLVM instructions that compute `%o` from `%a` and `%b`. `text` says what stands between braces."""
OPERATIONS: Final = {
    (function, *bits): number
    for number, (function, bits) in enumerate((f, bits) for f, (widths, _) in _INSTRUCTIONS.items() for bits in widths)
}
"""The number of each operation. An operation is a function, the width of its operands, and the width of its result."""


def text(function: Function, given: int, gives: int) -> list[str]:
    """The LLVM instructions of an operation. The names that they set end in the operation's number, such as `%o7`."""
    words = {
        "taken": f"<{BLOCK} x i{given}>",
        "made": f"<{BLOCK} x i{gives}>",
        "flags": f"<{BLOCK} x i1>",
        "bits": splat(given, given),
        "count": f"@llvm.ctpop.v{BLOCK}i{gives}",
        "resize": "sext" if given < gives else "trunc",
    }
    number = OPERATIONS[function, given, gives]
    return [re.sub(r"%\w+", rf"\g<0>{number}", line).format(**words) for line in _INSTRUCTIONS[function][1]]


LEAST: Final = -128
MOST: Final = 127
"""The greatest number that a signed byte can hold. `LEAST` is the least."""
_BYTES: Final = {function: number for (function, given, _), number in OPERATIONS.items() if given == NARROW}
AND, OR, XOR = (_BYTES[f] for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor))
ADD, SUBTRACT, MULTIPLY, SHIFT = (_BYTES[f] for f in (np.add, np.subtract, np.multiply, np.left_shift))
EQUAL, NOT_EQUAL, LESS_EQUAL = (_BYTES[f] for f in (np.equal, np.not_equal, np.less_equal))
COPY, COUNT = _BYTES[copied], _BYTES[counted]
"""The numbers of operations on bytes. Add 1 to get the number of the same operation on 64-bit integers."""


class Writer:
    """Writes instructions for expressions. An expression is written once, where it is first needed.

    There is one exception. Instructions that are written after a call of `body` do not always run. So their results are
    used only until the next call of `shared`. An expression that is needed again after this call is written again.
    `code` has four integers for each instruction: an operation, and the registers (`isrcheck.checker.kernel.bytecode`)
    of two operands and of the result. In all methods, `wide` is 1 for 64-bit integers and 0 for bytes.
    """

    def __init__(self) -> None:
        self.code: list[int] = []
        self.constants: dict[Register, int] = {}
        self.leaves: dict[Register, Leaf] = {}
        self._numbers: dict[tuple[int, int], Register] = {}
        self._known: dict[object, Register] = {}
        self._local: list[object] = []
        self._inside = False

    def __len__(self) -> int:
        """The number of instructions so far."""
        return len(self.code) // 4

    def shared(self) -> int:
        """All later parts may use the results of instructions from here on. Returns the next instruction's number."""
        return self._begin(inside=False)

    def body(self) -> int:
        """Only this part may use the results of instructions from here on. Returns the next instruction's number."""
        return self._begin(inside=True)

    def _begin(self, inside: bool) -> int:
        for key in self._local:
            del self._known[key]
        self._inside, self._local = inside, []
        return len(self)

    def register(self, of: Expression) -> Register:
        """The register of an expression. Writes the instructions that compute its value, unless they exist already.

        The register is for 64-bit integers if a value of the expression may need more than a byte.
        """
        known, stack = self._known, [of]
        while stack:
            node = stack[-1]
            ready = len(stack)
            for argument in node.arguments[::-1]:
                if argument not in known:
                    stack.append(argument)
            if len(stack) == ready:
                stack.pop()
                if node not in known:
                    self._note(node, self._write(node))
        return known[of]

    def _note(self, key: object, register: Register) -> None:
        self._known[key] = register
        if self._inside and register >= 0:
            self._local.append(key)

    def _kept(self, wide: int) -> Register:
        """A new register for a constant or a leaf. Such a register is filled before the program runs."""
        return wide - 2 * (len(self.constants) + len(self.leaves) + 1)

    def _do(self, operation: int, a: Register, b: Register, wide: int) -> Register:
        code = self.code
        out = len(code) // 2 + wide
        code.extend((operation + (a & 1), a, b, out))
        return out

    def _once(self, operation: int, a: Register, b: Register, wide: int) -> Register:
        """Does the same as `_do`, but returns the known register if the instruction is already written."""
        key = operation, a, b
        found = self._known.get(key)
        if found is None:
            found = self._do(operation, a, b, wide)
            self._note(key, found)
        return found

    def number(self, value: int, wide: int) -> Register:
        """The register of a constant."""
        found = self._numbers.get((value, wide))
        if found is None:
            found = self._numbers[value, wide] = self._kept(wide)
            self.constants[found] = value
        return found

    def _write(self, node: Expression) -> Register:
        value = node.value
        if value is None:
            return OPERATORS[node.operator](self, node)
        if isinstance(value, int):
            return self.number(value, _wide(node))
        register = self._kept(_wide(node))
        self.leaves[register] = value
        return register

    def _as(self, of: Expression, wide: int) -> Register:
        """The register of an operand in the width `wide`."""
        register = self._known[of]
        if register & 1 == wide:
            return register
        return self.number(of.value, wide) if isinstance(of.value, int) else self._resized(register, wide)

    def _resized(self, register: Register, wide: int) -> Register:
        return register if register & 1 == wide else self._once(COPY, register, register, wide)

    # --- operators --------------------------------------------------------------------------------------------------

    def not_(self, node: Expression) -> Register:
        return self._do(XOR, self._as(node.arguments[0], 0), self.number(1, 0), 0)

    def junction(self, node: Expression) -> Register:
        operation, known = AND if node.operator == "and" else OR, self._known
        result, *others = [known[a] for a in node.arguments]
        for other in others:
            result = self._do(operation, result, other, 0)
        return result

    def _operands(self, node: Expression, least: int) -> tuple[Register, Register, int]:
        """The registers of the two operands in a common width of at least `least`, and this width."""
        first, second = node.arguments
        a, b = self._known[first], self._known[second]
        if (wide := (a | b) & 1 | least) == 0:
            return a, b, wide
        return self._as(first, wide), self._as(second, wide), wide

    def comparison(self, node: Expression) -> Register:
        a, b, _ = self._operands(node, 0)
        return self._do(EQUAL if node.operator == "eq" else LESS_EQUAL, a, b, 0)

    def binary(self, node: Expression) -> Register:
        needed = _wide(node)
        a, b, wide = self._operands(node, needed)
        return self._resized(self._do(ARITHMETIC[node.operator], a, b, wide), needed)

    def if_(self, node: Expression) -> Register:
        """Writes `no ^ ((yes ^ no) & mask)`, which has no branches."""
        condition, yes, no = node.arguments
        needed, known = _wide(node), self._known
        wide = needed | (known[yes] | known[no]) & 1
        mask = self._mask(condition, wide)
        if isinstance(yes.value, int) and isinstance(no.value, int):
            differing = self.number(yes.value ^ no.value, wide)
        else:
            differing = self._do(XOR, self._as(yes, wide), self._as(no, wide), wide)
        picked = self._do(AND, differing, mask, wide)
        if no.value != 0:
            picked = self._do(XOR, picked, self._as(no, wide), wide)
        return self._resized(picked, needed)

    def _mask(self, condition: Expression, wide: int) -> Register:
        """A register with all bits set where the condition holds, and no bits set elsewhere."""
        return self._once(SUBTRACT, self.number(0, wide), self._as(condition, wide), wide)

    def _bit(self, broker: Expression, wide: int) -> Register:
        """The register of a set of one broker. For -1 (no broker) the set is empty, because a shift by -1 gives 0."""
        require_in_set(broker)
        if isinstance(broker.value, int):
            return self.number(1 << broker.value if broker.value >= 0 else 0, wide)
        return self._once(SHIFT, self.number(1, wide), self._as(broker, wide), wide)

    def has(self, node: Expression) -> Register:
        members, broker = node.arguments
        wide = _wide(members) | _wide(broker) | (broker.high > 6)
        common = self._do(AND, self._as(members, wide), self._bit(broker, wide), wide)
        return self._do(NOT_EQUAL, common, self.number(0, wide), 0)

    def only(self, node: Expression) -> Register:
        (broker,) = node.arguments
        wide = _wide(node) | _wide(broker) | (broker.high > 6)
        return self._resized(self._bit(broker, wide), _wide(node))

    def difference(self, node: Expression) -> Register:
        """Writes `a ^ (a & b)`."""
        a, b, wide = self._operands(node, 0)
        out = self._do(XOR, a, self._do(AND, a, b, wide), wide)
        return self._resized(out, _wide(node))

    def subset(self, node: Expression) -> Register:
        a, b, wide = self._operands(node, 0)
        return self._do(EQUAL, self._do(AND, a, b, wide), a, 0)

    def size(self, node: Expression) -> Register:
        register = self._known[node.arguments[0]]
        return self._resized(self._do(COUNT, register, register, register & 1), _wide(node))


def _wide(of: Expression) -> int:
    """1 if the value of an expression may need more than a byte, else 0."""
    return 1 if of.low < LEAST or of.high > MOST else 0


ARITHMETIC: Final = {
    "add": ADD,
    "subtract": SUBTRACT,
    "multiply": MULTIPLY,
    "union": OR,
    "intersection": AND,
}
_ROWS: Final[dict[str, Callable[[Writer, Expression], Register]]] = {
    "not": Writer.not_,
    "and": Writer.junction,
    "or": Writer.junction,
    "eq": Writer.comparison,
    "le": Writer.comparison,
    "add": Writer.binary,
    "subtract": Writer.binary,
    "multiply": Writer.binary,
    "if": Writer.if_,
    "has": Writer.has,
    "only": Writer.only,
    "union": Writer.binary,
    "intersection": Writer.binary,
    "difference": Writer.difference,
    "subset": Writer.subset,
    "size": Writer.size,
}
OPERATORS: Final = complete("the bytecode (checker/kernel/bytecode.py)", _ROWS)
