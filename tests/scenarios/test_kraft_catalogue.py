"""docs/findings/catalogue.md has every scenario of the design `kraft`, with the recorded numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

from isrcheck.checker.scenarios.scenario import Scenario, read

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/findings/catalogue.md").read_text()
FOLDERS = {path.parent.name: path.parent for path in sorted(ROOT.glob("counterexamples/kraft/*/scenario.toml"))}
SCENARIOS: dict[str, Scenario] = {name: read(folder) for name, folder in FOLDERS.items()}
ROWS = re.findall(r"^\| `(kraft-[^`]*)`[^|]*\| `(kraft-[^`]*)`[^|]*\| (\S+) \| (\d+) \| ([\d,]+) \|$", PAGE, re.M)


def test_every_pair_has_a_row() -> None:
    pairs = {(name, *s.fixed_versions) for name, s in SCENARIOS.items() if s.expect == "violated"}
    assert {(broken, mended) for broken, mended, *_ in ROWS} == pairs
    assert len(ROWS) == len(pairs)


def test_the_rows_say_what_is_recorded() -> None:
    for broken, mended, invariant, length, states in ROWS:
        recorded = json.loads((FOLDERS[mended] / "expected.json").read_text())
        assert SCENARIOS[broken].lengths == {invariant: int(length)}
        assert recorded["distinct"] == int(states.replace(",", ""))


def test_a_row_of_a_jira_names_scenarios_that_there_are() -> None:
    assert set(re.findall(r"`(kraft-[^`]*)`", PAGE)) == SCENARIOS.keys()


def test_a_pair_differs_in_one_setting() -> None:
    for broken, mended, *_ in ROWS:
        one, other = SCENARIOS[broken].settings, SCENARIOS[mended].settings
        assert one.keys() == other.keys()
        assert len([name for name in one if one[name] != other[name]]) == 1
