"""A sweep on this machine, in several processes. Each process does one cell after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import Any

from isrcheck.checker.sweeps.cells import Cells

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
