"""LLVM text for expressions over vectors. A vector has one lane for each of `GROUP` states.

A lane has 8, 16, 32 or 64 bits. A number takes the narrowest lanes that hold all values of its interval as integers
with a sign. An operation on numbers is computed in the width of its result, and its operands are widened or cut to this
width. A cut is safe, because the low bits of sums, differences, products and set operations depend only on the low bits
of the operands. A comparison is computed in the width of its wider operand. `size`, `has` and `subset` are computed in
the width of their first operand, which is a set. A flag is a byte, all ones or all zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from isrcheck.checker.kernel.layout import Layout, Place, require_in_set
from isrcheck.checker.kernel.llvm_words import BYTES, GROUP, Writer, plane, splat
from isrcheck.model.semantics.expressions import Expression, Leaf
from isrcheck.model.semantics.operators import complete

ONES: Final = splat(-1, 8)
SIZES: Final = (8, 16, 32, 64)
_ARITHMETIC: Final = {"add": "add", "subtract": "sub", "multiply": "mul", "union": "or", "intersection": "and"}


@cache
def width(low: int, high: int) -> int:
    """The width in bits of the narrowest lane that holds all numbers of an interval as signed integers."""
    return next(bits for bits in SIZES if -(1 << bits - 1) <= low and high < 1 << bits - 1)


def width_of(*nodes: Expression) -> int:
    """The width in bits of the narrowest lane that can hold the value of any of these expressions."""
    return max([8 if node.kind == "flag" else width(node.low, node.high) for node in nodes])


@cache
def stored_width(bits: int) -> int:
    """The width in bits of the narrowest lane that holds an unsigned integer of `bits` bits."""
    return next(size for size in SIZES if bits <= size)


@cache
def vector(bits: int) -> str:
    return f"<{GROUP} x i{bits}>"


class Lanes:
    """Writes the values of expressions, each value once, where it is first needed.

    `values` maps an expression to the name of its value in the text, in its own width. `resized` has the names of
    values in other widths, and of helper values, such as planes. A block of the text that does not always run is
    written with a copy of this object (`fork`), because later blocks cannot use the values that such a block computes.
    """

    def __init__(self, writer: Writer, layout: Layout) -> None:
        self.writer = writer
        self.layout = layout
        self.values: dict[Expression, str] = {}
        self.resized: dict[tuple[object, int], str] = {}

    def fork(self) -> Lanes:
        copy = Lanes(self.writer, self.layout)
        copy.values, copy.resized = dict(self.values), dict(self.resized)
        return copy

    def flag(self, of: Expression) -> str:
        """The value of a flag. It has a byte of ones in each lane where the flag holds, and zeros elsewhere."""
        return self._written(of)

    def integer(self, of: Expression, bits: int) -> str:
        """The value of an expression as an integer, widened or cut to `bits` bits. A flag gives 0 or 1."""
        self._written(of)
        return self._as(of, bits)

    def _written(self, root: Expression) -> str:
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [a for a in _needed(node) if a not in self.values]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if node not in self.values:
                self.values[node] = self._node(node)
        return self.values[root]

    def _once(self, key: object, bits: int, write: Callable[[], str]) -> str:
        found = self.resized.get((key, bits))
        if found is None:
            found = self.resized[key, bits] = write()
        return found

    def _as(self, of: Expression, bits: int) -> str:
        """The value of an expression as an integer of `bits` bits.

        If the expression is not a constant, `values` must already have its value.
        """
        if isinstance(of.value, int):
            return splat(of.value, bits)
        if of.kind == "flag":
            one = self._once(("integer", of), 8, lambda: self._let(f"and {BYTES} {self.values[of]}, {splat(1, 8)}"))
            return self._once(("integer", of), bits, lambda: self._resized(one, 8, bits))
        has = width_of(of)
        if bits == has:
            return self.values[of]
        return self._once(of, bits, lambda: self._resized(self.values[of], has, bits))

    def _resized(self, name: str, before: int, after: int) -> str:
        if before == after:
            return name
        return self._let(f"{'sext' if before < after else 'trunc'} {vector(before)} {name} to {vector(after)}")

    def _let(self, text: str) -> str:
        return self.writer.let(text)

    def _node(self, node: Expression) -> str:
        if isinstance(node.value, Leaf):
            return self._flag_leaf(node.value) if node.kind == "flag" else self._leaf(node.value)
        if isinstance(node.value, int):
            return splat(-node.value, 8) if node.kind == "flag" else splat(node.value, width_of(node))
        return _OPERATORS[node.operator](self, node)

    # --- leaves -----------------------------------------------------------------------------------------------------

    def _flag_leaf(self, leaf: Leaf, holds: bool = True) -> str:
        place = self.layout.places[leaf.index]
        bit = splat(1 << place.shift % 8, 8)
        bit = self._let(f"and {BYTES} {self._plane(place.word, place.shift // 8)}, {bit}")
        return self._where("ne" if holds else "eq", bit, "zeroinitializer", 8)

    def _leaf(self, leaf: Leaf) -> str:
        place = self.layout.places[leaf.index]
        bits, after = stored_width(place.width), width(leaf.low, leaf.high)
        kind = vector(bits)
        value = self._pieces(place, bits)
        value = self._let(f"and {kind} {value}, {splat((1 << place.width) - 1, bits)}")
        if after > bits:
            value = self._let(f"zext {kind} {value} to {vector(after)}")
        return self._let(f"add {vector(after)} {value}, {splat(place.low, after)}") if place.low else value

    def _pieces(self, place: Place, bits: int) -> str:
        """The bits of a leaf, at the low end of lanes of `bits` bits. Higher bits may be bits of other leaves."""
        value = ""
        for byte in place.bytes:
            piece = self._plane(place.word, byte)
            if bits > 8:
                piece = self._let(f"zext {BYTES} {piece} to {vector(bits)}")
            piece = shifted(self.writer, piece, 8 * byte - place.shift, bits)
            value = self._let(f"or {vector(bits)} {value}, {piece}") if value else piece
        return value

    def _plane(self, word: int, byte: int) -> str:
        return self._once(("plane", word, byte), 8, lambda: plane(self.writer, word, byte))

    # --- operators --------------------------------------------------------------------------------------------------

    def _where(self, relation: str, a: str, b: str, bits: int) -> str:
        """The flag that holds in the lanes where `relation` holds for `a` and `b`."""
        return self._let(f"sext {vector(1)} {self._let(f'icmp {relation} {vector(bits)} {a}, {b}')} to {BYTES}")

    def not_(self, node: Expression) -> str:
        """Writes the negation of a flag, where possible without a negated mask, because negated masks compile slowly.

        If the operand is a relation, writes the opposite relation. If the operand is a leaf, tests whether the leaf's
        bit is zero.
        """
        (of,) = node.arguments
        if isinstance(of.value, Leaf):
            return self._flag_leaf(of.value, False)
        if of.operator in _RELATIONS:
            return _RELATIONS[of.operator](self, of, False)
        return self._let(f"xor {BYTES} {self.values[of]}, {ONES}")

    def junction(self, node: Expression) -> str:
        result, *others = (self.values[a] for a in node.arguments)
        for other in others:
            result = self._let(f"{node.operator} {BYTES} {result}, {other}")
        return result

    def eq(self, node: Expression, holds: bool = True) -> str:
        return self._compared(node, "eq" if holds else "ne")

    def le(self, node: Expression, holds: bool = True) -> str:
        return self._compared(node, "sle" if holds else "sgt")

    def _compared(self, node: Expression, relation: str) -> str:
        bits = width_of(*node.arguments)
        if all(x.kind == "flag" for x in node.arguments):
            a, b = (self.values[x] for x in node.arguments)
        else:
            a, b = (self._as(x, bits) for x in node.arguments)
        return self._where(relation, a, b, bits)

    def binary(self, node: Expression) -> str:
        bits = width_of(node)
        a, b = (self._as(x, bits) for x in node.arguments)
        return self._let(f"{_ARITHMETIC[node.operator]} {vector(bits)} {a}, {b}")

    def if_(self, node: Expression) -> str:
        """Writes `no ^ ((yes ^ no) & mask)`, which is one instruction on some machines.

        The mask is the condition in the width of the result, all ones or all zeros.
        """
        condition, yes, no = node.arguments
        bits = width_of(node)
        kind = vector(bits)
        if node.kind == "flag":
            a, b = self.values[yes], self.values[no]
        else:
            a, b = self._as(yes, bits), self._as(no, bits)
        mask = self._once(("mask", condition), bits, lambda: self._resized(self.values[condition], 8, bits))
        if isinstance(yes.value, int) and isinstance(no.value, int) and node.kind != "flag":
            unlike = splat(yes.value ^ no.value, bits)
        else:
            unlike = self._let(f"xor {kind} {a}, {b}")
        picked = self._let(f"and {kind} {unlike}, {mask}")
        return self._let(f"xor {kind} {b}, {picked}")

    def _bit(self, broker: Expression, bits: int) -> str:
        """The set of one broker, or the empty set for no broker (-1), in lanes of `bits` bits."""
        require_in_set(broker)
        if isinstance(broker.value, int):
            return splat(1 << broker.value if broker.value >= 0 else 0, bits)
        wide = 8 if broker.high < 7 else width(0, 1 << broker.high + 1)
        one = self._once(("bit", broker), wide, lambda: (self._picked if wide == 8 else self._shifted)(broker, wide))
        return self._once(("bit", broker), bits, lambda: self._resized(one, wide, bits))

    def _picked(self, broker: Expression, bits: int) -> str:
        """The set of `_bit`, in lanes of 8 bits.

        Compares the value with each broker in turn, because x86 cannot shift each byte by its own count.
        """
        result, name = "zeroinitializer", self._as(broker, bits)
        for number in range(max(broker.low, 0), broker.high + 1):
            mine = self._where("eq", name, splat(number, bits), bits)
            result = self._let(f"or {BYTES} {result}, {self._let(f'and {BYTES} {mine}, {splat(1 << number, bits)}')}")
        return result

    def _shifted(self, broker: Expression, bits: int) -> str:
        """Shifts 1 up by the broker's number.

        If the value may be -1 (no broker), shifts up by one place more, and then down by one place. So -1 gives 0.
        """
        kind, count = vector(bits), self._as(broker, bits)
        if broker.low >= 0:
            return self._let(f"shl {kind} {splat(1, bits)}, {count}")
        bit = self._let(f"shl {kind} {splat(1, bits)}, {self._let(f'add {kind} {count}, {splat(1, bits)}')}")
        return self._let(f"lshr {kind} {bit}, {splat(1, bits)}")

    def has(self, node: Expression, holds: bool = True) -> str:
        members, broker = node.arguments
        bits = width_of(members)
        common = self._let(f"and {vector(bits)} {self._as(members, bits)}, {self._bit(broker, bits)}")
        return self._where("ne" if holds else "eq", common, "zeroinitializer", bits)

    def only(self, node: Expression) -> str:
        return self._bit(node.arguments[0], width_of(node))

    def difference(self, node: Expression) -> str:
        return self._without(node, width_of(node))

    def _without(self, node: Expression, bits: int) -> str:
        a, b = (self._as(x, bits) for x in node.arguments)
        return self._let(f"and {vector(bits)} {a}, {self._let(f'xor {vector(bits)} {b}, {splat(-1, bits)}')}")

    def subset(self, node: Expression, holds: bool = True) -> str:
        bits = width_of(node.arguments[0])
        return self._where("eq" if holds else "ne", self._without(node, bits), "zeroinitializer", bits)

    def size(self, node: Expression) -> str:
        (members,) = node.arguments
        bits = width_of(members)
        kind = vector(bits)
        count = self._let(f"call {kind} @llvm.ctpop.v{GROUP}i{bits}({kind} {self._as(members, bits)})")
        return self._resized(count, bits, width_of(node))


def shifted(writer: Writer, value: str, by: int, bits: int) -> str:
    """The lanes of `value`, each shifted up by `by` bits, or down by `-by` bits if `by` is negative."""
    if by == 0:
        return value
    return writer.let(f"{'shl' if by > 0 else 'lshr'} {vector(bits)} {value}, {splat(abs(by), bits)}")


_RELATIONS: Final[dict[str, Callable[[Lanes, Expression, bool], str]]] = {
    "eq": Lanes.eq,
    "le": Lanes.le,
    "has": Lanes.has,
    "subset": Lanes.subset,
}


def _needed(node: Expression) -> tuple[Expression, ...]:
    """The nodes that must be written before `node`. If `node` negates a relation, these are the relation's operands."""
    if node.operator == "not" and node.arguments[0].operator in ("leaf", *_RELATIONS):
        return node.arguments[0].arguments
    return node.arguments


_ROWS: Final[dict[str, Callable[[Lanes, Expression], str]]] = {
    "not": Lanes.not_,
    "and": Lanes.junction,
    "or": Lanes.junction,
    "eq": Lanes.eq,
    "le": Lanes.le,
    "add": Lanes.binary,
    "subtract": Lanes.binary,
    "multiply": Lanes.binary,
    "if": Lanes.if_,
    "has": Lanes.has,
    "only": Lanes.only,
    "union": Lanes.binary,
    "intersection": Lanes.binary,
    "difference": Lanes.difference,
    "subset": Lanes.subset,
    "size": Lanes.size,
}
_OPERATORS: Final = complete("the LLVM text (checker/kernel/llvm_expressions.py)", _ROWS)
