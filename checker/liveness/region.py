"""The part of an exploration that a question is about: all that a source leads to without leaving the region."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.local.levels import NativeLevels
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.verdicts import FAILED, OUTSIDE
from isrcheck.checker.liveness import loops
from isrcheck.model.language.errors import ModelError
from isrcheck.model.language.fairness import Obligation
from isrcheck.model.language.system import Question, TransitionSystem

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]
BLOCK: Final = 1 << 13
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

    def begin(self) -> None:
        """The next question holds nothing."""
        self._held = 0


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


@dataclass(frozen=True)
class Region:
    """States by number: their rows, levels, whether they are a source, whether marked; `enabled` has for each the
    obligations of which an instance would change it, `cut` those of which one is wanted and has no room.

    The steps of state v inside the region lie at `begin[v]..begin[v + 1] - 1`: `target` and `label`, in the order of
    labels. A step that changes nothing is none.
    """

    rows: Words
    level: Numbers
    source: Flags
    marked: Flags
    enabled: Words
    cut: Words
    begin: Integers
    target: Numbers
    label: Numbers

    @property
    def size(self) -> int:
        return len(self.rows)

    def steps(self, states: Integers) -> tuple[Integers, Integers]:
        """Positions of all steps of some states, and for each the position of its state among them."""
        first, counts = self.begin[states], self.begin[states + 1] - self.begin[states]
        of = np.repeat(np.arange(len(states)), counts)
        return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum())), of


@dataclass
class _Judged:
    """The counted states of a region, wherever they are reached."""

    rows: Words
    level: Numbers
    source: Flags
    marked: Flags
    cut: Words


class Builder:
    """Makes the region of a question; `promises` are about the instances of the system, then those shut out."""

    def __init__(self, levels: NativeLevels, promises: Promises, allowance: Allowance) -> None:
        self._levels, self._promises, self._allowance = levels, promises, allowance
        self._system: TransitionSystem = levels.system
        labels = [t.label for t in (*self._system.transitions, *self._system.shut_out)]
        numbers = {label: i for i, label in enumerate(labels)}
        self._cuts = [(bit, int(promises.of[numbers[label]])) for label, bit in levels.kernel.verdicts.cuts]
        self._words = len(promises.weak)

    def region(self, number: int) -> Region:
        """The region of the question with this number."""
        judged = self._judged(number, self._system.questions[number])
        return self._closed(judged)

    def _judged(self, number: int, question: Question) -> _Judged:
        region, source, mark = self._levels.kernel.verdicts.questions[number]
        parts: list[_Judged] = []
        for level in range(1, self._levels.depth + 1):
            for block in members(self._levels, level):
                verdicts = self._levels.kernel.judge(block)
                inside = np.flatnonzero(flag(verdicts, region))
                self._allowance.take(len(inside) * (8 * block.shape[1] + 8 * self._words + 40))
                sources = flag(verdicts, source)[inside] & (level == 1 or not question.initially)
                parts.append(
                    _Judged(
                        block[inside],
                        np.full(len(inside), level, dtype=np.int32),
                        sources,
                        flag(verdicts, mark)[inside],
                        self._cut(verdicts[inside]),
                    )
                )
        names = ("rows", "level", "source", "marked", "cut")
        return _Judged(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def _cut(self, verdicts: Words) -> Words:
        """The obligations of which an instance has no room, of states with these verdicts."""
        flags = np.zeros((len(verdicts), self._words * WORD), dtype=np.bool_)
        for bit, obligation in self._cuts:
            if obligation >= 0:
                flags[:, obligation] |= flag(verdicts, bit)
        return bits(flags)

    def _closed(self, judged: _Judged) -> Region:
        """What the sources lead to, breadth first, with its steps."""
        find = self._levels.finder(judged.rows)
        reached = judged.source.copy()
        enabled, cut = np.zeros_like(judged.cut), judged.cut
        steps: list[tuple[Numbers, Numbers, Numbers]] = []
        frontier = np.flatnonzero(reached)
        while len(frontier):
            fresh = np.zeros(len(reached), dtype=np.bool_)
            for start in range(0, len(frontier), BLOCK):
                states = frontier[start : start + BLOCK]
                found = self._expanded(judged.rows[states], find)
                enabled[states], outside, source, label, target = found
                cut[states] |= outside
                self._allowance.take(20 * len(target))
                steps.append((states[source].astype(np.int32), label, target))
                fresh[target] = True
            fresh &= ~reached
            reached |= fresh
            frontier = np.flatnonzero(fresh)
        return _numbered(judged, reached, enabled, cut, steps)

    def _expanded(self, states: Words, find: object) -> tuple[Words, Words, Integers, Numbers, Numbers]:
        """What is enabled in some states, what the constraints cut, and the steps inside the region."""
        kernel = self._levels.kernel
        successors, source, label, _ = kernel.expand(states)
        changed = (successors != states[source]).any(axis=1)
        successors, source, label = successors[changed], source[changed], label[changed]
        promised = self._promises.of[label]
        enabled = np.zeros((len(states), self._words * WORD), dtype=np.bool_)
        cut = np.zeros_like(enabled)
        chosen = promised >= 0
        target = find(successors)  # type: ignore[operator]
        outside = np.zeros(len(target), dtype=np.bool_)
        if self._system.constraints:
            lost = np.flatnonzero(target < 0)
            outside[lost] = flag(kernel.judge(successors[lost]), OUTSIDE)
        cut[source[chosen & outside], promised[chosen & outside]] = True
        enabled[source[chosen & ~outside], promised[chosen & ~outside]] = True
        kept = target >= 0
        return bits(enabled), bits(cut), source[kept], label[kept].astype(np.int32), target[kept].astype(np.int32)


def _numbered(
    judged: _Judged,
    reached: Flags,
    enabled: Words,
    cut: Words,
    steps: list[tuple[Numbers, Numbers, Numbers]],
) -> Region:
    """The states that are reached, numbered anew."""
    number = np.cumsum(reached, dtype=np.int64) - 1
    none = np.empty(0, dtype=np.int32)
    columns = zip(*steps, strict=True) if steps else ((),) * 3
    source, label, target = (np.concatenate([none, *column]) for column in columns)
    begin = np.empty(int(reached.sum()) + 1, dtype=np.int64)
    labels, targets = loops.by_source(source, label, target, number, begin)
    return Region(
        judged.rows[reached],
        judged.level[reached],
        judged.source[reached],
        judged.marked[reached],
        enabled[reached],
        cut[reached],
        begin,
        targets,
        labels,
    )


def members(levels: NativeLevels, level: int) -> Iterator[Words]:
    """The states of a level, some at a time: under symmetry all those that a search has kept one of.

    A question may be about one broker, and a promise is about one: what is so of a state is not so of every state of
    its orbit. `ModelError` where a property has no meaning in a state that was not kept: the search has not seen it.
    """
    for block in levels.blocks(level):
        every = levels.members(block)
        if len(every) > len(block) and flag(levels.kernel.judge(every), FAILED).any():
            raise ModelError(
                "a property cannot be evaluated in a state that symmetry leaves out; check it without symmetry"
            )
        yield every


def flag(verdicts: Words, bit: int) -> Flags:
    """One bit of each of some verdicts."""
    return (verdicts[:, bit // WORD] >> np.uint64(bit % WORD) & np.uint64(1)).astype(np.bool_)
