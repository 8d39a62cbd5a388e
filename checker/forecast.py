"""How many states a search will have when it ends, from how its levels have grown so far: a band, or nothing.

The sizes of levels rise and fall again. Where their growth has begun to slow down, it is carried on in several ways: a
line through the last logarithms of the ratios of two levels, and a parabola through the last logarithms of the sizes,
each over every possible number of levels. The estimates differ; the band is from the least to the greatest of them,
widened by a factor of two each way. There is none while the growth does not slow down in all of them, nor where most of
the states would be yet to come: on finished runs that was a guess (`benchmarks/forecast.py` has the shares).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from isrcheck.checker.results import Result

LEVELS: Final = 8
"""Fewer levels say nothing."""
SHORTEST: Final = 4
"""The shortest stretch of ratios that a line is laid through."""
WIDER: Final = 0.7
"""The logarithm of the factor by which what is yet to come may be less or more than all ways say."""
NARROWEST: Final = 0.01
"""A band is never narrower than one per cent each way, though never below what is there already."""
MOST: Final = 10.0
"""How many times the states so far there may be in all, and how wide a band may be."""
FARTHEST: Final = 2_000
FLAT: Final = 1e-9
LARGEST: Final = 80.0


@dataclass(frozen=True)
class Forecast:
    """States in all: at least, about, at most."""

    low: int
    middle: int
    high: int

    def times(self, factor: float) -> Forecast:
        """The forecast for something that grows with the states."""
        return Forecast(*(round(x * factor) for x in (self.low, self.middle, self.high)))

    def to_json(self) -> dict[str, int]:
        return {"low": self.low, "middle": self.middle, "high": self.high}


def forecast(levels: Sequence[int]) -> Forecast | None:
    """An estimate of all states of a search from its whole levels; None where it would be a guess."""
    if len(levels) < LEVELS or min(levels) < 1:
        return None
    sizes, seen = np.log(np.array(levels, dtype=float)), sum(levels)
    ratios = np.diff(sizes)
    to_come = [_by_ratios(sizes, ratios[-n:]) for n in range(SHORTEST, max(SHORTEST + 1, len(levels) // 2 + 2))]
    to_come += [_by_sizes(sizes[-n:]) for n in range(SHORTEST + 1, max(SHORTEST + 2, 2 * len(levels) // 3 + 1))]
    known = sorted(x for x in to_come if x is not None)
    if len(known) < len(to_come):
        return None
    low = max(seen, (seen + known[0] * math.exp(-WIDER)) * (1 - NARROWEST))
    middle = seen + known[len(known) // 2]
    high = (seen + known[-1] * math.exp(WIDER)) * (1 + NARROWEST)
    if middle > MOST * seen or high > MOST * low:
        return None
    return Forecast(round(low), round(middle), round(high))


def outlook(result: Result) -> dict[str, Any] | None:
    """The forecast for a search that did not finish, as JSON data: states, and the rest as it was for each so far."""
    expected = forecast(result.levels)
    if expected is None:
        return None
    data: dict[str, Any] = {"states": expected.to_json()}
    if result.seconds.get("search"):
        data["seconds"] = expected.times(result.seconds["search"] / result.distinct).to_json()
    if result.store_bytes:
        data["store_bytes"] = expected.times(result.store_bytes / result.distinct).to_json()
    return data


def _by_ratios(sizes: np.typing.NDArray[np.float64], ratios: np.typing.NDArray[np.float64]) -> float | None:
    """States to come if the logarithms of ratios go on along a line; None where that does not fall."""
    slope, start = np.polyfit(np.arange(len(ratios)), ratios, 1)
    if slope >= -FLAT:
        return None
    size, total = float(sizes[-1]), 0.0
    for k in range(len(ratios), len(ratios) + FARTHEST):
        size += slope * k + start
        if size < 0:
            break
        total += math.exp(min(size, LARGEST))
    return max(total, 1.0)


def _by_sizes(sizes: np.typing.NDArray[np.float64]) -> float | None:
    """States to come if the logarithms of sizes go on along a parabola; None where that is open upwards."""
    bent, slope, start = np.polyfit(np.arange(len(sizes)), sizes, 2)
    if bent >= -FLAT:
        return None

    def at(k: int) -> float:
        return float((bent * k + slope) * k + start)

    shift, total = float(sizes[-1]) - at(len(sizes) - 1), 0.0
    for k in range(len(sizes), len(sizes) + FARTHEST):
        size = at(k) + shift
        if size < 0 and k > -slope / (2 * bent):
            break
        total += math.exp(min(size, LARGEST))
    return max(total, 1.0)
