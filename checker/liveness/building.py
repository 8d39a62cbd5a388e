"""Builds the region of a question: the states where it is open, and what leads from one of them to another.

A state's number is its place in the store, so that beside the store there is a byte for each place, until sources lead
there; the numbers of the states reached are a queue in the order in which they are. Their steps are kept with numbers
of the store, and get those of the region at the end, when it is known who is in it.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.local.account import return_free_memory
from isrcheck.checker.engines.local.levels import NativeLevels
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.native import begun
from isrcheck.checker.kernel.verdicts import FAILED, OUTSIDE
from isrcheck.checker.liveness import loops
from isrcheck.checker.liveness.region import WORD, Allowance, Bytes, Flags, Narrow, Numbers, Promises, Region
from isrcheck.model.language.errors import ModelError
from isrcheck.model.language.system import TransitionSystem

BLOCK: Final = 1 << 13
AT_ONCE: Final = 3
"""So many questions are judged in one pass over the states: each needs a byte for each place from then on."""
INDEXED: Final = 20
"""Bytes of a state in a list beside its words: level, flags, and what finds it."""
NUMBERS: Final = (np.uint32, np.uint64)
LABELS: Final = (np.uint16, np.uint32)
"""Kinds of numbers of states, and of instances and levels: no more than there must be code for."""
GROWTH: Final = 16
"""An array grows by a sixteenth."""


class Growing:
    """An array at whose end something is added, in memory of its own, which goes back to the system with it.

    It grows in place where the system can move its pages (Linux): a copy, and what the C library keeps of it, would
    double what a question takes.
    """

    def __init__(self, kind: type[np.generic], allowance: Allowance) -> None:
        self.kind, self.count = np.dtype(kind), 0
        self._memory, self._allowance = _anonymous(mmap.PAGESIZE), allowance

    def add(self, more: npt.NDArray[Any]) -> None:
        """Raises `NotAllowed` where that is too much."""
        self._allowance.take(more.size * self.kind.itemsize)
        end = (self.count + more.size) * self.kind.itemsize
        if end > len(self._memory):
            self._resize(end + end // GROWTH)
        np.frombuffer(self._memory, self.kind)[self.count : self.count + more.size] = more.reshape(-1)
        self.count += more.size

    def like(self, count: int) -> npt.NDArray[Any]:
        """Room for so many numbers of its kind."""
        return np.empty(count, dtype=self.kind)

    def part(self, start: int, end: int) -> Integers:
        """Some of its numbers, copied."""
        return np.frombuffer(self._memory, self.kind)[start:end].astype(np.int64)

    def whole(self) -> npt.NDArray[Any]:
        """All of it, to which nothing can be added any more."""
        return np.frombuffer(self._memory, self.kind)[: self.count]

    def _resize(self, size: int) -> None:
        size += -size % mmap.PAGESIZE
        try:
            self._memory.resize(size)
        except SystemError:  # there is no way to do that here
            old, self._memory = self._memory, _anonymous(size)
            self._memory[: len(old)] = old[:]


def _anonymous(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def narrowest(most: int, *kinds: type[np.generic]) -> type[np.generic]:
    """The first of some kinds of numbers that has one so large."""
    return next(kind for kind in kinds if most < 1 << 8 * np.dtype(kind).itemsize)


class Listed:
    """States numbered as they are listed, each with its level."""

    def __init__(self, levels: NativeLevels, rows: Words, of: Narrow) -> None:
        self.size, self.find = len(rows), levels.finder(rows)
        self._rows, self._levels = rows, of

    def states(self, numbers: Integers) -> Words:
        """The states that have these numbers."""
        return self._rows[numbers]

    def levels(self, numbers: Integers) -> Integers:
        """Their levels."""
        return self._levels[numbers].astype(np.int64)


@dataclass
class Candidates:
    """The states where a question is open: numbers, and the flags of each number."""

    numbers: Numbers
    flags: Bytes


class Reached:
    """What is known of the states that were reached; `cutting` says whether anything can be cut in one."""

    def __init__(self, allowance: Allowance, numbers: int, instances: int, cutting: bool) -> None:
        self._allowance, self._cutting = allowance, cutting
        self.number, self._target = (Growing(narrowest(numbers, *NUMBERS), allowance) for _ in range(2))
        self.label = Growing(narrowest(instances, *LABELS), allowance)
        self._begin = Growing(narrowest(numbers * instances, *NUMBERS), allowance)
        self._begin.add(np.zeros(1, dtype=np.int64))
        self._enabled, self._cut = (Growing(np.uint64, allowance) for _ in range(2))

    def add(self, degree: Narrow, labels: Narrow, targets: Narrow, enabled: Words, cut: Words, fresh: Narrow) -> None:
        """The next states of the queue are expanded, and some are behind it."""
        self._begin.add(self.label.count + np.cumsum(degree, dtype=np.int64))
        self.label.add(labels)
        self._target.add(targets)
        self._enabled.add(enabled)
        if self._cutting:
            self._cut.add(cut)
        self.number.add(fresh)

    def region(self, among: Candidates, words: int) -> Region:
        """All of them, when no other can be reached."""
        number, target = self.number.whole(), self._target.whole()
        self._allowance.take(5 * len(number) + len(among.flags) // 5)
        bits = np.zeros(-(-len(among.flags) // WORD), dtype=np.uint64)
        reached = np.packbits(among.flags & loops.REACHED, bitorder="little")
        bits.view(np.uint8)[: len(reached)] = reached
        begun(lambda: loops.renumbered(target, number, bits)).result()
        enabled = self._enabled.whole().reshape(-1, words)
        cut = np.broadcast_to(np.zeros((1, words), dtype=np.uint64), enabled.shape)
        if self._cutting:
            cut = self._cut.whole().reshape(-1, words)
        flags = among.flags[number]
        return Region(among.numbers, number, flags, enabled, cut, self._begin.whole(), target, self.label.whole())


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
        self._ahead: dict[int, Candidates] = {}

    @property
    def held(self) -> int:
        """Bytes of questions that are judged and not answered yet."""
        return sum(len(each.flags) for each in self._ahead.values())

    def region(self, number: int) -> Region:
        """The region of the question with this number."""
        among = self._candidates(number)
        return_free_memory()
        region = self._closed(among).region(among, self._words)
        return_free_memory()
        return region

    # --- judging ----------------------------------------------------------------------------------------------------

    def _candidates(self, number: int) -> Candidates:
        places = self.levels.places()
        if places is None:
            return self._listed(number)
        if number not in self._ahead:
            open_ = [n for n, question in enumerate(self._system.questions) if n >= number and not question.stable]
            together = {n: np.zeros(places.size, dtype=np.uint8) for n in open_[:AT_ONCE]}
            self.allowance.take(len(together) * places.size)
            for some, rows, of in places.every(self._known, BLOCK):
                self.allowance.take(0)
                verdicts = self.levels.kernel.judge(rows)
                for n, flags in together.items():
                    flags[some] = self._flags(n, verdicts, of)
            self._ahead = {n: Candidates(places, flags) for n, flags in together.items()}
        return self._ahead.pop(number)

    def _listed(self, number: int) -> Candidates:
        none = np.empty(0, dtype=np.uint8)
        found: list[tuple[Narrow, Narrow, Bytes]] = [(none.reshape(0, self.levels.kernel.words), none, none)]
        for level in range(1, self._known + 1):
            for kept in self.levels.blocks(level):
                rows = members(self.levels, kept)
                of = np.full(len(rows), level, dtype=np.int32)
                flags = self._flags(number, self.levels.kernel.judge(rows), of)
                inside = flags != 0
                self.allowance.take(int(inside.sum()) * (8 * rows.shape[1] + INDEXED))
                found.append((rows[inside], of[inside], flags[inside]))
        rows, of, flags = (np.concatenate(column) for column in zip(*found, strict=True))
        return Candidates(Listed(self.levels, rows.astype(np.uint64), of), flags)

    def _flags(self, number: int, verdicts: Words, levels: Narrow) -> Bytes:
        """Of states with these verdicts, in these levels; 0 for those that are not in question."""
        region, source, mark = self.levels.kernel.verdicts.questions[number]
        begun = flag(verdicts, source) & ((levels == 1) | (not self._system.questions[number].initially))
        found = loops.INSIDE + loops.SOURCE * begun + loops.MARKED * flag(verdicts, mark)
        return np.where(flag(verdicts, region), found, 0).astype(np.uint8)

    # --- what sources lead to ---------------------------------------------------------------------------------------

    def _closed(self, among: Candidates) -> Reached:
        """Breadth first: what the sources among the initial states lead to; then what those lead to that were not
        reached so, each level of them together with what is reached by then.

        So states that are near each other are so in the queue, too.
        """
        cutting = bool(self._cuts or self._system.constraints)
        known = Reached(self.allowance, among.numbers.size, len(self.promises.of), cutting)
        self._follow(self._initial(among), among, known)
        self._follow(self._left(among), among, known)
        return known

    def _initial(self, among: Candidates) -> list[Narrow]:
        """The sources among the initial states."""
        found = [among.numbers.find(members(self.levels, kept)) for kept in self.levels.blocks(1)]
        inside = [states[states >= 0] for states in found]
        return [states[among.flags[states] & loops.SOURCE != 0] for states in inside]

    def _left(self, among: Candidates) -> list[Narrow]:
        """The sources that were not reached, by level."""
        left = Growing(narrowest(len(among.flags), *NUMBERS), self.allowance)
        levels = Growing(narrowest(self._known, *LABELS), self.allowance)
        for first in range(0, len(among.flags), BLOCK):
            flags = among.flags[first : first + BLOCK]
            states = first + np.flatnonzero(flags & (loops.SOURCE | loops.REACHED) == loops.SOURCE)
            left.add(states)
            levels.add(among.numbers.levels(states))
        order = np.argsort(levels.whole(), kind="stable")
        return np.split(left.whole()[order], np.flatnonzero(np.diff(levels.whole()[order])) + 1)

    def _follow(self, sources: list[Narrow], among: Candidates, known: Reached) -> None:
        start, waiting = known.number.count, sources[::-1]
        while waiting or start < known.number.count:
            if waiting:
                begun = waiting.pop()
                fresh = begun[among.flags[begun] & loops.REACHED == 0]
                among.flags[fresh] |= loops.REACHED
                known.number.add(fresh)
            end = known.number.count
            for first in range(start, end, BLOCK):
                self._expand(known.number.part(first, min(first + BLOCK, end)), among, known)
            start = end

    def _expand(self, numbers: Integers, among: Candidates, known: Reached) -> None:
        """The steps of some states inside the region, what is enabled in them and what is cut, and whom they reach."""
        kernel, words = self.levels.kernel, self._words
        states = among.numbers.states(numbers)
        successors, source, label, _ = kernel.expand(states)
        target = among.numbers.find(successors)
        outside = np.zeros(0, dtype=np.bool_)
        if self._system.constraints:
            outside = np.zeros(len(target), dtype=np.bool_)
            lost = np.flatnonzero(target < 0)
            outside[lost] = flag(kernel.judge(successors[lost]), OUTSIDE)
        enabled, cut = np.zeros((2, len(states), words), dtype=np.uint64)
        degree, found = np.zeros(len(states), dtype=np.int32), known.number.like(len(target))
        labels, targets, fresh = loops.steps_of(
            states, successors, source, label.astype(known.label.kind), target, outside, self.promises.of, among.flags,
            enabled, cut, degree, found,
        )  # fmt: skip
        if self._cuts:
            self._cut(kernel.judge(states), cut)
        known.add(degree, labels, targets, enabled, cut, found[:fresh])

    def _cut(self, verdicts: Words, cut: Words) -> None:
        """Adds the obligations whose instances have no room, of states with these verdicts."""
        for bit, obligation in self._cuts:
            if obligation >= 0:
                wanted = flag(verdicts, bit).astype(np.uint64)
                cut[:, obligation // WORD] |= wanted << np.uint64(obligation % WORD)


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
