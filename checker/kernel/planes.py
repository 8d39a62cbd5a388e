"""LLVM text between the rows of packed states and *planes*: one byte of each of `GROUP` states, in a lane of bytes.

Both ways are perfect shuffles. The bytes of the rows of 2**k states lie in memory by state, then by byte. To interleave
the first half of them with the second takes the highest bit of a byte's place and makes it the lowest; after k times
they lie by byte, then by state. The other way is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from isrcheck.checker.kernel.words import Writer

GROUP: Final = 64
"""States at a time: one in each byte of an AVX-512 register, of two AVX2 registers, of four of any other machine."""
BYTES: Final = f"<{GROUP} x i8>"
WORD: Final = 8
"""Bytes of a word."""
_LOWER: Final = [GROUP * (i % 2) + i // 2 for i in range(GROUP)]
_UPPER: Final = [i + GROUP // 2 for i in _LOWER]


def planes(writer: Writer, states: str, words: int) -> list[list[str]]:
    """The planes of the states at an address: for each word its bytes, the lowest first."""
    vectors = []
    for number in range(WORD * words):
        place = writer.let(f"getelementptr i8, ptr {states}, i64 {GROUP * number}")
        vectors.append(writer.let(f"load {BYTES}, ptr {place}, align 8"))
    found = _shuffled(writer, vectors, GROUP)
    return [found[WORD * word : WORD * (word + 1)] for word in range(words)]


def rows(writer: Writer, of: Mapping[int, str], width: int) -> list[str]:
    """The given bytes of numbers of `width` bytes, a power of two, and else zero, in the order of memory."""
    return _shuffled(writer, [of.get(byte, "zeroinitializer") for byte in range(width)], width)


def _shuffled(writer: Writer, vectors: Sequence[str], size: int) -> list[str]:
    """All bytes of some vectors, where the highest bits of their places, log2(size), have become the lowest."""
    here = list(vectors)
    while size > 1:
        half = len(here) // 2
        pairs = zip(here[:half], here[half:], strict=True)
        here = [writer.shuffle(a, b, GROUP, picked, 8) for a, b in pairs for picked in (_LOWER, _UPPER)]
        size //= 2
    return here
