"""Shortens the path of a random walk to a finding (such as a violation): leaves out steps that are not needed.

Three methods are repeated until none helps or `EFFORT` is used up. The first leaves out steps, and also the later steps
that become impossible as a result. The second cuts out cycles. The third takes shortcuts, which a small search finds. A
*shortcut* starts at a state of the path and has fewer steps than the part of the path that it replaces. It leads to a
later state of the path, or to any *end* (a state with the finding). The result is not proved to be the shortest path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from isrcheck.checker.engines.simulation.random_search import FAILING, STUCK, Sampled, Wrong
from isrcheck.checker.engines.simulation.walks import Flags
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.verdict_bits import OUTSIDE
from isrcheck.checker.results.exploration import Path

TOGETHER: Final = 256
"""At most this many shorter paths are tried in one batch."""
NEIGHBOURS: Final = 3_000
"""A search for a shortcut stops when it has found at least this many states."""
EFFORT: Final = 20_000_000
"""The shortening of a path ends when it has expanded about this many states."""


def shortened(sampled: Sampled, name: str) -> Path:
    """A path to a state with the finding `name`, at most as long as the path `sampled.paths[name]`."""
    path = sampled.paths[name]
    if not path.instances:
        return path
    return _Shortening(sampled.kernel, sampled.wrong[name], name not in (STUCK, FAILING), path).path()


class _Shortening:
    """Shortens one path. `beyond` says whether the path's last state may be outside the constraints."""

    def __init__(self, kernel: Kernel, wrong: Wrong, beyond: bool, path: Path) -> None:
        self.kernel, self.wrong, self.beyond = kernel, wrong, beyond
        self.start = kernel.layout.pack([path.start])
        self.source_file, self.steps = path.start, list(path.instances)
        self.effort = EFFORT

    def path(self) -> Path:
        while self.effort > 0:
            before = len(self.steps)
            self._leave_out()
            if self.effort > 0:
                self._go_round()
            if len(self.steps) == before:
                break
        return Path(self.source_file, tuple(self.steps), canonical=False)

    # --- leaving out ------------------------------------------------------------------------------------------------

    def _leave_out(self) -> None:
        """Leaves out steps by delta debugging: first large parts, at the end single steps."""
        size = max(1, len(self.steps) // 2)
        while self.effort > 0:
            if self._shorter_without(size):
                size = min(size, max(1, len(self.steps) // 2))
            elif size == 1:
                return
            else:
                size //= 2

    def _shorter_without(self, size: int) -> bool:
        """Leaves out `size` successive steps if possible. Returns whether the path became shorter."""
        starts = range(0, len(self.steps), max(1, size // 2))
        plans = [self.steps[:i] + self.steps[i + size :] for i in starts]
        for first in range(0, len(plans), TOGETHER):
            taken = self._follow(plans[first : first + TOGETHER])
            best = min((steps for steps in taken if steps is not None), key=len, default=None)
            if best is not None and len(best) < len(self.steps):
                self.steps = best
                return True
        return False

    def _follow(self, plans: Sequence[list[int]]) -> list[list[int] | None]:
        """Tries plans (lists of steps). For each plan, returns the steps taken, or None if no step reaches an end.

        The steps taken are the possible steps of the plan, up to the first end. A step to a state outside the
        constraints counts as impossible, unless this state is an end.
        """
        width = max(map(len, plans))
        table = np.full((len(plans), width), -1, dtype=np.int64)
        for i, plan in enumerate(plans):
            table[i, : len(plan)] = plan
        states = np.repeat(self.start, len(plans), axis=0)
        taken: list[list[int]] = [[] for _ in plans]
        done = [False] * len(plans)
        active = np.arange(len(plans))
        for column in range(width):
            active = active[table[active, column] >= 0]
            if not len(active):
                break
            slots, following = self._step(states[active], table[active, column])
            wrong, inside = self.wrong(following), self._inside(following)
            ended = wrong & inside if not self.beyond else wrong
            for slot, is_end, is_inside, state in zip(active[slots].tolist(), ended, inside, following, strict=True):
                if is_end or is_inside:
                    taken[slot].append(int(table[slot, column]))
                    states[slot], done[slot] = state, bool(is_end)
            active = active[[not done[slot] for slot in active.tolist()]]
        return [steps if end else None for steps, end in zip(taken, done, strict=True)]

    def _step(self, states: Words, wanted: np.typing.NDArray[np.int64]) -> tuple[np.typing.NDArray[np.int64], Words]:
        """Takes one step from each state: the transition in `wanted` for this state.

        Returns the positions of the states whose transition is enabled, and the successors of these states.
        """
        self.effort -= len(states)
        successors, source, transition, _ = self.kernel.expand(states)
        chosen = transition == wanted[source]
        return source[chosen], successors[chosen]

    def _inside(self, states: Words) -> Flags:
        inside: Flags = self.kernel.evaluate(states)[:, 0] >> np.uint64(OUTSIDE) & np.uint64(1) == 0
        return inside

    # --- shortcuts --------------------------------------------------------------------------------------------------

    def _go_round(self) -> None:
        """Cuts out cycles. Then takes shortcuts from each state of the path to a later state or to an end."""
        self._cut_circles()
        position = 0
        while position < len(self.steps) and self.effort > 0:
            found = self._way_round(position)
            if found is None:
                position += 1
            else:
                after, way = found
                self.steps = self.steps[:position] + way + self.steps[after:]

    def _cut_circles(self) -> None:
        """Cuts out cycles: from each state, goes on with the step that follows the state's last occurrence."""
        path = [row.tobytes() for row in self._states()]
        last = {state: i for i, state in enumerate(path)}
        kept, at = [], last[path[0]]
        while at < len(self.steps):
            kept.append(self.steps[at])
            at = last[path[at + 1]]
        self.steps = kept

    def _states(self) -> Words:
        """The states of the path."""
        rows = [self.start]
        for step in self.steps:
            rows.append(self._step(rows[-1], np.array([step]))[1])
        return np.concatenate(rows)

    def _way_round(self, position: int) -> tuple[int, list[int]] | None:
        """Looks for shortcuts from `position`. Returns the shortcut that saves the most steps, or None.

        A shortcut is returned as the position at which the path continues, and the steps of the shortcut. If a shortcut
        leads to an end, the path need not continue, so the position is the path's last position.
        """
        path = [row.tobytes() for row in self._states()]
        goals = {state: i for i, state in enumerate(path) if i > position}
        came: dict[bytes, tuple[bytes, int] | None] = {path[position]: None}
        frontier, distance = [path[position]], 0
        best: tuple[int, int, bytes] | None = None
        left = len(self.steps) - position
        while frontier and len(came) < NEIGHBOURS and distance + 1 < left:
            distance += 1
            frontier, ends = self._neighbours(frontier, came)
            met = [(len(self.steps), state) for state in ends] + [(goals.get(s, -1), s) for s in frontier]
            for after, state in met:
                gain = after - position - distance
                if gain > 0 and (best is None or gain > best[0]):
                    best = gain, after, state
            if ends:
                break
        if best is None:
            return None
        way: list[int] = []
        at = came[best[2]]
        while at is not None:
            way.append(at[1])
            at = came[at[0]]
        return best[1], way[::-1]

    def _neighbours(
        self, frontier: list[bytes], came: dict[bytes, tuple[bytes, int] | None]
    ) -> tuple[list[bytes], list[bytes]]:
        """The new states one step after `frontier`, in two lists: first the states that are no ends, then the ends.

        Records in `came`, for each new state, the state before it and the transition between them.
        """
        states = np.frombuffer(b"".join(frontier), dtype=np.uint64).reshape(len(frontier), -1)
        self.effort -= len(states)
        successors, source, transition, _ = self.kernel.expand(states)
        inside = self._inside(successors)
        wrong = self.wrong(successors) & (inside | self.beyond)
        order = np.lexsort((transition, source))
        fresh, ends = list[bytes](), list[bytes]()
        for k in order[(inside | wrong)[order]].tolist():
            state = successors[k].tobytes()
            if state not in came:
                came[state] = frontier[source[k]], int(transition[k])
                (ends if wrong[k] else fresh).append(state)
        return fresh, ends
