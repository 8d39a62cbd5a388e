"""The *region* of a question: all states that are reached from a source while the question stays open.

A source is a state in which the question begins. A question is open in a state if its condition `region` holds there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from isrcheck.checker.analysis.liveness import graph_loops
from isrcheck.checker.analysis.liveness.graph_loops import Narrow
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.model.language.fairness import Obligation

Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
WORD: Final = 64


class NotAllowed(Exception):
    """A question exceeds a limit. `reason` names the limit; `missing` is how many bytes the question lacks."""

    def __init__(self, reason: Literal["memory", "time"], missing: int = 0) -> None:
        self.reason: Literal["memory", "time"] = reason
        self.missing = missing


class Allowance:
    """The most bytes that a question may hold, and the time by which it must be answered. None means no limit.

    The time is a value of `time.perf_counter`.
    """

    def __init__(self, memory: int | None = None, until: float | None = None) -> None:
        self._memory, self._until, self._held = memory, until, 0

    def take(self, size: int) -> None:
        """Counts `size` more bytes. Raises `NotAllowed` if the bytes are too many, or if the time is over."""
        self._held += size
        if self._memory is not None and self._held > self._memory:
            raise NotAllowed("memory", self._held - self._memory)
        if self._until is not None and time.perf_counter() > self._until:
            raise NotAllowed("time")

    def begin(self, held: int = 0) -> None:
        """Begins the next question. From the start, `held` bytes count for this question."""
        self._held = held


@dataclass(frozen=True)
class FairnessObligations:
    """The fairness obligations. A set of obligations is stored in words, with one bit for each obligation.

    `of` has the number of each instance's obligation, or -1 for an instance without an obligation. `strong` is the set
    of the strong obligations, and `weak` of the weak ones.
    """

    obligations: tuple[Obligation, ...]
    of: Integers
    strong: Words
    weak: Words

    @classmethod
    def made(cls, obligations: Sequence[Obligation], instances: int) -> FairnessObligations:
        of = np.full(instances, -1, dtype=np.int64)
        for i, each in enumerate(obligations):
            of[list(each.instances)] = i
        strong = bits([np.array([each.strong for each in obligations], dtype=np.bool_)])[0]
        weak = bits([np.array([not each.strong for each in obligations], dtype=np.bool_)])[0]
        return cls(tuple(obligations), of, strong, weak)

    def without(self, actions: set[str]) -> tuple[Words, Words]:
        """The weak and the strong obligations, without the obligations of these actions."""
        kept = bits([np.array([each.action not in actions for each in self.obligations], dtype=np.bool_)])[0]
        return self.weak & kept, self.strong & kept


def bits(rows: Sequence[Flags] | Flags) -> Words:
    """Packs flags into words of 64 bits. The shape of the result is (rows, words), with at least one word in a row."""
    flags = np.asarray(rows)
    width = max(1, -(-flags.shape[1] // WORD)) * WORD
    wide = np.zeros((len(flags), width), dtype=np.bool_)
    wide[:, : flags.shape[1]] = flags
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


class Numbers(Protocol):
    """Numbers of states, all below `size`.

    Some numbers below `size` may belong to no state. A state also has an id, by which it is found faster than by its
    number.
    """

    size: int

    def find(self, states: Words) -> tuple[Integers, Words]:
        """The number and the id of each state. For an unknown state, the number is -1 and the id is meaningless."""

    def ids(self, numbers: Integers) -> Words:
        """The ids of the states with these numbers."""

    def states(self, ids: Words) -> Words:
        """The states with these ids."""

    def levels(self, numbers: Integers) -> Integers:
        """The levels of the states with these numbers."""


@dataclass(frozen=True)
class Region:
    """States in the order in which they are reached from sources, and the steps between them.

    For each state, `number` has its number in `all`, and `flags` its flags (see `loops`). `enabled` has the obligations
    with an enabled instance that changes the state. `cut` has the obligations with an instance that only a bound or
    a constraint prevents.

    The steps from state v to states of the region lie at `begin[v]..begin[v + 1] - 1` of `target` and `label`, in the
    order of labels. Steps that change nothing are left out. `left` says whether a step leaves the region for another
    state that the search explores.
    """

    all: Numbers
    number: Narrow
    flags: Bytes
    enabled: Words
    cut: Words
    begin: Narrow
    target: Narrow
    label: Narrow
    left: bool

    @property
    def size(self) -> int:
        return len(self.number)

    @property
    def source(self) -> Flags:
        """A flag for each state: whether the state is a source."""
        return (self.flags & graph_loops.SOURCE).astype(np.bool_)

    @property
    def marked(self) -> Flags:
        """A flag for each state: whether the question's condition `mark` holds in it."""
        return (self.flags & graph_loops.MARKED).astype(np.bool_)

    def rows(self, states: Integers) -> Words:
        """The packed form of these states of the region."""
        return self.all.states(self.all.ids(self.number[states].astype(np.int64)))

    @cached_property
    def level(self) -> Integers:
        """The level of each state."""
        return self.all.levels(self.number.astype(np.int64))

    def steps(self, states: Integers) -> tuple[Integers, Integers]:
        """The positions of all steps from these states, as positions in `target` and `label`. Also the position in
        `states` of the source of each step."""
        first, after = (self.begin[at].astype(np.int64) for at in (states, states + 1))
        counts = after - first
        of = np.repeat(np.arange(len(states)), counts)
        return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum())), of
