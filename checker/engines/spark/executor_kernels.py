"""The kernel (the compiled functions of a transition system) in a Python process of an executor or of the driver.

A process compiles a kernel at its first use, and keeps the compiled kernel between tasks.
"""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

import numpy as np

from isrcheck.checker.kernel import llvm_compiler

Array = Any
Work = dict[str, Any]
BLOCK_ROWS = 1 << 19
"""The buffer for successors has about this many rows. It has more rows if 8 states may have more successors."""
MOST_KERNELS = 4
LARGEST = np.iinfo(np.int64).max
LEAST, GREATEST, FAILURES, ACTIONS = 0, 1, 2, 3
"""The positions in a tally, with the same meanings as in `isrcheck.checker.kernel.verdict_bits`."""


def kept() -> dict[str, Any]:
    """The kernels that a Python process keeps between tasks, by their digests.

    They are in a module made for this purpose, because a function that is sent by value arrives without its own module.
    """
    module = sys.modules.setdefault("isrcheck_kept", types.ModuleType("isrcheck_kept"))
    kernels: dict[str, Any] = module.__dict__.setdefault("kernels", {})
    return kernels


class Kernel:
    """Calls the compiled functions with arrays. `sizes` is `work["kernel"]`, the data that `search.sizes` returns."""

    def __init__(self, work: Work, code: Any) -> None:
        self.code, self.sizes = code, dict(work["kernel"])
        self.words, self.transitions = self.sizes["words"], max(self.sizes["transitions"], 1)
        self.block = max(8, BLOCK_ROWS // self.transitions)
        room = self.block * self.transitions + 8
        self.room = np.empty((room, self.words), dtype=np.uint64)
        self.source, self.transition = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)

    def tally(self) -> Array:
        tally = np.zeros(ACTIONS + self.sizes["actions"], dtype=np.int64)
        tally[LEAST] = LARGEST
        return tally

    def expand(self, states: Array, tally: Array, traced: bool = False) -> Array:
        """The successors of at most `block` states, in a buffer that the next call overwrites.

        If `traced` is true, the call also fills the arrays `self.source` and `self.transition`. For each successor,
        these arrays then have the position of its source in `states` and the number of its transition.
        """
        states = np.ascontiguousarray(states)
        traces = (self.source.ctypes.data, self.transition.ctypes.data) if traced else (0, 0)
        arguments = (states.ctypes.data, len(states), self.room.ctypes.data, *traces, tally.ctypes.data)
        return self.room[: self.code.calls["expand"](*arguments)]

    def failures(self, states: Array) -> tuple[Array, Array]:
        states = np.ascontiguousarray(states)
        arguments = (states.ctypes.data, len(states), self.source.ctypes.data, self.transition.ctypes.data)
        count = self.code.calls["failures"](*arguments)
        return self.source[:count], self.transition[:count]

    def hashes(self, states: Array) -> Array:
        states, out = np.ascontiguousarray(states), np.empty(len(states), dtype=np.uint64)
        self.code.calls["hashes"](states.ctypes.data, len(states), out.ctypes.data)
        return out

    def evaluate(self, states: Array) -> Array:
        """The verdict bits of each state, as an array (states, words of a verdict)."""
        states, out = np.ascontiguousarray(states), np.empty((len(states), self.sizes["verdict_words"]), np.uint64)
        self.code.calls["evaluate"](states.ctypes.data, len(states), out.ctypes.data)
        return out


def keep(work: Work, code: Any) -> None:
    """Keeps compiled code as the kernel of a work (`tasks.py`). Only the last few kernels are kept."""
    kernels = kept()
    while len(kernels) >= MOST_KERNELS:
        del kernels[next(iter(kernels))]
    kernels[work["kernel"]["digest"]] = Kernel(work, code)


def at_hand(work: Work, code: Any) -> Work:
    """Makes the compiled code of a work available in this process. Returns the work."""
    if work["kernel"]["digest"] not in kept():
        keep(work, code)
    return work


def kernel_of(work: Work) -> Kernel:
    """The kernel of a work. It is compiled if this process has not kept it."""
    digest = work["kernel"]["digest"]
    if digest not in kept():
        from pyspark import SparkFiles

        with open(SparkFiles.get(work["kernel"]["file"]), encoding="utf-8") as text:
            keep(work, llvm_compiler.Code(text.read()))
        # PySpark collects garbage after every task. Without `freeze`, each collection would take 50 ms for objects
        # that stay alive.
        gc.freeze()
    kernel: Kernel = kept()[digest]
    return kernel
