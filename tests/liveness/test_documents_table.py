"""The table of docs/explanation/liveness.md has the verdicts of the designs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.liveness import said
from isrcheck.checker.analysis.check import check
from isrcheck.checker.registry.loader import library_properties
from tests.marks import one_in

PAGE = (Path(__file__).parents[2] / "docs/explanation/liveness.md").read_text()


def rows() -> list[list[str]]:
    """The rows of the table of designs, with its header first."""
    lines = PAGE[PAGE.index("| property |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


HEAD, _, *TABLE = rows()
COLUMNS = {cell.split("`")[1]: i for i, cell in enumerate(HEAD) if "`" in cell}


def test_the_table_has_the_properties_of_the_designs() -> None:
    asked = {cells[0].strip("`") for cells in TABLE}
    assert asked <= {*library_properties()}
    assert {*library_properties()} - asked == {"reassignment-completes", "deleted-topic-leaves-nothing"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(2, sorted({*COLUMNS} - {"kraft"})))
def test_a_column_is_what_a_design_answers(name: str) -> None:
    result = check(name, invariants=[], liveness=["all"], keep_going=True)
    assert f"({result.distinct:,})" in HEAD[COLUMNS[name]]
    for cells in TABLE:
        outcome = result.liveness.get(cells[0].strip("`"))
        assert cells[COLUMNS[name]] == said(outcome), cells[0]
