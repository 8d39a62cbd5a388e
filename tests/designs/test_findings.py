"""docs/findings/index.md describes its scenarios as their recorded results do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from isrcheck.checker.scenarios.scenario import read

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/findings/index.md").read_text(encoding="utf-8")
FOLDERS = {path.parent.name: path.parent for path in ROOT.glob("counterexamples/**/scenario.toml")}
ROWS = re.findall(r"^\|.*\| `(kraft-[a-z0-9-]+)`[^|\n]*\| (\d+)(?: states)? \| holds, ([\d,]+) \|$", PAGE, re.M)
SAID = re.findall(r"`([a-z0-9]+-[a-z0-9-]+)`[^`|.]*?, in (\d+)", PAGE)


def test_there_are_rows() -> None:
    assert len(ROWS) == 15
    assert {name for name, _ in SAID} == {"kraft-answer-of-an-earlier-epoch", "v3-late-fetch-answer"}


@pytest.mark.parametrize(("name", "length", "states"), ROWS)
def test_a_row_is_as_recorded(name: str, length: str, states: str) -> None:
    scenario = read(FOLDERS[name])
    assert set(scenario.lengths.values()) == {int(length)}
    (fixed_version,) = scenario.fixed_versions
    expected = json.loads((FOLDERS[fixed_version] / "expected.json").read_text(encoding="utf-8"))
    assert (expected["verdict"], expected["distinct"]) == ("holds", int(states.replace(",", "")))


@pytest.mark.parametrize(("name", "length"), SAID)
def test_a_length_is_as_recorded(name: str, length: str) -> None:
    assert int(length) in read(FOLDERS[name]).lengths.values()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:kraft|v3)-[a-z0-9-]+)`", PAGE))))
def test_a_scenario_that_is_named_exists(name: str) -> None:
    assert name in FOLDERS
