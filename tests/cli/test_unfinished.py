"""What a report says about a level that a search has begun and not finished."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isrcheck import check
from isrcheck.checker.report.result_text import uncovered
from isrcheck.checker.results.exploration import Limits
from isrcheck.checker.results.size_estimate import estimated_size, outlook


@pytest.mark.parametrize(
    ("distinct", "line"),
    [
        (0, "depth 3 was started; none of its states is counted"),
        (7, "7 states of depth 3 also seen, but not counted (not reproducible)"),
    ],
)
def test_the_level_after_the_last_whole_one(distinct: int, line: str) -> None:
    result = check("kip-101", {"replicas": 2}, limits=Limits(states=5))
    found = uncovered(replace(result, partial={"level": 3, "generated": 9, "distinct": distinct}))
    assert found[1] == line and "found but not expanded" in found[0]


def test_what_sorting_takes_grows_up_to_its_limit_only() -> None:
    """Ten bytes for each state and six for sorting, which has room for twice as many states and no more."""
    result = check("kip-101", {"replicas": 2}, limits=Limits(states=800), keep_going=True)
    expected = estimated_size(result.levels)
    assert expected is not None and expected.low > 2 * result.distinct
    n = result.distinct
    reported = outlook(replace(result, store_bytes=16 * n, sorting_bytes=(6 * n, 12 * n)))
    assert reported is not None
    assert abs(reported["store_bytes"]["high"] - (10 * expected.high + 12 * n)) <= 1
    reported = outlook(replace(result, store_bytes=16 * n, sorting_bytes=(6 * n, 1 << 40)))
    assert reported is not None and abs(reported["store_bytes"]["low"] - 16 * expected.low) <= 1
