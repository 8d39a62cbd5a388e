"""How a state is packed into 64-bit words.

A leaf (one of the integers that make up a state) takes `(high - low).bit_length()` bits and stores `value - low`.
Leaves are placed in order, each in the first word that has room for the leaf, unless `Layout` gets other words. No leaf
spans two words. Bit 0 of word 0 is always 1. So no packed state begins with a zero word, and zeroed memory means "no
state".

The partition hash of a state. Some hash tables also use this hash to find the slot of a state.

The Spark engine divides the states into *partitions*. The hash of a state says which partition has the state.

The hash h begins as 0. For each word w of the state, in order:

    h = h ^ w;  h = h ^ (h >> 32);  h = h * 0x9E3779B97F4A7C15;  h = h ^ (h >> 29)

After the last word, h = h * 0xD6E8FEB86659FD93; h = h ^ (h >> 32). All operations are modulo 2**64. The states of a
dataset on disk are divided among the partitions by this hash, so no version of isrcheck may change the hash.

Checks that expressions have only values that every engine with 64-bit integers can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from isrcheck.model.semantics.operators import LARGEST, Expression, Leaf

if TYPE_CHECKING:
    pass


def require_fitting(roots: Iterable[Expression]) -> None:
    """Raises `ValueError` if the value of an expression, or of a part of it, can lie outside `-LARGEST..LARGEST`."""
    seen, stack = set[Expression](), list(roots)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.low < -LARGEST or node.high > LARGEST:
            raise ValueError(f"{node!r} can reach {node.low}..{node.high}, more than fits in 63 bits")
        stack.extend(node.arguments)


def require_in_set(broker: Expression) -> None:
    """Raises `ValueError` unless every value of `broker` is -1 (no broker) or one of the 62 brokers of a set."""
    if broker.low < -1 or broker.high > 61:
        raise ValueError(f"a broker from {broker.low} to {broker.high} does not fit into a set of at most 62 members")


Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
"""Packed states, one in each row: shape (states, words)."""

WORD: Final = 64


@dataclass(frozen=True)
class Place:
    """The place of a leaf in a state. Bits `shift .. shift + width - 1` of the word hold `value - low`."""

    word: int
    shift: int
    width: int
    low: int

    @property
    def mask(self) -> int:
        """The bits of the word that belong to this leaf."""
        return ((1 << self.width) - 1) << self.shift

    @property
    def bytes(self) -> range:
        """The bytes of the word that have bits of this leaf, by their positions in the word."""
        return range(self.shift // 8, (self.shift + self.width + 7) // 8)


class Layout:
    """The places of some leaves, in order, and the number of words of a state. `bits` is the number of used bits.

    The argument `words` has the word of each leaf. Without this argument, each leaf is in the first word with room.

    `row_bytes` is the number of bytes of a state, without the bytes at its end that are always zero.
    """

    def __init__(self, leaves: Sequence[Leaf], words: Sequence[int] | None = None) -> None:
        used = [1]
        if words is not None:
            used += [0] * max(words)
            self.places = tuple(_placed(leaf, word, used) for leaf, word in zip(leaves, words, strict=True))
        else:
            self.places = tuple(_place(leaf, used) for leaf in leaves)
        self.words = len(used)
        self.bits = sum(used)
        self.row_bytes = WORD // 8 * (len(used) - 1) + (used[-1] + 7) // 8

    def moved(self, packed: Words, other: Layout) -> Words:
        """The same states in the layout `other`. Further leaves at the end of `other` get their least values."""
        masks = dict[tuple[int, int, int], int]()
        for place, there in zip(self.places, other.places, strict=False):
            if place.width:
                way = place.word, there.word, there.shift - place.shift
                masks[way] = masks.get(way, 0) | place.mask
        out = np.zeros((len(packed), other.words), dtype=np.uint64)
        out[:, 0] = 1
        for (word, its, further), mask in masks.items():
            bits = packed[:, word] & np.uint64(mask)
            out[:, its] |= bits << np.uint64(further) if further >= 0 else bits >> np.uint64(-further)
        return out

    def pack(self, rows: Sequence[Sequence[int]] | npt.NDArray[np.int64]) -> Words:
        """Packs states. `rows` has the integers of their leaves, shape (states, leaves)."""
        values = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(self.places))
        packed = np.zeros((len(values), self.words), dtype=np.uint64)
        packed[:, 0] = 1
        for i, place in enumerate(self.places):
            stored = (values[:, i] - place.low).astype(np.uint64)
            if np.any(stored >> np.uint64(place.width)):
                raise ValueError(f"leaf {i} holds a value outside its {place.width} bits from {place.low}")
            packed[:, place.word] |= stored << np.uint64(place.shift)
        return packed

    def unpack(self, packed: Words) -> npt.NDArray[np.int64]:
        """The integers of the leaves of each state, shape (states, leaves)."""
        values = np.empty((len(packed), len(self.places)), dtype=np.int64)
        for i, place in enumerate(self.places):
            stored = packed[:, place.word] >> np.uint64(place.shift) & np.uint64((1 << place.width) - 1)
            values[:, i] = stored.astype(np.int64) + place.low
        return values


def _place(leaf: Leaf, used: list[int]) -> Place:
    """The place of the next leaf, in the first word that has room. Updates `used`, the used bits of each word."""
    width = _width(leaf)
    word = next((w for w, bits in enumerate(used) if bits + width <= WORD), len(used))
    if word == len(used):
        used.append(0)
    return _placed(leaf, word, used)


def _placed(leaf: Leaf, word: int, used: list[int]) -> Place:
    """The place of the next leaf, in this word. Updates `used`. A constant takes no bits."""
    width = _width(leaf)
    if width == 0:
        return Place(0, 0, 0, leaf.low)
    shift = used[word]
    used[word] += width
    if used[word] > WORD:
        raise ValueError(f"word {word} has no room for {leaf.path}")
    return Place(word, shift, width, leaf.low)


def _width(leaf: Leaf) -> int:
    width = (leaf.high - leaf.low).bit_length()
    if width >= WORD:
        raise ValueError(f"{leaf.path} needs {width} bits; a leaf has at most {WORD - 1}")
    return width
