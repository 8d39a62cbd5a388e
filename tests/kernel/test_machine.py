"""Programs over columns with compiled operations: single operations and whole programs agree with numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from isrcheck.checker.kernel import steps
from isrcheck.checker.kernel.columns import LANES
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.machine import BLOCK, NARROW, OPERATIONS, machine
from isrcheck.checker.kernel.registers import Function, counted
from isrcheck.checker.library import load_model_class
from isrcheck.model.language.system import TransitionSystem
from isrcheck.model.language.tracing import trace
from tests.kernel.toys import grid

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
    machine()["run"](code.ctypes.data, 1, 0, len(a))
    compares = function in steps.COMPARISONS
    function(a, b, wanted.view(np.bool_) if compares else wanted)
    assert found.tolist() == wanted.tolist() and wanted.any()


def test_only_whole_blocks_up_to_the_last_lane_are_written() -> None:
    zeros, ones = np.zeros(3 * BLOCK, dtype=np.int8), np.ones(3 * BLOCK, dtype=np.int8)
    out = zeros.copy()
    code = np.array([OPERATIONS[np.add, NARROW, NARROW], *(x.ctypes.data for x in (zeros, ones, out))], dtype=np.int64)
    machine()["run"](code.ctypes.data, 1, 0, BLOCK + 1)
    assert out.tolist() == [1] * 2 * BLOCK + [0] * BLOCK
    out[:] = 0
    machine()["run"](code.ctypes.data, 1, BLOCK, BLOCK + 1)
    assert out.tolist() == [0] * BLOCK + [1] * BLOCK + [0] * BLOCK


def answers(system: TransitionSystem, limit: int, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """What the functions of a kernel give on the levels of a search, if numpy runs `limit` instructions."""
    monkeypatch.setattr(steps, "ENOUGH", limit)
    monkeypatch.setattr(steps, "_by_numpy", 0)
    kernel, given = Kernel(system), list[np.ndarray]()
    level = kernel.layout.pack(system.initial)
    while len(level) and sum(map(len, given)) < 3 * LANES:
        successors, *rest = kernel.expand(level)
        given += [successors, *rest, kernel.judge(successors), *kernel.failures(level)]
        level = np.unique(successors, axis=0)
    return given


@pytest.mark.parametrize("enough", [-1, 5000], ids=["from the beginning", "from the middle on"])
@pytest.mark.parametrize("model", ["v3", "kraft", "kip-320"])
def test_programs_give_what_they_give_on_numpy(model: str, enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_model_class(model)
    system = trace(loaded.cls(), loaded.chosen(None))
    found = answers(system, enough, monkeypatch)
    assert steps._by_numpy >= enough
    wanted = answers(system, 1 << 40, monkeypatch)
    assert len(found) == len(wanted) and all(map(np.array_equal, found, wanted))


def test_wide_columns_give_what_they_give_on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    system = grid([30, 2, 3], low=1 << 20)
    found, wanted = (answers(system, enough, monkeypatch) for enough in (-1, 1 << 40))
    assert len(found) == len(wanted) and all(map(np.array_equal, found, wanted))
    assert sum(len(np.unique(successors, axis=0)) for successors in found[::7]) == 30 * 2 * 3 - 1
