"""A forecast is a range that contains the truth, or there is none if it would be a guess."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isrcheck.checker.analysis.check import check
from isrcheck.checker.cli.progress import counts
from isrcheck.checker.engines.explicit import large_search
from isrcheck.checker.engines.explicit.search import search
from isrcheck.checker.report.result_text import report
from isrcheck.checker.results.exploration import Limits, Progress
from isrcheck.checker.results.size_estimate import estimated_size
from tests.cli.running import counter
from tests.kernel.toys import grid

BELL = [math.comb(40, k) for k in range(41)]
"""The sizes of the levels of forty switches, each of which is turned on once."""


def test_the_band_holds_the_truth_of_a_bell_once_its_growth_has_slowed_down() -> None:
    reported = {n: estimated_size(BELL[:n]) for n in range(18, 41)}
    for n, expected in reported.items():
        assert expected is not None, n
        assert expected.low <= 2**40 <= expected.high <= 10 * expected.low


def test_nothing_is_told_where_it_would_be_a_guess() -> None:
    assert estimated_size([1, 3, 9, 27]) is None  # too few
    assert estimated_size([3**k for k in range(30)]) is None  # growth does not slow down
    assert estimated_size(BELL[:10]) is None  # nearly everything is yet to come
    assert estimated_size([]) is None


def test_a_run_that_does_not_finish_tells_it() -> None:
    settings = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
    whole = check("kip-320", settings)
    part = check("kip-320", settings, limits=Limits(states=whole.distinct * 2 // 3))
    expected = part.extra["forecast"]["states"]
    assert part.verdict == "incomplete"
    assert expected["low"] <= whole.distinct <= expected["high"]
    assert f"{expected['low']:,} to {expected['high']:,} states in total" in report(part)
    assert "forecast" not in whole.to_json()


def test_a_run_that_stops_early_tells_nothing(tmp_path: Path) -> None:
    part = check(str(counter(tmp_path)), {"top": 9}, limits=Limits(states=5), engine="reference")
    assert part.to_json()["forecast"] is None
    assert "forecast" not in report(part)


def test_progress_shows_it() -> None:
    look = Progress(31, 2**39, 2**41, 500, 20, 3 * 2**20, 100.0, "", tuple(BELL[:30]))
    expected = estimated_size(BELL[:30])
    assert expected is not None
    low, high = (round(100 * n / 2**39) for n in (expected.low, expected.high))
    assert counts(look).endswith(f", estimate {expected.low:,} to {expected.high:,} in total, {low} to {high} s")


def test_many_levels_cost_a_few_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    fits, fitted = list[int](), np.polyfit

    def noted(x: Any, y: Any, degree: int) -> Any:
        fits.append(len(x))
        return fitted(x, y, degree)

    monkeypatch.setattr(np, "polyfit", noted)
    levels = [round(1000 * math.exp(-(((k - 2000) / 900) ** 2))) + 1 for k in range(3000)]
    estimated_size(levels)
    assert 40 < len(fits) <= 48 and 200 < max(fits) < 256


def test_a_search_of_many_levels_forecasts_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()
    monkeypatch.setattr(large_search, "_needs_table", lambda *question: True)
    monkeypatch.setattr(large_search, "estimated_size", lambda levels: asked.append(len(levels)))
    found, _ = search(grid([1000, 2]), keep_going=True, deadlock=False, limits=Limits(), report=None, small=0)
    assert len(found.levels) == 1001
    assert 10 < len(asked) < 300
