"""A sweep on this machine: some processes, each with one cell after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from isrcheck.checker.sweeps.cells import Cells


def outcomes(cells: list[dict[str, Any]], workers: int) -> list[dict[str, Any]]:
    """The outcome of each cell, in the order of the cells; an interruption ends the processes."""
    free: SimpleQueue[Cells] = SimpleQueue()
    processes = [Cells() for _ in range(min(workers, len(cells)))]
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
        return list(pool.map(outcome, cells))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        pool.shutdown()
        for process in processes:
            process.end()
