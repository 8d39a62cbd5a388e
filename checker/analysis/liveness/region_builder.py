"""Builds the region of a question: the states that sources lead to while the question stays open, and their steps.

A question is open in a state if its condition `region` (`isrcheck.model.semantics.transition_system.Question`) holds
there. A *source* is a state in which the question begins. The number of a state is the state's place in the table of
the search's store. If the store has no table, the number is the state's position in a list (`Listed`). While the region
is built, an array with one byte for each number marks the states that were reached. The states that are reached from
sources are kept in a queue. A state joins the queue when it is first reached. Inside the region, a state is identified
by its place in the queue and not by its number. So the target of a step is a place in the queue. The id of a state (see
`Numbers`) is kept only until the state is expanded.

Arrays to which numbers can be appended. A question about a large state space needs such arrays.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.analysis.liveness import graph_loops
from isrcheck.checker.analysis.liveness.graph_loops import FoundSteps, Narrow, ObligationSets, Queue, Steps
from isrcheck.checker.analysis.liveness.region import (
    WORD,
    Allowance,
    Bytes,
    FairnessObligations,
    Flags,
    Numbers,
    Region,
)
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.engines.explicit.memory_account import MANY, return_free_memory
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.kernel.verdict_bits import FAILED, OUTSIDE
from isrcheck.model.language.errors import ModelError
from isrcheck.model.semantics.transition_system import TransitionSystem

NUMBERS: Final = (np.uint32, np.uint64)
LABELS: Final = (np.uint16, np.uint32)
"""The integer types of state numbers (`NUMBERS`), and of instances and levels (`LABELS`). There are only a few, because
each loop is compiled once for each combination of types."""
GROWTH: Final = 16
"""If an array is full, it gets the memory that it needs and a sixteenth more."""


class Growing:
    """An array to which numbers can be appended. Its memory goes back to the system when the array is no longer used.

    If the system can move pages (Linux), the array grows without a copy. Copies would double the memory that a question
    takes. Ordinary arrays would double it too, because the C library may keep their memory after use.
    """

    def __init__(self, kind: npt.DTypeLike, allowance: Allowance) -> None:
        self.kind, self.count = np.dtype(kind), 0
        self._memory, self._allowance = _anonymous(mmap.PAGESIZE), allowance

    def add(self, more: npt.NDArray[Any]) -> None:
        """Adds numbers at the end. Raises `NotAllowed` if this takes too much memory, or if the time is over."""
        self._allowance.take(more.size * self.kind.itemsize)
        end = (self.count + more.size) * self.kind.itemsize
        if end > len(self._memory):
            self._resize(end + end // GROWTH)
        np.frombuffer(self._memory, self.kind)[self.count : self.count + more.size] = more.reshape(-1)
        self.count += more.size

    def fitting(self, most: int, *kinds: type[np.generic]) -> Growing:
        """This array if its type can hold `most`, else a copy in the first type of `kinds` that can hold `most`."""
        kind = np.dtype(narrowest(most, *kinds))
        if kind.itemsize <= self.kind.itemsize:
            return self
        other = Growing(kind, self._allowance)
        other.add(self.whole())
        return other

    def whole(self) -> npt.NDArray[Any]:
        """The whole array. After this call, nothing may be added to it."""
        return np.frombuffer(self._memory, self.kind)[: self.count]

    def _resize(self, size: int) -> None:
        size += -size % mmap.PAGESIZE
        try:
            self._memory.resize(size)
        except SystemError:  # the system cannot resize memory here
            old, self._memory = self._memory, _anonymous(size)
            self._memory[: len(old)] = old[:]


def _anonymous(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def narrowest(most: int, *kinds: type[np.generic]) -> type[np.generic]:
    """The first of these types that can hold the number `most`."""
    return next(kind for kind in kinds if most < 1 << 8 * np.dtype(kind).itemsize)


BLOCK: Final = 1 << 13
AT_ONCE: Final = 3
"""How many questions are evaluated in one pass over the states. Each question needs one byte for each number."""
INDEXED: Final = 20
"""Bytes for each state in a list, besides the words of the state: its level, its flags, and its entry in the index."""


class Listed:
    """States that are numbered in the order of a list, each with its level. The id of a state is its number."""

    def __init__(self, levels: NativeLevels, rows: Words, of: Narrow) -> None:
        self.size, self._find = len(rows), levels.finder(rows)
        self._rows, self._levels = rows, of

    def find(self, states: Words) -> tuple[Integers, Words]:
        """The number of each state (-1 for a state without a number), and the ids, which are the same numbers."""
        numbers = self._find(states)
        return numbers, numbers.view(np.uint64)

    def ids(self, numbers: Integers) -> Words:
        """The ids of the states with these numbers."""
        return numbers.view(np.uint64)

    def states(self, ids: Words) -> Words:
        """The states with these ids."""
        return self._rows[ids]

    def levels(self, numbers: Integers) -> Integers:
        """The levels of the states with these numbers."""
        return self._levels[numbers].astype(np.int64)


@dataclass
class Candidates:
    """The states in which a question is open.

    For each number, `flags` has the flags of the state with this number. The flags are 0 if the question is not open in
    the state, or if no state has the number.
    """

    numbers: Numbers
    flags: Bytes


class Reached:
    """The states that are reached from sources, as a queue of state numbers, and the steps of the expanded states.

    An obligation (a fairness condition on some action instances) is cut in a state if only a bound of the model
    (`s.room`) or a constraint prevents a step by one of these instances. `cutting` says whether this is possible.
    """

    def __init__(self, among: Candidates, promises: FairnessObligations, allowance: Allowance, cutting: bool) -> None:
        self.among, self._words, self._cutting = among, len(promises.weak), cutting
        allowance.take(len(among.flags) // 4)
        self.ranks = np.zeros((len(among.flags) // 64 + 1, 2), dtype=np.uint64)
        count = graph_loops.ranking(among.flags, self.ranks)
        kind, instances = narrowest(among.numbers.size, *NUMBERS), len(promises.of)
        allowance.take(count * np.dtype(kind).itemsize)
        self.places = np.zeros(count, dtype=kind)
        self.number, self._target = (Growing(kind, allowance) for _ in range(2))
        self._label = Growing(narrowest(instances, *LABELS), allowance)
        self._begin = Growing(np.uint32, allowance)
        self._begin.add(np.zeros(1, dtype=np.int64))
        self._enabled, self._cut = (Growing(np.uint64, allowance) for _ in range(2))
        self._waiting: list[Words] = []
        self._leaves = False

    def begin(self, sources: Integers) -> None:
        """Adds these sources to the end of the queue, except those already in the queue."""
        found = np.empty_like(sources)
        fresh = found[: graph_loops.joined(sources, self._queue, found)]
        self.number.add(fresh)
        self._waiting.append(self.among.numbers.ids(fresh))

    @property
    def _queue(self) -> Queue:
        """The present queue, for loops."""
        return Queue(self.ranks, self.places, self.number.count)

    def waiting(self) -> Words:
        """The ids of the queued states that are to be expanded next. Each id is returned only once."""
        ids = np.concatenate([np.empty(0, dtype=np.uint64), *self._waiting])
        self._waiting = []
        return ids

    def left(self) -> Iterator[Integers]:
        """Yields the sources that are not in the queue, a few at a time."""
        rank, flags = 0, self.among.flags
        for first in range(0, len(flags), BLOCK):
            (inside,) = np.nonzero(flags[first : first + BLOCK])
            apart = self.places[rank : rank + len(inside)] == 0
            rank += len(inside)
            yield first + inside[apart & (flags[first + inside] & graph_loops.SOURCE != 0)]

    def expand(self, states: Words, found: StepBatch, of: Integers, outside: Flags, cut: Words) -> None:
        """Records the steps of the next states in the queue. States reached for the first time join the queue."""
        enabled, label = np.zeros_like(cut), found.label.astype(self._label.kind)
        each, steps = len(states), len(label)
        into = FoundSteps(
            degree=np.empty(each, np.int32),
            labels=np.empty_like(label),
            targets=np.empty(steps, self.places.dtype),
            fresh=np.empty(steps, np.int32),
            first=np.empty(each, np.int64),
            order=np.empty(steps, np.int32),
        )
        target = found.target.copy()
        given = Steps(found.source, found.successors, label, target, outside)
        new = graph_loops.steps_of(states, given, self._queue, ObligationSets(of, enabled, cut), into)
        self._leaves = self._leaves or _leaves(states, found, target, outside)
        degree, fresh = into.degree, into.fresh[:new]
        ends = self._label.count + np.cumsum(degree, dtype=np.int64)
        self._begin = self._begin.fitting(int(ends[-1]), *NUMBERS)
        self._begin.add(ends)
        count = int(degree.sum())
        self._label.add(into.labels[:count])
        self._target.add(into.targets[:count])
        self._enabled.add(enabled)
        if self._cutting:
            self._cut.add(cut)
        self.number.add(found.target[fresh])
        self._waiting.append(found.ids[fresh])

    def region(self) -> Region:
        """The region, after all states are expanded."""
        number, enabled = self.number.whole(), self._enabled.whole().reshape(-1, self._words)
        cut = np.broadcast_to(np.zeros((1, self._words), dtype=np.uint64), enabled.shape)
        if self._cutting:
            cut = self._cut.whole().reshape(-1, self._words)
        flags, begin, target, label = (
            self.among.flags[number],
            *(x.whole() for x in (self._begin, self._target, self._label)),
        )
        return Region(self.among.numbers, number, flags, enabled, cut, begin, target, label, self._leaves)


def _leaves(states: Words, found: StepBatch, target: Integers, outside: Flags) -> bool:
    """Whether one of the steps leads to another state, outside of the region. `outside` is as for `steps_of`.

    `target` is negative for each step that stays in its state or leaves the region.
    """
    gone = target < 0
    if len(outside):
        gone &= ~outside
    lost = np.flatnonzero(gone)
    return bool((found.successors[lost] != states[found.source[lost]]).any())


@dataclass
class StepBatch:
    """Steps of some states: for each step, its source, its label, its successor, and the successor's number and id.

    `target` has the numbers; -1 means that the successor has no number.
    """

    source: Integers
    label: Integers
    successors: Words
    target: Integers
    ids: Words


class Builder:
    """Builds the region of a question over the states in the first `known` levels.

    In `promises.of`, the system's transitions come first. Then come the instances that `s.room` conditions disable in
    every state (`shut_out`).
    """

    def __init__(self, levels: NativeLevels, known: int, promises: FairnessObligations, allowance: Allowance) -> None:
        self.levels, self.promises, self.allowance, self._known = levels, promises, allowance, known
        self._system: TransitionSystem = levels.system
        labels = [t.label for t in (*self._system.transitions, *self._system.shut_out)]
        numbers = {label: i for i, label in enumerate(labels)}
        self._cuts = [(bit, int(promises.of[numbers[label]])) for label, bit in levels.kernel.verdicts.cuts]
        self._words = len(promises.weak)
        places = levels.places()
        self._many = places is not None and places.size >= MANY
        self._ahead: dict[int, Candidates] = {}

    @property
    def held(self) -> int:
        """How many bytes are in use for questions that are evaluated, but not answered yet."""
        return sum(len(each.flags) for each in self._ahead.values())

    def region(self, number: int) -> Region:
        """The region of the question with this number."""
        among = self._candidates(number)
        self._return_free_memory()
        region = self._closed(among).region()
        self._return_free_memory()
        return region

    def _return_free_memory(self) -> None:
        if self._many:
            return_free_memory()

    # --- evaluation -------------------------------------------------------------------------------------------------

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
                verdicts = self.levels.kernel.evaluate(rows)
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
                flags = self._flags(number, self.levels.kernel.evaluate(rows), of)
                inside = flags != 0
                self.allowance.take(int(inside.sum()) * (8 * rows.shape[1] + INDEXED))
                found.append((rows[inside], of[inside], flags[inside]))
        rows, of, flags = (np.concatenate(column) for column in zip(*found, strict=True))
        return Candidates(Listed(self.levels, rows.astype(np.uint64), of), flags)

    def _flags(self, number: int, verdicts: Words, levels: Narrow) -> Bytes:
        """The flags of states from their verdicts and levels. A state in which the question is not open has 0."""
        region, source, mark = self.levels.kernel.verdicts.questions[number]
        begun = flag(verdicts, source) & ((levels == 1) | (not self._system.questions[number].initially))
        found = graph_loops.INSIDE + graph_loops.SOURCE * begun + graph_loops.MARKED * flag(verdicts, mark)
        return np.where(flag(verdicts, region), found, 0).astype(np.uint8)

    # --- the states that sources lead to ----------------------------------------------------------------------------

    def _closed(self, among: Candidates) -> Reached:
        """All states that sources lead to, in the order of a breadth-first search.

        This search begins at the sources among the initial states. Then it goes through the levels of the first search.
        Sources of a level that are not in the queue yet join it. This order puts states that are few steps apart near
        each other in the queue.
        """
        known = Reached(among, self.promises, self.allowance, bool(self._cuts or self._system.constraints))
        self._follow(self._initial(among), known)
        left = Growing(known.number.kind, self.allowance)
        levels = Growing(narrowest(self._known, *LABELS), self.allowance)
        for states in known.left():
            left.add(states)
            levels.add(among.numbers.levels(states))
        order = np.argsort(levels.whole(), kind="stable")
        ends = np.flatnonzero(np.diff(levels.whole()[order])) + 1
        self._follow(np.split(left.whole()[order], ends), known)
        return known

    def _initial(self, among: Candidates) -> list[Integers]:
        """The sources among the initial states."""
        found = [among.numbers.find(members(self.levels, kept))[0] for kept in self.levels.blocks(1)]
        inside = [states[states >= 0] for states in found]
        return [states[among.flags[states] & graph_loops.SOURCE != 0] for states in inside]

    def _follow(self, sources: Sequence[Integers], known: Reached) -> None:
        """In each round, adds the next group of sources (if any) to the queue and expands the waiting states."""
        left = list(sources[::-1])
        while True:
            if left:
                known.begin(left.pop().astype(np.int64))
            ids = known.waiting()
            if not len(ids) and not left:
                return
            for first in range(0, len(ids), BLOCK):
                self._expand(ids[first : first + BLOCK], known)

    def _expand(self, ids: Words, known: Reached) -> None:
        kernel, numbers = self.levels.kernel, known.among.numbers
        states = numbers.states(ids)
        successors, source, label, _ = kernel.expand(states)
        found = StepBatch(source, label, successors, *numbers.find(successors))
        outside = np.zeros(0, dtype=np.bool_)
        if self._system.constraints:
            outside = np.zeros(len(source), dtype=np.bool_)
            lost = np.flatnonzero(found.target < 0)
            outside[lost] = flag(kernel.evaluate(successors[lost]), OUTSIDE)
        cut = np.zeros((len(states), self._words), dtype=np.uint64)
        if self._cuts:
            self._cut(kernel.evaluate(states), cut)
        known.expand(states, found, self.promises.of, outside, cut)

    def _cut(self, verdicts: Words, cut: Words) -> None:
        """Adds obligations to `cut`: those that an `s.room` condition cuts in one of the states with these verdicts."""
        for bit, obligation in self._cuts:
            if obligation >= 0:
                wanted = flag(verdicts, bit).astype(np.uint64)
                cut[:, obligation // WORD] |= wanted << np.uint64(obligation % WORD)


def members(levels: NativeLevels, kept: Words) -> Words:
    """The states `kept` of a level. Under symmetry, all states in the orbits of these states.

    A question or a fairness assumption may be about one broker. Then its conditions may differ between the states of an
    orbit. The search evaluated only the states `kept`. So `ModelError` is raised here if a predicate or property is
    undefined in another state of an orbit.
    """
    every = levels.members(kept)
    if len(every) > len(kept) and flag(levels.kernel.evaluate(every), FAILED).any():
        raise ModelError(
            "a property cannot be evaluated in a state that symmetry reduction skips; check without symmetry"
        )
    return every


def flag(verdicts: Words, bit: int) -> Flags:
    """The bit with this number in each verdict, as a flag."""
    return (verdicts[:, bit // WORD] >> np.uint64(bit % WORD) & np.uint64(1)).astype(np.bool_)
