"""How large a domain is, by arithmetic: what is too large is refused before anything is made of it."""

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
"""So many, or more."""
MOST_LEAVES: Final = 10_000
"""Of a variable: each is a part of every state, and of every expression that reads the whole."""
MOST_INSTANCES: Final = 10_000
"""Of an action, and of initial states: the method runs once for each."""


def values(domain: Domain) -> int:
    """How many values a domain has; `HUGE` for very many."""
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
            return _power(values(domain.element), domain.capacity)  # of the longest ones
        case Messages():
            return _power(2, values(domain.element))
        case Bag():
            kinds = values(domain.element)
            return HUGE if kinds >= HUGE else min(HUGE, math.comb(kinds + domain.capacity, domain.capacity))
        case Per():
            return _power(values(domain.element), values(domain.index))
    return HUGE


def leaves(domain: Domain) -> int:
    """How many scalars a value is stored as."""
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
