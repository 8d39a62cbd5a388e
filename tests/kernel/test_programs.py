"""The columns of programs: as few as registers are in use at once."""

from __future__ import annotations

from collections import Counter

import pytest

from isrcheck.checker.kernel import programs, vm
from isrcheck.checker.kernel.bytecode import Register, Writer
from isrcheck.checker.kernel.layout import Layout
from isrcheck.checker.kernel.vm import Part
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.model.semantics.expressions import LARGEST, add, constant, leaf
from isrcheck.model.semantics.tracing import trace
from tests.kernel.toys import leaves_of


@pytest.mark.parametrize(("model", "columns"), [("v3", 132), ("kip-320", 100), ("kraft", 700)])
def test_a_program_has_as_many_columns_as_registers_in_use(
    model: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed, given = vm._placed, list[tuple[list[int], list[Part], list[Register]]]()

    def noted(code: list[int], parts: list[Part], kept: list[Register]) -> list[int]:
        given.append((code, parts, kept))
        return placed(code, parts, kept)

    monkeypatch.setattr(vm, "_placed", noted)
    loaded = load_model_class(model)
    system = trace(loaded.cls(), loaded.chosen(None))
    program = programs.expansion(system, Layout(system.leaves))
    ((code, parts, kept),) = given
    assert len(program._narrow) == columns == in_use(code, parts, len(kept))
    assert len(program._wide) == 0


def in_use(code: list[int], parts: list[Part], kept: int) -> int:
    """How many registers are in use at once, at most."""
    ends = dict[Register, int]()
    for part in parts:
        for number in range(part.first, part.end):
            _, a, b, out = code[4 * number : 4 * number + 4]
            ends |= {a: number, b: number, out: number + 1}
        ends |= dict.fromkeys(part.reads(), part.end)
    freed = Counter(end for register, end in ends.items() if register >= 0)
    now = most = kept
    for number in range(len(code) // 4):
        now += 1 - freed[number]
        most = max(most, now)
    return most


def test_the_width_of_a_register_is_its_lowest_bit() -> None:
    writer = Writer()
    small, large = (leaf(x) for x in leaves_of(("number", 0, 9), ("number", 0, LARGEST // 2)))
    registers = [writer.register(x) for x in (small, large, constant("number", 3), constant("number", 300))]
    assert registers == [-2, -3, -6, -7]
    assert writer.register(add(small, small)) == 0
    assert [register & 1 for register in (writer.register(add(small, large)), 2 * len(writer) - 1)] == [1, 1]
    assert (list(writer.leaves), writer.constants) == ([-2, -3], {-6: 3, -7: 300})
