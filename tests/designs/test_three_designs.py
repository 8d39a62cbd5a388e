"""docs/explanation/comparison.md, "Three designs, the same failures": a check confirms every verdict in its tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from isrcheck import check
from isrcheck.checker.registry.loader import load_model_class
from isrcheck.checker.results.exploration import Limits

PAGE = (Path(__file__).parents[2] / "docs/explanation/comparison.md").read_text()
LIMITS = Limits(memory=4 << 30)
EXPIRY = {"replicas": 2, "log_size": 1, "max_records": 2, "max_leader_epoch": 2, "expiries": 1}
MOVING = {"max_records": 1, "max_leader_epoch": 3, "max_version": 6, "reassignments": 1, "assigned_at_start": 1}
FAILURES: dict[str, dict[str, Any]] = {"expiry": EXPIRY, "reassignment": {**EXPIRY, **MOVING}}


def tables() -> list[list[list[str]]]:
    """The tables of the section, each with its header row."""
    (section,) = re.findall(r"^## Three designs, the same failures$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    rows = [[line.strip("| \n").split(" | ") for line in block.splitlines()] for block in blocks]
    return [[table[0], *table[2:]] for table in rows]


def verdict(design: str, settings: dict[str, Any], invariant: str) -> str:
    result = check(design, settings, profile="bare", invariants=[invariant], limits=LIMITS)
    outcome = result.invariants[invariant]
    return outcome.verdict if outcome.trace is None else f"{outcome.verdict} {outcome.trace.length}"


SAME, CHANGED, REPEATED = tables()
CONDITIONAL = {row[0]: dict(change.split("=") for change in row[1].split()) for row in CHANGED[1:] if row[0] != "v3"}


@pytest.mark.parametrize("row", SAME[1:], ids=lambda row: " ".join(row[:2]))
def test_the_same_settings_and_invariants_in_three_designs(row: list[str]) -> None:
    failures, invariant, *verdicts = row
    assert [verdict(design, FAILURES[failures], invariant) for design in SAME[0][2:]] == verdicts


@pytest.mark.parametrize("row", CHANGED[1:], ids=lambda row: row[0])
def test_what_conditional_writes_change(row: list[str]) -> None:
    design, changes, *verdicts = row
    changed = dict(change.split("=") for change in changes.split())
    assert [verdict(design, {**EXPIRY, **changed}, name) for name in CHANGED[0][2:]] == verdicts


@pytest.mark.parametrize("row", REPEATED[1:], ids=lambda row: " ".join(row[:3]))
def test_conditional_writes_after_several_expiries(row: list[str]) -> None:
    expiries, truncation, invariant, *verdicts = row
    for design, expected in zip(REPEATED[0][3:], verdicts, strict=True):
        settings: dict[str, Any] = {**EXPIRY, **CONDITIONAL.get(design, {}), "expiries": int(expiries)}
        if design != "v1":
            settings["truncation"] = truncation
        elif truncation != "high-watermark":
            assert "truncation" not in load_model_class(design).cls.declared_settings()
            assert expected == "has no epochs"
            continue
        assert verdict(design, settings, invariant) == expected


def test_the_service_of_v2_does_not_go_on_after_two_expiries() -> None:
    (length,) = re.findall(
        r"`service-goes-on` holds after one expiry,\s+and is violated in (\d+) states after two", PAGE, re.DOTALL
    )
    assert verdict("v2", {**EXPIRY, "expiries": 2}, "service-goes-on") == f"violated {length}"


def test_the_designs_are_the_three_and_the_tables_are_not_empty() -> None:
    assert SAME[0][2:] == ["v1", "v2", "v3"]
    assert {row[0] for row in SAME[1:]} == FAILURES.keys()
    assert [row[0] for row in CHANGED[1:]] == REPEATED[0][3:] == ["v1", "v2", "v3"]
