"""Orbits by their definition: repeated exchanges of a scalarset's members in the values of a state."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from isrcheck.checker.kernel.exchanges import Classes, Exchange, Member
from isrcheck.model.semantics.transition_system import TransitionSystem

State = tuple[int, ...]


def brokers(*classes: Sequence[int]) -> list[list[Member]]:
    """The classes of brokers with these numbers."""
    return [[Member("broker", number) for number in c] for c in classes]


def orbit(system: TransitionSystem, state: State, classes: Classes) -> frozenset[State]:
    """All states that permutations of members within classes make from one state."""
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
