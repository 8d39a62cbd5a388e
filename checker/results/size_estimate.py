"""Estimates the final number of states of a search, as a range, from the growth of its levels.

The sizes of levels first rise and then fall. Once their growth slows down, two kinds of curves extrapolate the sizes. A
line is fitted to the logarithms of the ratios between successive levels. A parabola is fitted to the logarithms of the
sizes. Each curve is fitted several times, to different numbers of the last levels. Each fit gives an estimate of how
many states remain to be found. The range goes from the least estimate, halved, to the greatest estimate, doubled. The
states found so far are added to both ends, and then each end is moved outwards by one hundredth. A range is only a
guess. `benchmarks/forecast.py` counts how often the ranges for finished runs contain the true number.

There is no range in four cases: there are fewer than eight levels, a fitted curve does not slow down, the middle
estimate says that more than nine tenths of the states remain to be found, or the upper end is more than ten times the
lower end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from isrcheck.checker.results.result import Result

Numbers = npt.NDArray[np.float64]

LEVELS: Final = 8
"""The least number of levels for an estimate."""
SHORTEST: Final = 4
"""The least number of ratios to which a line is fitted."""
LONGEST: Final = 256
"""A curve is fitted to fewer ratios or sizes than this."""
FITS: Final = 24
"""Each kind of curve is fitted at most this many times. So an estimate takes milliseconds, however many levels there
are."""
WIDER: Final = 0.7
"""The logarithm of the factor by which the range of the remaining states is widened on each side."""
NARROWEST: Final = 0.01
"""After this widening, each end is moved outwards by this share. The range never begins below the states so far."""
MOST: Final = 10.0
"""The greatest allowed ratio between the total and the states so far, and between the two ends of a range."""
FARTHEST: Final = 2_000
FLAT: Final = 1e-9
LARGEST: Final = 80.0


@dataclass(frozen=True)
class SizeEstimate:
    """The final number of states: at least `low`, about `middle`, at most `high`."""

    low: int
    middle: int
    high: int

    def times(self, factor: float) -> SizeEstimate:
        """The estimate for a quantity that is proportional to the number of states."""
        return SizeEstimate(*(round(x * factor) for x in (self.low, self.middle, self.high)))

    def to_json(self) -> dict[str, int]:
        return {"low": self.low, "middle": self.middle, "high": self.high}


def estimated_size(levels: Sequence[int]) -> SizeEstimate | None:
    """An estimate of the final number of states from the sizes of levels; None if the sizes allow no estimate."""
    if len(levels) < LEVELS or min(levels) < 1:
        return None
    sizes, seen = np.log(np.array(levels, dtype=float)), sum(levels)
    ratios = np.diff(sizes)
    half, most = min(len(levels) // 2 + 2, LONGEST), min(2 * len(levels) // 3 + 1, LONGEST)
    to_come = [_by_ratios(sizes, ratios[-n:]) for n in _lengths(SHORTEST, half)]
    to_come += [_by_sizes(sizes[-n:]) for n in _lengths(SHORTEST + 1, most)]
    known = sorted(x for x in to_come if x is not None)
    if len(known) < len(to_come):
        return None
    low = max(seen, (seen + known[0] * math.exp(-WIDER)) * (1 - NARROWEST))
    middle = seen + known[len(known) // 2]
    high = (seen + known[-1] * math.exp(WIDER)) * (1 + NARROWEST)
    if middle > MOST * seen or high > MOST * low:
        return None
    return SizeEstimate(round(low), round(middle), round(high))


def _lengths(least: int, end: int) -> range:
    """From `least` to before `end`, in steps that give at most `FITS` lengths, but at least `least`."""
    return range(least, max(least + 1, end), max(1, math.ceil((end - least) / FITS)))


def outlook(result: Result) -> dict[str, Any] | None:
    """The estimate for an unfinished search as JSON data, or None if its levels allow no estimate.

    The data have the final number of states. They also have the seconds and the bytes for all states, if the result
    has seconds and bytes for the states so far.
    """
    expected = estimated_size(result.levels)
    if expected is None:
        return None
    data: dict[str, Any] = {"states": expected.to_json()}
    if result.seconds.get("search"):
        data["seconds"] = expected.times(result.seconds["search"] / result.distinct).to_json()
    if result.store_bytes:
        data["store_bytes"] = _bytes(expected, result).to_json()
    return data


def _bytes(expected: SizeEstimate, result: Result) -> SizeEstimate:
    """The estimate of the bytes for the states. The bytes for sorting grow with the states only up to a limit."""
    sorting, most = result.sorting_bytes
    states = expected.times((result.store_bytes - sorting) / result.distinct)
    room = expected.times(sorting / result.distinct)
    return SizeEstimate(
        *(bytes_ + min(more, most) for bytes_, more in zip(astuple(states), astuple(room), strict=True))
    )


def _by_ratios(sizes: Numbers, ratios: Numbers) -> float | None:
    """The number of remaining states if the logarithms of ratios stay on a line, or None if the line does not fall."""
    slope, start = np.polyfit(np.arange(len(ratios)), ratios, 1)
    if slope >= -FLAT:
        return None
    coming = sizes[-1] + np.cumsum(slope * np.arange(len(ratios), len(ratios) + FARTHEST) + start)
    return _total(coming, coming < 0)


def _by_sizes(sizes: Numbers) -> float | None:
    """The number of remaining states if the logarithms of sizes stay on a parabola, or None if it is not concave."""
    bent, slope, start = np.polyfit(np.arange(len(sizes)), sizes, 2)
    if bent >= -FLAT:
        return None
    k = np.arange(len(sizes) - 1, len(sizes) + FARTHEST)
    curve = (bent * k + slope) * k + start
    coming = (sizes[-1] + curve - curve[0])[1:]
    return _total(coming, (coming < 0) & (k[1:] > -slope / (2 * bent)))


def _total(coming: Numbers, ends: npt.NDArray[np.bool_]) -> float:
    """The sum of the sizes of the coming levels before the first one that `ends`. `coming` has their logarithms."""
    count = int(np.argmax(ends)) if ends.any() else len(coming)
    return max(float(np.exp(np.minimum(coming[:count], LARGEST)).sum()), 1.0)
