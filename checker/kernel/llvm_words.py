"""LLVM text that converts rows of packed states to *planes* and back. A plane has one byte of each of `GROUP` states.

Both conversions repeat a perfect shuffle, which interleaves the first half of all bytes with the second half. The rows
of 2**k states lie in memory state by state. So each byte's position in memory begins with the k bits of the state's
number. The bits of the byte's position in the row follow. A shuffle moves the first bit of each byte's position in
memory to the end of this position. After k shuffles the bytes lie plane by plane. The conversion back to rows works in
the same way.

Writes LLVM text that works on eight packed states at once.

A vector has one word of each state (for example the first word of all eight states), in eight 64-bit lanes. A vector
fills one AVX-512 register. On machines with smaller registers LLVM splits the vectors, so the text is the same
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


GROUP: Final = 64
"""How many states are processed at a time. A plane fills one AVX-512 register, two AVX2 registers, or four registers of
128 bits."""
BYTES: Final = f"<{GROUP} x i8>"
WORD: Final = 8
"""The number of bytes in a word."""


def _picked(first: int) -> str:
    """The mask of a shuffle that takes bytes alternately from two vectors, beginning at position `first` of each."""
    return ", ".join(f"i32 {first + i // 2 + GROUP * (i % 2)}" for i in range(GROUP))


SHUFFLE: Final = f"""\
define internal void @shuffle(ptr %rows, ptr %one, ptr %other, i64 %half, i64 %times) #0 {{
entry:
  br label %time
time:
  %done = phi i64 [ 0, %entry ], [ %more, %next ]
  %from = phi ptr [ %rows, %entry ], [ %to, %next ]
  %to = phi ptr [ %one, %entry ], [ %spare, %next ]
  %spare = phi ptr [ %other, %entry ], [ %to, %next ]
  br label %pair
pair:
  %i = phi i64 [ 0, %time ], [ %following, %pair ]
  %place = getelementptr {BYTES}, ptr %from, i64 %i
  %a = load {BYTES}, ptr %place, align 8
  %behind = getelementptr {BYTES}, ptr %place, i64 %half
  %b = load {BYTES}, ptr %behind, align 8
  %lower = shufflevector {BYTES} %a, {BYTES} %b, <{GROUP} x i32> <{_picked(0)}>
  %upper = shufflevector {BYTES} %a, {BYTES} %b, <{GROUP} x i32> <{_picked(GROUP // 2)}>
  %twice = mul i64 %i, 2
  %goal = getelementptr {BYTES}, ptr %to, i64 %twice
  store {BYTES} %lower, ptr %goal, align 8
  %beyond = getelementptr {BYTES}, ptr %goal, i64 1
  store {BYTES} %upper, ptr %beyond, align 8
  %following = add i64 %i, 1
  %again = icmp slt i64 %following, %half
  br i1 %again, label %pair, label %next
next:
  %more = add i64 %done, 1
  %unfinished = icmp slt i64 %more, %times
  br i1 %unfinished, label %time, label %end
end:
  ret void
}}
"""
"""Interleaves the first `half` vectors with the next `half` vectors, and does this `times` times. The results go from
`rows` to `one`, then from `one` to `other`, then from `other` to `one`, and so on."""


def room(writer: Writer, name: str, vectors: int) -> None:
    """Reserves memory for vectors of bytes until the function returns."""
    writer.do(f"{name} = alloca [{GROUP * vectors} x i8], align 64")


def planes(writer: Writer, states: str, words: int) -> None:
    """Writes the planes of the states at the address `states` to `%planes`. Overwrites `%spare`, which is as large."""
    _shuffled(writer, states, WORD * words, GROUP, "%planes", "%spare")


def plane(writer: Writer, word: int, byte: int) -> str:
    """Loads one plane: for each state, byte `byte` of word `word`."""
    place = writer.let(f"getelementptr {BYTES}, ptr %planes, i64 {WORD * word + byte}")
    return writer.let(f"load {BYTES}, ptr {place}, align 64")


def rows(writer: Writer, of: Mapping[int, str], width: int, place: str) -> None:
    """Stores an array at the address `place`. The array has a number for each state.

    Each number has `width` bytes, a power of two. `of` maps the position of a byte in its number to the plane that has
    the bytes at this position. Bytes without a plane are zero. If `width` is not 1, `%parts` and `%spare` are
    overwritten.
    """
    for byte in range(width):
        at = writer.let(f"getelementptr {BYTES}, ptr {place if width == 1 else '%parts'}, i64 {byte}")
        writer.do(f"store {BYTES} {of.get(byte, 'zeroinitializer')}, ptr {at}, align 64")
    if width > 1:
        _shuffled(writer, "%parts", width, width, place, "%spare")


def octets(writer: Writer, place: str) -> list[str]:
    """Loads an array as vectors of eight words. The array is at the address `place` and has `GROUP` words."""
    places = [writer.let(f"getelementptr i64, ptr {place}, i64 {LANES * i}") for i in range(GROUP // LANES)]
    return [writer.let(f"load <{LANES} x i64>, ptr {at}, align 64") for at in places]


def _shuffled(writer: Writer, source: str, vectors: int, size: int, target: str, spare: str) -> None:
    """Shuffles bytes, so that the first log2(size) bits of each byte's position move to the end."""
    times = size.bit_length() - 1
    one, other = (target, spare) if times % 2 else (spare, target)
    writer.do(f"call void @shuffle(ptr {source}, ptr {one}, ptr {other}, i64 {vectors // 2}, i64 {times})")


FIRST: Final = 0x9E3779B97F4A7C15


LAST: Final = 0xD6E8FEB86659FD93


_MASK: Final = (1 << 64) - 1


def partition_hash(words: Iterable[int]) -> int:
    """The hash of one packed state. Compiled code computes the same hash for many states."""
    h = 0
    for word in words:
        h ^= word
        h ^= h >> 32
        h = h * FIRST & _MASK
        h ^= h >> 29
    h = h * LAST & _MASK
    return h ^ h >> 32
