"""Shows the progress of a check on standard error: a live line on a terminal, elsewhere plain lines."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TextIO

from isrcheck.checker.cli.console import harmless
from isrcheck.checker.results.size_estimate import estimated_size
from isrcheck.checker.results.text_layout import number, printable, size

if TYPE_CHECKING:
    from isrcheck.checker.results.exploration import Progress

INTERVAL: Final = 2.0
STAGES: Final = {
    "trace": "reading the model",
    "symmetry": "comparing brokers",
    "compile": "compiling",
    "search": "searching",
    "counterexample": "looking for the shortest traces",
}


class Watcher:
    """Keeps the latest progress of a check and shows it: live on a terminal, elsewhere a line every `interval` seconds.

    If `quiet` is true, nothing is shown. A thread shows the progress, so the elapsed time also advances during a
    compilation, which reports no progress.
    """

    def __init__(self, stream: TextIO | None = None, interval: float = INTERVAL, quiet: bool = False) -> None:
        self.stream = stream or sys.stderr
        self.interval = interval
        self.quiet = quiet
        self.stage_name, self.latest = "trace", None  # type: tuple[str, Progress | None]
        self.start = time.perf_counter()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def stage(self, name: str) -> None:
        self.stage_name = name

    def report(self, progress: Progress) -> None:
        # The first report of a search shows that the compilation has ended.
        self.stage_name, self.latest = "search", progress

    def __enter__(self) -> Watcher:
        if not self.quiet:
            show = self._live if self.stream.isatty() else self._lines
            self._thread = threading.Thread(target=show, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def line(self) -> str:
        """The elapsed time, the stage and the latest progress, in one line."""
        elapsed = f"{time.perf_counter() - self.start:.0f} s"
        words = STAGES.get(self.stage_name, self.stage_name)
        return f"{elapsed}  {words}" if self.latest is None else f"{elapsed}  {words}: {counts(self.latest)}"

    def _lines(self) -> None:
        while not self._done.wait(self.interval):
            try:
                print(harmless(self.line()), file=self.stream, flush=True)
            except (OSError, ValueError):
                return  # nobody reads the progress; the check goes on

    def _live(self) -> None:
        # Nothing is shown in the first half second: most checks are done by then.
        if self._done.wait(0.5):
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self.stream)
        with Live(console=console, get_renderable=self._renderable, transient=True, refresh_per_second=8):
            self._done.wait()

    def _renderable(self) -> Any:
        from rich.text import Text

        return Text(printable(self.line()), overflow="fold")


def counts(progress: Progress) -> str:
    """The level, counts, rates and memory of a running search, as a text.

    If the engine does not count states, the text is the engine's note or, without a note, the level and the memory.
    """
    if progress.distinct is None or progress.generated is None:
        return progress.note or f"level {progress.level}, no violation so far, {size(progress.memory)}"
    spent = max(progress.seconds, 1e-9)
    return ", ".join(
        (
            f"level {progress.level}",
            f"{number(progress.distinct)} distinct ({number(round(progress.distinct / spent))}/s)",
            f"{number(progress.generated)} generated ({number(round(progress.generated / spent))}/s)",
            f"frontier {number(progress.expanded or 0)} of {number(progress.frontier or 0)}",
            size(progress.memory),
            *([progress.note] if progress.note else []),
            *_size_estimate(progress),
        )
    )


def _size_estimate(progress: Progress) -> list[str]:
    """The estimated size and duration of the whole search at the present speed, if the levels allow an estimate."""
    expected = estimated_size(progress.levels)
    if expected is None or not progress.distinct or progress.seconds <= 0:
        return []
    low, high = (round(n * progress.seconds / progress.distinct) for n in (expected.low, expected.high))
    return [f"estimate {number(expected.low)} to {number(expected.high)} in total, {low} to {high} s"]
