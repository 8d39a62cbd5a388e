"""The table of docs/explanation/refinement.md has the verdicts of the designs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.refinement import DESIGNS, row
from isrcheck.checker.analysis.refinement.refinement_check import refine
from tests.marks import one_in

PAGE = (Path(__file__).parents[2] / "docs/explanation/refinement.md").read_text()
QUICK = ("primary-backup", "v1", "v2")
SLOW = ("kraft",)
"""Designs with too many states (ten million), which have their own command: `python -m benchmarks.refinement kraft`."""


def rows() -> dict[str, str]:
    lines = PAGE[PAGE.index("| design |") :].split("\n\n")[0].splitlines()[2:]
    return {line.split("`")[1]: line for line in lines}


def test_the_table_has_every_design() -> None:
    assert tuple(rows()) == DESIGNS


@pytest.mark.parametrize("name", QUICK)
def test_a_row_is_what_a_design_answers(name: str) -> None:
    assert row(name, refine(name, specification="replicated-log")) == rows()[name]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", one_in(2, sorted({*DESIGNS} - {*QUICK, *SLOW})))
def test_each_other_row_is(name: str) -> None:
    assert row(name, refine(name, specification="replicated-log")) == rows()[name]


def test_the_table_of_variables_is_of_the_specification() -> None:
    from isrcheck.model.specifications.replicated_log import ReplicatedLog

    model = ReplicatedLog(consumers=True, end_offsets="may-fall")
    lines = PAGE[PAGE.index("| variable |") :].split("\n\n")[0].splitlines()[2:]
    assert {line.split("`")[1] for line in lines} == {*model.domains}
    assert {word for line in lines for word in line.split("`")[3::2]} & {*model.actions()} == {
        "append", "acknowledge", "read-next", "show",
    }  # fmt: skip
