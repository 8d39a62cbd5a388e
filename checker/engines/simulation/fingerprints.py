"""Estimates how many distinct states the walks have met, from a small table of fixed size.

The table is a HyperLogLog sketch: an array of *registers*, to which the hash of each state is added. The estimator is
by Otmar Ertl ("New cardinality estimation algorithms for HyperLogLog sketches", 2017). The estimator needs no
corrections for small or large counts.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.simulation.loops import FINGERPRINT_BITS

STANDARD_ERROR: Final = 1.04 / math.sqrt(1 << FINGERPRINT_BITS)


def estimate(registers: npt.NDArray[np.uint8]) -> int:
    """The estimated number of distinct hashes that were added to the registers."""
    size, most = len(registers), 64 - FINGERPRINT_BITS + 1
    counts = np.bincount(registers, minlength=most + 1).astype(float)
    z = size * _tau(1 - counts[most] / size)
    for k in range(most - 1, 0, -1):
        z = 0.5 * (z + counts[k])
    z += size * _sigma(counts[0] / size)
    return 0 if math.isinf(z) else round(size * size / (2 * math.log(2) * z))


def _sigma(x: float) -> float:
    if x == 1:
        return math.inf
    y, z, before = 1.0, x, -1.0
    while z != before:
        x, before = x * x, z
        z, y = z + x * y, y + y
    return z


def _tau(x: float) -> float:
    if x in (0, 1):
        return 0.0
    y, z, before = 1.0, 1 - x, -1.0
    while z != before:
        x, before, y = math.sqrt(x), z, 0.5 * y
        z -= (1 - x) ** 2 * y
    return z / 3
