"""docs/explanation/mutation.md has the numbers of survivors in benchmarks/survivors.toml, which are lines of models."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from isrcheck.checker.changes.mutation.edits import candidates
from isrcheck.checker.changes.mutation.mutants import functions_of
from isrcheck.checker.registry.loader import load_model_class

ROOT = Path(__file__).parents[2]
CLASSES = tomllib.loads((ROOT / "benchmarks/survivors.toml").read_text(encoding="utf-8"))
DOCUMENT = (ROOT / "docs/explanation/mutation.md").read_text(encoding="utf-8")
TABLE = DOCUMENT.partition("| class | mutants |")[2].partition("\n\n")[0]
DESIGNS = sorted({design for by in CLASSES.values() for design in by})


def counted() -> dict[tuple[str, str], int]:
    """The number of mutants by class and design in the table. A row without a class continues the class above."""
    found: dict[tuple[str, str], int] = {}
    name = ""
    for line in TABLE.splitlines()[2:]:
        cells = [cell.strip() for cell in line.split(" | ")]
        name = cells[0].removeprefix("|").strip() or name
        for design, number in re.findall(r"`([\w-]+)`, (\d+)", cells[1]):
            found[name, design] = found.get((name, design), 0) + int(number)
    return found


def test_the_document_counts_what_is_explained() -> None:
    listed = {(name, design): len(mutants) for name, by in CLASSES.items() for design, mutants in by.items()}
    assert counted() == listed


@pytest.mark.parametrize("design", DESIGNS)
def test_as_many_are_explained_as_survive(design: str) -> None:
    row = re.search(rf"^\| `{design}` \| .* \| (\d+) \|$", DOCUMENT, re.MULTILINE)
    assert row is not None
    assert int(row[1]) == sum(len(by.get(design, [])) for by in CLASSES.values())


@pytest.mark.parametrize("design", DESIGNS)
def test_each_is_a_line_of_the_design(design: str) -> None:
    cls = load_model_class(design).cls
    there = {
        (f"{Path(edit.file).name}:{function.__name__}", edit.words)
        for function in functions_of(cls)
        for edit in candidates(function)
    }
    mine = [mutant for by in CLASSES.values() for mutant in by.get(design, [])]
    assert len(set(map(tuple, mine))) == len(mine)
    for action, place, change in mine:
        assert action in cls.actions()
        assert (place, change) in there, f"{design} has no such line any more: {place} {change}"
