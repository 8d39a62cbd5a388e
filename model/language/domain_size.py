"""Computes the size of a domain by arithmetic, so that a domain that is too large is refused before enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from isrcheck.model.language.domains import (
    Bag,
    Broker,
    BrokerSet,
    Domain,
    Enum,
    Flag,
    Messages,
    Number,
    Per,
    Record,
    Sequence_,
)

HUGE: Final = 1 << 64
"""Represents this number and every larger number."""
MOST_LEAVES: Final = 10_000
"""The most leaves (stored integers) of a variable, because each state contains each leaf of each variable."""
MOST_INSTANCES: Final = 10_000
"""The most choices of parameters of an action or of `initial`. The method runs once for each choice."""


def values(domain: Domain) -> int:
    """The number of values of a domain, but at most `HUGE`. Of sequences, only those of full length are counted."""
    match domain:
        case Flag():
            return 2
        case Number():
            return domain.high - domain.low + 1
        case Enum():
            return len(domain.members)
        case Broker():
            return domain.count + domain.optional
        case BrokerSet():
            return _power(2, domain.element.count)
        case Record():
            return product(map(values, domain.domains))
        case Sequence_():
            return _power(values(domain.element), domain.capacity)  # only the longest sequences
        case Messages():
            return _power(2, values(domain.element))
        case Bag():
            kinds = values(domain.element)
            return HUGE if kinds >= HUGE else min(HUGE, math.comb(kinds + domain.capacity, domain.capacity))
        case Per():
            return _power(values(domain.element), values(domain.index))
    return HUGE


def leaves(domain: Domain) -> int:
    """The number of scalars that store a value of a domain."""
    match domain:
        case Record():
            return sum(map(leaves, domain.domains))
        case Sequence_():
            return 1 + domain.capacity * leaves(domain.element)
        case Messages() | Bag():
            return values(domain.element)
        case Per():
            return values(domain.index) * leaves(domain.element)
    return 1


def product(factors: Iterable[int]) -> int:
    return min(HUGE, math.prod(factors))


def _power(base: int, exponent: int) -> int:
    return HUGE if base > 1 and exponent >= HUGE.bit_length() else min(HUGE, base**exponent if base > 1 else base)
