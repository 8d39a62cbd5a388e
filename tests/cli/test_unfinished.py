"""What a report says about a level that a search has begun and not finished."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isrcheck import check
from isrcheck.checker.exploration import Limits
from isrcheck.checker.reports.text import uncovered


@pytest.mark.parametrize(
    ("distinct", "line"),
    [
        (0, "depth 3 was begun; none of its states is counted"),
        (7, "7 states of depth 3 seen as well, not counted (not reproducible)"),
    ],
)
def test_the_level_after_the_last_whole_one(distinct: int, line: str) -> None:
    result = check("kip-101", {"replicas": 2}, limits=Limits(states=5))
    found = uncovered(replace(result, partial={"level": 3, "generated": 9, "distinct": distinct}))
    assert found[1] == line and "found and not expanded" in found[0]
