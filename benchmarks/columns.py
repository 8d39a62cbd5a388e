"""What columns of numpy cost beside compiled code: `python benchmarks/columns.py [SCENARIO]...`.

The states of the first levels of a scenario, up to 40,000, are expanded and judged both ways, in one process and on one
processor; the arrays have to be equal. "begins" is what it takes before the first state: to write the programs, or to
compile (nothing is kept). Seconds, and nanoseconds a state, the least of three runs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ["ISRCHECK_CACHE"] = ""

from isrcheck.checker.kernel.compile import Kernel  # after its cache is switched off
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.library import load_model_class
from isrcheck.checker.scenarios.collection import one
from isrcheck.model.language.tracing import trace

SCENARIOS = (
    "kip-279-fixed-by-kip-320",
    "v2-as-written",
    "v3-as-written",
    "alter-isr-as-written",
    "majority-with-crashes",
)
STATES = 40_000


def kernel_of(name: str) -> Kernel:
    scenario = one(name)
    loaded = load_model_class(scenario.model)
    return Kernel(trace(loaded.cls(**scenario.settings), loaded.chosen(scenario.invariants)))


def first_states(kernel: Kernel) -> Words:
    """The states of the first levels."""
    level = known = np.unique(kernel.layout.pack(kernel.system.initial), axis=0)
    while len(level) and len(known) < STATES:
        level = np.unique(kernel.expand(level)[0], axis=0)
        level = level[~np.isin(kernel.hashes(level), kernel.hashes(known))]
        known = np.concatenate([known, level])
    return np.ascontiguousarray(known[:STATES])


def least(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least seconds of three runs, and what the last one gave."""
    seconds, given = [], None
    for _ in range(3):
        began = time.perf_counter()
        given = work()
        seconds.append(time.perf_counter() - began)
    return min(seconds), given


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{'':32}{'states':>8}{'begins':>16}{'expands, ns':>16}{'judges, ns':>16}   (columns, compiled)")
    for name in sys.argv[1:] or SCENARIOS:
        kernel = kernel_of(name)
        few = kernel.layout.pack(kernel.system.initial)
        began = time.perf_counter()
        kernel.expand(few), kernel.judge(few)
        columns = [time.perf_counter() - began]
        states = first_states(kernel)
        ways = [least(lambda: kernel.expand(states)), least(lambda: kernel.judge(states))]  # noqa: B023
        began = time.perf_counter()
        assert kernel.code.addresses["judge"]
        columns.append(time.perf_counter() - began)
        again = [least(lambda: kernel.expand(states)), least(lambda: kernel.judge(states))]  # noqa: B023
        for (_, found), (_, other) in zip(ways, again, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(found, other, strict=True))
        figures = f"{columns[0]:8.2f}{columns[1]:8.2f}"
        for (one_way, _), (other_way, _) in zip(ways, again, strict=True):
            figures += f"{1e9 * one_way / len(states):8.0f}{1e9 * other_way / len(states):8.0f}"
        print(f"{name:32}{len(states):8,}{figures}", flush=True)


if __name__ == "__main__":
    main()
