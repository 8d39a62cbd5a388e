"""Runs *cells*, the checks of a sweep, one by one in a separate process, so that a cell can harm no other process.

`python -m isrcheck.checker.analysis.sweep.cells` reads one cell as JSON from each line of its input, and writes the
outcome of the cell as a line. `Cells` starts this process, and starts it again when it has ended.

A sweep on this machine, in several processes. Each process does one cell after the other.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, Final

GRACE: Final = 30.0
"""Seconds by which a cell may exceed its own limit of time."""


def answer(cell: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a cell. An error in the cell becomes an outcome, not an exception."""
    from isrcheck.checker.analysis.check import check
    from isrcheck.checker.results.errors import command_error
    from isrcheck.checker.results.exploration import Limits
    from isrcheck.checker.results.result import Exit
    from isrcheck.model.language.settings import BARE

    try:
        result = check(
            cell["model"],
            _settings(cell["model"], cell["settings"]),
            profile=BARE,
            invariants=cell["invariants"],
            deadlock=cell["deadlock"],
            keep_going=cell["keep_going"],
            limits=Limits(cell["max_states"], cell["max_seconds"], cell["max_memory"]),
        )
    except (Exception, SystemExit) as error:
        failure = command_error(error)
        words = " ".join(f"{type(error).__name__}: {error}".split())
        return failed(*((failure.message, failure.code) if failure else (f"a bug in isrcheck: {words}", Exit.BUG)))
    data = result.to_json()
    lengths = {n: f["length"] for n, f in data["invariants"].items() if "length" in f}
    names = ("verdict", "exit_code", "reason", "distinct", "depth")
    return {**{name: data[name] for name in names}, "lengths": lengths, "seconds": data["seconds"]["total"]}


def _settings(model: str, settings: dict[str, Any]) -> dict[str, Any]:
    from isrcheck.checker.registry.loader import load_model_class
    from isrcheck.checker.registry.profile_settings import settings_of

    loaded = load_model_class(model)
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}
    return settings_of(loaded.cls, loaded.name, texts)


def failed(reason: str, code: int) -> dict[str, Any]:
    """The outcome of a cell without a result."""
    return {
        "verdict": None,
        "exit_code": code,
        "reason": reason,
        "distinct": 0,
        "depth": 0,
        "lengths": {},
        "seconds": 0.0,
    }


class Cells:
    """A process that checks cells. It is started when it is needed, and again when it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, cell: dict[str, Any]) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "isrcheck.checker.analysis.sweep.cells"]
            # The new process has its own process group, so that Ctrl-C in a terminal does not reach it. After Ctrl-C,
            # the parent process ends the new process (`kill`).
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        limit = None if cell["max_seconds"] is None else cell["max_seconds"] + GRACE
        with suppress(BrokenPipeError):
            print(json.dumps(cell), file=self._process.stdin, flush=True)
        if not select.select([self._process.stdout], [], [], limit)[0]:
            self.end()
            return failed(f"it did not finish within {limit:g} seconds", 152)
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self.end()
            return _ended(code)
        outcome: dict[str, Any] = json.loads(line)
        return outcome

    def kill(self) -> None:
        """Ends the process, even while another thread waits for its answer."""
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _ended(code: int) -> dict[str, Any]:
    if code == -9:
        return failed("its process was killed: out of memory; set max_memory", 152)
    if code == 1:
        return failed("isrcheck cannot be run there; Spark executors need isrcheck and its dependencies", 153)
    return failed(f"its process ended ({code}): the model calls sys.exit(), or out of memory", 152)


def main(asked: IO[str], answers: IO[str]) -> None:
    """Writes the outcome of each cell of the input. Also asks Linux to end this process first if memory runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")
    for line in asked:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


def end_with(parent: int) -> None:
    """Ends this process when its parent process is gone, because then nobody reads the answers."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


Heard = Callable[[int, dict[str, Any]], None]
"""A function that is called with the position and the outcome of each cell, when the outcome arrives."""


def outcomes(cells: list[dict[str, Any]], workers: int, heard: Heard) -> None:
    """Reports each outcome when its cell has ended. An interruption ends the processes of the sweep."""
    free: SimpleQueue[Cells] = SimpleQueue()
    processes = [Cells() for _ in range(max(min(workers, len(cells)), 1))]
    for process in processes:
        free.put(process)

    def outcome(cell: dict[str, Any]) -> dict[str, Any]:
        process = free.get()
        try:
            return process.ask(cell)
        finally:
            free.put(process)

    pool = ThreadPoolExecutor(len(processes))
    try:
        asked = {pool.submit(outcome, cell): number for number, cell in enumerate(cells)}
        for future in as_completed(asked):
            heard(asked[future], future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        pool.shutdown()
        for process in processes:
            process.end()


if __name__ == "__main__":
    threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
    # Output that a model prints must not mix with the answers.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as channel:
        os.dup2(2, 1)
        main(sys.stdin, channel)
