"""LLVM text for expressions: eight states at a time, one in each lane of a vector.

A flag is a vector of bits, everything else a vector of 64-bit integers. Eight lanes are one AVX-512 register; on
narrower machines LLVM splits them. The text is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.ranges import require_in_set
from isrcheck.model.language.expressions import Expression, Leaf

LANES: Final = 8
INTEGERS: Final = f"<{LANES} x i64>"
FLAGS: Final = f"<{LANES} x i1>"


def splat(value: int, lanes: int = LANES) -> str:
    """The vector constant with this integer in every lane."""
    signed = value - (1 << 64) if value >> 63 == 1 else value
    return "zeroinitializer" if value == 0 else "<" + ", ".join([f"i64 {signed}"] * lanes) + ">"


RAMP: Final = "<" + ", ".join(f"i64 {i}" for i in range(LANES)) + ">"
ALL: Final = "<" + ", ".join(["i1 true"] * LANES) + ">"


class Writer:
    """Lines of one LLVM function, with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def let(self, text: str) -> str:
        """A new name for the value of an instruction."""
        result = self.name()
        self.lines.append(f"  {result} = {text}")
        return result

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def block(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def shuffle(self, a: str, b: str, lanes: int, picked: Sequence[int]) -> str:
        """Lanes of two vectors of `lanes` each, picked by position; -1 is a lane of no importance."""
        mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in picked)
        kind = f"<{lanes} x i64>"
        return self.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picked)} x i32> <{mask}>")

    def interleave(self, words: Sequence[str]) -> str:
        """The words of eight states, one vector a word, as one vector in the order of memory."""
        joined, lanes = list(words), LANES
        while len(joined) > 1:
            if len(joined) % 2:
                joined.append("poison")
            joined = [
                self.shuffle(a, b, lanes, range(2 * lanes)) for a, b in zip(joined[::2], joined[1::2], strict=True)
            ]
            lanes *= 2
        if len(words) == 1:
            return joined[0]
        order = [word * LANES + lane for lane in range(LANES) for word in range(len(words))]
        return self.shuffle(joined[0], "poison", lanes, order)


class Lanes:
    """Writes the values of expressions, each once, where it is first needed.

    `known` maps an expression to its name in the text. `fork` gives a copy for a block that later ones do not see.
    """

    def __init__(self, writer: Writer, layout: Layout, words: Sequence[str]) -> None:
        self.writer = writer
        self.layout = layout
        self.words = words
        self.known: dict[Expression, str] = {}

    def fork(self) -> Lanes:
        copy = Lanes(self.writer, self.layout, self.words)
        copy.known = dict(self.known)
        return copy

    def flag(self, of: Expression) -> str:
        self._write(of)
        return self.known[of]

    def integer(self, of: Expression) -> str:
        """The value as an integer, also that of a flag."""
        self._write(of)
        return self._integer(of)

    def _write(self, root: Expression) -> None:
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [a for a in node.arguments if a not in self.known]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if node not in self.known:
                self.known[node] = self._node(node)

    def _integer(self, of: Expression) -> str:
        name = self.known[of]
        return self.writer.let(f"zext {FLAGS} {name} to {INTEGERS}") if of.kind == "flag" else name

    def _node(self, node: Expression) -> str:
        if isinstance(node.value, Leaf):
            return self._leaf(node.value)
        if isinstance(node.value, int):
            if node.kind == "flag":
                return ALL if node.value else "zeroinitializer"
            return splat(node.value)
        return _OPERATORS[node.operator](self, node)

    def _leaf(self, leaf: Leaf) -> str:
        place, let = self.layout.places[leaf.index], self.writer.let
        word = self.words[place.word]
        if leaf.kind == "flag":
            return let(f"icmp ne {INTEGERS} {let(f'and {INTEGERS} {word}, {splat(place.mask)}')}, zeroinitializer")
        shifted = let(f"lshr {INTEGERS} {word}, {splat(place.shift)}") if place.shift else word
        if place.shift + place.width < 64:
            shifted = let(f"and {INTEGERS} {shifted}, {splat((1 << place.width) - 1)}")
        return let(f"add nsw {INTEGERS} {shifted}, {splat(place.low)}") if place.low else shifted

    def _names(self, node: Expression) -> list[str]:
        """The operands, all flags or all integers."""
        if all(a.kind == "flag" for a in node.arguments):
            return [self.known[a] for a in node.arguments]
        return [self._integer(a) for a in node.arguments]

    # --- operators --------------------------------------------------------------------------------------------------

    def not_(self, node: Expression) -> str:
        return self.writer.let(f"xor {FLAGS} {self.known[node.arguments[0]]}, {ALL}")

    def junction(self, node: Expression) -> str:
        result, *others = (self.known[a] for a in node.arguments)
        for other in others:
            result = self.writer.let(f"{node.operator} {FLAGS} {result}, {other}")
        return result

    def eq(self, node: Expression) -> str:
        a, b = self._names(node)
        kind = FLAGS if all(x.kind == "flag" for x in node.arguments) else INTEGERS
        return self.writer.let(f"icmp eq {kind} {a}, {b}")

    def le(self, node: Expression) -> str:
        a, b = map(self._integer, node.arguments)
        return self.writer.let(f"icmp sle {INTEGERS} {a}, {b}")

    def binary(self, node: Expression) -> str:
        a, b = map(self._integer, node.arguments)
        word = {"add": "add nsw", "subtract": "sub nsw", "multiply": "mul nsw", "union": "or", "intersection": "and"}
        return self.writer.let(f"{word[node.operator]} {INTEGERS} {a}, {b}")

    def if_(self, node: Expression) -> str:
        condition, yes, no = node.arguments
        kind = FLAGS if node.kind == "flag" else INTEGERS
        pick = (lambda x: self.known[x]) if node.kind == "flag" else self._integer
        return self.writer.let(f"select {FLAGS} {self.known[condition]}, {kind} {pick(yes)}, {kind} {pick(no)}")

    def has(self, node: Expression) -> str:
        members, broker = node.arguments
        let, shifted = self.writer.let, self.known[members]
        if broker.low < 0:
            # One place further up, "none" is bit 0, which no set has: no shift is ever negative.
            shifted = let(f"shl {INTEGERS} {shifted}, {splat(1)}")
        bit = let(f"lshr {INTEGERS} {shifted}, {self._shift(broker)}")
        return let(f"trunc {INTEGERS} {bit} to {FLAGS}")

    def only(self, node: Expression) -> str:
        (broker,) = node.arguments
        let = self.writer.let
        bit = let(f"shl {INTEGERS} {splat(1)}, {self._shift(broker)}")
        return let(f"lshr {INTEGERS} {bit}, {splat(1)}") if broker.low < 0 else bit

    def _shift(self, broker: Expression) -> str:
        """How far to shift for a broker, one more where it can be "none"."""
        require_in_set(broker)
        name = self.known[broker]
        return self.writer.let(f"add nsw {INTEGERS} {name}, {splat(1)}") if broker.low < 0 else name

    def difference(self, node: Expression) -> str:
        a, b = (self.known[x] for x in node.arguments)
        return self.writer.let(f"and {INTEGERS} {a}, {self.writer.let(f'xor {INTEGERS} {b}, {splat(-1)}')}")

    def subset(self, node: Expression) -> str:
        return self.writer.let(f"icmp eq {INTEGERS} {self.difference(node)}, zeroinitializer")

    def size(self, node: Expression) -> str:
        return self.writer.let(f"call {INTEGERS} @llvm.ctpop.v{LANES}i64({INTEGERS} {self.known[node.arguments[0]]})")


_OPERATORS: Final[dict[str, Callable[[Lanes, Expression], str]]] = {
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
