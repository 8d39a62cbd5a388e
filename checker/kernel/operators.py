"""The operators of expressions as instructions over columns, in bytes if the interval allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from isrcheck.checker.kernel.ranges import require_in_set
from isrcheck.checker.kernel.registers import Function, Instruction, Register, copied, counted
from isrcheck.model.language.expressions import Expression, Leaf

LEAST: Final = -128
MOST: Final = 127
"""The greatest number in a byte."""


class Writer:
    """Instructions for expressions, each once, where it is first needed.

    `body` starts instructions that later parts do not see, because a part that does not run computes none of them.
    """

    def __init__(self) -> None:
        self.constants: dict[Register, int] = {}
        self.leaves: dict[Register, Leaf] = {}
        self._numbers: dict[tuple[int, bool], Register] = {}
        self._known: dict[object, Register] = {}
        self._local: list[object] = []
        self._inside = False
        self._count = 0
        self.instructions: list[Instruction] = []

    def shared(self) -> list[Instruction]:
        """Starts instructions whose results all later ones see."""
        self._begin(inside=False)
        return self.instructions

    def body(self) -> list[Instruction]:
        """Starts instructions whose results no other part sees."""
        self._begin(inside=True)
        return self.instructions

    def _begin(self, inside: bool) -> None:
        for key in self._local:
            del self._known[key]
        self._inside, self._local, self.instructions = inside, [], []

    def register(self, of: Expression) -> Register:
        """The column of an expression, as wide as its interval requires."""
        known, stack = self._known, [of]
        while stack:
            node = stack[-1]
            missing = [a for a in node.arguments if a not in known]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if node not in known:
                self._note(node, self._write(node))
        return known[of]

    def _note(self, key: object, register: Register) -> None:
        self._known[key] = register
        if self._inside and not register.kept:
            self._local.append(key)

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
        return OPERATORS[node.operator](self, node)

    def _as(self, of: Expression, wide: bool) -> Register:
        """The column of an operand in the width of its operation."""
        if of.value is not None and not isinstance(of.value, Leaf):
            return self.number(of.value, wide)
        return self._resized(self._known[of], wide)

    def _resized(self, register: Register, wide: bool) -> Register:
        if register.wide == wide:
            return register
        key = register, wide
        found = self._known.get(key)
        if found is None:
            found = self._do(copied, register, register, wide)
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

    def _operands(self, node: Expression, *fitting: Expression) -> tuple[Register, Register, bool]:
        """Two operands in one width, wide enough for `fitting` as well, and whether it is the wide one."""
        wide = _wide(*node.arguments, *fitting)
        a, b = (self._as(x, wide) for x in node.arguments)
        return a, b, wide

    def comparison(self, node: Expression) -> Register:
        a, b, _ = self._operands(node)
        return self._do(np.equal if node.operator == "eq" else np.less_equal, a, b, False)

    def binary(self, node: Expression) -> Register:
        a, b, wide = self._operands(node, node)
        return self._resized(self._do(ARITHMETIC[node.operator], a, b, wide), _wide(node))

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
        found = self._known.get(key)
        if found is None:
            found = self._do(np.subtract, self.number(0, wide), self._as(condition, wide), wide)
            self._note(key, found)
        return found

    def _bit(self, broker: Expression, wide: bool) -> Register:
        """The set of one broker. In numpy a shift by -1 gives zero, which is the empty set."""
        require_in_set(broker)
        if isinstance(broker.value, int):
            return self.number(1 << broker.value if broker.value >= 0 else 0, wide)
        key = "bit", broker, wide
        found = self._known.get(key)
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
        a, b, wide = self._operands(node)
        out = self._do(np.bitwise_xor, a, self._do(np.bitwise_and, a, b, wide), wide)
        return self._resized(out, _wide(node))

    def subset(self, node: Expression) -> Register:
        a, b, wide = self._operands(node)
        return self._do(np.equal, self._do(np.bitwise_and, a, b, wide), a, False)

    def size(self, node: Expression) -> Register:
        (members,) = node.arguments
        register = self._as(members, _wide(members))
        return self._resized(self._do(counted, register, register, register.wide), _wide(node))


def _wide(*expressions: Expression) -> bool:
    """Whether a value of one of these may need more than a byte."""
    return any(x.low < LEAST or x.high > MOST for x in expressions)


ARITHMETIC: Final[dict[str, Function]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "union": np.bitwise_or,
    "intersection": np.bitwise_and,
}
OPERATORS: Final[dict[str, Callable[[Writer, Expression], Register]]] = {
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
