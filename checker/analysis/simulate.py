"""`simulate` for Python: verdicts from random walks, with shortened traces and a summary of the walks.

Walks never show that an invariant holds. If the walks find violations, a small exhaustive search looks for the same
violations, and may find a trace of the least length.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from isrcheck.checker.analysis.check import resolved
from isrcheck.checker.analysis.result_builder import ResultBuilder
from isrcheck.checker.engines.explicit.search import processors
from isrcheck.checker.engines.explicit.search import search as explore
from isrcheck.checker.engines.simulation.path_reduction import shortened
from isrcheck.checker.engines.simulation.random_search import FAILING, MEANINGLESS, STUCK, Sampled, search
from isrcheck.checker.engines.simulation.walk_summary import summary
from isrcheck.checker.registry.loader import LoadedModel, blaming
from isrcheck.checker.results.exploration import Exploration, Limits, Path, Report
from isrcheck.checker.results.result import LimitTooSmall, Result
from isrcheck.checker.trace.canonical import CanonicalPaths
from isrcheck.model.language.errors import UnknownName
from isrcheck.model.language.model import Model
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem

WALKS: Final = 10_000
DEPTH: Final = 100
DEEPEST: Final = 1_000_000
NEARBY: Final = Limits(states=1 << 18, memory=1 << 28)
"""The limits of the search for the shortest violation. No limit depends on time, so the result is always the same."""


def simulate(
    model: str | type[Model] | Model | LoadedModel,
    settings: dict[str, Any] | None = None,
    *,
    profile: str | None = None,
    invariants: Sequence[str] | None = None,
    walks: int | None = None,
    depth: int = DEPTH,
    seed: int | None = None,
    seconds: float | None = None,
    deadlock: bool = False,
    workers: int | None = None,
    report: Report | None = None,
    stage: Callable[[str], None] | None = None,
) -> Result:
    """Walks at random through a model. Reports violations with short traces, or that no violation was found so far.

    `model`, `settings`, `profile`, `invariants` and `deadlock` are as for `check`. There are at most `walks` walks of
    at most `depth` states. If `walks` is None, only `seconds` limits the number of walks. If both are None, there are
    at most 10,000 walks. The walks run in rounds. The first round that finds a violation, deadlock or error is the last
    round. `seed` determines all random choices. If `seed` is None, a random seed is taken and reported. The same seed
    gives the same result for any number of `workers`, unless `seconds` or an interruption ends the walks.

    Raises `UnknownName` for names and values that the model does not have, and for numbers out of range. Raises
    `ModelError` for a mistake in the model, OSError for a file that cannot be read.

    >>> simulate("kip-101", seed=1).verdict
    'violated'
    """
    _require_sensible(walks, depth, seed, workers)
    begin, tell = time.perf_counter(), stage or (lambda name: None)
    tell("trace")
    loaded, instance, begins_with = resolved(model, settings or {}, profile)
    with blaming(loaded.source_file):
        chosen = loaded.chosen(None if invariants is None else tuple(invariants))
        system = trace(instance, chosen)
        interpreter = Interpreter(instance, chosen)
        traced = time.perf_counter() - begin
        tell("compile")
        asked = WALKS if walks is None and seconds is None else walks
        sampled = search(
            system,
            walks=asked,
            depth=depth,
            seed=secrets.randbits(32) if seed is None else seed,
            deadlock=deadlock,
            seconds=seconds,
            workers=workers or processors(),
            report=report,
        )
        tell("counterexample")
        paths = _WalkPaths(sampled, system)
        found, numbers = _answer(sampled, paths, asked), _numbers(interpreter, system)
        builder = ResultBuilder(loaded.name, interpreter, system, found, paths, numbers)
        result = builder.result("simulation", deadlock, False, Limits(seconds=seconds))
        result.profile = begins_with
    result.reason = _reason(sampled, asked, seconds) if result.verdict == "incomplete" else result.reason
    result.extra = {"sampling": summary(sampled, asked, instance.goals_switched_off) | {"shortened": paths.to_json()}}
    spent = time.perf_counter() - begin
    result.seconds = {"trace": traced, **sampled.seconds, "counterexample": paths.seconds, "total": spent}
    return result


def _require_sensible(walks: int | None, depth: int, seed: int | None, workers: int | None) -> None:
    if walks is not None and walks < 1:
        raise UnknownName(f"walks must be at least 1, not {walks}")
    if not 2 <= depth <= DEEPEST:
        raise UnknownName(f"depth must be from 2 to {DEEPEST:,}, not {depth}")
    if seed is not None and not 0 <= seed < 1 << 63:
        raise UnknownName(f"seed must be from 0 to 2**63 - 1, not {seed}")
    if workers is not None and workers < 1:
        raise UnknownName(f"workers must be at least 1, not {workers}")


def _reason(sampled: Sampled, walks: int | None, seconds: float | None) -> str | None:
    """The reason why the walks do not show that an invariant holds."""
    if sampled.ended == "time" and walks is not None:
        return f"time limit of {seconds:g} s reached (--seconds) before {walks:,} walks were done"
    if sampled.ended == "time" and not sampled.seen.walks:
        return f"time limit of {seconds:g} s reached (--seconds) before the first walk was done"
    return "interrupted" if sampled.ended == "interrupt" else "random walks are only a sample"


def _numbers(interpreter: Interpreter, system: TransitionSystem) -> list[int]:
    """For each transition of the system, the interpreter's number of the transition's action instance."""
    numbers = {label: i for i, label in enumerate(interpreter.labels)}
    return [numbers[t.label] for t in system.transitions]


def _answer(sampled: Sampled, paths: _WalkPaths, walks: int | None) -> Exploration:
    """The result of the walks as an `Exploration`. Its only examined level is the level of the initial states."""
    found = Exploration(initial=len(sampled.start.system.initial), unrolled=(1, 0), workers=sampled.workers)
    as_asked = sampled.ended == "time" and walks is None and sampled.seen.walks > 0
    found.stopped = "sampled" if as_asked else sampled.ended or "sampled"
    for name, path in paths.paths.items():
        length = len(path.instances) + 1
        if name in (FAILING, MEANINGLESS):
            found.error = length, *paths.error(name)
        elif name == STUCK:
            found.deadlock = length
        else:
            found.violated[name] = length
    return found


class _WalkPaths:
    """The paths of walks to violations, deadlocks and errors.

    Each path is shortened, or replaced by a shortest path that a small exhaustive search has found.
    """

    def __init__(self, sampled: Sampled, system: TransitionSystem) -> None:
        began = time.perf_counter()
        self.sampled, self.system = sampled, system
        self.paths: dict[str, Path] = {}
        self.proved: set[str] = set()
        if sampled.paths:
            self._shorten()
        self.seconds = time.perf_counter() - began

    def _shorten(self) -> None:
        try:
            nearby, levels = explore(
                self.system,
                keep_going=True,
                deadlock=STUCK in self.sampled.wrong,
                limits=NEARBY,
                report=None,
                workers=self.sampled.workers,
            )
        except LimitTooSmall:
            nearby, canonical = Exploration(), None
        else:
            canonical = CanonicalPaths(levels, [t.actor for t in self.system.transitions])
        for name in sorted(self.sampled.paths):
            self.paths[name] = self._nearest(name, nearby, canonical) or self._made_short(name, nearby)

    def _nearest(self, name: str, nearby: Exploration, canonical: CanonicalPaths | None) -> Path | None:
        """The canonical path to a violation or deadlock, or None if the search `nearby` did not find this problem.

        Also returns None for a violation that was found only in an unfinished level, for an error, and for a violation
        or deadlock in an initial state.
        """
        length = nearby.deadlock if name == STUCK else nearby.violated.get(name)
        if length is None or length == 1 or canonical is None or name in nearby.partial_violations:
            return None
        self.proved.add(name)
        return canonical.to_deadlock(length) if name == STUCK else canonical.to_violation(name, length)

    def _made_short(self, name: str, nearby: Exploration) -> Path:
        """The shortened path of a walk.

        A path without steps counts as shortest. A path to a violation or a deadlock also counts as shortest if the
        search `nearby` has checked all states to which shorter paths lead.
        """
        path = shortened(self.sampled, name)
        known = nearby.expanded if name == STUCK else nearby.depth
        is_shortest = name not in (FAILING, MEANINGLESS) and len(path.instances) <= known
        if is_shortest or not path.instances:
            self.proved.add(name)
        return path

    def error(self, name: str) -> tuple[tuple[int, ...], int | None]:
        """The last state of the path to an error, and the first instance that fails there.

        The instance is None if a predicate fails.
        """
        kernel, path = self.sampled.kernel, self.paths[name]
        state = kernel.layout.pack([path.start])
        for step in path.instances:
            successors, _, transition, _ = kernel.expand(state)
            state = successors[transition == step]
        instance = int(kernel.failures(state)[1].min()) if name == FAILING else None
        return tuple(kernel.layout.unpack(state)[0].tolist()), instance

    def to_violation(self, invariant: str, length: int) -> Path:
        return self.paths[invariant]

    def to_deadlock(self, length: int) -> Path:
        return self.paths[STUCK]

    def to_state(self, leaves: tuple[int, ...], length: int) -> Path:
        return self.paths[FAILING if FAILING in self.paths else MEANINGLESS]

    def to_json(self) -> dict[str, dict[str, Any]]:
        """For each path, its length before and after shortening, and whether it is known that no path is shorter."""
        names = {STUCK: "deadlock", FAILING: "evaluation error", MEANINGLESS: "evaluation error"}
        return {
            names.get(name, name): {
                "walked": len(self.sampled.paths[name].instances) + 1,
                "shortened": len(path.instances) + 1,
                "shortest": name in self.proved,
            }
            for name, path in self.paths.items()
        }
