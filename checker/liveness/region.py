"""The part of an exploration that a question is about: all that a source leads to without leaving the region."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.liveness import loops
from isrcheck.model.language.fairness import Obligation

Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Narrow = npt.NDArray[Any]
"""Numbers in as few bytes as they need."""
WORD: Final = 64


class NotAllowed(Exception):
    """A question needs more than it may take; `reason` says what it ran into, `missing` how many bytes more."""

    def __init__(self, reason: Literal["memory", "time"], missing: int = 0) -> None:
        self.reason: Literal["memory", "time"] = reason
        self.missing = missing


class Allowance:
    """Bytes that a question may hold, and when it must be done (`time.perf_counter`); None is no limit."""

    def __init__(self, memory: int | None = None, until: float | None = None) -> None:
        self._memory, self._until, self._held = memory, until, 0

    def take(self, size: int) -> None:
        """Raises `NotAllowed` where so many bytes more are too many, or it is too late."""
        self._held += size
        if self._memory is not None and self._held > self._memory:
            raise NotAllowed("memory", self._held - self._memory)
        if self._until is not None and time.perf_counter() > self._until:
            raise NotAllowed("time")

    def begin(self, held: int = 0) -> None:
        """The next question holds nothing but so many bytes."""
        self._held = held


@dataclass(frozen=True)
class Promises:
    """Obligations as bits: of each instance the number of its obligation, -1 for none; of each its strength."""

    obligations: tuple[Obligation, ...]
    of: Integers
    strong: Words
    weak: Words

    @classmethod
    def made(cls, obligations: Sequence[Obligation], instances: int) -> Promises:
        of = np.full(instances, -1, dtype=np.int64)
        for i, each in enumerate(obligations):
            of[list(each.instances)] = i
        strong = bits([np.array([each.strong for each in obligations], dtype=np.bool_)])[0]
        weak = bits([np.array([not each.strong for each in obligations], dtype=np.bool_)])[0]
        return cls(tuple(obligations), of, strong, weak)

    def without(self, actions: set[str]) -> tuple[Words, Words]:
        """The weak and the strong ones but for those of some actions."""
        kept = bits([np.array([each.action not in actions for each in self.obligations], dtype=np.bool_)])[0]
        return self.weak & kept, self.strong & kept


def bits(rows: Sequence[Flags] | Flags) -> Words:
    """Flags as words, shape (rows, words); one word at least."""
    flags = np.asarray(rows)
    width = max(1, -(-flags.shape[1] // WORD)) * WORD
    wide = np.zeros((len(flags), width), dtype=np.bool_)
    wide[:, : flags.shape[1]] = flags
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


class Numbers(Protocol):
    """Numbers of states, all of them below `size`; not each of those is that of a state. By its name a state is had
    faster than by its number.
    """

    size: int

    def find(self, states: Words) -> tuple[Integers, Words]:
        """The number of each state, -1 where it has none; and its name where it has one."""

    def names(self, numbers: Integers) -> Words:
        """The names of the states that have these numbers."""

    def states(self, names: Words) -> Words:
        """The states with these names."""

    def levels(self, numbers: Integers) -> Integers:
        """Their levels."""


@dataclass(frozen=True)
class Region:
    """States in the order in which they are reached from sources: their numbers in `all`, and their flags (`loops`);
    `enabled` has for each the obligations of which an instance would change it, `cut` those of which one is wanted and
    has no room.

    The steps of state v inside the region lie at `begin[v]..begin[v + 1] - 1`: `target` and `label`, in the order of
    labels. A step that changes nothing is none.
    """

    all: Numbers
    number: Narrow
    flags: Bytes
    enabled: Words
    cut: Words
    begin: Narrow
    target: Narrow
    label: Narrow

    @property
    def size(self) -> int:
        return len(self.number)

    @property
    def source(self) -> Flags:
        """Which states are a source."""
        return (self.flags & loops.SOURCE).astype(np.bool_)

    @property
    def marked(self) -> Flags:
        """Which states have the mark of the question."""
        return (self.flags & loops.MARKED).astype(np.bool_)

    def rows(self, states: Integers) -> Words:
        """Some states themselves."""
        return self.all.states(self.all.names(self.number[states].astype(np.int64)))

    @cached_property
    def level(self) -> Integers:
        """The level of each state."""
        return self.all.levels(self.number.astype(np.int64))

    def steps(self, states: Integers) -> tuple[Integers, Integers]:
        """Positions of all steps of some states, and for each the position of its state among them."""
        first, after = (self.begin[at].astype(np.int64) for at in (states, states + 1))
        counts = after - first
        of = np.repeat(np.arange(len(states)), counts)
        return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum())), of
