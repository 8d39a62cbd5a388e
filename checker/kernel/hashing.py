"""The owner hash of a state. Some hash tables also use this hash to find the slot of a state.

The Spark engine divides the states into parts, the *owners*. The hash of a state says which owner has the state.

The hash h begins as 0. For each word w of the state, in order:

    h = h ^ w;  h = h ^ (h >> 32);  h = h * 0x9E3779B97F4A7C15;  h = h ^ (h >> 29)

After the last word, h = h * 0xD6E8FEB86659FD93; h = h ^ (h >> 32). All operations are modulo 2**64. The states of a
dataset on disk are divided among the owners by this hash, so no version of isrcheck may change the hash.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FIRST: Final = 0x9E3779B97F4A7C15
LAST: Final = 0xD6E8FEB86659FD93
_MASK: Final = (1 << 64) - 1


def owner_hash(words: Iterable[int]) -> int:
    """The hash of one packed state. Compiled code computes the same hash for many states."""
    h = 0
    for word in words:
        h ^= word
        h ^= h >> 32
        h = h * FIRST & _MASK
        h ^= h >> 29
    h = h * LAST & _MASK
    return h ^ h >> 32
