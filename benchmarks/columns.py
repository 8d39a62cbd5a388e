"""Compares programs over columns with compiled code: `python benchmarks/columns.py [--for KIND]... [NAME]...`.

NAME is a scenario, or `kip-320/3/3/3/2`. The states of its first levels, up to 40,000, are expanded and judged in both
ways, in one process and on one processor, 256 at a time as in a search. The resulting arrays must be equal. "begins" is
the time before the first state, in which the programs are written or compiled (no compiled code is kept). All times are
processor times, in seconds or in nanoseconds a state, and the least of five runs. Code is compiled for this machine,
and with `--for` also for other processors (x86-64-v3 has only AVX2, x86-64 has neither AVX2 nor AVX-512).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ["ISRCHECK_CACHE"] = ""

from isrcheck.checker.kernel import llvm_compiler  # after its cache is switched off
from isrcheck.checker.kernel.compiled import ROOM, Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.scenarios.collection import one
from isrcheck.model.semantics.tracing import trace

SCENARIOS = (
    "kip-320/3/3/3/2",
    "kip-279-fixed-by-kip-320",
    "v2-as-written",
    "v3-as-written",
    "alter-isr-as-written",
    "majority-with-crashes",
)
STATES = 40_000


BATCH = 256
HOST = llvm_compiler._processor


def kernel_of(name: str) -> Kernel:
    model, *bounds = name.split("/")
    if bounds:
        names = ("replicas", "log_size", "max_records", "max_leader_epoch")
        settings, invariants = dict(zip(names, map(int, bounds), strict=True)), ["weak-isr", "strong-isr"]
    else:
        scenario = one(name)
        model, settings, invariants = scenario.model, scenario.settings, scenario.invariants
    loaded = load_model_class(model)
    return Kernel(trace(loaded.cls(**settings), loaded.chosen(invariants)))


def first_states(kernel: Kernel) -> Words:
    """The states of the first levels."""
    level = known = np.unique(kernel.layout.pack(kernel.system.initial), axis=0)
    while len(level) and len(known) < STATES:
        level = np.unique(kernel.expand(level)[0], axis=0)
        level = level[~np.isin(kernel.hashes(level), kernel.hashes(known))]
        known = np.concatenate([known, level])
    return np.ascontiguousarray(known[:STATES])


def least(work: Callable[[], Any]) -> float:
    """The least processor time of five runs, in seconds."""
    seconds = []
    for _ in range(5):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


Way = tuple[float, float, float]
"""The seconds before the first state, and the nanoseconds to expand and to evaluate one state."""


def measured(
    begin: Callable[[], Any], expand: Callable[[Words], Any], evaluate: Callable[[Words], Any], states: Words
) -> Way:
    batches = [states[i : i + BATCH] for i in range(0, len(states), BATCH)]
    seconds = [least(lambda work=work: [work(batch) for batch in batches]) for work in (expand, evaluate)]
    return least(begin), *(1e9 * each / len(states) for each in seconds)


def with_columns(kernel: Kernel, states: Words) -> Way:
    few = kernel.layout.pack(kernel.system.initial)

    def begin() -> None:
        fresh = Kernel(kernel.system)
        fresh.expand(few), fresh.evaluate(few)

    return measured(begin, kernel.expand, kernel.evaluate, states)


def with_compiled_code(kernel: Kernel, states: Words) -> Way:
    """Measures compiled code in the way a search calls it: each call writes its results to the same place."""
    successors = np.empty((BATCH * kernel.transitions + ROOM, kernel.words), dtype=np.uint64)
    verdicts, tally = np.empty((BATCH, kernel.verdicts.words), dtype=np.uint64), kernel.tally()
    code = kernel.code.calls

    def expand(batch: Words) -> None:
        code["expand"](batch.ctypes.data, len(batch), successors.ctypes.data, 0, 0, tally.ctypes.data)

    def evaluate(batch: Words) -> None:
        code["evaluate"](batch.ctypes.data, len(batch), verdicts.ctypes.data)

    return measured(lambda: Kernel(kernel.system).code, expand, evaluate, states)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--for", dest="kinds", action="append", default=[], metavar="KIND")
    parser.add_argument("names", nargs="*", default=SCENARIOS, metavar="NAME")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{'':32}{'':12}{'states':>8}{'begins, s':>12}{'expands, ns':>12}{'judges, ns':>12}")
    for name in arguments.names:
        kernel = kernel_of(name)
        states = first_states(kernel)
        wanted = (*kernel.expand(states), kernel.evaluate(states))
        ways = {"columns": with_columns(kernel, states)}
        for kind in ("host", *arguments.kinds):
            llvm_compiler._processor = HOST if kind == "host" else lambda kind=kind: (kind, "")
            compiled = Kernel(kernel.system)
            ways[kind] = with_compiled_code(compiled, states)
            found = (*compiled.expand(states), compiled.evaluate(states))
            assert all(np.array_equal(a, b) for a, b in zip(wanted, found, strict=True))
        for kind, (begins, expands, judges) in ways.items():
            print(f"{name:32}{kind:12}{len(states):8,}{begins:12.2f}{expands:12.0f}{judges:12.0f}", flush=True)


if __name__ == "__main__":
    main()
