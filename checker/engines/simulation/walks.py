"""Walks in lanes: what one thread does, what it has seen, and a single walk again with all its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from checker.engines.simulation import loops
from checker.exploration import Path
from checker.kernel.compile import ROOM, Integers, Kernel
from checker.kernel.layout import Words
from checker.kernel.llvm import ACTIONS, FAILURES, GREATEST, LEAST
from checker.kernel.verdicts import FAILED, OUTSIDE
from model.language.system import TransitionSystem

CHUNK: Final = 512
"""Walks that a thread takes at a time."""
LARGEST_ROOM: Final = 1 << 19
"""Successors that a thread has room for."""


class Start:
    """What walks are about: a system, the counted ones of its initial states, how far, and the seed.

    `wanted` are the verdict bits that end a walk. In `first`, places below `stuck` belong to these bits.
    """

    def __init__(self, system: TransitionSystem, kernel: Kernel, depth: int, seed: int) -> None:
        self.system, self.kernel, self.depth, self.seed = system, kernel, depth, seed
        rows = kernel.layout.pack(system.initial)
        bits = kernel.judge(rows)
        self.judged = bits
        counted = bits[:, 0] >> np.uint64(OUTSIDE) & np.uint64(1) == 0
        self.rows, self.bits = np.ascontiguousarray(rows[counted]), np.ascontiguousarray(bits[counted])
        self.hashes = kernel.hashes(self.rows)
        self.wanted = mask(kernel.verdicts.words, [FAILED, *kernel.verdicts.invariants.values()])
        self.constrained = bool(system.constraints)
        self.stuck, self.failing = 64 * kernel.verdicts.words, 64 * kernel.verdicts.words + 1

    @property
    def lanes(self) -> int:
        """How many walks go together: fewer where each state may have very many successors."""
        return max(8, min(CHUNK, LARGEST_ROOM // max(self.kernel.transitions, 1)))


def mask(words: int, bits: Iterable[int]) -> Words:
    """Some bits of a verdict as words."""
    found = np.zeros(words, dtype=np.uint64)
    for bit in bits:
        found[bit // 64] |= np.uint64(1 << bit % 64)
    return found


@dataclass
class Seen:
    """What walks have seen: sums, least and greatest values, so that parts can be put together in any order.

    `taken` counts the steps by transition, `tally` is that of the kernel's `expand`, `lengths` counts the walks that
    ended by their states, `ends` by why they did, `reached` for each verdict bit those that met it. `first` has for
    each verdict bit, for a state where nothing is enabled and for a failing instance where it was met first.
    """

    taken: Integers
    tally: Integers
    lengths: Integers
    ends: Integers
    reached: Integers
    first: Integers
    registers: np.typing.NDArray[np.uint8]
    cursor: Integers

    @staticmethod
    def nothing(start: Start) -> Seen:
        def zeros(size: int) -> Integers:
            return np.zeros(size, dtype=np.int64)

        first = np.full(start.failing + 1, loops.NEVER, dtype=np.int64)
        registers = np.zeros(1 << loops.FINGERPRINT_BITS, dtype=np.uint8)
        return Seen(
            zeros(max(start.kernel.transitions, 1)), start.kernel.tally(), zeros(start.depth + 1), zeros(4),
            zeros(start.stuck), first, registers, zeros(5),
        )  # fmt: skip

    def add(self, other: Seen) -> None:
        """What another part has seen as well."""
        least, greatest = (int(f(self.tally[i], other.tally[i])) for f, i in ((min, LEAST), (max, GREATEST)))
        for name in ("taken", "tally", "lengths", "ends", "reached", "cursor"):
            getattr(self, name).__iadd__(getattr(other, name))
        self.tally[LEAST], self.tally[GREATEST] = least, greatest
        np.minimum(self.first, other.first, out=self.first)
        np.maximum(self.registers, other.registers, out=self.registers)

    @property
    def walks(self) -> int:
        """Walks that came to their end."""
        return int(self.ends.sum())

    @property
    def states(self) -> int:
        """States walked through, each as often as it was met."""
        return int(self.cursor[loops.STATES])

    @property
    def generated(self) -> list[int]:
        """Enabled instances of each action."""
        counts: list[int] = self.tally[ACTIONS:].tolist()
        return counts


class Walker:
    """One thread's lanes, and what it has seen."""

    def __init__(self, start: Start, lanes: int | None = None) -> None:
        self.start, kernel = start, start.kernel
        self.lanes = start.lanes if lanes is None else lanes
        self.seen = Seen.nothing(start)
        room, words, verdict_words = self.lanes * kernel.transitions + ROOM, kernel.words, kernel.verdicts.words
        self.successors = np.empty((room, words), dtype=np.uint64)
        self.sources, self.transitions = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        beside = room if start.constrained else 1
        self.beside = np.empty((beside, verdict_words), dtype=np.uint64)
        self.states = np.zeros((self.lanes, words), dtype=np.uint64)
        self.verdicts = np.zeros((self.lanes, verdict_words), dtype=np.uint64)
        self.met = np.zeros((self.lanes, verdict_words), dtype=np.uint64)
        self.hashes, self.keys = (np.zeros(self.lanes, dtype=np.uint64) for _ in range(2))
        self.walks, self.positions, self.degrees, self.left, self.chosen, self.ending = (
            np.zeros(self.lanes, dtype=np.int64) for _ in range(6)
        )

    def chunk(self, first: int, last: int, stop: Callable[[], bool]) -> None:
        """Walks `first` to `last - 1`, to their ends unless it is time to stop."""
        start, seen = self.start, self.seen
        cursor = seen.cursor
        cursor[loops.NEXT], cursor[loops.END] = first, last
        beginning = (cursor, start.seed, start.rows, start.bits, start.hashes, self.states, self.walks)
        lanes = (self.positions, self.keys, self.met, seen.registers)
        loops.fill(*beginning, *lanes)
        while cursor[loops.LANES] and not stop():
            self._step()
            loops.settle(*beginning, *lanes, self.ending, seen.lengths, seen.ends, seen.reached)
        cursor[: loops.END + 1] = 0

    def _step(self) -> None:
        """Every lane takes a step, or ends where it is."""
        start, seen, calls = self.start, self.seen, self.start.kernel.code.calls
        count = int(seen.cursor[loops.LANES])
        states = self.states.ctypes.data
        failures = seen.tally[FAILURES]
        found = self._expand(count)
        if seen.tally[FAILURES] != failures:
            self._note_failures(count)
        if start.constrained:
            calls["judge"](self.successors.ctypes.data, found, self.beside.ctypes.data)
            loops.look_outside(
                found, self.sources, self.beside, start.wanted, self.walks, self.positions, seen.first, seen.cursor
            )
        loops.choose(
            found, self.sources, self.beside, start.constrained, count, self.keys, self.positions, self.degrees,
            self.left, self.chosen,
        )  # fmt: skip
        loops.note_stuck(count, self.degrees, self.walks, self.positions, seen.first, start.stuck)
        loops.move(count, self.chosen, self.successors, self.transitions, self.states, self.positions, seen.taken)
        calls["judge"](states, count, self.verdicts.ctypes.data)
        calls["hashes"](states, count, self.hashes.ctypes.data)
        loops.note(
            seen.cursor, self.chosen, self.degrees, self.hashes, self.verdicts, start.wanted, start.depth, self.walks,
            self.positions, self.met, seen.registers, seen.first, self.ending,
        )  # fmt: skip

    def _expand(self, count: int) -> int:
        arrays = (self.successors, self.sources, self.transitions, self.seen.tally)
        addresses = [array.ctypes.data for array in arrays]
        return int(self.start.kernel.code.calls["expand"](self.states.ctypes.data, count, *addresses))

    def _note_failures(self, count: int) -> None:
        """Where an instance of an action has no meaning: the fewest states, then the least walk."""
        for lane in np.unique(self.start.kernel.failures(self.states[:count])[0]).tolist():
            code = int(self.positions[lane]) << loops.WALK_BITS | int(self.walks[lane])
            place = self.start.failing
            self.seen.first[place] = min(int(self.seen.first[place]), code)

    # --- one walk again ---------------------------------------------------------------------------------------------

    def again(self, code: int, wrong: Callable[[Words], np.typing.NDArray[np.bool_]] | None) -> Path:
        """The path to what was met at a place of `first`.

        `wrong` says which states, counted or not, are what was met; without it, it is the state at that position.
        """
        walk, length = code & (1 << loops.WALK_BITS) - 1, code >> loops.WALK_BITS
        cursor, start = self.seen.cursor, self.start
        cursor[loops.NEXT], cursor[loops.END] = walk, walk + 1
        loops.fill(
            cursor, start.seed, start.rows, start.bits, start.hashes, self.states, self.walks, self.positions,
            self.keys, self.met, self.seen.registers,
        )  # fmt: skip
        first, instances = self.states[0].copy(), []
        while self.positions[0] < length - (wrong is not None):
            self._step()
            instances.append(int(self.transitions[self.chosen[0]]))
        if wrong is not None:
            found = self._expand(1)
            instances.append(int(self.transitions[:found][wrong(self.successors[:found])].min()))
        return Path(tuple(start.kernel.layout.unpack(first[None, :])[0].tolist()), tuple(instances), canonical=False)
