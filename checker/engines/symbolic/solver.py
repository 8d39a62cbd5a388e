"""A z3 solver that gives up when a limit is reached, and reports the reason."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Final

import psutil
import z3

from isrcheck.checker.engines.symbolic.z3_terms import Term
from isrcheck.checker.results.exploration import Limits, Stop

LOOK: Final = 0.05
"""Seconds between two checks of the limits."""


class GaveUp(Exception):
    """A question was not answered: a limit was reached, the search was interrupted, or z3 does not know the answer."""

    def __init__(self, stop: Stop, why: str | None = None) -> None:
        super().__init__(why or stop)
        self.stop: Stop = stop
        self.why = why


class Watch:
    """A context manager that interrupts z3, from a thread, when a limit of time or memory is reached."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.reached: Stop | None = None
        self.began = time.perf_counter()
        self._until = None if limits.seconds is None else self.began + limits.seconds
        self._process = psutil.Process()
        self._running: z3.Solver | None = None
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="limits of z3", daemon=True)

    @property
    def seconds(self) -> float:
        """The seconds since the watch was made."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float | None:
        """The seconds until the limit of time, or None without a limit."""
        return None if self._until is None else max(0.0, self._until - time.perf_counter())

    @property
    def memory(self) -> int:
        """The memory of this process, in bytes."""
        return int(self._process.memory_info().rss)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def look(self) -> None:
        """Raises `GaveUp` if a limit is reached."""
        if self._until is not None and time.perf_counter() >= self._until:
            self.reached = "time"
        elif self.limits.memory is not None and self.memory > self.limits.memory:
            self.reached = "memory"
        if self.reached is not None:
            raise GaveUp(self.reached)

    @contextmanager
    def while_running(self, solver: z3.Solver) -> Iterator[None]:
        """In this context, limits interrupt the solver.

        An idle solver must not be interrupted, because z3 would keep the interruption for the next question.
        """
        with self._lock:
            self._running = solver
        try:
            yield
        finally:
            with self._lock:
                self._running = None

    def _look_on(self) -> None:
        while not self._done.wait(LOOK):
            try:
                self.look()
            except GaveUp:
                with self._lock:
                    if self._running is not None:
                        self._running.interrupt()


class Solver:
    """An incremental solver for bit-vectors.

    `effort` limits the work on each question, in z3's own unit, which is the same on every machine.
    """

    def __init__(self, watch: Watch, effort: int | None = None) -> None:
        self.watch = watch
        self._limited = effort is not None
        self._solver = z3.SolverFor("QF_BV")
        if effort is not None:
            # z3 says "canceled" both for this limit and for Ctrl-C. So Python handles Ctrl-C here, after z3's answer.
            self._solver.set("rlimit", effort)
            self._solver.set("ctrl_c", False)

    def add(self, about: Sequence[Term]) -> None:
        self.watch.look()
        self._solver.add(about)

    def satisfiable(self, *assumed: Term) -> bool:
        """Whether the added and the assumed terms are satisfiable together. Raises `GaveUp` if there is no answer."""
        self.watch.look()
        try:
            with self.watch.while_running(self._solver):
                answer = self._solver.check(*assumed)
            why = self._solver.reason_unknown() if answer == z3.unknown else ""
        except (z3.Z3Exception, MemoryError) as error:
            answer, why = z3.unknown, _words(error)
        if answer == z3.unknown:
            self.watch.look()
            if "memory" in why:
                raise GaveUp("memory")
            # Without `effort`, z3 itself catches the signal of an interruption while it works.
            interrupted = not self._limited and ("interrupt" in why or "cancel" in why)
            raise GaveUp("interrupt") if interrupted else GaveUp("unknown", why)
        return bool(answer == z3.sat)

    def model(self) -> z3.ModelRef:
        """z3's model of the last satisfiable question: values that satisfy the terms."""
        return self._solver.model()


def _words(error: Exception) -> str:
    """The text of an exception that z3 has raised."""
    if isinstance(error, MemoryError):
        return "out of memory"
    value = getattr(error, "value", error)
    return value.decode() if isinstance(value, bytes) else str(value)
