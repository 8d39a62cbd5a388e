"""The walks of one thread, their observations, and the replay of a single walk to get its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from isrcheck.checker.engines.simulation import walk_loops
from isrcheck.checker.engines.simulation.walk_loops import InitialStates, Lanes, Slots, Successors, WalkInput
from isrcheck.checker.kernel.compiled import ROOM, Kernel
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.kernel.verdict_bits import ACTIONS, FAILED, GREATEST, LEAST, OUTSIDE
from isrcheck.checker.results.exploration import Path
from isrcheck.model.semantics.expressions import FALSE
from isrcheck.model.semantics.transition_system import TransitionSystem

CHUNK: Final = 512
"""The number of walks that a thread takes at a time."""
STEPS: Final = 32
"""Each slot (`walk_loops.py`) takes this many steps between two checks of the clock, some milliseconds."""
Flags = np.typing.NDArray[np.bool_]
LARGEST_ROOM: Final = 1 << 19
"""`Start.slots` is limited so that the successors of all slots fit into this many rows. But it is never below 8."""


class Start:
    """The input of walks: a system, its initial states inside the constraints, the greatest length, and the seed.

    `depth` is the greatest length of a walk, as a number of states. `wanted` has the verdict bits that end a walk.
    `stuck` and `failing` are the last two positions of `Seen.first`, after one position for each verdict bit.
    """

    def __init__(self, system: TransitionSystem, kernel: Kernel, depth: int, seed: int) -> None:
        self.system, self.kernel, self.depth, self.seed = system, kernel, depth, seed
        rows = kernel.layout.pack(system.initial)
        bits = kernel.evaluate(rows)
        self.initial_bits = bits
        counted = bits[:, 0] >> np.uint64(OUTSIDE) & np.uint64(1) == 0
        self.rows, self.bits = np.ascontiguousarray(rows[counted]), np.ascontiguousarray(bits[counted])
        self.hashes = kernel.hashes(self.rows)
        self.wanted = mask(kernel.verdicts.words, [FAILED, *kernel.verdicts.invariants.values()])
        self.constrained = bool(system.constraints)
        names = ("expand", "failures", "evaluate", "hashes")
        functions = np.array([kernel.code.addresses[name] for name in names], dtype=np.int64)
        initial = InitialStates(seed, self.rows, self.bits, self.hashes)
        self.for_loops = WalkInput(functions, self.constrained, self.wanted, depth, initial)
        self.stuck, self.failing = 64 * kernel.verdicts.words, 64 * kernel.verdicts.words + 1

    @property
    def slots(self) -> int:
        """The number of walks that run together: `CHUNK`, or fewer if a state may have very many successors."""
        return max(8, min(CHUNK, LARGEST_ROOM // max(self.kernel.transitions, 1)))


def mask(words: int, bits: Iterable[int]) -> Words:
    """The words of a verdict in which only the given bits are set."""
    found = np.zeros(words, dtype=np.uint64)
    for bit in bits:
        found[bit // 64] |= np.uint64(1 << bit % 64)
    return found


class Seen(NamedTuple):
    """The observations of walks: sums, minima and maxima. So threads may add their observations in any order.

    `taken` counts the steps by transition. `tally` has the counts that the kernel's `expand` updates
    (`checker/kernel/verdict_bits.py`). `lengths` counts the ended walks by their number of states, and `ends` counts
    the ended walks by the reason why they ended. For each verdict bit, `reached` counts the ended walks that met a
    state with this bit. `first` has the first observation of each wanted verdict bit, of a state without an enabled
    instance, and of a failing instance. `walk_loops.NEVER` describes the form of these observations. `walk_summary.py`
    estimates the number of distinct states from `registers`. `walk_loops.py` lists the entries of `cursor`.
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

        first = np.full(start.failing + 1, walk_loops.NEVER, dtype=np.int64)
        registers = np.zeros(1 << walk_loops.FINGERPRINT_BITS, dtype=np.uint8)
        return Seen(
            zeros(max(start.kernel.transitions, 1)), start.kernel.tally(), zeros(start.depth + 1), zeros(4),
            zeros(start.stuck), first, registers, zeros(5),
        )  # fmt: skip

    def add(self, other: Seen) -> None:
        """Adds the observations of other walks."""
        least, greatest = (int(f(self.tally[i], other.tally[i])) for f, i in ((min, LEAST), (max, GREATEST)))
        for name in ("taken", "tally", "lengths", "ends", "reached", "cursor"):
            getattr(self, name).__iadd__(getattr(other, name))
        self.tally[LEAST], self.tally[GREATEST] = least, greatest
        np.minimum(self.first, other.first, out=self.first)
        np.maximum(self.registers, other.registers, out=self.registers)

    @property
    def walks(self) -> int:
        """The number of ended walks."""
        return int(self.ends.sum())

    @property
    def states(self) -> int:
        """The number of states on the walks. A state counts each time that it is met."""
        return int(self.cursor[walk_loops.STATES])

    @property
    def generated(self) -> list[int]:
        """For each action, how many of its instances were enabled, added up over all states that were expanded."""
        counts: list[int] = self.tally[ACTIONS:].tolist()
        return counts


class Walker:
    """The slots of one thread, and the thread's observations."""

    def __init__(self, start: Start, slots: int | None = None) -> None:
        self.start, kernel, size = start, start.kernel, start.slots if slots is None else slots
        self.seen = Seen.nothing(start)
        room, words, verdict_words = size * kernel.transitions + ROOM, kernel.words, kernel.verdicts.words
        failing = room if any(t.failure is not FALSE for t in start.system.transitions) else 1
        self.successors = Successors(
            rows=np.empty((room, words), dtype=np.uint64),
            sources=np.empty(room, dtype=np.int64),
            transitions=np.empty(room, dtype=np.int64),
            verdicts=np.empty((room if start.constrained else 1, verdict_words), dtype=np.uint64),
            failing=np.empty(failing, dtype=np.int64),
            failing_transitions=np.empty(failing, dtype=np.int64),
        )
        verdicts, met = (np.zeros((size, verdict_words), dtype=np.uint64) for _ in range(2))
        hashes, keys = (np.zeros(size, dtype=np.uint64) for _ in range(2))
        walks, positions, degrees, left, chosen, ending = (np.zeros(size, dtype=np.int64) for _ in range(6))
        self.lanes = Lanes(np.zeros((size, words), dtype=np.uint64), met, keys, walks, positions)
        self.slots = Slots(self.lanes, verdicts, hashes, degrees, left, chosen, ending)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.successors, *self.lanes, *self.slots[1:]))

    def chunk(self, first: int, last: int, stop: Callable[[], bool]) -> None:
        """Takes the walks `first` to `last - 1`. When `stop` returns True, walks are left unfinished."""
        cursor = self.seen.cursor
        self._begin(first, last)
        while cursor[walk_loops.SLOTS] and not stop():
            self._advance(STEPS)
        cursor[: walk_loops.END + 1] = 0

    def _begin(self, first: int, last: int) -> None:
        cursor = self.seen.cursor
        cursor[walk_loops.NEXT], cursor[walk_loops.END] = first, last
        walk_loops.fill(self.start.for_loops.initial, self.lanes, cursor, self.seen.registers)

    def _advance(self, steps: int) -> None:
        walk_loops.advance(self.start.for_loops, self.slots, self.successors, self.seen, steps)

    def again(self, code: int, wrong: Callable[[Words], Flags] | None) -> Path:
        """Replays a walk, and returns the path to an observation. `code` is the observation's entry in `Seen.first`.

        Without `wrong`, the path follows the walk up to the position in `code`. With `wrong`, the last step of the path
        may differ from the walk's step: it leads to a state that `wrong` marks, inside or outside the constraints. If
        several transitions lead to marked states, the path takes the first of these transitions.
        """
        walk, length = code & (1 << walk_loops.WALK_BITS) - 1, code >> walk_loops.WALK_BITS
        self._begin(walk, walk + 1)
        lanes = self.lanes
        first, instances = lanes.states[:1].copy(), []
        while lanes.positions[0] < length - (wrong is not None):
            self._advance(1)
            instances.append(int(self.successors.transitions[self.slots.chosen[0]]))
        if wrong is not None:
            successors, _, transitions, _ = self.start.kernel.expand(lanes.states[:1])
            instances.append(int(transitions[wrong(successors)].min()))
        return Path(tuple(self.start.kernel.layout.unpack(first)[0].tolist()), tuple(instances), canonical=False)
