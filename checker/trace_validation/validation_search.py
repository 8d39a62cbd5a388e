"""Searches for an explanation of a recording: a path of a model that explains all lines, in some order.

A node of the search is a packed state of the model, with the number of lines that are explained in each process log. A
step of the model is the next line of a process log, or it is hidden (a step without a line). There may be at most a
given number of hidden steps in a row. The search first expands the nodes with the most explained lines and, among these
nodes, those with the fewest hidden steps since the last line with a step. The search remembers all nodes that it has
visited.

The search is exact. If it finds no explanation, is not stopped early and meets no undefined step, then there is no
explanation with at most the given number of hidden steps in a row.

A line without a step counts as explained as soon as it may come next and a state has its observed values. Counting
the line so early loses no explanation, because all steps that were possible before remain possible.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from isrcheck.checker.kernel.verdict_bits import FAILURES, OUTSIDE
from isrcheck.checker.trace_validation.line_matches import Positions, Question, Row, Seen
from isrcheck.model.semantics.transition_system import Label

BATCH: Final = 256
"""At most this many states are expanded together. Expanding one state takes nearly as long as expanding a hundred."""
FURTHEST: Final = 256
"""`SearchResult.furthest` has at most this many of the nodes that explain the most lines."""
NODES: Final = 2_000_000
"""The default limit on visited nodes."""


@dataclass(frozen=True)
class Node:
    """A state, the lines that are explained so far, and the step from `parent` (None for an initial state).

    `process_log` is the process log of the step's line. It is None for a hidden step or an initial state. `run` counts
    the hidden steps since the last line with a step. `longest` is the greatest number of hidden steps in a row on the
    path to this node.
    """

    row: Row
    positions: Positions
    run: int
    longest: int
    parent: Node | None
    label: Label | None
    process_log: int | None

    @property
    def explained(self) -> int:
        return sum(self.positions)

    @property
    def path(self) -> list[Node]:
        """The path from an initial state to this node."""
        node: Node | None = self
        found = []
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    @property
    def hidden(self) -> int:
        """The number of hidden steps on the path to this node."""
        return sum(node.label is not None and node.process_log is None for node in self.path)


@dataclass
class SearchResult:
    """The result of a search. `end` is the last node of an explanation, or None if the search found no explanation.

    `stopped` names the limit or interruption that ended the search early. `furthest` has at most `FURTHEST` of the
    nodes that explain the most lines, in the order in which they were found. `failing` has a node and an action
    instance. The instance may be the next step, but is undefined in the state of the node. If there are several such
    pairs, `failing` has the first that was found.
    """

    end: Node | None = None
    stopped: Literal["states", "time", "interrupt"] | None = None
    visited: int = 0
    failing: tuple[Node, Label] | None = None
    furthest: list[Node] = field(default_factory=list)


Tell = Callable[[int, int], None]
"""A search calls this from time to time with the number of visited nodes and the greatest number of explained lines."""


@dataclass(frozen=True)
class Limits:
    """The limits of a search: visited nodes, and seconds. At a limit, the search ends without an answer."""

    nodes: int = NODES
    seconds: float | None = None


def search(question: Question, at_most: int, limits: Limits = Limits(), tell: Tell | None = None) -> SearchResult:
    """Searches for an explanation with at most `at_most` hidden steps in a row."""
    seeking = _Search(question, at_most, limits, tell)
    try:
        seeking.run()
    except KeyboardInterrupt:
        seeking.found.stopped = "interrupt"
    return seeking.found


class _Search:
    def __init__(self, question: Question, at_most: int, limits: Limits, tell: Tell | None) -> None:
        self.question, self.at_most, self.limits, self.tell = question, at_most, limits, tell
        self.found = SearchResult()
        self.began = time.perf_counter()
        self.hidden = {question.numbers[x] for x in question.hidden if x in question.numbers}
        self.labels = [t.label for t in question.system.transitions]
        self.next: dict[Positions, dict[int, list[tuple[int, Seen]]]] = {}
        self.least: dict[tuple[Positions, Row], int] = {}
        self.heap: list[tuple[int, int, int, int, Node]] = []
        self.order = 0

    def run(self) -> None:
        kernel = self.question.kernel
        for row in kernel.layout.pack(self.question.system.initial).tolist():
            self.push(tuple(row), (0,) * len(self.question.process_logs), 0, 0, None, None, None)
        while self.heap and self.found.end is None and self.found.stopped is None:
            self.expand(self.batch())
            self.stop()

    def stop(self) -> None:
        if self.found.end is not None:
            return
        if self.heap and len(self.least) > self.limits.nodes:
            self.found.stopped = "states"
        if self.limits.seconds is not None and time.perf_counter() - self.began > self.limits.seconds:
            self.found.stopped = "time" if self.heap else None
        if self.tell is not None:
            self.tell(len(self.least), self.found.furthest[0].explained if self.found.furthest else 0)

    # --- nodes ------------------------------------------------------------------------------------------------------

    def push(
        self,
        row: Row,
        positions: Positions,
        run: int,
        longest: int,
        parent: Node | None,
        label: Label | None,
        process_log: int | None,
    ) -> None:
        positions = self.settled(row, positions)
        known = self.least.get((positions, row))
        if known is not None and known <= run:
            return  # this node was already reached with as few hidden steps since the last line, or fewer
        self.least[positions, row] = run
        self.found.visited = len(self.least)
        node = Node(row, positions, run, longest, parent, label, process_log)
        self.note(node)
        self.order += 1
        heapq.heappush(self.heap, (-node.explained, run, longest, self.order, node))

    def settled(self, row: Row, positions: Positions) -> Positions:
        """The positions, advanced past all lines that have no step and that a state explains.

        Each such line is the next line of its process log, and need not wait for other lines. The state has the
        observed values of the line.
        """
        found, process_logs, moved = list(positions), self.question.process_logs, True
        while moved:
            moved = False
            for process_log, lines in enumerate(process_logs):
                while found[process_log] < len(lines):
                    seen = lines[found[process_log]]
                    if seen.labels is not None or not seen.may_come(tuple(found)) or not seen.fits(row):
                        break
                    found[process_log] += 1
                    moved = True
        return tuple(found)

    def note(self, node: Node) -> None:
        """Adds a node to `furthest` if no known node explains more lines and there is room.

        If the node explains more lines than the nodes in `furthest`, these nodes are removed.
        """
        furthest = self.found.furthest
        if furthest and node.explained > furthest[0].explained:
            furthest.clear()
        if not furthest or (node.explained == furthest[0].explained and len(furthest) < FURTHEST):
            furthest.append(node)

    def batch(self) -> list[Node]:
        """The next nodes to expand. If a node explains all lines, it becomes `found.end`, and the result is empty."""
        found: list[Node] = []
        while self.heap and len(found) < BATCH:
            node = heapq.heappop(self.heap)[-1]
            if self.least[node.positions, node.row] < node.run:
                continue
            if node.explained == self.question.lines:
                self.found.end = node
                return []
            found.append(node)
        return found

    # --- steps ------------------------------------------------------------------------------------------------------

    def moves(self, positions: Positions) -> dict[int, list[tuple[int, Seen]]]:
        """For each transition, the next lines whose step may be this transition, each with its process log.

        Transitions without such a line are left out.
        """
        known = self.next.get(positions)
        if known is None:
            known = self.next[positions] = {}
            for process_log, lines in enumerate(self.question.process_logs):
                seen = lines[positions[process_log]] if positions[process_log] < len(lines) else None
                if seen is not None and seen.labels is not None and seen.may_come(positions):
                    for label in seen.labels & self.question.numbers.keys():
                        known.setdefault(self.question.numbers[label], []).append((process_log, seen))
        return known

    def expand(self, nodes: list[Node]) -> None:
        if not nodes:
            return
        kernel = self.question.kernel
        rows = np.array([node.row for node in nodes], dtype=np.uint64)
        inside = [True] * len(nodes)
        if self.question.system.constraints:
            outside = kernel.evaluate(rows)[:, 0] >> np.uint64(OUTSIDE) & np.uint64(1) == 1
            inside = (~outside).tolist()
        after, sources, transitions, tally = kernel.expand(rows)
        if tally[FAILURES] and self.found.failing is None and any(inside):
            self.note_failure([node for node, counts in zip(nodes, inside, strict=True) if counts])
        successors = zip(map(tuple, after.tolist()), sources.tolist(), transitions.tolist(), strict=True)
        for row, source, transition in successors:
            if inside[source]:
                self.step(nodes[source], transition, row)

    def keeps(self, before: Row, after: Row) -> bool:
        """Whether a hidden step keeps all values that only steps with lines may change."""
        return not any((a ^ b) & mask for a, b, mask in zip(before, after, self.question.kept, strict=True))

    def note_failure(self, nodes: list[Node]) -> None:
        """Stores in `failing` the first undefined instance that may be the next step of a node, with this node."""
        rows = np.array([node.row for node in nodes], dtype=np.uint64)
        sources, transitions = self.question.kernel.failures(rows)
        for source, transition in zip(sources.tolist(), transitions.tolist(), strict=True):
            node = nodes[source]
            if transition in self.moves(node.positions) or (transition in self.hidden and node.run < self.at_most):
                self.found.failing = node, self.labels[transition]
                return

    def step(self, node: Node, transition: int, row: Row) -> None:
        label = self.labels[transition]
        for process_log, seen in self.moves(node.positions).get(transition, ()):
            if seen.fits(row):
                positions = (
                    *node.positions[:process_log],
                    node.positions[process_log] + 1,
                    *node.positions[process_log + 1 :],
                )
                self.push(row, positions, 0, node.longest, node, label, process_log)
        if transition in self.hidden and node.run < self.at_most and self.keeps(node.row, row):
            run = node.run + 1
            self.push(row, node.positions, run, max(node.longest, run), node, label, None)
