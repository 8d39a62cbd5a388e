"""Writes LLVM text that works on eight packed states at once.

A vector has one word of each state (for example the first word of all eight states), in eight 64-bit lanes. A vector
fills one AVX-512 register. On machines with smaller registers LLVM splits the vectors, so the text is the same
everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LANES: Final = 8
INTEGERS: Final = f"<{LANES} x i64>"
FLAGS: Final = f"<{LANES} x i1>"


def splat(value: int, bits: int = 64) -> str:
    """The vector constant with an integer in every lane. Only the integer's lowest `bits` bits are used."""
    value &= (1 << bits) - 1
    signed = value - (1 << bits) if value >> bits - 1 else value
    return "zeroinitializer" if value == 0 else f"splat (i{bits} {signed})"


RAMP: Final = "<" + ", ".join(f"i64 {i}" for i in range(LANES)) + ">"
ALL: Final = "splat (i1 true)"


class Writer:
    """Lines of one LLVM function, with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def let(self, text: str) -> str:
        """Writes an instruction. Returns the new name of its value."""
        result = self.name()
        self.lines.append(f"  {result} = {text}")
        return result

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def block(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def shuffle(self, a: str, b: str, lanes: int, picked: Sequence[int], bits: int = 64) -> str:
        """A vector of the lanes `picked` from the vectors `a` and `b`, which have `lanes` lanes each.

        The lanes of `a` have the numbers from 0 on, and the lanes of `b` the numbers from `lanes` on.
        """
        mask = ", ".join(f"i32 {i}" for i in picked)
        kind = f"<{lanes} x i{bits}>"
        return self.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(picked)} x i32> <{mask}>")

    def interleave(self, words: Sequence[str]) -> str:
        """Joins vectors. Vector j has word j of each of eight states. The result has the words state by state."""
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
