"""Random walks from initial states. Each step is an enabled instance whose successor the constraints allow.

All these instances are equally likely. Walks are done in rounds, and a round has the same walks for every number of
threads. So the same seed gives the same findings, unless the limit of time or an interruption ends a round early. A
*finding* is a violation, an undefined predicate, a failing instance or, if asked for, a deadlock. A round with a
finding is the last round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Literal

import numpy as np

from isrcheck.checker.engines.simulation import walk_loops
from isrcheck.checker.engines.simulation.walks import CHUNK, Flags, Seen, Start, Walker
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.verdict_bits import FAILED
from isrcheck.checker.results.exploration import Path, Progress, Report
from isrcheck.model.semantics.transition_system import TransitionSystem

ROUND: Final = 32 * CHUNK
Wrong = Callable[[Words], Flags]
"""A function that marks, in a batch of states, the states that have a certain finding."""
MEANINGLESS: Final = "an undefined predicate"
FAILING: Final = "an undefined action instance"
STUCK: Final = "a state without an enabled action"


@dataclass
class Sampled:
    """The findings of walks.

    `paths` has a path for each finding. The name of a finding is STUCK, MEANINGLESS, FAILING, or the name of a violated
    invariant. `wrong` has, for the name of each possible finding, the function that marks the states with this finding.
    Deadlocks, failing instances, undefined goals and undefined bounds count only in states that satisfy the
    constraints. Violations and other undefined predicates also count outside the constraints.
    """

    start: Start
    seen: Seen
    paths: dict[str, Path] = field(default_factory=dict)
    wrong: dict[str, Wrong] = field(default_factory=dict)
    ended: Literal["time", "interrupt"] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    workers: int = 1

    @property
    def kernel(self) -> Kernel:
        return self.start.kernel


def search(
    system: TransitionSystem,
    *,
    walks: int | None,
    depth: int,
    seed: int,
    deadlock: bool,
    seconds: float | None,
    workers: int,
    report: Report | None,
) -> Sampled:
    """Takes random walks of at most `depth` states, until a round of walks has a finding.

    The search stops earlier at an interruption, when `walks` walks are done, or when `seconds` have passed since the
    compilation. None means no limit. The search takes no walks if an initial state violates an invariant or makes a
    predicate undefined, or if all initial states are outside the constraints.
    """
    began = time.perf_counter()
    start = Start(system, Kernel(system), depth, seed)
    compiled = time.perf_counter()  # the limit of time does not include the compilation
    sampled = Sampled(start, Seen.nothing(start), workers=workers)
    sampled.wrong = _questions(start, deadlock)
    until = None if seconds is None else compiled + seconds
    if not _wrong_at_first(sampled) and len(start.rows):
        _Rounds(sampled, until, report, began).walk(walks)
        _find(sampled)
    sampled.seconds = {"compile": compiled - began, "search": time.perf_counter() - compiled}
    return sampled


def _questions(start: Start, deadlock: bool) -> dict[str, Wrong]:
    kernel = start.kernel

    def bit(number: int) -> Wrong:
        def asked(states: Words) -> Flags:
            word = kernel.evaluate(states)[:, number // 64]
            return (word >> np.uint64(number % 64) & np.uint64(1)).astype(np.bool_)

        return asked

    def stuck(states: Words) -> Flags:
        flags: Flags = np.bincount(kernel.expand(states)[1], minlength=len(states)) == 0
        return flags

    def failing(states: Words) -> Flags:
        flags: Flags = np.bincount(kernel.failures(states)[0], minlength=len(states)) > 0
        return flags

    asked = {name: bit(number) for name, number in kernel.verdicts.invariants.items()}
    return asked | {MEANINGLESS: bit(FAILED), FAILING: failing} | ({STUCK: stuck} if deadlock else {})


def _wrong_at_first(sampled: Sampled) -> bool:
    """Adds to `sampled` the violated invariants and undefined predicates of initial states. Returns whether any exist.

    Initial states outside the constraints are considered, too.
    """
    start = sampled.start
    for name in (*start.kernel.verdicts.invariants, MEANINGLESS):
        rows = [row for row in start.system.initial if sampled.wrong[name](start.kernel.layout.pack([row]))[0]]
        if rows:
            sampled.paths[name] = Path(min(rows), (), canonical=False)
    return bool(sampled.paths)


def _find(sampled: Sampled) -> None:
    """Adds to `sampled` the path to the first finding of each kind."""
    start, first = sampled.start, sampled.seen.first
    places = {**start.kernel.verdicts.invariants, MEANINGLESS: FAILED, STUCK: start.stuck, FAILING: start.failing}
    for name, place in places.items():
        if name in sampled.wrong and first[place] != walk_loops.NEVER:
            reached = None if name in (STUCK, FAILING) else sampled.wrong[name]
            sampled.paths[name] = Walker(start, 1).again(int(first[place]), reached)


class _Rounds:
    """Threads that take chunks of walks. The main thread also takes walks, and checks the clock between steps."""

    def __init__(self, sampled: Sampled, until: float | None, report: Report | None, began: float) -> None:
        self.sampled, self.until, self.report, self.began = sampled, until, report, began
        self.walkers = [Walker(sampled.start) for _ in range(sampled.workers)]
        self.stopping = False

    def walk(self, walks: int | None) -> None:
        with ThreadPoolExecutor(len(self.walkers)) as pool:
            try:
                first = 0
                while (walks is None or first < walks) and not self.stopping and not self._anything_wrong():
                    last = first + ROUND if walks is None else min(first + ROUND, walks)
                    self._round(pool, first, last)
                    first = last
            except KeyboardInterrupt:
                self.sampled.ended = "interrupt"
            finally:
                self.stopping = True
        for walker in self.walkers:
            self.sampled.seen.add(walker.seen)

    def _round(self, pool: ThreadPoolExecutor, first: int, last: int) -> None:
        chunks = count(first, CHUNK)

        def work(walker: Walker, look: Callable[[], bool]) -> None:
            for begin in chunks:
                if begin >= last or look():
                    return
                walker.chunk(begin, min(begin + CHUNK, last), look)

        if self._look():  # checked first, because no thread may start a walk after the time limit
            return
        main, *others = self.walkers
        tasks = [pool.submit(work, walker, lambda: self.stopping) for walker in others]
        work(main, self._look)
        for task in tasks:
            task.result()

    def _look(self) -> bool:
        """Reports progress. Returns whether the walks must stop."""
        now = time.perf_counter()
        if self.until is not None and now > self.until and not self.stopping:
            self.sampled.ended, self.stopping = "time", True
        if self.report is not None:
            walked = sum(w.seen.walks for w in self.walkers)
            states = sum(w.seen.states for w in self.walkers)
            rate = round(states / max(now - self.began, 1e-9))
            note = f"{walked:,} walks, {states:,} states ({rate:,}/s)"
            self.report(Progress(0, None, None, None, None, self.memory, now - self.began, note))
        return self.stopping

    @property
    def memory(self) -> int:
        return sum(w.nbytes for w in self.walkers)

    def _anything_wrong(self) -> bool:
        """True if there is a finding that ends the walks. A deadlock ends them only if the user asked for deadlocks."""
        start = self.sampled.start
        first = np.min([w.seen.first for w in self.walkers], axis=0)
        wanted = [FAILED, *start.kernel.verdicts.invariants.values(), start.failing]
        wanted += [start.stuck] if STUCK in self.sampled.wrong else []
        return bool((first[wanted] != walk_loops.NEVER).any())
