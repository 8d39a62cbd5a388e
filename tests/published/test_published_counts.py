"""Distinct states, depths and shortest violations of the published specifications are equal to TLC's.

The expected numbers come from TLC on github.com/hachikuji/kafka-specification (d68782b5).
"""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

from isrcheck import check
from tests.agreement.profiles import THOROUGH
from tests.marks import EXHAUSTIVE, RELEASE

KAFKA = """
truncate-to-hw     2/2/1/1     353 12  9 10
kip-101            2/2/1/1     341 12  -  -
kip-279            2/2/1/1     341 12  -  -
kip-320-first-try  2/2/1/1     337 12  -  -
kip-320            2/2/1/1     277 12  -  -
truncate-to-hw     2/2/2/2   10131 20  9 10
kip-101            2/2/2/2    9045 18 12 12
kip-279            2/2/2/2    9027 18  -  -
kip-320-first-try  2/2/2/2    8429 18  -  -
kip-320            2/2/2/2    5973 18  -  -
truncate-to-hw     3/2/2/1   67807 21  9  9
kip-101            3/2/2/1   59788 22  - 12
kip-279            3/2/2/1   60106 22  - 12
kip-320-first-try  3/2/2/1   59092 22  -  -
kip-320            3/2/2/1   39619 22  -  -
kip-320            3/2/2/2  737794 26  -  -
"""
ASYNC = """
2/1/1   24  7
2/2/2   84 12
3/1/2 1460 14
3/2/2 4088 17
"""
INVARIANTS = ("leader-in-isr", "leader-in-isr-or-none", "strong-isr", "weak-isr")


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def settings_of(bounds: str, *names: str) -> dict[str, int]:
    return dict(zip(names, map(int, bounds.split("/")), strict=True))


def on_engines(table: str) -> list[ParameterSet]:
    """Each row for each engine; two large rows for the reference engine, only for a release."""
    found = []
    for row in rows(table):
        name = " ".join(row[:2])
        found.append(pytest.param("local", row, id=f"{name}-local"))
        slow = [pytest.mark.exhaustive, pytest.mark.release] if int(row[2]) > 5_000 else []
        if not slow or name in ("kip-101 2/2/2/2", "kip-320 2/2/2/2") or THOROUGH:
            found.append(pytest.param("reference", row, id=f"{name}-reference", marks=slow))
    return found


@pytest.mark.parametrize(("engine", "row"), on_engines(KAFKA))
def test_kafka_models_have_the_states_and_shortest_violations_of_tlc(engine: str, row: list[str]) -> None:
    name, bounds, distinct, depth, weak, strong = row
    settings = settings_of(bounds, "replicas", "log_size", "max_records", "max_leader_epoch")
    result = check(name, settings, invariants=INVARIANTS, engine=engine, keep_going=True)
    assert (result.distinct, result.depth) == (int(distinct), int(depth))
    lengths = {n: f.trace.length if f.trace else None for n, f in result.invariants.items()}
    assert lengths == {
        "leader-in-isr": 1,
        "leader-in-isr-or-none": None,
        "strong-isr": None if strong == "-" else int(strong),
        "weak-isr": None if weak == "-" else int(weak),
    }
    assert {f.verdict for f in result.invariants.values() if f.trace is None} <= {"holds"}


SLOW = {"3/1/2": EXHAUSTIVE, "3/2/2": RELEASE}
"""Bounds at which the reference engine takes long."""
ON_ENGINES = [
    pytest.param(engine, row, marks=SLOW.get(row[0], ()) if engine == "reference" else ())
    for row in rows(ASYNC)
    for engine in ("local", "reference")
]


@pytest.mark.parametrize(("engine", "row"), ON_ENGINES, ids=lambda x: x if isinstance(x, str) else x[0])
def test_async_isr_has_the_states_of_tlc(engine: str, row: list[str]) -> None:
    bounds, distinct, depth = row
    result = check("async-isr", settings_of(bounds, "replicas", "max_offset", "max_version"), engine=engine)
    assert (result.verdict, result.distinct, result.depth) == ("holds", int(distinct), int(depth))
    assert result.invariants.keys() == {"valid-high-watermark"}
    assert result.rejected > 0


def test_a_default_run_stops_at_the_end_of_the_level_of_the_first_violation() -> None:
    settings = settings_of("2/2/2/2", "replicas", "log_size", "max_records", "max_leader_epoch")
    result = check("truncate-to-hw", settings)
    assert (result.exit_code, result.depth, result.invariants["weak-isr"].verdict) == (12, 9, "violated")
    assert result.invariants["strong-isr"].verdict == "incomplete"
    assert result.invariants["strong-isr"].checked_depth == 9
    assert result.left == result.levels[-1]
