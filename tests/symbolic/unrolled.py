"""The results of breadth-first search for the first levels, in the form of a search by unrolling."""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.engines import reference
from isrcheck.checker.engines.symbolic.bounded_search import search
from isrcheck.checker.results.exploration import Exploration, Limits
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label, TransitionSystem
from tests.agreement.engines import STATES

DEPTH = 6


@dataclass(frozen=True)
class Unrolled:
    """The results of both kinds of search in the levels up to a depth. An error's instance is given by its label."""

    violated: dict[str, int]
    deadlock: int | None
    error: tuple[int, tuple[int, ...], Label | None] | None
    stopped: str | None


def known_depth(found: Exploration) -> int:
    """The greatest level for which a search by enumeration knows all results that unrolling may find."""
    return min(DEPTH, len(found.generated)) if found.stopped == "states" else DEPTH


def first_levels(found: Exploration, labels: list[Label], depth: int) -> Unrolled:
    """The results that belong to the first levels."""
    violated = {name: level for name, level in found.violated.items() if level <= depth}
    deadlock = found.deadlock if found.deadlock is not None and found.deadlock <= depth else None
    error = found.error if found.error is not None and found.error[0] <= depth else None
    stopped = "depth"
    if error is not None or (found.stopped == "violation" and (violated or deadlock is not None)):
        stopped = str(found.stopped)
    named = error and (*error[:2], None if error[2] is None else labels[error[2]])
    return Unrolled(violated, deadlock, named, stopped)


def by_enumeration(interpreter: Interpreter, keep_going: bool, deadlock: bool) -> tuple[Unrolled, int]:
    limits = Limits(states=STATES)
    found, _ = reference.search(interpreter, keep_going=keep_going, deadlock=deadlock, limits=limits)
    depth = known_depth(found)
    return first_levels(found, interpreter.labels, depth), depth


def by_unrolling(system: TransitionSystem, keep_going: bool, deadlock: bool, depth: int) -> Unrolled:
    limits = Limits(depth=depth)
    found, _ = search(system, keep_going=keep_going, deadlock=deadlock, limits=limits, report=None)
    assert found.stopped in ("depth", "violation", "error")
    return first_levels(found, [t.label for t in system.transitions], depth)
