"""Progress goes to standard error: a live line on a terminal, elsewhere plain lines, and nothing for quick checks."""

from __future__ import annotations

import io
import re
import time

from isrcheck.checker.cli.progress import Watcher, counts
from isrcheck.checker.results.exploration import Progress

LOOK = Progress(
    level=7, distinct=3_000_000, generated=9_000_000, frontier=500, expanded=20, memory=3 * 2**20, seconds=2.0
)
WORDS = "level 7, 3,000,000 distinct (1,500,000/s), 9,000,000 generated (4,500,000/s), frontier 20 of 500, 3.0 MiB"


def test_counts_and_rates() -> None:
    assert counts(LOOK) == WORDS


def test_plain_lines_tell_the_stage_then_the_counts() -> None:
    stream = io.StringIO()
    with Watcher(stream, interval=0.05) as watcher:
        watcher.stage("compile")
        wait_for(stream, "compiling\n")
        watcher.report(LOOK)
        wait_for(stream, f"{WORDS}\n")
    reported = [re.fullmatch(r"\d+ s  (.*)", line) for line in stream.getvalue().splitlines()]
    assert all(reported)
    assert {line[1] for line in reported if line} == {"compiling", f"searching: {WORDS}"}


def wait_for(stream: io.StringIO, text: str) -> None:
    """Waits until a watcher's thread has written this text, without a limit."""
    while text not in stream.getvalue():
        time.sleep(0.01)


def test_nothing_is_said_of_what_is_quick_or_quiet() -> None:
    stream = io.StringIO()
    with Watcher(stream, interval=3600) as watcher:
        watcher.report(LOOK)
    with Watcher(stream, interval=0.01, quiet=True) as watcher:
        watcher.report(LOOK)
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_a_stream_that_is_closed_does_not_end_the_check() -> None:
    stream = io.StringIO()
    with Watcher(stream, interval=0.01) as watcher:
        stream.close()
        time.sleep(0.05)
        watcher.report(LOOK)
