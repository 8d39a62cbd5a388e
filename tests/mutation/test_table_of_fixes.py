"""The table of docs/mutation.md names, for every fix of V3, the line that is the fix today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"\| \[.*?\]\(\.\./counterexamples/(?P<scenario>.*?)\) \| .*? \| "
    r"(?P<file>\w+\.py):(?P<line>\d+) \| `(?P<change>.*)` \|$"
)
ROWS = [m for line in (ROOT / "docs/mutation.md").read_text().splitlines() if (m := ROW.match(line))]


def squeezed(text: str) -> str:
    """Source without what formatting decides."""
    return re.sub(r"[\s()\\]", "", text).replace('"', "'")


def test_every_row_is_read() -> None:
    table = (ROOT / "docs/mutation.md").read_text().partition("<!-- fixes -->")[2]
    assert len(ROWS) == table.count("\n| [") > 40


@pytest.mark.parametrize("row", ROWS, ids=lambda m: f"{m['scenario']}-{m['file']}-{m['line']}")
def test_the_line_has_what_the_mutant_lacks(row: re.Match[str]) -> None:
    lines = (ROOT / "model/designs" / row["file"]).read_text().splitlines()[int(row["line"]) - 1 :]
    without = row["change"].removeprefix("without ")
    name = re.match(r"(\w+) = ", without)
    if name is not None:  # a name stands there, and is told with what it stands for
        assert re.search(rf"\b{name[1]}\b", lines[0])
    else:
        assert 0 <= squeezed("".join(lines[:8])).find(squeezed(without)) < len(squeezed(lines[0]))
    assert (ROOT / "counterexamples" / row["scenario"] / "scenario.toml").is_file()
