"""Finds the canonical path of a given length with z3: a first path is improved until no path is better.

The canonical path is defined as in `checker/trace/canonical.py`. Of all paths of this length to the wanted end, the
canonical path starts in the least initial state. Of the paths from there, it has the fewest changes of actor. Of the
paths with so few changes, it is the first in the lexicographic order of the labels (actions with parameters). Booleans
count the changes of actor: the n-th Boolean is true if there are at least n changes. The labels are fixed from the
first step to the last. For each step, z3 is asked for a lesser label until there is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import z3

from isrcheck.checker.engines.symbolic.path_order import MentionOrder
from isrcheck.checker.engines.symbolic.solver import GaveUp, Solver, Watch
from isrcheck.checker.engines.symbolic.unrolling import STUCK, Link, Template, Unrolling
from isrcheck.checker.engines.symbolic.z3_terms import Term
from isrcheck.checker.kernel.exchanges import Classes, keeps
from isrcheck.checker.results.exploration import Limits, Path

PATIENCE: Final = 300.0
"""The most seconds for one canonical path. At this limit, the best path so far is used and marked as not canonical."""


@dataclass
class SymbolicPaths:
    """The results of a search. `witnesses` has a path for each error and each level at which the error was found.

    In the keys of `witnesses`, an error is the name of an invariant, a kind of error (such as `STUCK`), or the leaves
    of a state that has the error. `refuted` has, by level, the names of the errors that do not occur at this level.
    `left` gives the seconds left for the whole run, or None if there is no limit. `any` has states that were kept for
    an error, although a lesser state may have the same error.
    """

    template: Template
    classes: Classes
    left: Callable[[], float | None]
    witnesses: dict[tuple[str | tuple[int, ...], int], Path] = field(default_factory=dict)
    refuted: dict[int, list[str]] = field(default_factory=dict)
    any: set[tuple[int, ...]] = field(default_factory=set)

    def to_violation(self, invariant: str, length: int) -> Path:
        return self._canonical(invariant, length, self.classes)

    def to_deadlock(self, length: int) -> Path:
        return self._canonical(STUCK, length, self.classes)

    def to_state(self, leaves: tuple[int, ...], length: int) -> Path:
        if leaves in self.any:
            return self.witnesses[leaves, length]
        # A particular state must not be replaced by a symmetric state, so all paths to it are considered.
        return self._canonical(leaves, length, [])

    def of_length(self, length: int, watch: Watch) -> tuple[Unrolling, Solver]:
        """An unrolling to `length` states, and a solver with the constraints of this unrolling.

        The solver also knows that the errors in `refuted` do not occur at levels below `length`.
        """
        unrolling, solver = Unrolling(self.template, f"p{length}s"), Solver(watch)
        for level in range(1, length + 1):
            solver.add(unrolling.extend())
            for question in self.refuted.get(level, ()) if level < length else ():
                solver.add([z3.Not(unrolling.asked(level, question))])
        return unrolling, solver

    def _canonical(self, target: str | tuple[int, ...], length: int, classes: Classes) -> Path:
        left = self.left()
        limits = Limits(seconds=PATIENCE if left is None else min(left, PATIENCE))
        best = self.witnesses[target, length]
        walk = None
        try:
            with Watch(limits) as watch:
                unrolling, solver = self.of_length(length, watch)
                solver.add([self._at_the_end(unrolling, target)])
                walk = LeastPath(unrolling, solver, best, classes)
                walk.improve()
        except (GaveUp, KeyboardInterrupt):
            return replace(walk.best if walk else best, canonical=False)
        return replace(walk.best, canonical=True)

    def _at_the_end(self, unrolling: Unrolling, target: str | tuple[int, ...]) -> Term:
        level = len(unrolling.states)
        if isinstance(target, str):
            return unrolling.asked(level, target)
        template = self.template
        return z3.And(template.terms.equal(template.system.leaves, unrolling.states[-1], target))


class LeastPath:
    """Improves the path `first` until it is canonical. The solver already requires that the path has the wanted end."""

    def __init__(self, unrolling: Unrolling, solver: Solver, first: Path, classes: Classes) -> None:
        self.unrolling, self.solver, self.best, self.classes = unrolling, solver, first, classes
        self.system = unrolling.system
        self.actors = [t.actor for t in self.system.transitions]

    def improve(self) -> None:
        """Improves the path until `best` is canonical."""
        self._least_start()
        if len(self.unrolling.links) == 0:
            return
        self._order_of_mention()
        self._fewest_changes()
        for step, link in enumerate(self.unrolling.links):
            while self._better(link.below(self.best.instances[step])):
                pass
            self.solver.add([link.taken[self.best.instances[step]]])

    def _better(self, *wanted: Term) -> bool:
        """Whether there is a path that also satisfies `wanted`. If so, this path becomes `best`."""
        if any(z3.is_false(term) for term in wanted) or not self.solver.satisfiable(*wanted):
            return False
        model, length = self.solver.model(), len(self.unrolling.states)
        self.best = Path(self.unrolling.state(model, 1), self.unrolling.instances(model, length))
        return True

    def _least_start(self) -> None:
        position, starts = self.system.initial.index, self.unrolling.starts
        while (here := position(self.best.start)) and self._better(z3.Or(starts[:here])):
            pass
        self.solver.add([starts[here]])

    def _order_of_mention(self) -> None:
        """Applies `MentionOrder` to the classes of brokers whose exchanges do not change the path's first state."""
        kept = [c for c in self.classes if keeps(self.system, self.best.start, c)]
        order = MentionOrder(self.system, kept)
        for steps in range(1, len(self.unrolling.links) + 1):
            self.solver.add(order.constraints(self.unrolling, steps))

    # --- changes of actor -------------------------------------------------------------------------------------------

    def _fewest_changes(self) -> None:
        at_least = self._counted_changes()
        while self._better(z3.Not(at_least[self._changes()])):
            pass
        if self._changes() < len(at_least) - 1:
            self.solver.add([z3.Not(at_least[self._changes() + 1])])

    def _changes(self) -> int:
        return sum(self.actors[a] != self.actors[b] for a, b in itertools.pairwise(self.best.instances))

    def _counted_changes(self) -> list[Term]:
        """A list of terms. The term at position n is true on every path with at least n changes of actor."""
        before: list[Term] = [z3.BoolVal(True)]
        for step, (one, other) in enumerate(itertools.pairwise(self.unrolling.links)):
            change = z3.Not(z3.Or([z3.And(x, y) for x, y in zip(self._acting(one), self._acting(other), strict=True)]))
            now = [before[0], *(z3.Bool(f"{self.unrolling.name}!changes!{step}!{n}") for n in range(1, step + 2))]
            for n in range(1, len(now)):
                self.solver.add([z3.Implies(before[n], now[n])] if n < len(before) else [])
                self.solver.add([z3.Implies(z3.And(before[n - 1], change), now[n])])
            before = now
        return before

    def _acting(self, link: Link) -> list[Term]:
        """For each actor, a term that is true if this actor takes the step of `link`."""
        return [link.any(i for i, actor in enumerate(self.actors) if actor == acting) for acting in self.system.actors]


def least_state(unrolling: Unrolling, solver: Solver, first: tuple[int, ...]) -> tuple[int, ...]:
    """The least state in which a path that `solver` allows can end. States are compared by their leaves.

    `first` is a state in which such a path ends.
    """
    template, best = unrolling.template, first
    for position, leaf in enumerate(template.system.leaves):
        term = unrolling.states[-1][position]
        while best[position] > leaf.low and solver.satisfiable(template.terms.below(leaf, term, best[position])):
            best = unrolling.state(solver.model(), len(unrolling.states))
        if leaf.low < leaf.high:
            solver.add([term == template.terms.constant(leaf.kind, best[position], (leaf.low, leaf.high))])
    return best
