"""The owner hash: which partition, thread or executor a state belongs to, and where in a table it is looked for.

For each word w of the state, from h = 0:

    h = h ^ w;  h = h ^ (h >> 32);  h = h * 0x9E3779B97F4A7C15;  h = h ^ (h >> 29)

and in the end  h = h * 0xD6E8FEB86659FD93;  h = h ^ (h >> 32),  all modulo 2**64. Datasets on disk are partitioned by
it: it does not change between versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FIRST: Final = 0x9E3779B97F4A7C15
LAST: Final = 0xD6E8FEB86659FD93
_MASK: Final = (1 << 64) - 1


def owner_hash(words: Iterable[int]) -> int:
    """The hash of one packed state: what the compiled function computes for many."""
    h = 0
    for word in words:
        h ^= word
        h ^= h >> 32
        h = h * FIRST & _MASK
        h ^= h >> 29
    h = h * LAST & _MASK
    return h ^ h >> 32
