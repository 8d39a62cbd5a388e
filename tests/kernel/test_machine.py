"""Programs over columns with compiled operations: single operations and whole programs agree with numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from isrcheck.checker.kernel import programs
from isrcheck.checker.kernel.columns import LANES
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.machine import BLOCK, NARROW, OPERATIONS, machine
from isrcheck.checker.kernel.registers import Function, counted
from isrcheck.checker.library import load_model_class
from isrcheck.model.language.tracing import trace

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
    machine()(code.ctypes.data, 1, len(a))
    compares = function in programs.COMPARISONS
    function(a, b, wanted.view(np.bool_) if compares else wanted)
    assert found.tolist() == wanted.tolist() and wanted.any()


def test_only_whole_blocks_up_to_the_last_lane_are_written() -> None:
    zeros, ones = np.zeros(3 * BLOCK, dtype=np.int8), np.ones(3 * BLOCK, dtype=np.int8)
    out = zeros.copy()
    code = [OPERATIONS[np.add, NARROW, NARROW], *(x.ctypes.data for x in (zeros, ones, out))]
    machine()(np.array(code, dtype=np.int64).ctypes.data, 1, BLOCK + 1)
    assert out.tolist() == [1] * 2 * BLOCK + [0] * BLOCK


@pytest.mark.parametrize("enough", [-1, 5000], ids=["from the beginning", "from the middle on"])
@pytest.mark.parametrize("model", ["v3", "kraft", "kip-320"])
def test_programs_give_what_they_give_on_numpy(model: str, enough: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_model_class(model)
    system = trace(loaded.cls(), loaded.chosen(None))

    def answers(limit: int) -> list[np.ndarray]:
        monkeypatch.setattr(programs, "ENOUGH", limit)
        monkeypatch.setattr(programs, "_by_numpy", 0)
        kernel, given = Kernel(system), list[np.ndarray]()
        level = kernel.layout.pack(system.initial)
        while len(level) and sum(map(len, given)) < 3 * LANES:
            successors, *rest = kernel.expand(level)
            given += [successors, *rest, kernel.judge(successors), *kernel.failures(level)]
            level = np.unique(successors, axis=0)
        assert (programs._by_numpy < limit) == (limit > 5000)
        return given

    found, wanted = answers(enough), answers(1 << 40)
    assert len(found) == len(wanted) and all(map(np.array_equal, found, wanted))
