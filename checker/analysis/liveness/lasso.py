"""The canonical lasso: a shortest path to a place where a fair behaviour can stay, then a shortest cycle there.

`isrcheck.checker.analysis.liveness.region` defines regions and sources, and
`isrcheck.checker.analysis.liveness.fair_components` defines fair ends and fair components.

The prefix leads from an initial state through any states to a source, and from there inside the region to a fair end or
to a state of a fair component. No such path is shorter. Among paths of this length, a path to an end is preferred to a
path to a component. If several paths are left, the rules for canonical traces (`isrcheck.checker.trace.canonical`)
choose one of them. These rules do not consider which source a path visits.

If the prefix ends in a component, the cycle leads from the last state of the prefix back to this state. Each weak
obligation that is enabled in this state is taken on the cycle or disabled in a state of the cycle. Each strong
obligation that is enabled in a state of the cycle is taken on the cycle. The cycle also has a marked state (the
question's condition `mark` holds there). If the question requires steps of certain actions (`never`), the cycle has
such a step instead of a marked state. No cycle with these properties is shorter. Among cycles of this length, the
chosen cycle has the least labels, compared from the first step on. If the search for a shortest cycle could visit more
than `EXACT` nodes, the search satisfies one obligation after the other, the nearest first. Then the cycle also takes
each strong obligation that is enabled anywhere in the component, and there may be a shorter cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from isrcheck.checker.analysis.liveness.fair_components import FairParts
from isrcheck.checker.analysis.liveness.region import FairnessObligations, Flags, Region
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.results.exploration import Edges, Path
from isrcheck.checker.trace.canonical import canonical_walk

EXACT: Final = 1 << 20
"""If a search could visit more nodes (states with two sets of obligations) than this, it may miss a shortest cycle."""
At = tuple[int, int, int]
"""A node of a walk inside a component: a state, and the masks `kept` and `due` (see `Cycle`)."""
Node = TypeVar("Node", bound=Hashable)
Step = tuple[int, Node]
"""An instance, and the node that it leads to."""


@dataclass(frozen=True)
class Lasso:
    """A path from an initial state (`prefix`), and the instances of a cycle at the end of this path.

    The cycle is repeated for ever. If the cycle is empty, the behaviour stays in the last state of the prefix.
    For a stable property (a condition that must stay true), the lasso is only the prefix, and its last step makes the
    condition false. `shortest` is false if there may be a shorter cycle with the properties that the top of this file
    lists.
    """

    prefix: Path
    cycle: tuple[int, ...]
    shortest: bool = True


class Lassos:
    """Finds the lasso of a region. If `never` is not None, the cycle must take an instance that `never` marks."""

    def __init__(
        self,
        levels: NativeLevels,
        region: Region,
        promises: FairnessObligations,
        never: Flags | None,
        actors: Sequence[str],
    ) -> None:
        self._levels, self._region, self._promises, self._never = levels, region, promises, never
        self._actors = actors

    def of(self, found: FairParts) -> Lasso:
        """The canonical lasso. `found` must have a fair end or a fair component."""
        ends = np.zeros(self._region.size, dtype=np.bool_)
        ends[found.ends] = True
        goals = ends.copy()
        for part in found.components:
            goals[part] = True
        distance, length = self._distances(goals)
        last = np.flatnonzero((distance == length) & ends)
        stays = bool(len(last))
        if not stays:
            last = np.flatnonzero((distance == length) & goals)
        prefix, entry = self._prefix(distance, length, last)
        if stays:
            return Lasso(prefix, ())
        part = next(part for part in found.components if entry in set(part.tolist()))
        cycle, shortest = Cycle(self._region, self._promises, self._never, part, entry).found()
        return Lasso(prefix, cycle, shortest)

    # --- the prefix -------------------------------------------------------------------------------------------------

    def _distances(self, goals: Flags) -> tuple[Integers, int]:
        """The length, in states, of a shortest path to each state of the region, and to the nearest goal.

        The paths lead from an initial state to a source, and from there inside the region. States farther away than the
        nearest goal have the length 0.
        """
        region = self._region
        distance = np.zeros(region.size, dtype=np.int64)
        sources = np.flatnonzero(region.source)
        frontier, k = np.empty(0, dtype=np.int64), 0
        while True:
            k += 1
            steps, _ = region.steps(frontier)
            begun = sources[region.level[sources] == k]
            fresh = np.unique(np.concatenate([region.target[steps], begun]))
            frontier = fresh[distance[fresh] == 0]
            distance[frontier] = k
            if goals[frontier].any():
                return distance, k

    def _prefix(self, distance: Integers, length: int, last: Integers) -> tuple[Path, int]:
        """The canonical path of this length to one of the states `last`. Also returns the last state of the path."""
        region = self._region
        if length == 1:
            leaves = self._levels.leaves(region.rows(last))
            least = min(range(len(last)), key=leaves.__getitem__)
            return Path(leaves[least], ()), int(last[least])
        chain: list[Edges] = []
        inside, before = last, np.empty((0, self._levels.kernel.words), dtype=np.uint64)
        for k in range(length - 1, 0, -1):
            edges, inside, before = self._back(distance, k, inside, before)
            chain.append(edges)
        path, at = canonical_walk(self._levels, chain[::-1], self._actors)
        return path, int(last[at])

    def _back(self, distance: Integers, k: int, inside: Integers, before: Words) -> tuple[Edges, Integers, Words]:
        """The steps from the `k`-th to the `k + 1`-th states of the shortest paths, and the `k`-th states.

        A path first leads to a source, then inside the region. The `k + 1`-th states are given in two arrays. `inside`
        has those that a path reaches at its source or later, as numbers in the region. `before` has those that a path
        reaches before its source, in packed form. The `k`-th states are returned in the same two forms.
        """
        region = self._region
        nodes = np.flatnonzero(distance == k)
        steps, of = region.steps(nodes)
        place = np.full(region.size, -1, dtype=np.int64)
        place[inside] = np.arange(len(inside))
        kept = place[region.target[steps]] >= 0
        steps, of = steps[kept], of[kept]
        came, source = np.unique(nodes[of], return_inverse=True)
        label, target = region.label[steps].astype(np.int64), place[region.target[steps]]
        begun = inside[region.source[inside] & (region.level[inside] == k + 1)]
        outer = np.concatenate([region.rows(begun), before])
        if not len(outer):
            return Edges(region.rows(came), None, source.astype(np.int64), label, target), came, before
        wanted, position = np.unique(outer, axis=0, return_inverse=True)
        led = self._levels.edges_into(k, wanted)
        parts = [(source.astype(np.int64), label, target)]
        begun_at, before_at = np.split(position.reshape(-1), [len(begun)])
        later = len(inside) + np.arange(len(before))
        for where, of_outer in ((place[begun], begun_at), (later, before_at)):
            to = np.full(len(wanted), -1, dtype=np.int64)
            to[of_outer] = where
            chosen = to[led.target] >= 0
            parts.append((led.source[chosen] + len(came), led.transition[chosen], to[led.target[chosen]]))
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        sources: Words = led.sources
        return Edges(np.concatenate([region.rows(came), sources]), None, *joined), came, sources


# --- the cycle ------------------------------------------------------------------------------------------------------


class Cycle:
    """A walk inside a fair component that satisfies all obligations. It begins and ends in one state, the *entry*.

    A node of the walk is a state and two masks, `kept` and `due`. The masks have a bit for each weak obligation that is
    enabled at the entry, and for each strong obligation that is enabled anywhere in the component. They have one more
    bit if the walk must reach the mark (a marked state, or an instance of `never`). A bit of `kept` is set when the
    walk has satisfied the bit's obligation or, for the last bit, has reached the mark. A bit of `due` is set while the
    walk must still set the same bit of `kept`. In the exact search, the bit of a strong obligation is set in `due` only
    after the walk has visited a state in which the obligation is enabled. In the other search (see `EXACT`), all bits
    of `due` are set at the start.
    """

    def __init__(
        self, region: Region, promises: FairnessObligations, never: Flags | None, part: Integers, entry: int
    ) -> None:
        self._region, self._promises, self._never = region, promises, never
        self._part, self._entry = set(part.tolist()), entry
        enabled = region.enabled | region.cut
        self._enabled = {v: enabled[v] for v in self._part}
        ever = np.bitwise_or.reduce(enabled[part], axis=0)
        open_ = (self._enabled[entry] & promises.weak) | (ever & promises.strong)
        self._open = [i for i in range(len(promises.obligations)) if _has(open_, i)]
        self._strong = [(1 << bit, i) for bit, i in enumerate(self._open) if promises.obligations[i].strong]
        self._marked = region.marked
        self._marks = never is not None or not self._marked[entry]
        self._full = (1 << len(self._open) + self._marks) - 1

    def found(self) -> tuple[tuple[int, ...], bool]:
        """The instances of the walk, and whether the walk is surely a shortest one."""
        always = self._full & ~sum(bit for bit, _ in self._strong)
        due = always | self._wants(self._entry)
        avoidable = (self._full & ~due).bit_count()
        if len(self._part) * 2 ** due.bit_count() * 3**avoidable <= EXACT:
            steps = shortest((self._entry, 0, due), self._steps, lambda node: node[0] == self._entry and not node[2])
            return tuple(label for label, _ in steps), True
        start = self._entry, 0, self._full
        walk: list[int] = []
        while start[2] or start[0] != self._entry:
            due = start[2]
            steps = shortest(
                start,
                self._steps,
                lambda node: node[2] != due if due else node[0] == self._entry,  # noqa: B023
            )
            walk += [label for label, _ in steps]
            start = steps[-1][1]
        return tuple(walk), False

    def _steps(self, node: At) -> Iterable[Step[At]]:
        state, kept, due = node
        region = self._region
        for i in range(region.begin[state], region.begin[state + 1]):
            target, label = int(region.target[i]), int(region.label[i])
            if target in self._part:
                after = kept | self._keeps(label, target)
                yield label, (target, after, (due | self._wants(target)) & ~after)

    def _wants(self, state: int) -> int:
        """The bits of the strong obligations that are enabled in a state."""
        return sum(bit for bit, i in self._strong if _has(self._enabled[state], i))

    def _keeps(self, label: int, target: int) -> int:
        """The bits of `kept` that a step sets. They depend on the step's label and on the state that it leads to."""
        found = 0
        for bit, obligation in enumerate(self._open):
            idle = not self._promises.obligations[obligation].strong and not _has(self._enabled[target], obligation)
            if idle or self._promises.of[label] == obligation:
                found |= 1 << bit
        marked = self._marked[target] if self._never is None else self._never[label]
        return found | (bool(marked) and self._marks) << len(self._open)


def _has(words: Words, bit: int) -> bool:
    return bool(int(words[bit // 64]) >> bit % 64 & 1)


def shortest(
    start: Node, steps: Callable[[Node], Iterable[Step[Node]]], goal: Callable[[Node], bool]
) -> list[Step[Node]]:
    """A shortest path of one or more steps to a goal. Of the shortest paths, it has the least labels, compared from the
    first step on."""
    layers: list[dict[Node, None]] = [{start: None}]
    ways: dict[Node, list[Step[Node]]] = {}
    known: set[Node] = set()
    while not (len(layers) > 1 and any(map(goal, layers[-1]))):
        fresh: dict[Node, None] = {}
        for node in layers[-1]:
            ways[node] = list(steps(node))
            fresh |= {after: None for _, after in ways[node] if after not in known}
        known |= fresh.keys()
        if not fresh:
            raise AssertionError("a fair component has no cycle")
        layers.append(fresh)
    wanted = [{node for node in layers[-1] if goal(node)}]
    for layer in reversed(layers[:-1]):
        wanted.append({node for node in layer if any(after in wanted[-1] for _, after in ways[node])})
    found: list[Step[Node]] = []
    node = start
    for after in reversed(wanted[:-1]):
        label, node = min(step for step in ways[node] if step[1] in after)
        found.append((label, node))
    return found
