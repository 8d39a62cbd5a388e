"""The part of an exploration that a question is about: all that a source leads to without leaving the region."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
Find = Callable[[Words], Integers]
"""From states to their numbers, -1 for what is not in the region."""
BLOCK: Final = 1 << 13
STEP: Final = 16
"""Bytes of a step: label and target, as they are found and in the region."""
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


@dataclass(frozen=True)
class _Steps:
    """Steps of some states, state by state: how many each has, their labels, and where they lead."""

    states: Integers
    degree: Numbers
    label: Numbers
    target: Numbers


class Builder:
    """Makes the region of a question, of states in the first `known` levels.

    `promises` are about the instances of the system, then those shut out.
    """

    def __init__(self, levels: NativeLevels, known: int, promises: Promises, allowance: Allowance) -> None:
        self.levels, self.promises, self.allowance, self._known = levels, promises, allowance, known
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
        region, source, mark = self.levels.kernel.verdicts.questions[number]
        parts: list[_Judged] = []
        for level, kept in self.levels.every(self._known):
            block = members(self.levels, kept)
            verdicts = self.levels.kernel.judge(block)
            inside = np.flatnonzero(flag(verdicts, region))
            self.allowance.take(len(inside) * (8 * block.shape[1] + 8 * self._words + 40))
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
        """The obligations whose instances have no room, of states with these verdicts."""
        found = np.zeros((len(verdicts), self._words), dtype=np.uint64)
        for bit, obligation in self._cuts:
            if obligation >= 0:
                wanted = flag(verdicts, bit).astype(np.uint64)
                found[:, obligation // WORD] |= wanted << np.uint64(obligation % WORD)
        return found

    def _closed(self, judged: _Judged) -> Region:
        """The states that the sources lead to, breadth first, with their steps, numbered in the order in which they are
        expanded.
        """
        find = self.levels.finder(judged.rows)
        reached = judged.source.copy()
        enabled, cut = np.zeros_like(judged.cut), judged.cut
        parts: list[_Steps] = []
        frontier = np.flatnonzero(reached)
        while len(frontier):
            fresh = np.zeros(len(reached), dtype=np.bool_)
            for start in range(0, len(frontier), BLOCK):
                states = frontier[start : start + BLOCK]
                steps, enabled[states], outside = self._expanded(judged.rows[states], find)
                if outside is not None:
                    cut[states] |= outside
                self.allowance.take(STEP * len(steps.target))
                parts.append(replace(steps, states=states))
                fresh[steps.target] = True
            fresh &= ~reached
            reached |= fresh
            frontier = np.flatnonzero(fresh)
        return _numbered(judged, enabled, cut, parts)

    def _expanded(self, states: Words, find: Find) -> tuple[_Steps, Words, Words | None]:
        """The steps of some states inside the region, what is enabled in them, and what constraints cut, if any do."""
        kernel = self.levels.kernel
        successors, source, label, _ = kernel.expand(states)
        target = find(successors)
        outside = np.zeros(0, dtype=np.bool_)
        if self._system.constraints:
            outside = np.zeros(len(target), dtype=np.bool_)
            lost = np.flatnonzero(target < 0)
            outside[lost] = flag(kernel.judge(successors[lost]), OUTSIDE)
        enabled, cut = np.zeros((2, len(states), self._words), dtype=np.uint64)
        degree = np.zeros(len(states), dtype=np.int32)
        labels, targets = loops.steps_of(
            states, successors, source, label, target, outside, self.promises.of, enabled, cut, degree
        )
        return _Steps(source, degree, labels, targets), enabled, cut if self._system.constraints else None


def _numbered(judged: _Judged, enabled: Words, cut: Words, parts: list[_Steps]) -> Region:
    """The states that are reached, numbered anew as their steps are listed."""
    none = _Steps(*np.zeros((2, 0), dtype=np.int64), *np.zeros((2, 0), dtype=np.int32))
    order, degree, label, target = (
        np.concatenate([getattr(part, name) for part in (none, *parts)])
        for name in ("states", "degree", "label", "target")
    )
    begin = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(degree, out=begin[1:])
    kept = (judged.rows, judged.level, judged.source, judged.marked, enabled, cut)
    if (order[1:] < order[:-1]).any() or len(order) < len(judged.rows):
        number = np.full(len(judged.rows), -1, dtype=np.int32)
        number[order] = np.arange(len(order), dtype=np.int32)
        target, kept = number[target], tuple(part[order] for part in kept)
    return Region(*kept, begin, target, label)


def members(levels: NativeLevels, kept: Words) -> Words:
    """Some states of a level: under symmetry all those that a search has kept one of.

    A question may be about one broker, and a promise may be, too: a state's answer need not be that of every state of
    its orbit. `ModelError` where a property is undefined in a state that was not kept: the search has not seen it.
    """
    every = levels.members(kept)
    if len(every) > len(kept) and flag(levels.kernel.judge(every), FAILED).any():
        raise ModelError(
            "a property cannot be evaluated in a state that symmetry leaves out; check it without symmetry"
        )
    return every


def flag(verdicts: Words, bit: int) -> Flags:
    """One bit of each of some verdicts."""
    return (verdicts[:, bit // WORD] >> np.uint64(bit % WORD) & np.uint64(1)).astype(np.bool_)
