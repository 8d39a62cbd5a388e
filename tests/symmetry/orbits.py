"""Orbits by definition: exchanging two brokers in the values of a state, again and again. No native code."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from isrcheck.checker.symmetry.exchanges import Exchange
from isrcheck.model.language.system import TransitionSystem

State = tuple[int, ...]
Classes = Sequence[Sequence[int]]


def orbit(system: TransitionSystem, state: State, classes: Classes) -> frozenset[State]:
    """All states that permuting brokers within classes makes of one."""
    found, pending = {state}, [state]
    exchanges = [Exchange(a, b) for c in classes for a, b in itertools.pairwise(c)]
    while pending:
        here = pending.pop()
        for exchange in exchanges:
            there = exchange.leaves(system, here)
            if there not in found:
                found.add(there)
                pending.append(there)
    return frozenset(found)
