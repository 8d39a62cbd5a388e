"""Programs over columns: an operation is that of numpy, and whole programs agree with compiled models."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from isrcheck.checker.kernel.bytecode import NARROW, OPERATIONS, Function, counted
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.vm import BLOCK, LANES, vm_functions
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.semantics.expressions import FALSE, TRUE, add, eq, evaluate, leaf, lt
from isrcheck.model.semantics.tracing import trace
from isrcheck.model.semantics.transition_system import TransitionSystem
from tests.kernel.toys import grid, leaves_of, number, system, transition

BYTES = range(-128, 128)
LARGE = (0, 1, -1, 2, 63, 64, 127, -128, 255, 1 << 31, -(1 << 31), (1 << 62) - 1, -(1 << 62), 6, 1 << 40)
INTEGERS = {NARROW: np.int8}


def column(bits: int, values: list[int]) -> np.ndarray:
    return np.array(values, dtype=INTEGERS.get(bits, np.int64))


@pytest.mark.parametrize(
    ("function", "given", "gives"), OPERATIONS, ids=lambda x: getattr(x, "__name__", str(x))
)  # fmt: skip
def test_an_operation_is_that_of_numpy(function: Function, given: int, gives: int) -> None:
    values = BYTES if given == NARROW else LARGE
    pairs = [(a, b) for a, b in product(values, values) if function is not counted or a >= 0]
    a, b = (column(given, [pair[i] for pair in pairs]) for i in (0, 1))
    whole = -len(pairs) % BLOCK
    a, b = (np.concatenate([x, np.zeros(whole, dtype=x.dtype)]) for x in (a, b))
    found, wanted = (np.zeros(len(a), dtype=column(gives, []).dtype) for _ in range(2))
    code = np.array([OPERATIONS[function, given, gives], *(x.ctypes.data for x in (a, b, found))], dtype=np.int64)
    vm_functions()["run"](code.ctypes.data, 1, 0, len(a))
    compares = function in (np.equal, np.not_equal, np.less_equal)
    with np.errstate(all="ignore"):
        function(a, b, wanted.view(np.bool_) if compares else wanted)
    assert found.tolist() == wanted.tolist() and wanted.any()


def test_only_whole_blocks_up_to_the_last_lane_are_written() -> None:
    zeros, ones = np.zeros(3 * BLOCK, dtype=np.int8), np.ones(3 * BLOCK, dtype=np.int8)
    out = zeros.copy()
    code = np.array([OPERATIONS[np.add, NARROW, NARROW], *(x.ctypes.data for x in (zeros, ones, out))], dtype=np.int64)
    vm_functions()["run"](code.ctypes.data, 1, 0, BLOCK + 1)
    assert out.tolist() == [1] * 2 * BLOCK + [0] * BLOCK
    out[:] = 0
    vm_functions()["run"](code.ctypes.data, 1, BLOCK, BLOCK + 1)
    assert out.tolist() == [0] * BLOCK + [1] * BLOCK + [0] * BLOCK


def answers(kernel: Kernel) -> list[np.ndarray]:
    """What the functions of a kernel give on the levels of a search."""
    level, given = kernel.layout.pack(kernel.system.initial), list[np.ndarray]()
    while len(level) and sum(map(len, given)) < 3 * LANES:
        successors, *rest = kernel.expand(level)
        given += [successors, *rest, kernel.evaluate(successors), *kernel.failures(level)]
        level = np.unique(successors, axis=0)
    return given


def assert_equal_to_compiled_code(system: TransitionSystem) -> list[np.ndarray]:
    found, compiled = answers(Kernel(system)), Kernel(system)
    assert compiled.code.addresses["evaluate"]
    wanted = answers(compiled)
    assert len(found) == len(wanted) and all(map(np.array_equal, found, wanted))
    return found


@pytest.mark.parametrize("model", ["v3", "kraft", "kip-320"])
def test_programs_give_what_the_compiled_model_gives(model: str) -> None:
    loaded = load_model_class(model)
    assert_equal_to_compiled_code(trace(loaded.cls(), loaded.chosen(None)))


def test_wide_columns_give_what_the_compiled_model_gives() -> None:
    found = assert_equal_to_compiled_code(grid([30, 2, 3], low=1 << 20))
    assert sum(len(np.unique(successors, axis=0)) for successors in found[::7]) == 30 * 2 * 3 - 1


X, Y = leaves_of(("number", 0, 99), ("number", 0, 49))
AT_ODDS = system(
    [X, Y],
    [[0, 0]],
    [
        transition("some", lt(leaf(X), number(60)), {0: add(leaf(X), number(1))}, lt(leaf(Y), number(20))),
        transition("fails", FALSE, {}, lt(leaf(X), number(3))),
        transition("always", TRUE, {1: number(7)}, eq(leaf(Y), number(49))),
        transition("seldom", eq(leaf(X), number(99)), {0: number(0)}, which=1),
    ],
)
"""Instances that fail where they would be enabled too, that can only fail, and that no state of a block enables."""


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, LANES, LANES + 1, 5000])
def test_successors_sources_and_counts_of_many_states(count: int) -> None:
    """Against the meaning of each expression, state by state, also of more states than columns have lanes."""
    states = [(x, y) for x in range(100) for y in range(50)][:count]
    kernel = Kernel(AT_ODDS)
    successors, sources, transitions, tally = kernel.expand(kernel.layout.pack(states))
    wanted, failing, degrees, fired = set(), 0, [0] * count, [0] * len(AT_ODDS.actions)
    for source, state in enumerate(states):
        for which, instance in enumerate(AT_ODDS.transitions):
            enabled, fails = evaluate([instance.guard, instance.failure], state)
            failing += fails
            if enabled and not fails:
                after = list(state)
                for place, value in zip(instance.updates, evaluate(instance.updates.values(), state), strict=True):
                    after[place] = value
                wanted.add((source, which, tuple(after)))
                degrees[source] += 1
                fired[AT_ODDS.actions.index(instance.label.action)] += 1
    rows = map(tuple, kernel.layout.unpack(successors).tolist())
    found = list(zip(sources.tolist(), transitions.tolist(), rows, strict=True))
    assert len(found) == len(wanted) and set(found) == wanted
    assert [(source // BLOCK, which) for source, which, _ in found] == sorted((s // BLOCK, w) for s, w, _ in found)
    assert tally.tolist() == [min(degrees), max(degrees), failing, *fired]
    assert [len(x) for x in kernel.failures(kernel.layout.pack(states))] == [failing, failing]
