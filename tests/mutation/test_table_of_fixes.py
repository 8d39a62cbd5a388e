"""The table of docs/explanation/mutation.md names, for every fix of V3, the function that contains the fix today."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.marks import EXHAUSTIVE, one_in

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"\| \[.*?\]\((?:\.\./)+counterexamples/(?P<scenario>.*?)\) \| .*? \| "
    r"(?P<file>\w+\.py), `(?P<function>\w+)` \| `(?P<change>.*)` \|$"
)
ROWS = [m for line in (ROOT / "docs/explanation/mutation.md").read_text().splitlines() if (m := ROW.match(line))]


def functions(file: str) -> dict[str, str]:
    """The source of each function of a file of the designs."""
    source = (ROOT / "model/designs" / file).read_text()
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return {node.name: ast.get_source_segment(source, node) or "" for node in found}


def squeezed(text: str) -> str:
    """Source text without everything that depends on its formatting."""
    return re.sub(r"[\s()\\]", "", text).replace('"', "'")


def test_every_row_is_read() -> None:
    table = (ROOT / "docs/explanation/mutation.md").read_text().partition("<!-- fixes -->")[2]
    assert len(ROWS) == table.count("\n| [") > 40


@pytest.mark.parametrize("row", one_in(3, ROWS, EXHAUSTIVE), ids=lambda m: f"{m['scenario']}-{m['function']}")
def test_the_function_has_what_the_mutant_lacks(row: re.Match[str]) -> None:
    source = functions(row["file"])[row["function"]]
    without = row["change"].removeprefix("without ")
    name = re.match(r"(\w+) = ", without)
    if name is not None:  # a name stands there, and is told with what it stands for
        assert re.search(rf"\b{name[1]}\b", source)
    else:
        assert squeezed(without) in squeezed(source)
    assert (ROOT / "counterexamples" / row["scenario"] / "scenario.toml").is_file()
