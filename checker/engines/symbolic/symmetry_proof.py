"""Asks z3 whether exchanges of brokers, or of members of another scalarset, change a model.

`checker.symmetry` uses the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from isrcheck.checker.engines.symbolic.solver import GaveUp, Solver, Watch
from isrcheck.checker.engines.symbolic.unrolling import facts
from isrcheck.checker.engines.symbolic.z3_terms import Term, Terms
from isrcheck.checker.kernel.exchanges import Member
from isrcheck.checker.kernel.interchangeable import Symmetry
from isrcheck.checker.results.exploration import Limits
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import Expression
from isrcheck.model.semantics.transition_system import TransitionSystem

EFFORT: Final = 20_000_000
"""The limit for one question, in z3's own unit of work, which is the same on every machine.

z3 reaches this limit in a few seconds.
"""


class Alike:
    """Decides whether two expressions are equal in every state that satisfies `facts`.

    If z3 cannot decide this with the `EFFORT` of one question, the expressions count as different. Raises `GaveUp` at
    the limits of `watch`.
    """

    def __init__(self, system: TransitionSystem, watch: Watch) -> None:
        self._system, self._watch = system, watch
        self._begun: tuple[Solver, Callable[[Iterable[Expression]], list[Term]]] | None = None

    def __call__(self, one: Expression, other: Expression) -> bool:
        solver, write = self._begun = self._begun or self._begin()
        try:
            return not solver.satisfiable(*write([e.not_(e.eq(one, other))]))
        except GaveUp as gave_up:
            if gave_up.stop != "unknown":
                raise
            self._begun = None
            return False

    def _begin(self) -> tuple[Solver, Callable[[Iterable[Expression]], list[Term]]]:
        terms = Terms()
        state = terms.state(self._system.leaves, "s")
        write, solver = terms.folding(state), Solver(self._watch, EFFORT)
        solver.add(terms.inside(self._system.leaves, state))
        solver.add(write(facts(self._system)))
        return solver, write


def classes(system: TransitionSystem, watch: Watch) -> list[list[Member]]:
    """The classes of interchangeable members of scalarsets.

    An exchange is allowed to change the values of goals and bounds. So the classes are only for a search that does not
    report goals and bounds.
    """
    return Symmetry(system, Alike(system, watch), goals=False).classes()


def symmetry(system: TransitionSystem, values: Sequence[tuple[str, Expression]] = ()) -> Symmetry:
    """The symmetry of a system, for a search that enumerates states. An exchange must not change the `values`."""
    return Symmetry(system, Alike(system, Watch(Limits())), values=values)
