"""Other values of one setting that prevent a violation. Values that let the trace pass need no search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import isrcheck.checker
from isrcheck.checker.analysis.check import check
from isrcheck.checker.analysis.fix_search import _others
from isrcheck.checker.report.story_text import fix_search_text
from isrcheck.checker.results.story import FixSearch, TriedValue
from tests.cli.running import run
from tests.traces.walks import walk

SCHEMA = json.loads((Path(isrcheck.checker.__file__).parent / "schema.json").read_text())


def asked(tmp_path: Path, name: str) -> dict[str, object]:
    path = tmp_path / "r.json"
    run("check", "--scenario", name, "--fixes", "--json", path, "--quiet")
    data = json.loads(path.read_text())
    Draft202012Validator(SCHEMA).validate(data)
    (outcome,) = data["invariants"].values()
    found: dict[str, object] = outcome["why"]["alternatives"]
    return found


@pytest.mark.exhaustive
def test_the_one_setting_that_prevents_an_unclean_election(tmp_path: Path) -> None:
    found = asked(tmp_path, "v3-unclean-election")
    assert found["tried"] == [
        {"setting": "unclean", "value": "false", "verdict": "holds", "length": None, "lost": []},
        {"setting": "controller_write", "value": "conditional", "verdict": "violated", "length": 8, "lost": []},
        {"setting": "controller_write", "value": "unconditional", "verdict": "violated", "length": 8, "lost": []},
        {"setting": "controller_failover", "value": "true", "verdict": "violated", "length": 8, "lost": []},
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "fixes"),
    [
        (
            "v3-stale-high-watermark",
            {
                ("truncation", "kip-101"),
                ("truncation", "kip-279"),
                ("truncation", "kip-320"),
                ("truncation", "on-fetch"),
            },
        ),
        ("v1-split-brain", {("isr_write", "conditional")}),
    ],
)
def test_the_known_fixes_are_among_those_that_are_found(tmp_path: Path, name: str, fixes: set[tuple[str, str]]) -> None:
    tried = asked(tmp_path, name)["tried"]
    assert isinstance(tried, list)
    assert fixes <= {(each["setting"], each["value"]) for each in tried if each["verdict"] == "holds"}


@pytest.mark.exhaustive
def test_a_value_that_the_trace_passes_has_a_violation_no_longer_than_it(tmp_path: Path) -> None:
    """Checks some of the values that were dismissed without a search."""
    scenario, loaded, invariant, evaluated = walk("v3-unclean-election")
    searched = {"controller_write", "unclean", "controller_failover"}
    settings = loaded.cls(**scenario.settings).settings
    others = [(n, v) for n, v in _others(loaded, settings) if n not in searched and n != "elected"]
    for name, value in others[::20]:
        found = check(loaded, {**settings, name: value}, profile="bare", invariants=(invariant,)).invariants[invariant]
        assert found.trace is not None
        assert found.trace.length <= evaluated.length


def test_what_was_found_is_told_best_first() -> None:
    tried = (
        TriedValue("slow", "true", "violated", 12),
        TriedValue("quick", "true", "violated", 10),
        TriedValue("writes", "never", "holds", None, ("a-record-is-committed",)),
        TriedValue("fence", "both", "holds"),
        TriedValue("fence", "one", "holds"),
        TriedValue("size", "large", "incomplete"),
    )
    assert fix_search_text(FixSearch(11, 1, tried)) == [
        "  Of 7 other values of one setting 1 let this trace pass. The rest, within the same bounds:",
        "     no violation                            fence = both, one",
        "     no violation, but a goal is lost        writes = never",
        "     another way, longer                     slow = true (12 states)",
        "     another way                             quick = true (10 states)",
        "     no violation before the search stopped  size = large",
    ]
    assert fix_search_text(None) == []
